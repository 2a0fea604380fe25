"""Scores binarised by thresholds: agreement over all thresholds, precision, recall, F1.

Convention. A score is a yes where it is at least the threshold (`strict`: above it). NaN is "not judged" and
excluded from the comparison, on both sides; a protocol that counts unjudged pairs as irrelevant replaces NaN
by 0 first, and should say so. Precision without a yes of the predictor, recall without a yes in the truth,
and F1 without either are undefined. These three are shares of hits, with the intervals of shares: see
`shares`.

Source: Hodosh et al. 2013, Tables 8, 9, 10 (kappa over thresholds; precision and recall).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasebox.agreement.estimates import Bootstrap, Estimate, Floats, clusters_of, estimates
from phrasebox.agreement.shares import AnswerCounts, share_estimate


@dataclass(frozen=True, slots=True)
class Sweep:
    """Cohen's kappa for each pair of thresholds: `kappa[r][c]` is for `rows[r]` and `columns[c]`."""

    rows: tuple[float, ...]
    columns: tuple[float, ...]
    kappa: tuple[tuple[Estimate, ...], ...]

    @property
    def best(self) -> tuple[float, float, float] | None:
        """Return (row's threshold, column's threshold, kappa) of the largest kappa, the first of equal
        ones."""
        cells = [
            (cell.value, -r, -c)
            for r, line in enumerate(self.kappa)
            for c, cell in enumerate(line)
            if cell.value is not None
        ]
        if not cells:
            return None
        value, r, c = max(cells)
        return self.rows[-r], self.columns[-c], value


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Precision, recall and F1 of a yes-or-no predictor, each in 0..1 or with the reason why not."""

    precision: Estimate
    recall: Estimate
    f1: Estimate


def binarised(scores: Floats, threshold: float, *, strict: bool = False) -> NDArray[np.bool_]:
    """Return where `scores` are a yes; NaN is not.

    >>> binarised(np.array([1.0, 2.0, np.nan]), 2).tolist()
    [False, True, False]
    """
    return scores > threshold if strict else scores >= threshold


def sweep(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rows: Sequence[float],
    columns: Sequence[float],
    strict: bool = False,
    bootstrap: Bootstrap | None = None,
) -> Sweep:
    """Return kappa between `first` cut at each of `rows` and `second` cut at each of `columns`, excluding
    NaN.

    >>> found = sweep([1, 2, 3, 4], [0, 0, 1, 1], rows=[2, 3], columns=[1])
    >>> [[one.value for one in row] for row in found.kappa]  # cut at 3 they are equal
    [[0.5], [1.0]]
    """
    a, b, clusters, number = _judged(first, second, bootstrap)
    yes_a = np.array([binarised(a, t, strict=strict) for t in rows], dtype=np.float64)  # (rows, items)
    yes_b = np.array([binarised(b, t, strict=strict) for t in columns], dtype=np.float64)

    def totals(yes: Floats) -> Floats:  # (thresholds, clusters)
        return np.array([np.bincount(clusters, weights=line, minlength=number) for line in yes])

    in_a, in_b = totals(yes_a), totals(yes_b)
    sums = np.empty((number, len(rows), len(columns), 4))
    for r, yes in enumerate(yes_a):
        sums[:, r, :, 0] = totals(yes * yes_b).T
    sums[..., 1] = in_a.T[:, :, None]
    sums[..., 2] = in_b.T[:, None, :]
    sums[..., 3] = np.bincount(clusters, minlength=number)[:, None, None]
    cells = estimates(
        sums.reshape(number, len(rows) * len(columns), 4),
        _kappa,
        _why_no_kappa,
        items=len(a),
        bootstrap=bootstrap,
    )
    lines = (tuple(cells[start : start + len(columns)]) for start in range(0, len(cells), len(columns)))
    return Sweep(tuple(rows), tuple(columns), tuple(lines))


def retrieval(
    predicted: ArrayLike,
    truth: ArrayLike,
    *,
    at: float,
    truth_at: float,
    strict: bool = False,
    bootstrap: Bootstrap | None = None,
) -> Retrieval:
    """Return how well `predicted` cut at `at` retrieves what `truth` cut at `truth_at` contains, excluding
    NaN.

    Of `bootstrap` only the clusters and the level are used: intervals are those of shares.

    >>> found = retrieval([1, 2, 3, 4], [0, 1, 1, 1], at=3, truth_at=1)
    >>> found.precision.value, round(found.recall.value, 3), found.f1.value
    (1.0, 0.667, 0.8)
    """
    a, b, clusters, number = _judged(predicted, truth, bootstrap)
    called_true, true = binarised(a, at, strict=strict), binarised(b, truth_at, strict=strict)
    hits, predicted_yes, true_yes = (
        np.bincount(clusters, weights=yes, minlength=number)
        for yes in (called_true & true, called_true, true)
    )
    nothing_found, nothing_there = f"nothing is predicted at {at:g}", f"nothing is true at {truth_at:g}"
    level = None if bootstrap is None else bootstrap.level

    def share(
        items: AnswerCounts, why: str, moved: Callable[[float], float] = lambda share: share
    ) -> Estimate:
        return share_estimate(hits, items, why, of=len(a), level=level, moved=moved)

    return Retrieval(
        precision=share(predicted_yes, nothing_found),
        recall=share(true_yes, nothing_there),
        # F1 is a monotonic function of Jaccard's index J, the share of hits among all that either calls a
        # yes.
        f1=share(
            predicted_yes + true_yes - hits,
            f"{nothing_found} and {nothing_there}",
            lambda both: 2 * both / (1 + both),
        ),
    )


def _judged(
    first: ArrayLike, second: ArrayLike, bootstrap: Bootstrap | None
) -> tuple[Floats, Floats, NDArray[np.int64], int]:
    """Return both score lists and the clusters without items that either lacks."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"scores of shapes {a.shape} and {b.shape}; give two lists over the same items")
    clusters, number = clusters_of(bootstrap, len(a))
    answered = ~(np.isnan(a) | np.isnan(b))
    return a[answered], b[answered], clusters[answered], number


def _kappa(sums: Floats) -> Floats:
    """Return kappa of a 2 x 2 table, from (yes of both, yes of one, yes of the other, items)."""
    both, a, b, items = sums.T
    observed = items - a - b + 2 * both
    expected = a * b + (items - a) * (items - b)
    below = items**2 - expected
    return np.divide(observed * items - expected, below, out=np.full(len(sums), np.nan), where=below != 0)


def _why_no_kappa(sums: Floats) -> str:
    if not sums[3]:
        return "no item has both scores"
    return f"both say {'yes' if sums[1] else 'no'} throughout"
