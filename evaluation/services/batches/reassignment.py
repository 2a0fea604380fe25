"""Discarding judges whose answers do not count, so that their pages are asked again: its cost, and doing it.

A judge below the bar or suspended leaves pairs short of their number of answers. Discarding the judge
withdraws these answers and frees their places for others; nobody is asked the same page twice. Asking again
costs as much as before. A repeated call has nobody left to discard, so a job that died can go on.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, Named, OperationContext
from annotation.moderation import worker_status
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import kinds_of_tasks
from annotation.selectors.campaign.cost import money
from annotation.selectors.pair_judgments import Judge, seconds_an_answer
from evaluation.models import Batch
from evaluation.pair_tasks import pair_tasks
from evaluation.services.batches.collecting import batch_named, judges_of
from evaluation.services.batches.stored_answers import BatchError
from evaluation.services.phases import ProgressCallback, silent
from evaluation.services.stored_kinds import BATCHES

#: The state of a campaign that opens no more tasks.
CLOSED_MESSAGE = "closed"


@dataclass(frozen=True, slots=True)
class Reassignment:
    """The judges to discard, and the cost of asking their `answers` (to pages, or graded pairs) again.

    `judges` maps each to the reason why they do not count; the cost is `micros`, millionths of the campaign's
    currency.
    """

    batch: str
    judges: dict[str, str]
    answers: int
    seconds: float
    micros: int
    price: str
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignRequest:
    """The answers of judges who are suspended, or below the bar on control items, are withdrawn; they stay
    stored and paid, and other judges are asked."""

    batch: Annotated[str, Named(BATCHES), Help(_("Batch"))]


def reassignment_plan(request: ReassignRequest, context: OperationContext) -> Reassignment:
    """Return whom reassigning would discard, and its cost; writes nothing."""
    return plan_reassignment(batch_named(request.batch))


def reassign_pages(request: ReassignRequest, context: OperationContext) -> Reassignment:
    """Reassign pages as an operation; see `reassign_answers`."""
    return reassign_answers(request.batch, actor=context.actor, report_progress=context.report_progress)


def plan_reassignment(batch: Batch, judges: dict[str, Judge] | None = None) -> Reassignment:
    """Return the cost of reassigning a batch's excluded answers; writes nothing."""
    people = judges_of(batch) if judges is None else judges
    unused = {name: judge for name, judge in people.items() if judge.unused and judge.answers}
    answers = sum(judge.answers for judge in unused.values())
    campaign = batch.campaign
    pay = settings_of(campaign.settings).pay
    seconds_each = seconds_an_answer(campaign) or pair_tasks(campaign.tasks).seconds
    micros = answers * pay.amount(kinds_of_tasks(campaign.tasks)[0], seconds_each)
    return Reassignment(
        batch=batch.name,
        judges={name: judge.unused for name, judge in unused.items()},
        answers=answers,
        seconds=answers * seconds_each,
        micros=micros,
        price=money(micros, pay.currency),
    )


def reassign_answers(
    name: str, *, actor: Any = None, report_progress: ProgressCallback = silent
) -> Reassignment:
    """Discard the judges of a batch whose answers do not count, so that others are asked; return the result.

    `actor` is the account that requests it. An exception of `report_progress` stops it between two images,
    and the next call does the rest. Raises BatchError for an unknown batch and for one whose campaign is
    closed, since nobody can be asked again.
    """
    batch = batch_named(name)
    planned = plan_reassignment(batch)
    if planned.judges and batch.campaign.state == CLOSED_MESSAGE:
        raise BatchError(
            f"the campaign of batch {name!r} is closed, so pages cannot be reassigned; collecting leaves "
            "those judges out anyway"
        )
    for number, (judge, why) in enumerate(planned.judges.items()):

        def step(done: int, total: int, number: int = number) -> None:
            report_progress("reassigning pages", (number + done / max(1, total)) / len(planned.judges))

        worker_status.withdraw_worker_answers(
            campaign=batch.campaign,
            worker=worker_status.worker_named(judge, batch.campaign),
            reason=why,
            actor=actor,
            progress=step,
        )
    return replace(planned, done=bool(planned.judges))
