"""An e-mail with a link to a new password, where an account has the address that was asked about."""

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.jobs import JobProgress, emails, job_kind


@job_kind(
    emails.EMAIL_JOB_KIND,
    title=gettext_lazy("Sending an e-mail"),
    expected_errors=(emails.EmailNotSent,),
    quiet=True,
)
def send_letter(progress: JobProgress, *, digest: str, language: str) -> dict[str, Any]:
    """Send it. The result has no count: that would show whether somebody has an account."""
    emails.send_emails(digest=digest, language=language)
    return {}
