"""The job that changes the settings of a campaign nobody has worked on: it reopens all of its images, or
none."""

from typing import Any

from django.utils.translation import gettext_lazy

from annotation import campaigns
from annotation.jobs import JobError, JobProgress, job_kind


@job_kind(
    "change_settings",
    title=gettext_lazy("Changing a campaign's settings"),
)
def change_settings_job(progress: JobProgress, *, settings: dict[str, Any], seen: int) -> dict[str, Any]:
    """Replace version `seen` of the settings by `settings`; the result has the new version.

    If an earlier run died after the change, the next run finds these settings in force and changes nothing.
    """
    if progress.campaign is None:
        raise JobError("this job is of a campaign, and none was given")
    progress.advance(0.0, phase="reopening images")
    if not campaigns.settings_differences(progress.campaign, settings):
        return {"version": progress.campaign.settings_version, "reopened": 0}
    done = campaigns.change_campaign_settings(
        campaign=progress.campaign, settings=settings, seen=seen, actor=progress.actor
    )
    return {"version": done.version, "reopened": done.reopened}
