"""A simulated visit at a desk, with tasks that expire during it."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.protocol.contents import question_content
from annotation.protocol.image import Fold
from annotation.protocol.questions import Answer
from annotation.simulation.visits import Conduct, HandedTask, NoTaskReason, SimulatedVisit, SubmitReceipt
from annotation.simulation.workers import make_crowd
from tests.simulation.build import world

MENTIONS, TRUTH, _ = next(world(1))
QUESTION = Fold(MENTIONS)(()).questions[0]


class OneTask:
    """A desk with one task, which is assigned again when its ten seconds are over; it has a clock."""

    lost = 0

    def __init__(self) -> None:
        self.now = 0.0
        self.expires = 0.0
        self.answers: list[str] = []

    def take(self, kind: str, holding: Sequence[int]) -> HandedTask | NoTaskReason:
        if kind != QUESTION.kind or self.answers or self.now < self.expires:
            return NoTaskReason("none_open")
        self.expires = self.now + 10
        return HandedTask(1, kind, "0", question_content(QUESTION), self.expires)

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
        self.answers.append(token)
        return SubmitReceipt(len(self.answers) > 1, None)

    def counted(self, task: HandedTask) -> bool:
        return True

    def give_back(self, task: HandedTask) -> bool:
        return True

    def begin_test(self, kind: str) -> bool:
        return False


def test_a_task_that_ran_out_and_came_back_is_answered_once():
    desk = OneTask()
    visit = SimulatedVisit(
        make_crowd({"perfect": 1}, seed=1)[0],
        desk,
        lambda image: TRUTH,
        conduct=Conduct(answered_late=1.0),
        clock=lambda: desk.now,
        patience=60,
    )
    assert visit.step() and visit.step()
    assert [task.id for task in visit.late_tasks] == [1] and not visit.step()
    desk.now = 10.0
    assert visit.step() and visit.step()
    desk.now = 21.0
    assert visit.step() and not visit.step()
    assert desk.answers == ["1-a"] and visit.account().amiss == []
