"""Trust in the simulated crowd: control items, trust states, suspension, as in a campaign.

It is called between the driver and its workers. Before a worker gets a question, control items come first if
they are due; a worker whose rolling accuracy falls below the bar gets no more.

Source: Plummer et al. 2015, section 2.3; the numbers are those of `TrustSettings`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation.protocol.controls import PooledControl, choose_control, is_control_due
from annotation.protocol.gold import Gold, Truth, questions_about
from annotation.protocol.grading import is_right, stratum
from annotation.protocol.kinds import MEASURED_ON_CONTROLS, judged_by, kind_of
from annotation.protocol.questions import Judgment, Question
from annotation.protocol.trust import (
    TRUSTED,
    WARM_UP,
    BoxJudged,
    ControlGraded,
    Event,
    TaskAnswered,
    WorkerJoined,
    WorkerTrust,
    trust_after,
)
from annotation.protocol.trust_settings import GoldCoverage, TrustSettings, in_force
from annotation.simulation.workers import SimulatedWorker

#: The simulator admits everybody and relies on control items, so that their effect is visible.
NO_QUALIFICATION = TrustSettings(qualification=False)


@dataclass(frozen=True, slots=True)
class SimulatedControlItem:
    """A question with its truth: what a control item shows and is graded by."""

    control: PooledControl
    question: Question
    truth: Truth


def control_items_from_gold(golds: Iterable[Gold], *, seed: int) -> dict[str, list[SimulatedControlItem]]:
    """Return control items by question kind, from the gold of some images: all of their questions.

    Drawing has none: it is measured by the verdicts of Box Quality.
    """
    items: dict[str, list[SimulatedControlItem]] = defaultdict(list)
    for image, question, truth in questions_about(golds, seed=seed):
        if kind_of(question.kind).measured_on == MEASURED_ON_CONTROLS:
            known = PooledControl(
                f"{image} {question.key}", stratum(question.kind, truth.answer(question)[0])
            )
            items[question.kind].append(SimulatedControlItem(known, question, truth))
    return dict(items)


class Gate:
    """Trust states of all workers for all kinds of question.

    `items` are the control items by kind. A kind without any is not measured, and drawing is not without
    those of Box Quality. Tests have items of their own.
    """

    def __init__(
        self,
        items: dict[str, list[SimulatedControlItem]],
        *,
        seed: int,
        settings: TrustSettings = NO_QUALIFICATION,
    ) -> None:
        self.settings = settings
        self.seed = str(seed)
        self._items = {kind: {k.control.id: k for k in known} for kind, known in items.items()}
        self._pools = {kind: [k.control for k in known] for kind, known in items.items()}
        self._trust: dict[tuple[str, str], WorkerTrust] = {}
        self._seen: dict[tuple[str, str], set[str]] = defaultdict(set)

    def rules(self, kind: str) -> TrustSettings:
        """Return the settings in force for `kind`, given its control items."""
        measured = judged_by(kind) or kind
        return in_force(self.settings, GoldCoverage(True, bool(self._pools.get(measured))))

    def trust(self, worker: str, kind: str) -> WorkerTrust:
        """Return a worker's trust state for a kind of question; a new worker is admitted by this call."""
        trust = self._trust.get((worker, kind))
        if trust is None:
            trust = trust_after(WorkerTrust(kind), WorkerJoined(), self.rules(kind))
            self._trust[worker, kind] = trust
        return trust

    def admits(self, worker: str, kind: str) -> bool:
        """Whether the worker may get questions of this kind."""
        return self.trust(worker, kind).state in (WARM_UP, TRUSTED)

    def note(self, worker: str, kind: str, event: Event) -> None:
        """Update the worker's trust state by one event."""
        self._trust[worker, kind] = trust_after(self.trust(worker, kind), event, self.rules(kind))

    def tested(self, worker: SimulatedWorker, kind: str) -> int:
        """Ask the control items that are due before the worker's next item; return their number."""
        questions_answered = 0
        pool: Sequence[PooledControl] = self._pools.get(kind, ())
        seen = self._seen[worker.name, kind]
        while self.admits(worker.name, kind):
            trust = self.trust(worker.name, kind)
            number = trust.items + 1
            if not is_control_due(
                self.settings,
                seed=self.seed,
                worker=worker.name,
                kind=kind,
                state=trust.state,
                number=number,
            ):
                break
            control = choose_control(pool, seed=self.seed, worker=worker.name, kind=kind, seen=seen).control
            if control is None:
                break
            seen.add(control.id)
            item = self._items[kind][control.id]
            answer, _ = worker.answer(item.question, item.truth)
            right = is_right(kind, answer, item.truth.answer(item.question)[0], self.settings)
            self.note(worker.name, kind, ControlGraded(right))
            questions_answered += 1
        return questions_answered

    def done(self, judgment: Judgment, drawer: str | None) -> None:
        """Count an answered item; an answer on box quality is also a verdict on the drawer."""
        self.note(judgment.worker, judgment.question, TaskAnswered())
        judged = kind_of(judgment.question).judges
        if judged and drawer is not None and self._pools.get(judgment.question):
            self.note(drawer, judged, BoxJudged(judgment.answer == "good"))

    def suspended(self) -> dict[str, list[str]]:
        """Return suspended workers by kind of question, sorted."""
        suspended: dict[str, list[str]] = defaultdict(list)
        for (worker, kind), trust in sorted(self._trust.items()):
            if trust.state not in (WARM_UP, TRUSTED):
                suspended[kind].append(worker)
        return dict(suspended)
