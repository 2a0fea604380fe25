"""Teaching a machine of a campaign, and having it propose."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.campaigns import CampaignError
from annotation.campaigns.machines import TEACH_JOB
from annotation.jobs import JobError, JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.machines.teaching import teach_machine


@job_kind(
    TEACH_JOB,
    title=gettext_lazy("Teaching a machine"),
    refusals=(JobError, CampaignError, OSError, ValueError),
)
def teach_machine_job(progress: JobProgress, *, machine: str) -> dict[str, Any]:
    """Teach the machine and store its boxes; a killed job starts again.

    Where nobody asked for it, but the clock, boxes that came from a file meanwhile are not replaced.
    """
    if progress.campaign is None:
        raise JobError("a teach_machine job is of a campaign, and none was given")
    return teach_machine(
        campaign=progress.campaign.name,
        machine=machine,
        replaces_file=progress.actor is not None,
        told=Phases(progress),
    ).as_dict()
