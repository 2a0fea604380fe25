"""Boosted stumps over binned numbers, and the area under the curve on items outside the training data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

BINS = 16
ROUNDS, RATE = 60, 0.3
FOLDS = 3
#: Number of draws of images for the interval.
DRAWS = 400


def auc(scores: Numbers, known: NDArray[np.bool_]) -> float:
    """Return the probability that a control item scores higher than another one; ties count half."""
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
) -> Distinguished:
    """Return how well control items are distinguished from others.

    Rows are tested with a model of other rows: of other `seeds`, whose corpora are drawn independently, if
    there are several; else of other images and other workers of the same seed. Within a seed, test rows
    differ slightly from training rows (the control items of a bin are used up), so that noise results in less
    than 0.5.
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
    return Distinguished(_mean_area(parts), interval, [part.area for part in parts], best)


class Distinguished(NamedTuple):
    """The area under the curve: the mean of all parts, weighted by rows; its 95 % interval over draws of
    images; that of each part; and the most informative columns."""

    area: float
    interval: tuple[float, float]
    areas: list[float]
    columns: list[int]


class Part(NamedTuple):
    """Scores of test rows, their truth, and a number for the image of each."""

    scores: Numbers
    known: NDArray[np.bool_]
    image: NDArray[np.intp]

    @property
    def area(self) -> float:
        """Return the area under the curve; 0.5 if all are control items, or none."""
        return auc(self.scores, self.known) if len(np.unique(self.known)) == 2 else 0.5

    def drawn(self, rng: np.random.Generator) -> Part:
        """Return as many images, drawn with replacement, with all rows of each."""
        images = self.image.max() + 1
        times = np.bincount(rng.integers(images, size=images), minlength=images)
        rows = np.repeat(np.arange(len(self.image)), times[self.image])
        return Part(self.scores[rows], self.known[rows], self.image[rows])


def _mean_area(parts: Sequence[Part]) -> float:
    return float(np.average([part.area for part in parts], weights=[len(part.scores) for part in parts]))


def _divided(
    images: Sequence[str], workers: Sequence[str], seeds: Sequence[int], rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield which rows are for training, and which for testing, part by part."""
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
    """Return the fold of each row, the same for all rows of a name."""
    distinct = sorted(set(names))
    fold = dict(zip(distinct, rng.permutation(len(distinct)) % FOLDS, strict=True))
    return np.array([fold[name] for name in names])


def _boosted(table: Numbers, known: NDArray[np.bool_], tried: Numbers) -> tuple[Numbers, Numbers]:
    """Return the scores of `tried`, and how much each column contributed to them."""
    edges = [np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1])) for column in table.T]
    binned = _binned(table, edges)
    # Many columns split the rows equally: one of them is enough.
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
