"""Jobs that send e-mails: messages to workers, alarms, invitations, password links, a test."""

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.jobs import JobProgress, emails, job_kind, schedule, upkeep
from annotation.models import Campaign
from annotation.notifications.alarms import DetectedAlarm


@job_kind(emails.MESSAGES, title=gettext_lazy("Sending messages"))
def mail_messages_job(progress: JobProgress, *, messages: list[int], language: str) -> dict[str, Any]:
    """Send each message once, to those who have an address for them; `sent` is the number sent by this
    run."""
    return {"sent": emails.mail_messages(messages=messages, language=language)}


@job_kind(
    emails.ALARM_MAIL,
    title=gettext_lazy("Sending alarms by e-mail"),
    quiet=True,
)
def send_alarms_job(progress: JobProgress, *, subscription: int, alarms: list[int]) -> dict[str, Any]:
    """Send the alarms, as they are worded now."""
    return {"sent": emails.send_alarms(subscription=subscription, alarms=alarms, named=_alarms_now)}


def _alarms_now(campaign: Campaign | None) -> list[DetectedAlarm]:
    if campaign is not None:
        return upkeep.campaign_alarms(campaign)
    return upkeep.server_alarms({name: entry.every for name, entry in schedule.PERIODIC.items()})


@job_kind(
    emails.EMAIL_JOB_KIND,
    title=gettext_lazy("Sending an e-mail"),
    quiet=True,
)
def send_letter(progress: JobProgress, *, digest: str, language: str) -> dict[str, Any]:
    """Send the password link. The result has no count: it would reveal whether somebody has an account."""
    emails.send_emails(digest=digest, language=language)
    return {}


@job_kind(
    emails.INVITATION,
    title=gettext_lazy("Sending an invitation"),
    quiet=True,
)
def send_staff_invitation(progress: JobProgress, *, invitation: int, language: str) -> dict[str, Any]:
    """Send the invitation; `sent` is false where it had expired."""
    return {"sent": emails.send_invitation(invitation=invitation, language=language)}


@job_kind(
    emails.TEST_MAIL,
    title=gettext_lazy("Sending a test e-mail"),
    quiet=True,
)
def send_test_mail_job(progress: JobProgress, *, account: int, language: str) -> dict[str, Any]:
    """Send the test e-mail to the account that requested it."""
    return {"sent": emails.send_test_mail(account=account, language=language)}
