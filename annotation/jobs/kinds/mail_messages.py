"""E-mails with what a researcher has to say to workers."""

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.jobs import JobProgress, emails, job_kind


@job_kind(emails.MESSAGES, title=gettext_lazy("Sending messages"), expected_errors=(emails.EmailNotSent,))
def mail_messages_job(progress: JobProgress, *, messages: list[int], language: str) -> dict[str, Any]:
    """Send them, each once, to those who keep an address for them; `sent` is how many that were now."""
    return {"sent": emails.mail_messages(messages=messages, language=language)}
