"""Boosted stumps over binned numbers, and the area under the curve on items that they did not learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

BINS = 16
ROUNDS, RATE = 60, 0.3
FOLDS = 3
#: Draws of images, for the interval.
DRAWS = 400


def auc(scores: Numbers, known: NDArray[np.bool_]) -> float:
    """The chance that a control item scores higher than another one; ties count half."""
    _, index, times = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - (times - 1) / 2)[index]
    positives = int(known.sum())
    negatives = len(known) - positives
    return float((ranks[known].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def separation(
    table: Numbers,
    known: NDArray[np.bool_],
    images: Sequence[str],
    workers: Sequence[str],
    seeds: Sequence[int] | None = None,
    *,
    seed: int,
) -> Told:
    """How well known rows are told from others.

    Rows are tried by what was learned of others: of other `seeds`, whose corpora are drawn anew, where there
    are several; else of other images and other workers of the same one. There, what was not learned is
    slightly less like what was (the known ones of a bin are used up), so that noise comes out below 0.5.
    """
    rng = np.random.default_rng(seed)
    parts: list[Part] = []
    weight = np.zeros(table.shape[1])
    for learned, tried in _divided(images, workers, seeds or [0] * len(known), rng):
        if len(np.unique(known[tried])) < 2 or len(np.unique(known[learned])) < 2:
            continue
        scores, used = _boosted(table[learned], known[learned], table[tried])
        parts.append(Part(scores, known[tried], np.unique(np.array(images)[tried], return_inverse=True)[1]))
        weight += used
    best = [int(column) for column in np.argsort(-weight)[:10] if weight[column] > 0]
    drawn = sorted(_mean_area([part.drawn(rng) for part in parts]) for _ in range(DRAWS))
    interval = drawn[round(0.025 * DRAWS)], drawn[round(0.975 * DRAWS) - 1]
    return Told(_mean_area(parts), interval, [part.area for part in parts], best)


class Told(NamedTuple):
    """The area under the curve: the mean of all parts, by their rows; in what interval it lies in 95 of 100
    draws of images; that of each part; and the columns that told most."""

    area: float
    interval: tuple[float, float]
    areas: list[float]
    columns: list[int]


class Part(NamedTuple):
    """Scores of rows that were not learned from, what they were, and a number for the image of each."""

    scores: Numbers
    known: NDArray[np.bool_]
    image: NDArray[np.intp]

    @property
    def area(self) -> float:
        """The area under the curve; 0.5 where all are known, or none."""
        return auc(self.scores, self.known) if len(np.unique(self.known)) == 2 else 0.5

    def drawn(self, rng: np.random.Generator) -> Part:
        """As many images, drawn with replacement, with all rows of each."""
        images = self.image.max() + 1
        times = np.bincount(rng.integers(images, size=images), minlength=images)
        rows = np.repeat(np.arange(len(self.image)), times[self.image])
        return Part(self.scores[rows], self.known[rows], self.image[rows])


def _mean_area(parts: Sequence[Part]) -> float:
    return float(np.average([part.area for part in parts], weights=[len(part.scores) for part in parts]))


def _divided(
    images: Sequence[str], workers: Sequence[str], seeds: Sequence[int], rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Which rows are learned from, and which are tried, part by part."""
    of_seed = np.array(seeds)
    if len(set(seeds)) > 1:
        for number in sorted(set(seeds)):
            yield of_seed != number, of_seed == number
        return
    of_image, of_worker = _folds(images, rng), _folds(workers, rng)
    for image in range(FOLDS):
        for worker in range(FOLDS):
            yield (of_image != image) & (of_worker != worker), (of_image == image) & (of_worker == worker)


def _folds(names: Sequence[str], rng: np.random.Generator) -> NDArray[np.intp]:
    """The fold of each row, one for all rows of a name."""
    distinct = sorted(set(names))
    fold = dict(zip(distinct, rng.permutation(len(distinct)) % FOLDS, strict=True))
    return np.array([fold[name] for name in names])


def _boosted(table: Numbers, known: NDArray[np.bool_], tried: Numbers) -> tuple[Numbers, Numbers]:
    """The scores of `tried`, and how much each column added to them."""
    edges = [np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1])) for column in table.T]
    binned = _binned(table, edges)
    # Many columns part the rows alike: one of them is enough.
    first = sorted({column.tobytes(): number for number, column in enumerate(binned.T)}.values())
    binned, others = binned[:, first], _binned(tried[:, first], [edges[number] for number in first])
    rows, columns = binned.shape
    index = binned + np.arange(columns) * BINS
    weights = np.where(known, 0.5 / known.sum(), 0.5 / (~known).sum())
    signs = np.where(known, 1.0, -1.0)
    total, scores, used = np.zeros(rows), np.zeros(len(tried)), np.zeros(table.shape[1])
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
        used[first[column]] += abs(low - high)
    return scores, used


def _binned(table: Numbers, edges: Sequence[Numbers]) -> NDArray[np.intp]:
    return np.stack(
        [np.searchsorted(edge, column, side="right") for edge, column in zip(edges, table.T, strict=True)],
        axis=1,
    )
