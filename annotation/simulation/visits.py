"""A visit of a simulated worker: takes tasks, answers them, and misbehaves like real workers.

The client is the queue, in process or over HTTP. A visit takes one step at a time, so that the caller decides
how the visits of a crowd interleave. Answers are as in the driver; handling of a task (click twice, keep it
too long, return it) is random too, by worker and task.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from annotation.protocol.contents import question_from
from annotation.protocol.gold import Truth
from annotation.protocol.kinds import is_counted
from annotation.protocol.questions import FLAGS, QUESTIONS, Answer, Question
from annotation.protocol.rng import SeededRng
from annotation.simulation.judging import CrowdKnowledge
from annotation.simulation.kinds import SIMULATED
from annotation.simulation.workers import SimulatedWorker

#: Codes of the queue for workers who need a test.
_NEED_A_TEST = ("no_test", "test_failed")


@dataclass(frozen=True, slots=True)
class Conduct:
    """How workers treat their leases, as probabilities per task; all others are answered once and in time.

    `clicked_twice`: the answer is sent again under its token. `answered_twice`: and again under another one,
    as from a second tab. `answered_late`: the answer comes after the lease has expired. `returned`: returned
    without an answer. `flagged`: a flag instead of an answer.
    """

    clicked_twice: float = 0.0
    answered_twice: float = 0.0
    answered_late: float = 0.0
    returned: float = 0.0
    flagged: float = 0.0


ORDERLY = Conduct()
USUAL_CONDUCT = Conduct(clicked_twice=0.02, answered_twice=0.01, answered_late=0.01, returned=0.02)


@dataclass(frozen=True, slots=True)
class HandedTask:
    """A leased task. `image` is the key of the image; `expires` is in seconds of the visits' clock."""

    id: int
    kind: str
    image: str
    content: Mapping[str, Any]
    expires: float


@dataclass(frozen=True, slots=True)
class NoTaskReason:
    """Why there is no task: a code, and when to retry if the queue says so."""

    code: str
    again: float | None = None


@dataclass(frozen=True, slots=True)
class SubmitReceipt:
    """The response to an answer: whether it was a repetition, and the next task."""

    repeated: bool
    following: HandedTask | NoTaskReason | None


class TwiceAnswered(Exception):
    """A second answer to the same task was rejected."""


class TaskGone(Exception):
    """The task is no longer leased to this worker."""


class TaskClient(Protocol):
    """The client of one worker."""

    @property
    def lost(self) -> int:
        """Number of requests that had to be repeated."""
        ...

    def take(self, kind: str, holding: Sequence[int]) -> HandedTask | NoTaskReason:
        """Request a task of a kind, `holding` the ids of leased ones; otherwise return why there is none."""

    def submit(
        self,
        task: HandedTask,
        reply: Answer,
        *,
        token: str,
        seconds: float,
        holding: Sequence[int],
        more: bool,
    ) -> SubmitReceipt:
        """Submit an answer; with `more`, request the next task. Raises TwiceAnswered and TaskGone."""
        ...

    def counted(self, task: HandedTask) -> bool:
        """Whether a submitted answer counts, which workers do not learn: one to a control item always
        does."""
        ...

    def give_back(self, task: HandedTask) -> bool:
        """Return a task unanswered; False if it was no longer leased."""

    def begin_test(self, kind: str) -> bool:
        """Begin the test of the kind; False if there is none."""
        ...


@dataclass(slots=True)
class VisitTally:
    """Counts of the visits' acts; `amiss` are lines about unexpected events."""

    answered: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    refused_twice: int = 0
    late_counted: int = 0
    late_extra: int = 0
    returned: int = 0
    flagged: int = 0
    gone: int = 0
    left: int = 0
    lost: int = 0
    nothing: Counter[str] = field(default_factory=Counter)
    amiss: list[str] = field(default_factory=list)

    def add(self, tally: VisitTally) -> None:
        """Add the counts of other visits."""
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(tally, name)
            if isinstance(mine, Counter):
                mine.update(theirs)
            elif isinstance(mine, list):
                mine.extend(theirs)
            else:
                setattr(self, name, mine + theirs)

    def as_dict(self) -> dict[str, Any]:
        """The tally as plain data."""
        return {
            name: dict(value) if isinstance(value := getattr(self, name), Counter) else value
            for name in self.__slots__
        }


class SimulatedVisit:
    """One worker's visit. `truth` has the right answers about an image, `clock` seconds, `seed` the random
    seed; `known` the right answers of counted questions.

    `refused` is the time to retry after an unsuccessful step, if the queue said so.
    """

    def __init__(
        self,
        worker: SimulatedWorker,
        desk: TaskClient,
        truth: Callable[[str], Truth],
        *,
        conduct: Conduct = ORDERLY,
        kinds: Sequence[str] = QUESTIONS,
        clock: Callable[[], float],
        patience: float = 0.0,
        known: CrowdKnowledge | None = None,
    ) -> None:
        self.worker = worker
        self.desk = desk
        self.tally = VisitTally()
        self.in_hand: HandedTask | None = None
        self.late_tasks: list[HandedTask] = []
        self.left = False
        self.again: float | None = None
        self._truth = truth
        self._known = known
        self._conduct = conduct
        self._clock = clock
        self._patience = patience
        self._met: Counter[tuple[str, str, str]] = Counter()
        start = SeededRng(worker.seed, worker.name, "first kind").below(len(kinds))
        self._kinds = [*kinds[start:], *kinds[:start]]
        self._stays = worker.leaves_after()

    def account(self) -> VisitTally:
        """Return the counts so far."""
        self.tally.lost = self.desk.lost
        return self.tally

    @property
    def wakes(self) -> float | None:
        """Return when there is something to do again independent of others: a kept task has expired."""
        return min((task.expires for task in self.late_tasks), default=None)

    def step(self) -> bool:
        """Make one request; return whether there was anything to do."""
        if self.left:
            return False
        for task in self.late_tasks:
            if task.expires < self._clock():
                self.late_tasks.remove(task)
                self._hand_in(task, late=True)
                return True
        if self.in_hand is None:
            return self._look()
        task, self.in_hand = self.in_hand, None
        # A returned item of a test comes again, and must not be returned forever.
        content_key = (task.kind, task.image, _about(task.content))
        self._met[content_key] += 1
        chance = SeededRng(
            self.worker.seed, self.worker.name, *content_key, "conduct", self._met[content_key]
        )
        if chance.chance(self._conduct.returned):
            self.tally.returned += self.desk.give_back(task)
        elif chance.chance(self._conduct.answered_late) and task.expires - self._clock() <= self._patience:
            self.late_tasks.append(task)
        else:
            self._hand_in(task, chance=chance)
        return True

    def _look(self) -> bool:
        """Request something of each kind, beginning with the last one."""
        self.again = None
        for kind in list(self._kinds):
            holding = [task.id for task in self.late_tasks]
            answer = self.desk.take(kind, holding)
            if (
                isinstance(answer, NoTaskReason)
                and answer.code in _NEED_A_TEST
                and self.desk.begin_test(kind)
            ):
                answer = self.desk.take(kind, holding)
            if isinstance(answer, HandedTask):
                self._hold(answer)
                return True
            self._refuse(answer)
        return False

    def _hold(self, task: HandedTask) -> None:
        self.in_hand = task
        # A task that had expired, and is leased to them again, must not be submitted late as well.
        self.late_tasks = [reserved for reserved in self.late_tasks if reserved.id != task.id]
        self._kinds.remove(task.kind)
        self._kinds.insert(0, task.kind)

    def _refuse(self, reason: NoTaskReason) -> None:
        self.tally.nothing[reason.code] += 1
        if reason.again is not None:
            self.again = min(reason.again, self.again or reason.again)

    def _hand_in(self, task: HandedTask, *, chance: SeededRng | None = None, late: bool = False) -> None:
        """Answer `task`, more than once if `chance` decides so; leave for good after the last answer."""
        reply = self._reply(task, chance)
        last = self.tally.answered.total() + 1 >= self._stays
        # A leaving worker closes the window: every other one without returning what it shows.
        more = not last or SeededRng(self.worker.seed, self.worker.name, "closes").chance(0.5)
        lost = self.desk.lost
        try:
            taken = self._send(task, reply, "a", more=more and not late)
        except TaskGone:
            self.tally.gone += 1
            return
        except TwiceAnswered:
            self.tally.amiss.append(f"{self.worker.name}: first answer to {task.id} refused as a second")
            return
        self.tally.answered[task.kind] += 1
        self.tally.flagged += bool(reply.flag)
        if taken.repeated and self.desk.lost == lost:
            self.tally.amiss.append(f"{self.worker.name}: first answer to {task.id} taken as a repetition")
        if late:
            counted = self.desk.counted(task)
            self.tally.late_counted += counted
            self.tally.late_extra += not counted
        if isinstance(taken.following, HandedTask):
            self._hold(taken.following)
        elif isinstance(taken.following, NoTaskReason):
            self._refuse(taken.following)
        if chance is not None and chance.chance(self._conduct.clicked_twice):
            self._click_again(task, reply)
        if chance is not None and chance.chance(self._conduct.answered_twice):
            self._answer_again(task, reply)
        if last:
            self.left, self.in_hand, self.late_tasks = True, None, []
            self.tally.left += 1

    def _send(self, task: HandedTask, reply: Answer, token: str, *, more: bool) -> SubmitReceipt:
        holding = [
            task_held.id for task_held in (*self.late_tasks, *([self.in_hand] if self.in_hand else []))
        ]
        seconds = SIMULATED.get(task.kind).seconds
        return self.desk.submit(
            task, reply, token=f"{task.id}-{token}", seconds=seconds, holding=holding, more=more
        )

    def _click_again(self, task: HandedTask, reply: Answer) -> None:
        try:
            repeated = self._send(task, reply, "a", more=False).repeated
        except (TaskGone, TwiceAnswered) as error:
            repeated = False
            self.tally.amiss.append(f"{self.worker.name}: {task.id} sent twice raised {error!r}")
        self.tally.repeated += repeated

    def _answer_again(self, task: HandedTask, reply: Answer) -> None:
        try:
            self._send(task, reply, "b", more=False)
        except (TaskGone, TwiceAnswered):
            self.tally.refused_twice += 1
        else:
            self.tally.amiss.append(f"{self.worker.name}: {task.id} was answered under two tokens")

    def _reply(self, task: HandedTask, chance: SeededRng | None) -> Answer:
        if chance is not None and chance.chance(self._conduct.flagged):
            return Answer(flag=chance.choice(FLAGS))
        if is_counted(task.kind) and self._known is not None:
            return self.worker.judge(task.kind, task.image, task.content, self._known)
        question = displayed_question(task.kind, task.content)
        answer, box = self.worker.answer(question, self._truth(task.image))
        return Answer(answer, box)


def displayed_question(kind: str, content: Mapping[str, Any]) -> Question:
    """Return the question of a chain's task, as workers see it: they do not know its key, so their answer
    depends on what is shown."""
    return question_from(kind, f"{kind}|{_about(content)}", content)


def _about(content: Mapping[str, Any]) -> str:
    """Return what a task shows, as words for random draws."""
    return json.dumps(content, sort_keys=True)
