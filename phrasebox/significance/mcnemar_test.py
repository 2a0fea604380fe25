"""McNemar's test: do two systems succeed on different queries by more than chance?

Only queries on which exactly one of the two succeeds count. Under the null hypothesis each of
them is as likely the first's as the second's; the test is two-sided.
- "exact": the binomial probability of a split at least as uneven.
- "mid-p": the same, with half the probability of the split that was seen; less conservative.
- "chi-square": (b - c)^2 / (b + c) on one degree of freedom; "corrected" lessens |b - c| by 1.
Where no query tells the two apart, p is 1.
Sources: McNemar 1947; Edwards 1948 (the correction); Fagerland et al. 2013 (mid-p); used by
Hodosh et al. 2013, section 4.2.1.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from phrasebox.lazy import stats
from phrasebox.significance.pairing import paired

_Method = Literal["exact", "mid-p", "chi-square", "corrected"]


@dataclass(frozen=True, slots=True)
class McNemar:
    """The result: `first_only` and `second_only` count the queries on which only one of the two succeeds."""

    first_only: int
    second_only: int
    p: float


def mcnemar(first: ArrayLike, second: ArrayLike, *, method: _Method = "exact") -> McNemar:
    """Test two systems' successes (0 or 1, NaN where a query has no value for either), shape (queries,).

    Raises ValueError naming the first query that is neither 0 nor 1, or has a value for one only.

    >>> mcnemar([1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 1, 1])  # 4 against 1: p is 2 (1 + 5) / 32
    McNemar(first_only=4, second_only=1, p=0.375)
    """
    if method not in get_args(_Method):
        raise ValueError(f"unknown method {method!r}; known: {', '.join(get_args(_Method))}")
    values = paired(first, second)
    bad = np.argwhere((values != 0) & (values != 1))
    if len(bad):
        query = int(bad[:, 1].min())
        raise ValueError(f"query {query} scores {values[:, query].tolist()}; McNemar's test needs 0 or 1")
    ours, theirs = values.astype(bool)
    b, c = int((ours & ~theirs).sum()), int((~ours & theirs).sum())
    return McNemar(b, c, _p(b, c, method))


def _p(b: int, c: int, method: _Method) -> float:
    number, fewer = b + c, min(b, c)
    if not number:
        return 1.0
    if method in ("chi-square", "corrected"):
        distance = max(abs(b - c) - (method == "corrected"), 0)
        return float(stats.chi2.sf(distance**2 / number, 1))
    tail = 2 * stats.binom.cdf(fewer, number, 0.5)
    if method == "mid-p":
        tail -= stats.binom.pmf(fewer, number, 0.5)
    return float(min(tail, 1.0))
