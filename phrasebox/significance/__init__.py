"""Tests whether one system is better than another, or only appears so on these queries.

All take two systems' values for the same queries, with NaN where a query has no value for either (as in
`Score.per_query`). Use `mcnemar` for hits and misses (R@k), and `randomisation.of_mean`, `of_means` and
`of_median` for everything else. `bootstrap_difference` estimates a difference and its interval,
`figure_interval` the interval of one figure; a `Bootstrap` draws whole images. `holm` adjusts many tests.
Conventions: docs/significance.md.

>>> mcnemar([1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 1, 1]).p
0.375
"""

from phrasebox.agreement.estimates import Bootstrap
from phrasebox.significance import randomisation
from phrasebox.significance.mcnemar_test import McNemar, mcnemar
from phrasebox.significance.resampling import Difference, Interval, bootstrap_difference, figure_interval
from phrasebox.significance.tables import holm, kendall, mark, spearman

__all__ = [
    "Bootstrap",
    "Difference",
    "Interval",
    "McNemar",
    "bootstrap_difference",
    "figure_interval",
    "holm",
    "kendall",
    "mark",
    "mcnemar",
    "randomisation",
    "spearman",
]
