"""Progress of phases as a job's: the phase is named, the share never falls, and a cancelled job ends."""

from annotation.jobs import JobProgress
from evaluation.services.phases import PhaseShares
from models_core.estimators.base import Method


class Phases(PhaseShares):
    """A function that phases call, and that tells a job. Raises what `Progress.advance` raises."""

    def __init__(self, progress: JobProgress, method: Method | None = None) -> None:
        super().__init__(
            lambda phase, share: progress.advance(max(progress.share, share), phase=phase), method
        )
