"""The queue as a client for simulated workers, in this process."""

from collections.abc import Sequence

from annotation.models import Campaign, Judgment
from annotation.protocol.kinds import is_counted
from annotation.protocol.questions import EXTRA, Answer
from annotation.quality import qualification
from annotation.queue import image_state, leases, submission
from annotation.queue.leases import Lease, NoTask
from annotation.simulation.visits import HandedTask, NoTaskReason, SubmitReceipt, TaskGone, TwiceAnswered
from annotation.simulation_driver.truths import Truths
from annotation.task_types.base import TASK_TYPES


def begin_test(campaign: Campaign, worker: int, kind: str) -> bool:
    """Begin the worker's test of a kind, or continue it; False if there is none."""
    return isinstance(
        qualification.begin_qualification(worker=worker, campaign=campaign, kind=kind),
        qualification.QualificationTest,
    )


def counted(assignment: int) -> bool:
    """Return whether a submitted answer is one of its question's, or on a control item."""
    judgment = Judgment.objects.select_related("image").get(assignment=assignment)
    if judgment.image is None:
        return True
    return judgment.role != EXTRA and judgment.name not in image_state.state_of(judgment.image).superseded


class QueueTaskClient:
    """The client of one worker (a row's id) in one campaign."""

    lost = 0  # Within a process, nothing is lost.

    def __init__(self, campaign: Campaign, worker: int, truths: Truths) -> None:
        self._campaign = campaign
        self._worker = worker
        self._truths = truths

    def take(self, kind: str, holding: Sequence[int]) -> HandedTask | NoTaskReason:
        """See `TaskClient.take`; from the queue."""
        lease = leases.take_lease(worker=self._worker, campaign=self._campaign, kind=kind, holding=holding)
        return self._handed(lease)

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
        """See `TaskClient.submit`; to the queue."""
        try:
            receipt = submission.submit(
                worker=self._worker,
                assignment=task.id,
                answer=reply,
                token=token,
                seconds=seconds,
                holding=holding,
                then=more,
            )
        except submission.Conflict as error:
            raise TwiceAnswered from error
        except submission.NotYours as error:
            raise TaskGone from error
        following = None if receipt.next is None else self._handed(receipt.next)
        return SubmitReceipt(receipt.repeated, following)

    def counted(self, task: HandedTask) -> bool:
        """See `TaskClient.counted`."""
        return counted(task.id)

    def give_back(self, task: HandedTask) -> bool:
        """See `TaskClient.give_back`."""
        return leases.return_lease(worker=self._worker, assignment=task.id)

    def begin_test(self, kind: str) -> bool:
        """See `TaskClient.begin_test`."""
        return begin_test(self._campaign, self._worker, kind)

    def _handed(self, lease: Lease | NoTask) -> HandedTask | NoTaskReason:
        if isinstance(lease, NoTask):
            return NoTaskReason(lease.code, lease.again_at.timestamp() if lease.again_at else None)
        image = self._truths.key(lease.image)
        content = lease.content
        if is_counted(lease.kind):
            # As in the API: texts, by which a crowd knows the right answer.
            content = TASK_TYPES.get(lease.kind).api_content(content, lambda image: image.key)
        return HandedTask(lease.id, lease.kind, image, content, lease.expires_at.timestamp())
