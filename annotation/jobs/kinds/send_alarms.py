"""An e-mail with alarms to somebody who asked for them."""

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.jobs import JobProgress, emails, job_kind, schedule, upkeep
from annotation.models import Campaign
from annotation.notifications.alarms import DetectedAlarm


@job_kind(
    emails.ALARM_MAIL,
    title=gettext_lazy("Sending alarms by e-mail"),
    expected_errors=(emails.EmailNotSent,),
    quiet=True,
)
def send_alarms_job(progress: JobProgress, *, subscription: int, alarms: list[int]) -> dict[str, Any]:
    """Send it, in the words of this moment."""
    return {"sent": emails.send_alarms(subscription=subscription, alarms=alarms, named=_alarms_now)}


def _alarms_now(campaign: Campaign | None) -> list[DetectedAlarm]:
    if campaign is not None:
        return upkeep.campaign_alarms(campaign)
    return upkeep.server_alarms({name: entry.every for name, entry in schedule.PERIODIC.items()})
