"""The numbers of the crowd rules, where each is from, and on what a worker's accuracy is measured.

Source: Plummer et al. 2015, section 2.3 (500 tasks at 95 %, a test per question, the first 30
items, boxes that pass Box Quality, 2 % verification questions); Hodosh et al. 2013, section
4.3.2 (70 % of control items). Every other number is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple, TypeVar

from annotation.protocol.kinds import kind_of

T = TypeVar("T")


class Known(NamedTuple):
    """What a campaign knows the answers to, of one kind of question.

    `test`: there are items for its qualification test. `accuracy`: there is something by which a worker's
    accuracy is measured (`kinds.Kind.measured_on`).
    """

    test: bool
    accuracy: bool


def _from(default: T, source: str) -> T:
    """A field that carries where its default comes from, for the campaign page."""
    return field(default=default, metadata={"source": source})


_PLUMMER = "Plummer et al. 2015, section 2.3"
_HODOSH = "Hodosh et al. 2013, section 4.3.2"
_DECIDED = "decided"
_DRAWING = "decided: other workers' verdicts err, and there is one for each box (docs/trust.md)"


@dataclass(frozen=True, slots=True)
class TrustSettings:
    """Every number of the crowd rules; `metadata["source"]` of a field says where it is from.

    Shares, bars and `drawing_iou` are in 0..1; the rest are counts. Raises ValueError on a
    number that would make a rule void, naming the field.
    """

    entry_tasks: int = _from(500, _PLUMMER)
    entry_approved: float = _from(0.95, _PLUMMER)
    qualification: bool = _from(True, _PLUMMER)
    probation_items: int = _from(30, _PLUMMER)
    probation_known: int = _from(12, _DECIDED)
    verdict_known: int = _from(12, _DECIDED)
    bar: float = _from(0.8, _DECIDED)
    relevance_bar: float = _from(0.7, _HODOSH)
    window: int = _from(20, _DECIDED)
    drawing_bar: float = _from(0.7, _DRAWING)
    drawing_known: int = _from(30, _PLUMMER)
    drawing_window: int = _from(100, _DRAWING)
    drawing_unjudged: int = _from(
        12, "decided: boxes drawn faster than others judge them stay unchecked; 0: no limit"
    )
    drawing_wait_minutes: int = _from(60, "decided: nobody waits for ever for boxes that nobody checks")
    control_share: float = _from(0.02, _PLUMMER)
    double_check_share: float = _from(0.05, _DECIDED)
    unchecked_double_check_share: float = _from(
        0.2, "decided: without gold answers, nothing else shows how good answers are"
    )
    drawing_iou: float = _from(0.5, "decided: section 3 of Plummer et al. 2015 counts a phrase found at 0.5")
    page_slips: int = _from(1, _DECIDED)
    grade_slip: int = _from(1, "decided: single experts of Hodosh et al. 2013 agree within one grade")

    def __post_init__(self) -> None:
        for name in (
            "entry_approved",
            "bar",
            "relevance_bar",
            "drawing_bar",
            "control_share",
            "double_check_share",
            "unchecked_double_check_share",
            "drawing_iou",
        ):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}: expected a share, 0 to 1")
        for name in ("entry_tasks", "page_slips", "grade_slip", "drawing_unjudged", "drawing_wait_minutes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}: expected 0 or more")
        for name, window in (("verdict_known", self.window), ("drawing_known", self.drawing_window)):
            if not 1 <= getattr(self, name) <= window:
                raise ValueError(
                    f"{name} is {getattr(self, name)}: expected 1 to {window}, the window judged"
                )
        if not 1 <= self.probation_known <= self.probation_items:
            raise ValueError(
                f"probation_known is {self.probation_known}: expected 1 to {self.probation_items}, "
                "the items of the probation"
            )

    def bar_of(self, kind: str) -> float:
        """The least share of checked answers that must be right at `kind`."""
        return float(getattr(self, kind_of(kind).bar))

    def verdict_of(self, kind: str) -> int:
        """How many checked answers of `kind` there must be before a worker is trusted."""
        return int(getattr(self, kind_of(kind).verdict))

    def window_of(self, kind: str) -> int:
        """How many of the last checked answers of `kind` are looked at."""
        return int(getattr(self, kind_of(kind).window))

    def suspends(self, kind: str, last: Sequence[bool]) -> bool:
        """Whether the `last` checked answers, a window at most, put a worker below the bar of `kind`.

        From `verdict_known` answers on, and while they are few only if they stay below whatever
        follows: of 20 (drawing: 30) they could not reach the bar any more. To a careful worker,
        three of the first twelve go wrong in one case of 200, and there are six kinds.
        """
        if len(last) < min(self.verdict_known, self.verdict_of(kind)):
            return False
        over = max(len(last), int(getattr(self, kind_of(kind).over)))
        return (over - (len(last) - sum(last))) / over < self.bar_of(kind)


@lru_cache(maxsize=256)
def in_force(settings: TrustSettings, known: Known) -> TrustSettings:
    """`settings` as they come out for a kind of which so much is known.

    Without items for a test there is none: practice is all the entry. Without a measured accuracy no
    drawer waits for verdicts, and more tasks are asked twice, unless double checks are switched off (0).
    """
    if not known.test and settings.qualification:
        settings = replace(settings, qualification=False)
    if not known.accuracy:
        share = settings.double_check_share
        raised = max(share, settings.unchecked_double_check_share) if share else share
        settings = replace(settings, drawing_unjudged=0, double_check_share=raised)
    return settings


def practice_is_entry(kind: str, settings: TrustSettings, known: Known) -> bool:
    """Whether practice stands for the test of `kind`: the settings ask for one, and it has no items."""
    return bool(kinds_tested((kind,), settings)) and not known.test


def kinds_tested(kinds: Iterable[str], settings: TrustSettings) -> tuple[str, ...]:
    """Those of `kinds` that begin with a test, where there are items for one."""
    return tuple(kind for kind in kinds if kind_of(kind).tested) if settings.qualification else ()
