"""Progress of phases as a job's: the phase is named, the share never falls, and a cancelled job ends."""

from __future__ import annotations

from annotation.jobs import JobProgress
from evaluation.services.phases import PhaseListener
from evaluation.services.systems.registry import RequestedBy

#: Phase -> the share of the whole after it, in order, of what kernels are learned by.
_KERNEL_SHARES = {
    "reading the background text": 0.05,
    "reading captions": 0.1,
    "sampling pictures": 0.15,
    "clustering colour": 0.18,
    "clustering texture": 0.22,
    "clustering sift": 0.25,
    "describing pictures": 0.5,
    "text kernel": 0.6,
    "image kernel": 0.7,
    "decomposing kernels": 0.8,
    "trying regularisers": 0.95,
    "storing": 1.0,
}
#: Phase -> the shares of the whole before and after it; what is not listed names itself and moves nothing.
SHARES = {
    **{
        phase: (start, end)
        for (phase, end), start in zip(_KERNEL_SHARES.items(), (0.0, *_KERNEL_SHARES.values()), strict=False)
    },
    "reading weak texts": (0.5, 0.6),
    "looking for neighbours": (0.6, 0.65),
    "adding up covariances": (0.65, 0.8),
    "trying ridges": (0.8, 0.95),
    "trying rates": (0.5, 0.75),
    "learning": (0.75, 0.95),
    "writing features": (0.0, 1.0),
    "training word vectors": (0.0, 0.95),
    "reading parses": (0.0, 0.95),
    "localizing mentions": (0.0, 0.5),
    "detecting phrases": (0.5, 0.95),
    "scoring localizations": (0.0, 1.0),
}


def requested_by(progress: JobProgress) -> RequestedBy:
    """The job itself, and who asked for it."""
    return RequestedBy(progress.job_id, progress.actor.pk if progress.actor is not None else None)


class Phases:
    """A function that phases call, and that tells a job. Raises what `Progress.advance` raises."""

    def __init__(self, progress: JobProgress) -> None:
        self.progress = progress

    def __call__(self, phase: str, done: int, of: int) -> None:
        """Told by a phase how far it is."""
        share = None
        if phase in SHARES:
            start, end = SHARES[phase]
            share = max(self.progress.share, start + (end - start) * min(1.0, done / max(1, of)))
        self.progress.advance(share, phase=phase)


def job_listener(progress: JobProgress) -> PhaseListener:
    """What services of batches tell, told to a job: the phase, and a share that never falls."""
    return lambda phase, share: progress.advance(max(progress.share, share), phase=phase)
