"""Machines learn by themselves: once enough further images are finished, a job is asked for.

Called every minute by the periodic work. It imports nothing that is slow to import: every command does.
"""

from __future__ import annotations

from datetime import timedelta

from annotation import jobs
from annotation.campaigns.machines import TEACH_JOB
from annotation.common import database
from annotation.selectors.jobs import Job, jobs_of_kinds

#: How long a machine waits whose job failed.
AGAIN_AFTER = timedelta(minutes=10)
_LOOKED_THROUGH = 200


def teach_machines() -> int:
    """Ask for a job for each machine that is to learn now; how many."""
    from evaluation.services.machines.teaching import machines_to_teach

    newest: dict[tuple[int | None, str], Job] = {}
    for each in reversed(jobs_of_kinds([TEACH_JOB], limit=_LOOKED_THROUGH)):
        newest[each.campaign_id, each.arguments.get("machine", "")] = each
    asked = 0
    for campaign, machine in machines_to_teach():
        job = newest.get((campaign.pk, machine))
        if job is not None and job.state in (*Job.LIVE, Job.CANCELLED):
            continue
        if job is not None and job.state == Job.FAILED and job.finished_at is not None:
            if database.now() - job.finished_at < AGAIN_AFTER:
                continue
        jobs.enqueue(kind=TEACH_JOB, arguments={"machine": machine}, campaign=campaign)
        asked += 1
    return asked
