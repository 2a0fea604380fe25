"""What is done about batches while nobody looks: the next wave is asked once the last one is answered.

Called every minute by the periodic work. It imports nothing that is slow to import: every command does.
"""

from __future__ import annotations

from annotation import jobs
from annotation.campaign_settings import settings_of
from annotation.selectors.campaign import tasks
from annotation.selectors.jobs import Job, jobs_of_kinds
from annotation.selectors.pair_judgments import judges
from evaluation.models import Batch

KIND = "next_wave"
#: Jobs looked through for those of a batch.
LOOKED_THROUGH = 500


def ask_next_waves() -> int:
    """Have the next wave asked of every open batch whose last one is answered; how many were.

    Left to people are batches whose judges are to be discarded first, and those of which the newest
    such job failed or was cancelled.
    """
    asked = 0
    ended = {
        job.arguments.get("batch"): job.state for job in reversed(jobs_of_kinds([KIND], limit=LOOKED_THROUGH))
    }
    waiting = Batch.objects.exclude(strategy="").filter(campaign__state="open", waves__ended="")
    for batch in waiting.select_related("campaign").order_by("pk"):
        if ended.get(batch.name) in (Job.FAILED, Job.CANCELLED) or not _answered(batch):
            continue
        jobs.enqueue(kind=KIND, arguments={"batch": batch.name})
        asked += 1
    return asked


def _answered(batch: Batch) -> bool:
    """Whether nothing is to come, by judges who all count."""
    campaign = batch.campaign
    if any(one.wanting or one.in_hand for one in tasks(campaign, fresh=True).values()):
        return False
    found = judges(campaign, settings_of(campaign.settings).trust)
    return not any(one.unused and one.answers for one in found.values())
