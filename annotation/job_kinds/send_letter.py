"""A letter with a link to a new password, where an account has the address that was asked about."""

from __future__ import annotations

from typing import Any

from annotation import letters
from annotation.jobs import Progress, job_kind


@job_kind(letters.KIND, title="Sending a letter", refusals=(letters.NotSent,))
def send_letter(
    progress: Progress, *, digest: str, domain: str, secure: bool, language: str
) -> dict[str, Any]:
    """Send it. How many were sent is told to nobody: the row would say who has an account."""
    letters.send(digest=digest, domain=domain, secure=secure, language=language)
    return {}
