"""Trust in workers: entry, test, warm-up, rolling accuracy, suspension.

A worker has one `WorkerTrust` per question kind. `trust_after` applies one event; it is the only rule that
changes a trust state, so a trust state is the fold of its events. Only rolling accuracy over checked answers
suspends a worker.

Source: Plummer et al. 2015, section 2.3; Hodosh et al. 2013, section 4.3.2. The numbers and their sources are
in `trust_settings`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from annotation.protocol.kinds import (
    MEASURED_ON_CONTROLS,
    MEASURED_ON_NOTHING,
    MEASURED_ON_VERDICTS,
    draws,
    kind_of,
)
from annotation.protocol.trust_settings import GoldCoverage, TrustSettings
from annotation.protocol.words import gettext as _

QUALIFICATION = "qualification"
WARM_UP = "warm_up"
TRUSTED = "trusted"
SUSPENDED = "suspended"
TRUST_STATES = (QUALIFICATION, WARM_UP, TRUSTED, SUSPENDED)
#: The state shown for a worker of a kind whose answers cannot be checked (`trust_reading`).
UNCHECKED = "unchecked"
READINGS = (QUALIFICATION, UNCHECKED, WARM_UP, TRUSTED, SUSPENDED)


@dataclass(frozen=True, slots=True)
class WorkerJoined:
    """A worker joined; the reputation that their platform reports, or None."""

    tasks: int | None = None
    approved: float | None = None


@dataclass(frozen=True, slots=True)
class QualificationTaken:
    """A qualification test was submitted: `right` of `items` answers."""

    right: int
    items: int

    def __post_init__(self) -> None:
        if self.items < 1 or not 0 <= self.right <= self.items:
            raise ValueError(
                f"a test with {self.right} right of {self.items} is none: expected 0 <= right <= items"
            )


@dataclass(frozen=True, slots=True)
class TaskAnswered:
    """A task was answered that is no control item."""


@dataclass(frozen=True, slots=True)
class ControlGraded:
    """A control item was answered: it counts as an item and as a checked answer."""

    right: bool


@dataclass(frozen=True, slots=True)
class BoxJudged:
    """Box Quality settled on a box drawn earlier: a checked answer, whose item counted when it was drawn."""

    good: bool


Event = WorkerJoined | QualificationTaken | TaskAnswered | ControlGraded | BoxJudged


class InvalidEvent(ValueError):
    """An event that is invalid in this trust state; the message names kind, state and event."""

    def __init__(self, trust: WorkerTrust, event: Event, because: str) -> None:
        name = type(event).__name__
        super().__init__(f"{name} cannot happen to a worker in {trust.state} for {trust.kind}: {because}")


@dataclass(frozen=True, slots=True)
class WorkerTrust:
    """One worker's trust for one question kind.

    `items` counts all answers, including control items. `known` and `right` count all checked answers; `last`
    has the newest of them (True: right), oldest first, at most their window. `entered` is the newest
    reputation, `examined` the first passed test or else the newest failed one.
    """

    kind: str
    state: str = QUALIFICATION
    entered: WorkerJoined | None = None
    examined: QualificationTaken | None = None
    items: int = 0
    known: int = 0
    right: int = 0
    last: tuple[bool, ...] = ()

    @property
    def accuracy(self) -> float | None:
        """Share of right answers among the last checked ones, or None before the first."""
        return sum(self.last) / len(self.last) if self.last else None


def trust_after(trust: WorkerTrust, event: Event, settings: TrustSettings) -> WorkerTrust:
    """Return the trust state after `event`. Raises InvalidEvent for an invalid event.

    A suspended worker's leased items and boxes under judgment still count, but nothing leads out of
    suspension: a second chance requires a new trust state. If relaxed settings leave no requirement, the next
    event admits.
    """
    if isinstance(event, WorkerJoined):
        return _admitted(replace(trust, entered=event), settings)
    if isinstance(event, QualificationTaken):
        if trust.state != QUALIFICATION:
            raise InvalidEvent(trust, event, "the test is behind them")
        passed = trust.examined is not None and _passed(trust.examined, trust.kind, settings)
        return trust if passed else _admitted(replace(trust, examined=event), settings)
    trust = _admitted(trust, settings)
    if trust.state == QUALIFICATION:
        raise InvalidEvent(trust, event, "nobody works before they are admitted")
    if isinstance(event, TaskAnswered):
        return _judge(replace(trust, items=trust.items + 1), settings)
    source = MEASURED_ON_CONTROLS if isinstance(event, ControlGraded) else MEASURED_ON_VERDICTS
    if (measured_on := kind_of(trust.kind).measured_on) != source:
        raise InvalidEvent(trust, event, f"its accuracy is measured on {measured_on}")
    right = event.right if isinstance(event, ControlGraded) else event.good
    return _judge(
        replace(
            trust,
            items=trust.items + isinstance(event, ControlGraded),
            known=trust.known + 1,
            right=trust.right + right,
            last=(*trust.last, right)[-settings.window_of(trust.kind) :],
        ),
        settings,
    )


def trust_after_or_same(trust: WorkerTrust, event: Event, settings: TrustSettings) -> WorkerTrust:
    """Like `trust_after`, but ignores an event that comes too late: items that a worker had leased when a
    researcher reset their trust state do not change it."""
    try:
        return trust_after(trust, event, settings)
    except InvalidEvent:
        return trust


def trust_reading(
    kind: str, state: str, known: GoldCoverage, *, examined: bool, is_model: bool = False
) -> str:
    """Return the displayed trust state of `kind` for `state`, given its gold coverage: `state`, or UNCHECKED.

    UNCHECKED is a worker who would be in warm-up, but without gold answers that could end it; and a worker
    who writes without a test (`examined`). It is no state of its own: as soon as there are control items, the
    same trust state is a warm-up, in which earlier items count as done. Boxes of a model annotator
    (`is_model`) are measured by people's verdicts in any case.
    """
    if is_model and draws(kind):
        return state
    if state == WARM_UP and not known.accuracy:
        return UNCHECKED
    if state == TRUSTED and kind_of(kind).measured_on == MEASURED_ON_NOTHING and not examined:
        return UNCHECKED
    return state


def replay(kind: str, events: Iterable[Event], settings: TrustSettings) -> WorkerTrust:
    """Return the trust state for `kind` after all of `events`, from the beginning."""
    trust = WorkerTrust(kind)
    for event in events:
        trust = trust_after(trust, event, settings)
    return trust


def _passed(test: QualificationTaken, kind: str, settings: TrustSettings) -> bool:
    return test.right / test.items >= settings.bar_of(kind)


def _admitted(trust: WorkerTrust, settings: TrustSettings) -> WorkerTrust:
    """Leave qualification if all requirements are met."""
    if trust.state != QUALIFICATION or why_not(trust, settings) is not None:
        return trust
    return admitted(trust)


def admitted(trust: WorkerTrust) -> WorkerTrust:
    """Return the trust state of an admitted worker; a kind without checks needs no warm-up."""
    return replace(
        trust, state=TRUSTED if kind_of(trust.kind).measured_on == MEASURED_ON_NOTHING else WARM_UP
    )


def _judge(trust: WorkerTrust, settings: TrustSettings) -> WorkerTrust:
    """Suspend below the bar, trust at the end of warm-up; neither on too few checked answers.

    In between, below the bar but not clearly, a worker is in warm-up, and gets control items at its rate
    until it is clear: once the window is full nobody is in between.
    """
    if trust.state == SUSPENDED or trust.accuracy is None:
        return trust
    if settings.suspends(trust.kind, trust.last):
        return replace(trust, state=SUSPENDED)
    if trust.accuracy < settings.bar_of(trust.kind):
        return replace(trust, state=WARM_UP)
    done = trust.items >= settings.warm_up_items
    if done and trust.known >= settings.verdict_of(trust.kind):
        return replace(trust, state=TRUSTED)
    return trust


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a worker may not work on a kind now: a code for programs, one sentence for the worker."""

    code: str
    text: str


def why_not(trust: WorkerTrust, settings: TrustSettings) -> Refusal | None:
    """Return what prevents this worker from working on the kind, with the next step; None if nothing does."""
    if trust.state in (WARM_UP, TRUSTED):
        return None
    if trust.state == SUSPENDED:
        # Later checked answers may have raised the accuracy again; the sentence must not contradict itself.
        bar = _percent(settings.bar_of(trust.kind))
        return Refusal(
            "suspended",
            _(
                "Fewer than %(bar)s of your checked answers were right, so this task is suspended for you: "
                "choose another task, or ask the researcher to look at your answers."
            )
            % {"bar": bar},
        )
    entered = trust.entered
    if entered is None:
        return Refusal(
            "not_entered", _("You have not joined this task yet: join it from your list of tasks.")
        )
    if entered.tasks is not None and entered.tasks < settings.entry_tasks:
        return Refusal(
            "too_few_tasks",
            _(
                "This task needs %(needed)d finished tasks on your platform and you have %(done)d: come back "
                "when you have %(needed)d."
            )
            % {"needed": settings.entry_tasks, "done": entered.tasks},
        )
    if entered.approved is not None and entered.approved < settings.entry_approved:
        return Refusal(
            "too_few_approved",
            _(
                "This task needs an approval rate of %(needed)s on your platform, and yours is %(approved)s: "
                "come back when more of your work is approved."
            )
            % {"needed": _percent(settings.entry_approved), "approved": _percent(entered.approved)},
        )
    if not settings.qualification or not kind_of(trust.kind).tested:
        return None
    if trust.examined is None:
        return Refusal(
            "no_test", _("This task begins with a short test, which you have not taken yet: take the test.")
        )
    if not _passed(trust.examined, trust.kind, settings):
        right, answered = trust.examined.right, trust.examined.items
        needed = next(n for n in range(answered + 1) if n / answered >= settings.bar_of(trust.kind))
        return Refusal(
            "test_failed",
            _(
                "You had %(right)d of %(asked)d right in the test and %(needed)d are needed: read the "
                "instructions again, then retake the test."
            )
            % {"right": right, "asked": answered, "needed": needed},
        )
    return None


def is_drawer_watched(trust: WorkerTrust, settings: TrustSettings) -> bool:
    """Whether others must judge this drawer's boxes before they draw many more.

    Other questions are checked as they are answered; a drawer could draw a hundred boxes before anybody has
    judged one.
    """
    return draws(trust.kind) and trust.state == WARM_UP and settings.drawing_unjudged > 0


def refuse_drawing_ahead(trust: WorkerTrust, unjudged: int, settings: TrustSettings) -> Refusal | None:
    """Return what prevents a drawer from drawing while `unjudged` of their boxes wait for a verdict, or None.

    Do not count boxes that have waited for longer than `drawing_wait_minutes`.
    """
    if not is_drawer_watched(trust, settings) or unjudged < settings.drawing_unjudged:
        return None
    return Refusal(
        "unjudged",
        _(
            "Others still have to check %(boxes)d of your boxes: choose another task, and continue drawing "
            "once they have, or in %(minutes)d min at the latest."
        )
        % {"boxes": unjudged, "minutes": settings.drawing_wait_minutes},
    )


def _percent(share: float) -> str:
    return f"{100 * share:.6g} %"
