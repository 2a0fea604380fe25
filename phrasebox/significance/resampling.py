"""Intervals of figures and of differences of two systems: how much they would vary with other images.

Captions of one image are not independent, so whole images are drawn with replacement, as many as there are.
The interval lies between percentiles of the resamples; with few images it is wider (`estimates.tails`). p is
twice the smaller share of resamples on either side of no difference, (c + 1) / (resamples + 1) each, and at
most 1. A mean of hits and misses is a share, and has the interval of shares (`agreement.shares`), without
resamples. Source: Efron and Tibshirani 1993, chapters 8, 13 and 16.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasebox.agreement.estimates import BOOTSTRAP, Bootstrap, clusters_of, remarks, tails
from phrasebox.agreement.shares import WILSON, share_interval
from phrasebox.significance.pairing import paired, paired_differences

_Floats = NDArray[np.float64]
Statistic = Literal["mean", "median"]

#: Number of entries in a block of resamples.
_BLOCK = 2**22


@dataclass(frozen=True, slots=True)
class Difference:
    """First less second, with its interval of level `level`, and p against no difference.

    `clusters` is the number of images that the interval is based on; `remark` is a caveat.
    """

    value: float
    low: float
    high: float
    level: float
    p: float
    resamples: int
    clusters: int
    remark: str


@dataclass(frozen=True, slots=True)
class Interval:
    """A system's mean or median, with its interval of level `level`.

    `kind` is the kind of the interval ("bootstrap", or "Wilson" for a share, without resamples). `clusters`
    is the number of images that it is based on; `remark` is a caveat.
    """

    value: float
    low: float
    high: float
    level: float
    resamples: int
    kind: str
    clusters: int
    remark: str


def figure_interval(
    values: ArrayLike, bootstrap: Bootstrap, *, statistic: Statistic = "mean", share: bool = False
) -> Interval:
    """Return the interval of one system's mean or median. Raises as `bootstrap_difference` does.

    `share`: the mean is a share, so that values of only 0 and 1 are misses and hits, with Wilson's interval.

    >>> found = figure_interval([1, 1, 0, 1], Bootstrap(["a", "b", "c", "d"]), share=True)
    >>> found.kind, found.value, round(found.low, 3), round(found.high, 3)
    ('Wilson', 0.75, 0.301, 0.954)
    """
    (defined,) = paired(values)
    owners, clusters = _owners(values, bootstrap)
    if statistic == "mean" and np.isinf(defined).any():
        raise ValueError("a value is infinite (not retrieved): it has no mean; use the median")
    if share and statistic == "mean" and ((defined == 0) | (defined == 1)).all():
        hits = np.bincount(owners, weights=defined, minlength=clusters)
        items = np.bincount(owners, minlength=clusters)
        low, high = share_interval(hits, items, bootstrap.level)
        return Interval(float(defined.mean()), low, high, bootstrap.level, 0, WILSON, clusters, "")
    take = (_means if statistic == "mean" else _medians)(defined, owners, clusters)
    drawn = _draws(bootstrap, clusters, len(defined) if statistic == "median" else clusters)
    moved = np.concatenate([take(part) for part in drawn])
    low, high = _between(moved, bootstrap.level, clusters)
    return Interval(
        float(take(np.ones((1, clusters)))[0]),
        low,
        high,
        bootstrap.level,
        len(moved),
        BOOTSTRAP,
        clusters,
        remarks(moved, clusters, bootstrap.unit),
    )


def bootstrap_difference(
    first: ArrayLike, second: ArrayLike, bootstrap: Bootstrap, *, statistic: Statistic = "mean"
) -> Difference:
    """Return the resampled difference of two systems' means or medians; values have shape (queries,).

    `bootstrap.clusters` names each query's image. Queries without a value (NaN) for both are skipped, with
    their entry in the clusters. Raises ValueError as `paired` does, and for a mean with an infinite rank.

    >>> images = Bootstrap(["a", "a", "b", "b"], resamples=100)
    >>> found = bootstrap_difference([1, 1, 0, 1], [0, 1, 0, 0], images)
    >>> found.value, found.clusters
    (0.5, 2)
    """
    values = paired(first, second)
    owners, clusters = _owners(first, bootstrap)
    if statistic == "mean" and np.isinf(values).any():
        raise ValueError("a value is infinite (not retrieved): it has no mean; use the median")
    parts: list[_Floats] = []
    take = _means if statistic == "mean" else _medians
    measured = [take(system, owners, clusters) for system in values]
    for drawn in _draws(bootstrap, clusters, values.shape[1] if statistic == "median" else clusters):
        parts.append(paired_differences(measured[0](drawn), measured[1](drawn)))
    whole = np.ones((1, clusters))
    seen = paired_differences(measured[0](whole), measured[1](whole))[0]
    return _difference(float(seen), np.concatenate(parts), bootstrap, clusters)


def bootstrap_difference_of_sums(
    first: ArrayLike, second: ArrayLike, figure: Callable[[_Floats], _Floats], bootstrap: Bootstrap
) -> Difference:
    """Return the resampled difference of a figure that is computed from sums, such as a mean of means.

    `first` and `second` contain each item's terms of k sums, shape (items, k); `figure` computes figures of
    shape (rows,) from sums of shape (rows, k). Both systems use the same draws of `bootstrap.clusters`, which
    name each item's cluster. Raises ValueError for different shapes, AgreementError for invalid clusters.

    >>> share = lambda sums: sums[:, 0] / sums[:, 1]
    >>> ours, theirs = [[2, 2], [1, 1]], [[1, 2], [0, 1]]
    >>> found = bootstrap_difference_of_sums(ours, theirs, share, Bootstrap(["a", "b"], resamples=100))
    >>> round(found.value, 3), found.clusters
    (0.667, 2)
    """
    tables = [np.asarray(pairs_of_sums, np.float64) for pairs_of_sums in (first, second)]
    if tables[0].shape != tables[1].shape or tables[0].ndim != 2:
        raise ValueError(
            f"sums have shapes {tables[0].shape} and {tables[1].shape}; expected (items, sums) twice"
        )
    owners, clusters = clusters_of(bootstrap, len(tables[0]))
    held = [np.zeros((clusters, table.shape[1])) for table in tables]
    for sums, table in zip(held, tables, strict=True):
        np.add.at(sums, owners, table)

    def apart(drawn: _Floats) -> _Floats:
        return paired_differences(figure(drawn @ held[0]), figure(drawn @ held[1]))

    moved = np.concatenate([apart(drawn) for drawn in _draws(bootstrap, clusters, tables[0].shape[1])])
    return _difference(float(apart(np.ones((1, clusters)))[0]), moved, bootstrap, clusters)


def _difference(seen: float, moved: _Floats, bootstrap: Bootstrap, clusters: int) -> Difference:
    """Return the observed difference, with the interval and p from its resamples."""
    level = bootstrap.level
    low, high = _between(moved, level, clusters)
    side = min(int((moved <= 0).sum()), int((moved >= 0).sum()))
    p = min(1.0, 2 * (side + 1) / (len(moved) + 1))
    return Difference(
        seen, low, high, level, p, len(moved), clusters, remarks(moved, clusters, bootstrap.unit)
    )


def bootstrap_ratio(first: ArrayLike, second: ArrayLike, bootstrap: Bootstrap) -> Interval:
    """Return the mean of `first` over that of `second`, values of shape (queries,), with its interval.

    Queries without a value (NaN) for both are skipped. Raises ValueError as `paired` does, and if a mean of
    `second` is not above 0.

    >>> found = bootstrap_ratio([1, 3], [1, 1], Bootstrap(["a", "b"], resamples=100))
    >>> found.value
    2.0
    """
    values = paired(first, second)
    owners, clusters = _owners(first, bootstrap)
    top, base = (_means(values_of, owners, clusters) for values_of in values)
    parts = [np.ones((1, clusters)), *_draws(bootstrap, clusters, clusters)]
    bases = [base(part) for part in parts]
    if any((values_of <= 0).any() for values_of in bases):
        raise ValueError("the second mean is not above 0, so that there is no ratio to it")
    ratios = [top(part) / base_mean for part, base_mean in zip(parts, bases, strict=True)]
    moved = np.concatenate(ratios[1:])
    low, high = _between(moved, bootstrap.level, clusters)
    remark = remarks(moved, clusters, bootstrap.unit)
    return Interval(float(ratios[0][0]), low, high, bootstrap.level, len(moved), BOOTSTRAP, clusters, remark)


def _between(moved: _Floats, level: float, clusters: int) -> tuple[float, float]:
    """Return the percentiles that bound an interval of `level`."""
    # Interpolation between a number and infinity is undefined.
    way: Literal["linear", "nearest"] = "linear" if np.isfinite(moved).all() else "nearest"
    low, high = np.quantile(moved, tails(level, clusters), method=way)
    return float(low), float(high)


def _owners(values: ArrayLike, bootstrap: Bootstrap) -> tuple[NDArray[np.int64], int]:
    """Return the image of each query that has a value, and the number of these images."""
    defined = ~np.isnan(np.asarray(values, dtype=np.float64))
    owners, _ = clusters_of(bootstrap, len(defined))
    cluster_ids, numbers = np.unique(owners[defined], return_inverse=True)
    return numbers.astype(np.int64), len(cluster_ids)


def _draws(bootstrap: Bootstrap, clusters: int, width: int) -> Iterator[_Floats]:
    """Yield how often each image was drawn, in blocks of shape (resamples, images)."""
    rng = np.random.default_rng(bootstrap.seed)
    even = np.full(clusters, 1 / clusters)
    step = max(1, _BLOCK // max(width, clusters))
    for start in range(0, bootstrap.resamples, step):
        size = min(step, bootstrap.resamples - start)
        yield rng.multinomial(clusters, even, size=size).astype(np.float64)


class _means:
    """Means of resamples, computed from sums over images."""

    def __init__(self, values: _Floats, owners: NDArray[np.int64], clusters: int) -> None:
        self.sums = np.stack(
            [np.bincount(owners, values, minlength=clusters), np.bincount(owners, minlength=clusters)], axis=1
        )

    def __call__(self, drawn: _Floats) -> _Floats:
        sums = drawn @ self.sums
        return np.asarray(sums[:, 0] / sums[:, 1])


class _medians:
    """Medians of resamples, computed from sorted values, each counted as often as it was drawn."""

    def __init__(self, values: _Floats, owners: NDArray[np.int64], clusters: int) -> None:
        order = np.argsort(values, kind="stable")
        self.values, self.owners = values[order], owners[order]

    def __call__(self, drawn: _Floats) -> _Floats:
        upto = np.cumsum(drawn[:, self.owners], axis=1)
        number = upto[:, -1:]
        lower = np.argmax(upto > (number - 1) // 2, axis=1)
        upper = np.argmax(upto > number // 2, axis=1)
        return np.asarray((self.values[lower] + self.values[upper]) / 2)
