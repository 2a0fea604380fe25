"""Boosted stumps over binned numbers, and the area under the curve on items that they did not learn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

BINS = 16
ROUNDS, RATE = 60, 0.3
FOLDS = 3


def auc(scores: Numbers, known: NDArray[np.bool_]) -> float:
    """The chance that a control item scores higher than another one; ties count half."""
    _, index, times = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - (times - 1) / 2)[index]
    positives = int(known.sum())
    negatives = len(known) - positives
    return float((ranks[known].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def separation(
    table: Numbers, known: NDArray[np.bool_], images: Sequence[str], workers: Sequence[str], *, seed: int
) -> tuple[float, list[int]]:
    """How well known rows are told from others (area under the curve), and the columns that told most.

    Rows are tried by what was learned of other images and of other workers: one browser sees neither an
    item twice nor what others see. The areas of all parts are averaged by their rows.
    """
    rng = np.random.default_rng(seed)
    of_image, of_worker = _folds(images, rng), _folds(workers, rng)
    areas: list[float] = []
    rows: list[int] = []
    weight = np.zeros(table.shape[1])
    for image in range(FOLDS):
        for worker in range(FOLDS):
            learned = (of_image != image) & (of_worker != worker)
            tried = (of_image == image) & (of_worker == worker)
            if not 0 < known[tried].sum() < tried.sum() or not 0 < known[learned].sum() < learned.sum():
                continue
            scores, used = _boosted(table[learned], known[learned], table[tried])
            areas.append(auc(scores, known[tried]))
            rows.append(int(tried.sum()))
            weight += used
    best = [int(column) for column in np.argsort(-weight)[:10] if weight[column] > 0]
    return float(np.average(areas, weights=rows)), best


def _folds(names: Sequence[str], rng: np.random.Generator) -> NDArray[np.intp]:
    """The fold of each row, one for all rows of a name."""
    distinct = sorted(set(names))
    fold = dict(zip(distinct, rng.permutation(len(distinct)) % FOLDS, strict=True))
    return np.array([fold[name] for name in names])


def _boosted(table: Numbers, known: NDArray[np.bool_], tried: Numbers) -> tuple[Numbers, Numbers]:
    """The scores of `tried`, and how much each column added to them."""
    edges = [np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1])) for column in table.T]
    binned, others = _binned(table, edges), _binned(tried, edges)
    rows, columns = binned.shape
    index = binned + np.arange(columns) * BINS
    weights = np.where(known, 0.5 / known.sum(), 0.5 / (~known).sum())
    signs = np.where(known, 1.0, -1.0)
    total, scores, used = np.zeros(rows), np.zeros(len(tried)), np.zeros(columns)
    for _ in range(ROUNDS):
        pull = weights * np.exp(-signs * total)
        pull /= pull.sum()
        for_known, against = (
            np.bincount(index.ravel(), np.repeat(pull * chosen, columns), columns * BINS)
            .reshape(columns, BINS)
            .cumsum(axis=1)
            for chosen in (known, ~known)
        )
        # Everything up to a bin on one side, the rest on the other.
        slack = 0.5 / rows
        sides = (
            (for_known, against),
            (for_known[:, -1:] - for_known, against[:, -1:] - against),
        )
        loss = sum(np.sqrt(first * second) for first, second in sides)
        column, cut = np.unravel_index(int(np.argmin(loss)), loss.shape)
        low, high = (
            RATE * 0.5 * float(np.log((first[column, cut] + slack) / (second[column, cut] + slack)))
            for first, second in sides
        )
        total += np.where(binned[:, column] <= cut, low, high)
        scores += np.where(others[:, column] <= cut, low, high)
        used[column] += abs(low - high)
    return scores, used


def _binned(table: Numbers, edges: Sequence[Numbers]) -> NDArray[np.intp]:
    return np.stack(
        [np.searchsorted(edge, column, side="right") for edge, column in zip(edges, table.T, strict=True)],
        axis=1,
    )
