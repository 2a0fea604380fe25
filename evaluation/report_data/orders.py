"""Rank correlations between the orders of systems by originals and by judgments, as in Table 7 of Hodosh et
al. 2013.

R@k is compared with S@k of the same k, and all measures of originals with R-precision (or nDCG). A median
rank falls as systems improve, so its correlations are negative where the orders agree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaluation.report_data.directions import DirectionTable
from phrasebox.significance.tables import kendall, spearman

#: Which of a report's measures represent originals and judgments: the first that exists.
BY_ORIGINALS = ("R@10", "R@5", "R@1", "median rank")
BY_JUDGMENTS = ("R-precision", "nDCG@10", "nDCG", "S@10", "MAP")


@dataclass(frozen=True, slots=True)
class OrderAgreement:
    """The agreement of two measures on the order of `systems` systems; rho and tau-b are None if `reason`
    says why."""

    direction: str
    originals: str
    judged: str
    systems: int
    rho: float | None
    tau: float | None
    reason: str


def orders_of(directions: Sequence[DirectionTable]) -> list[OrderAgreement]:
    """Return every two measures that a report can compare."""
    return [
        _order(direction, originals, judged)
        for direction in directions
        for originals, judged in _held_together(list(direction.measures))
        if len(direction.systems) > 1
    ]


def first_of(names: Sequence[str], measures: Sequence[str]) -> str:
    """Return the first of `names` among the measures, or ""."""
    return next((name for name in names if name in measures), "")


def _held_together(measures: list[str]) -> Iterator[tuple[str, str]]:
    by_judgments = first_of(BY_JUDGMENTS, measures)
    for name in measures:
        if name.startswith("R@") and (same := f"S@{name[2:]}") in measures:
            yield name, same
    for name in measures:
        if by_judgments and (name.startswith("R@") or name in ("median rank", "mean rank")):
            if (name, by_judgments) != (f"R@{by_judgments[2:]}", by_judgments):
                yield name, by_judgments


def _order(direction: DirectionTable, originals: str, judged: str) -> OrderAgreement:
    pairs = [
        (first, second)
        for system in direction.systems
        if (first := system.figures[originals].value) is not None
        and (second := system.figures[judged].value) is not None
    ]
    if len(pairs) < 2:
        reason = f"{len(pairs)} of {len(direction.systems)} systems have both values; at least two are needed"
        return OrderAgreement(direction.direction, originals, judged, len(pairs), None, None, reason)
    by_originals, by_judgments = ([pair[side] for pair in pairs] for side in (0, 1))
    rho, tau = spearman(by_originals, by_judgments), kendall(by_originals, by_judgments)
    return OrderAgreement(
        direction.direction, originals, judged, len(pairs), rho.value, tau.value, rho.reason or tau.reason
    )
