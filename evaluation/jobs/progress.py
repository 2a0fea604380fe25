"""Progress of phases as a job's: the phase is named, the share never falls, and a cancelled job ends."""

from __future__ import annotations

from typing import Any

from annotation.jobs import JobProgress
from evaluation.services.common import ImportRefused
from evaluation.services.phases import PhaseListener, PhaseShares
from evaluation.services.systems.registry import RequestedBy
from models_core.estimators.base import Method


def check_same_corpus(progress: JobProgress, row: Any) -> None:
    """Raise ImportRefused where what now bears the name that a job was given is of another corpus: it was
    removed since, and another one made."""
    if progress.corpus is not None and row.corpus_id != progress.corpus.pk:
        raise ImportRefused(
            f"{row._meta.verbose_name} {row.name!r} is not of corpus {progress.corpus.name!r} any more; ask "
            "for a new job"
        )


def requested_by(progress: JobProgress) -> RequestedBy:
    """The job itself, and who asked for it."""
    return RequestedBy(progress.job_id, progress.actor.pk if progress.actor is not None else None)


class Phases(PhaseShares):
    """A function that phases call, and that tells a job. Raises what `Progress.advance` raises."""

    def __init__(self, progress: JobProgress, method: Method | None = None) -> None:
        super().__init__(job_listener(progress), method)


def job_listener(progress: JobProgress) -> PhaseListener:
    """What services of batches tell, told to a job: the phase, and a share that never falls."""
    return lambda phase, share: progress.advance(max(progress.share, share), phase=phase)
