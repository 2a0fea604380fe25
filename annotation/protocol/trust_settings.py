"""The numbers of the crowd rules, their sources, and the basis of a worker's accuracy.

Source: Plummer et al. 2015, section 2.3 (500 tasks at 95 %, a test per question, the first 30 items, boxes
that pass Box Quality, 2 % verification questions); Hodosh et al. 2013, section 4.3.2 (70 % of control items).
All other numbers are our choices.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, NamedTuple, TypeVar

from pydantic import Field

from annotation.protocol.countries import COUNTRIES
from annotation.protocol.kinds import kind_of
from annotation.protocol.setting_types import Fraction, WholeFromOne, WholeNumber
from annotation.protocol.words import gettext_noop as _
from models_core.checked_fields import BadField, check_fields

_T = TypeVar("_T")


class GoldCoverage(NamedTuple):
    """Gold answers of a campaign for one kind of question.

    `test`: there are items for its qualification test. `accuracy`: a worker's accuracy can be measured
    (`kinds.Kind.measured_on`).
    """

    test: bool
    accuracy: bool


def _from(default: _T, source: str) -> _T:
    """Return a field with the source of its default, for the campaign page."""
    return field(default=default, metadata={"source": source})


_PLUMMER = "Plummer et al. 2015, section 2.3"
_HODOSH = "Hodosh et al. 2013, section 4.3.2"
_DECIDED = "decided"
_DRAWING = "decided: other workers' verdicts err, and there is one for each box (docs/trust.md)"


@dataclass(frozen=True, slots=True)
class TrustSettings:
    """All numbers of the crowd rules; `metadata["source"]` of a field is its source.

    Raises BadField (a ValueError) for an invalid value of a field, ValueError for a number that would disable
    a rule; both name the field.
    """

    entry_tasks: Annotated[
        WholeNumber,
        Field(description=_("Tasks that a worker must have finished on their platform, where it is known")),
    ] = _from(500, _PLUMMER)
    entry_approved: Annotated[
        Fraction,
        Field(description=_("Share of those tasks that must have been approved, where it is known")),
    ] = _from(0.95, _PLUMMER)
    entry_countries: Annotated[
        tuple[str, ...],
        Field(
            max_length=len(COUNTRIES),
            description=_("Countries that workers must be from, as codes such as US; none: any"),
        ),
    ] = _from((), "decided; Plummer et al. 2015, section 2.3: people in the United States")
    qualification: Annotated[
        bool,
        Field(
            description=_("Whether work on a kind of question begins with a test, where it has test items")
        ),
    ] = _from(True, _PLUMMER)
    warm_up_items: Annotated[
        WholeFromOne, Field(description=_("Items that a worker answers before the warm-up can end"))
    ] = _from(30, _PLUMMER)
    warm_up_known: Annotated[
        WholeFromOne, Field(description=_("Control items among the items of the warm-up"))
    ] = _from(12, _DECIDED)
    verdict_known: Annotated[
        WholeFromOne,
        Field(description=_("Checked answers that there must be before a worker is trusted or suspended")),
    ] = _from(12, _DECIDED)
    bar: Annotated[Fraction, Field(description=_("Share of the last checked answers that must be right"))] = (
        _from(0.8, _DECIDED)
    )
    relevance_bar: Annotated[Fraction, Field(description=_("The same share, for pages of captions"))] = _from(
        0.7, _HODOSH
    )
    window: Annotated[
        WholeFromOne, Field(description=_("How many of the last checked answers are looked at"))
    ] = _from(20, _DECIDED)
    drawing_bar: Annotated[
        Fraction, Field(description=_("Share of the last checked boxes that must be good"))
    ] = _from(0.7, _DRAWING)
    drawing_known: Annotated[
        WholeFromOne, Field(description=_("Checked boxes that there must be before a worker is trusted"))
    ] = _from(30, _PLUMMER)
    drawing_window: Annotated[
        WholeFromOne, Field(description=_("How many of the last checked boxes are looked at"))
    ] = _from(100, _DRAWING)
    drawing_unjudged: Annotated[
        WholeNumber, Field(description=_("Unchecked boxes at which a worker in the warm-up waits; 0: never"))
    ] = _from(12, "decided: boxes drawn faster than others judge them stay unchecked; 0: no limit")
    drawing_wait_minutes: Annotated[
        WholeNumber,
        Field(description=_("Minutes after which an unchecked box does not make its worker wait any longer")),
    ] = _from(60, "decided: nobody waits for ever for boxes that nobody checks")
    control_share: Annotated[
        Fraction, Field(description=_("Share of control items among the tasks of a trusted worker"))
    ] = _from(0.02, _PLUMMER)
    double_check_share: Annotated[
        Fraction,
        Field(
            description=_(
                "Share of the questions that a second worker is asked whatever the first one answers; 0: none"
            )
        ),
    ] = _from(0.05, _DECIDED)
    unchecked_double_check_share: Annotated[
        Fraction, Field(description=_("The same share, where accuracy is not measured"))
    ] = _from(0.2, "decided: without gold answers, nothing else shows how good answers are")
    drawing_iou: Annotated[
        Fraction, Field(description=_("Overlap (IoU) with the correct box from which a drawn box is right"))
    ] = _from(0.5, "decided: section 3 of Plummer et al. 2015 counts a phrase found at 0.5")
    page_slips: Annotated[
        WholeNumber, Field(description=_("Captions of a control image that may be answered wrongly"))
    ] = _from(1, _DECIDED)
    grade_slip: Annotated[
        WholeNumber, Field(description=_("Grades by which an answer to a control item may be off"))
    ] = _from(1, "decided: single experts of Hodosh et al. 2013 agree within one grade")

    def __post_init__(self) -> None:
        check_fields(self)
        if unknown := sorted(set(self.entry_countries) - COUNTRIES):
            raise BadField("entry_countries", unknown[0], "codes of ISO 3166 with two letters, such as US")
        for name, window in (("verdict_known", self.window), ("drawing_known", self.drawing_window)):
            if getattr(self, name) > window:
                raise ValueError(
                    f"{name} is {getattr(self, name)}: expected 1 to {window}, the window judged"
                )
        if self.warm_up_known > self.warm_up_items:
            raise ValueError(
                f"warm_up_known is {self.warm_up_known}: expected 1 to {self.warm_up_items}, "
                "the items of the warm-up"
            )

    def bar_of(self, kind: str) -> float:
        """Return the minimum share of right answers among the checked ones of `kind`."""
        return float(getattr(self, kind_of(kind).bar))

    def verdict_of(self, kind: str) -> int:
        """Return the number of checked answers of `kind` before a worker is trusted."""
        return int(getattr(self, kind_of(kind).verdict))

    def window_of(self, kind: str) -> int:
        """Return how many of the last checked answers of `kind` are considered."""
        return int(getattr(self, kind_of(kind).window))

    def suspends(self, kind: str, last: Sequence[bool]) -> bool:
        """Whether the `last` checked answers, a window at most, put a worker below the bar of `kind`.

        From `verdict_known` answers on. While they are few, only if nothing that follows can reach the bar:
        of 20 answers (drawing: 30). A careful worker has three errors in the first twelve in one case of 200,
        and there are six kinds.
        """
        if len(last) < min(self.verdict_known, self.verdict_of(kind)):
            return False
        over = max(len(last), int(getattr(self, kind_of(kind).over)))
        return (over - (len(last) - sum(last))) / over < self.bar_of(kind)


@lru_cache(maxsize=256)
def in_force(settings: TrustSettings, known: GoldCoverage) -> TrustSettings:
    """Return `settings` as they apply to a kind with this gold coverage.

    Without items there is no test: practice is the only entry. Without a measured accuracy no drawer waits
    for verdicts, and more questions have a double check, unless these are switched off (0).
    """
    if not known.test and settings.qualification:
        settings = replace(settings, qualification=False)
    if not known.accuracy:
        share = settings.double_check_share
        raised = max(share, settings.unchecked_double_check_share) if share else share
        settings = replace(settings, drawing_unjudged=0, double_check_share=raised)
    return settings


def practice_is_entry(kind: str, settings: TrustSettings, known: GoldCoverage) -> bool:
    """Whether practice replaces the test of `kind`: the settings require one, and it has no items."""
    return bool(kinds_tested((kind,), settings)) and not known.test


def kinds_tested(kinds: Iterable[str], settings: TrustSettings) -> tuple[str, ...]:
    """Return those of `kinds` that begin with a test, if there are items for one."""
    return tuple(kind for kind in kinds if kind_of(kind).tested) if settings.qualification else ()
