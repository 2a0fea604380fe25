"""An e-mail with the link of an invitation to be staff."""

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.jobs import JobProgress, emails, job_kind


@job_kind(
    emails.INVITATION,
    title=gettext_lazy("Sending an invitation"),
    expected_errors=(emails.EmailNotSent,),
    quiet=True,
)
def send_staff_invitation(progress: JobProgress, *, invitation: int, language: str) -> dict[str, Any]:
    """Send it; `sent` is false where the invitation was over by then."""
    return {"sent": emails.send_invitation(invitation=invitation, language=language)}
