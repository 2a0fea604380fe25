"""Having the pages asked again of judges who do not count."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.jobs import JobProgress, job_kind
from annotation.moderation.discarding import CannotDo
from evaluation.jobs.progress import job_listener
from evaluation.services.batches.reassignment import reassign_answers
from evaluation.services.batches.stored_answers import BatchRefused


@job_kind("top_up_batch", title=gettext_lazy("Reassigning pages"), refusals=(BatchRefused, CannotDo))
def top_up_batch(progress: JobProgress, *, batch: str) -> dict[str, Any]:
    """Discard the judges whose answers do not count; the result is `topping_up.TopUp`.

    Images that are done are not touched again, so a second run does what the first left.
    """
    return asdict(reassign_answers(batch, actor=progress.actor, tell=job_listener(progress)))
