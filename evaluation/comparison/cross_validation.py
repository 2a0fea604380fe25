"""Figures of cross-validated systems: R@1, 5, 10 and median rank in both directions, intervals, and tests.

Every image is a query once, so the ranks of all folds are pooled. Intervals of shares are Wilson's, those of
medians come from a bootstrap that resamples images. Tests are McNemar's exact test on R@10; p values are
adjusted by Holm over all tests.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models_core.estimators.base import DIRECTIONS
from models_core.estimators.kcca.selection import CUTOFFS
from models_core.systems.cross_validation import CrossValidation
from phrasebox.agreement.estimates import Bootstrap
from phrasebox.significance.mcnemar_test import mcnemar
from phrasebox.significance.resampling import Interval, figure_interval
from phrasebox.significance.tables import holm, mark

#: The k of the tested R@k, and the default system to test against: the best of the nearest neighbours in the
#: papers.
TESTED = 10
BASELINE = "NN5-F1-idf"
MEDIAN_RANK = "median rank"


@dataclass(frozen=True)
class _Figures:
    """A system's figures, by direction and measure: shares, and ranks. `remarks` are those of its folds."""

    system: str
    printed: str
    figures: dict[str, dict[str, Interval]]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Tested:
    """The test of `first` against `second` on R@10: their difference, the numbers of queries that only one of
    them finds, p."""

    first: str
    second: str
    direction: str
    difference: float
    first_only: int
    second_only: int
    p: float
    adjusted: float

    @property
    def mark(self) -> str:
        """The asterisks for the adjusted p: * up to 0.1, ** up to 0.05, *** up to 0.01."""
        return mark(self.adjusted)


def cross_validated_figures(crossed: CrossValidation, *, resamples: int = 1000, seed: int = 0) -> _Figures:
    """Return figures with 95 % intervals; a query is resampled together with its image."""
    draw = Bootstrap(range(len(crossed.pool)), resamples, seed=seed)
    figures: dict[str, dict[str, Interval]] = {}
    for direction in DIRECTIONS:
        ranks = crossed.ranks[direction]
        figures[direction] = {f"R@{k}": figure_interval(ranks <= k, draw, share=True) for k in CUTOFFS}
        figures[direction][MEDIAN_RANK] = figure_interval(ranks, draw, statistic="median")
    return _Figures(crossed.recipe.name, crossed.recipe.printed, figures, crossed.remarks)


def compare_systems(systems: Sequence[CrossValidation], pairs: Sequence[tuple[str, str]]) -> list[Tested]:
    """Test each pair in both directions. Raises ValueError for an unknown system, listing the known ones."""
    by_name = {system.recipe.name: system for system in systems}
    for name in (name for pair in pairs for name in pair):
        if name not in by_name:
            raise ValueError(f"unknown system {name!r}; tested: {', '.join(by_name)}")
    rows = []
    for first, second in pairs:
        for direction in DIRECTIONS:
            ours, theirs = (by_name[name].ranks[direction] <= TESTED for name in (first, second))
            rows.append(
                (first, second, direction, float(np.mean(ours) - np.mean(theirs)), mcnemar(ours, theirs))
            )
    adjusted = holm([test.p for *_, test in rows])
    return [
        Tested(first, second, direction, difference, test.first_only, test.second_only, test.p, float(p))
        for (first, second, direction, difference, test), p in zip(rows, adjusted, strict=True)
    ]


def printed_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs that the papers compare, as far as both are in `names`: each with NN (section 3.1),
    and TRI5SEM with others (Table 3)."""
    pairs = [(name, BASELINE) for name in names if name != BASELINE] if BASELINE in names else []
    if "TRI5SEM" in names:
        pairs += [("TRI5SEM", name) for name in ("BoW1", "BoW5", "TagRank", "TRI5") if name in names]
    return pairs
