"""Training word vectors on a corpus's captions."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.features.word_training import WordTraining, train_word_vectors


@job_kind(
    "train_word_vectors",
    title=gettext_lazy("Training word vectors"),
    refusals=(UnknownName, OSError, ValueError),
    request=WordTraining,
)
def train_word_vectors_job(progress: JobProgress, wanted: WordTraining) -> dict[str, Any]:
    """Write the set; the result is the set's facts. A killed one begins again."""
    found, new = train_word_vectors(wanted, progress=Phases(progress))
    return {**found.as_dict(), "unchanged": not new}
