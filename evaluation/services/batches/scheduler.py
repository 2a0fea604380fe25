"""Periodic work for batches: ask the next round once the last one is answered.

It runs every minute. It imports nothing that is slow to import, since every command imports it.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from annotation import jobs
from annotation.common import database
from annotation.protocol.campaign_settings import settings_of
from annotation.selectors.campaign.progress import open_tasks_by_kind
from annotation.selectors.jobs import Job, jobs_of_kinds
from annotation.selectors.pair_judgments import judges
from evaluation.models import Batch
from evaluation.services.batches.stamps import is_ending_outdated

_KIND = "next_round"
#: How long to wait before a round whose job failed is tried again.
ROUND_CHECK_INTERVAL = timedelta(minutes=10)
#: The number of recent jobs that are searched for those of a batch.
_LOOKED_THROUGH = 500


def ask_next_rounds() -> int:
    """Queue the next round of every open batch whose last one is answered; return their number. This includes
    batches whose answers have changed since they ended.

    Batches whose judges have to be discarded first are left to people, and so are rounds whose job somebody
    cancelled. A failed job is tried again after a while: it may have been too early.
    """
    rounds = 0
    newest = {_of(job.arguments): job for job in reversed(jobs_of_kinds([_KIND], limit=_LOOKED_THROUGH))}
    in_rounds = Batch.objects.exclude(strategy="").filter(campaign__state="open")
    for batch in in_rounds.select_related("campaign", "corpus", "judgments").order_by("pk"):
        if batch.rounds["ended"] and not is_ending_outdated(batch):
            continue
        arguments = {"batch": batch.name, "round": len(batch.rounds["selected"]) + 1}
        if _in_vain(newest.get(_of(arguments))) or not _answered(batch):
            continue
        jobs.enqueue(kind=_KIND, arguments=arguments, corpus=batch.corpus)
        rounds += 1
    return rounds


def _of(arguments: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the batch and the round that a job is about."""
    return arguments.get("batch"), arguments.get("round")


def _in_vain(job: Job | None) -> bool:
    """Whether the last job for this round failed too recently, or was cancelled, so that no new one is
    queued."""
    if job is None or job.state not in (Job.FAILED, Job.CANCELLED):
        return False
    return (
        job.state == Job.CANCELLED
        or job.finished_at is None
        or database.now() - job.finished_at < ROUND_CHECK_INTERVAL
    )


def _answered(batch: Batch) -> bool:
    """Whether no answers are outstanding and every judge who answered counts."""
    campaign = batch.campaign
    if any(counts.wanting or counts.in_hand for counts in open_tasks_by_kind(campaign, fresh=True).values()):
        return False
    people = judges(campaign, settings_of(campaign.settings).trust)
    return not any(counts.unused and counts.answers for counts in people.values())
