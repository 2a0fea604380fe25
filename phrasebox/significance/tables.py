"""What tables of many systems need: rank correlations, Holm's correction, and marks.

- Spearman's rho: the correlation of ranks, tied values sharing the mean of theirs. Kendall's tau-b:
  concordant less discordant pairs over the geometric mean of the pairs untied in either; tau-c
  divides by n^2 (m - 1) / 2m, m being the fewer different values of the two. All are undefined
  where either side is constant. Higher is not turned into better: median ranks correlate
  negatively with R-precision, as Table 7 of Hodosh et al. 2013 prints them.
- Holm 1979: the i-th smallest of m values of p is multiplied by m - i + 1, none below the one before.
- Marks follow Hodosh et al. 2013: * for p <= 0.1, ** for p <= 0.05, *** for p <= 0.01.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasebox.agreement.estimates import Estimate

_MARKS: tuple[tuple[float, str], ...] = ((0.01, "***"), (0.05, "**"), (0.1, "*"))


def spearman(first: ArrayLike, second: ArrayLike) -> Estimate:
    """Spearman's rho of two measures over the same systems, shape (systems,).

    >>> spearman([1, 2, 3], [10, 30, 20]).value
    0.5
    """
    one, other, reason = _columns(first, second)
    if reason:
        return Estimate(None, len(one), reason)
    from scipy import stats  # takes a second to import, which few processes need

    return Estimate(float(stats.spearmanr(one, other).statistic), len(one))


def kendall(first: ArrayLike, second: ArrayLike, *, variant: Literal["b", "c"] = "b") -> Estimate:
    """Kendall's tau of two measures over the same systems, shape (systems,).

    >>> round(kendall([1, 2, 3], [10, 30, 20]).value, 3)  # two pairs in order, one not
    0.333
    """
    one, other, reason = _columns(first, second)
    if reason:
        return Estimate(None, len(one), reason)
    from scipy import stats

    return Estimate(float(stats.kendalltau(one, other, variant=variant).statistic), len(one))


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Adjusted values of p, of the same shape; NaN (not tested) stays and does not count.

    Raises ValueError for a value that is no probability.

    >>> holm([0.01, 0.04, 0.03]).tolist()  # 3 x 0.01, 2 x 0.03, and no less than that
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p, dtype=np.float64)
    tested = ~np.isnan(given)
    values = given[tested]
    wrong = values[(values < 0) | (values > 1)]
    if len(wrong):
        raise ValueError(f"p is {wrong[0]}; expected 0 to 1")
    order = np.argsort(values, kind="stable")
    raised = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(raised, 1)
    found = np.full(given.shape, np.nan)
    found[tested] = adjusted
    return found


def mark(p: float, marks: tuple[tuple[float, str], ...] = _MARKS) -> str:
    """The mark of a value of p; none above the highest level, and none for NaN.

    >>> mark(0.04), mark(0.2)
    ('**', '')
    """
    return next((sign for level, sign in sorted(marks) if p <= level), "")


def _columns(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    one, other = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if one.shape != other.shape or one.ndim != 1:
        raise ValueError(f"shapes {one.shape} and {other.shape}; expected one value of each for every system")
    for values in (one, other):
        if np.isnan(values).any():
            raise ValueError(
                f"system {int(np.argmax(np.isnan(values)))} has no value (NaN); leave it out of both lists"
            )
    if len(one) < 2:
        return one, other, f"{len(one)} system cannot be ranked; give at least two"
    for values, word in ((one, "first"), (other, "second")):
        if (values == values[0]).all():
            return one, other, f"the {word} measure has the same value for all systems: {values[0]:g}"
    return one, other, ""
