"""Statistics for tables of many systems: rank correlations, Holm's correction, and marks.

- Spearman's rho: the correlation of ranks; tied values share their mean rank. Kendall's tau-b:
  concordant less discordant pairs over the geometric mean of the pairs untied in either; tau-c
  divides by n^2 (m - 1) / 2m, with m the smaller number of distinct values of the two. All are
  undefined if either side is constant. The sign is not changed for measures where lower is better:
  median ranks correlate negatively with R-precision, as in Table 7 of Hodosh et al. 2013.
- Holm 1979: the i-th smallest of m values of p is multiplied by m - i + 1, none below the one before.
- Marks follow Hodosh et al. 2013: * for p <= 0.1, ** for p <= 0.05, *** for p <= 0.01.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasebox.agreement.estimates import Estimate
from phrasebox.lazy import stats

_MARKS: tuple[tuple[float, str], ...] = ((0.01, "***"), (0.05, "**"), (0.1, "*"))


def spearman(first: ArrayLike, second: ArrayLike) -> Estimate:
    """Return Spearman's rho of two measures over the same systems, shape (systems,).

    >>> spearman([1, 2, 3], [10, 30, 20]).value
    0.5
    """
    first_values, second_values, reason = _columns(first, second)
    if reason:
        return Estimate(None, len(first_values), reason)
    return Estimate(float(stats.spearmanr(first_values, second_values).statistic), len(first_values))


def kendall(first: ArrayLike, second: ArrayLike, *, variant: Literal["b", "c"] = "b") -> Estimate:
    """Return Kendall's tau of two measures over the same systems, shape (systems,).

    >>> round(kendall([1, 2, 3], [10, 30, 20]).value, 3)  # two pairs in order, one not
    0.333
    """
    first_values, second_values, reason = _columns(first, second)
    if reason:
        return Estimate(None, len(first_values), reason)
    return Estimate(
        float(stats.kendalltau(first_values, second_values, variant=variant).statistic), len(first_values)
    )


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Return adjusted values of p, of the same shape; NaN (not tested) stays NaN and does not count.

    Raises ValueError for a value that is no probability.

    >>> holm([0.01, 0.04, 0.03]).tolist()  # 3 x 0.01, 2 x 0.03, and no less than that
    [0.03, 0.06, 0.06]
    """
    all_values = np.asarray(p, dtype=np.float64)
    tested = ~np.isnan(all_values)
    values = all_values[tested]
    bad = values[(values < 0) | (values > 1)]
    if len(bad):
        raise ValueError(f"p is {bad[0]}; expected 0 to 1")
    order = np.argsort(values, kind="stable")
    raised = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(raised, 1)
    adjusted_all = np.full(all_values.shape, np.nan)
    adjusted_all[tested] = adjusted
    return adjusted_all


def mark(p: float, marks: tuple[tuple[float, str], ...] = _MARKS) -> str:
    """Return the mark of a value of p: empty above the highest level, and for NaN.

    >>> mark(0.04), mark(0.2)
    ('**', '')
    """
    return next((sign for level, sign in sorted(marks) if p <= level), "")


def _columns(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    first_values, second_values = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if first_values.shape != second_values.shape or first_values.ndim != 1:
        raise ValueError(
            f"shapes {first_values.shape} and {second_values.shape}; expected one value of each for "
            "every system"
        )
    for values in (first_values, second_values):
        if np.isnan(values).any():
            raise ValueError(
                f"system {int(np.argmax(np.isnan(values)))} has no value (NaN); leave it out of both lists"
            )
    if len(first_values) < 2:
        return first_values, second_values, f"{len(first_values)} system cannot be ranked; give at least two"
    for values, word in ((first_values, "first"), (second_values, "second")):
        if (values == values[0]).all():
            return (
                first_values,
                second_values,
                f"the {word} measure has the same value for all systems: {values[0]:g}",
            )
    return first_values, second_values, ""
