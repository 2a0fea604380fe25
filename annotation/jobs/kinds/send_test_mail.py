"""An e-mail by which an admin tries out whether this server sends any."""

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.jobs import JobProgress, emails, job_kind


@job_kind(
    emails.TEST_MAIL,
    title=gettext_lazy("Sending a test e-mail"),
    expected_errors=(emails.EmailNotSent,),
    quiet=True,
)
def send_test_mail_job(progress: JobProgress, *, account: int, language: str) -> dict[str, Any]:
    """Send it to the account that asked."""
    return {"sent": emails.send_test_mail(account=account, language=language)}
