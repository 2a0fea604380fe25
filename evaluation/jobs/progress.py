"""Progress of phases as a job's: the phase is named, the share never falls, and a cancelled job ends."""

from __future__ import annotations

from typing import Any

from annotation.jobs import JobProgress
from evaluation.services.common import ImportRefused
from evaluation.services.phases import PhaseListener
from evaluation.services.systems.registry import RequestedBy
from models_core.estimators.base import Method

#: Phase -> the share of the whole after it, in order, of what is done before kernels are learned by.
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
}
#: Phase -> the shares of the whole before and after it; what is listed neither here nor by the method names
#: itself and moves nothing.
SHARES = {
    **{
        phase: (start, end)
        for (phase, end), start in zip(_KERNEL_SHARES.items(), (0.0, *_KERNEL_SHARES.values()), strict=False)
    },
    "reading weak texts": (0.1, 0.2),
    "storing": (0.95, 1.0),
    "writing features": (0.0, 1.0),
    "training word vectors": (0.0, 0.95),
    "reading parses": (0.0, 0.95),
    "localizing mentions": (0.0, 0.5),
    "detecting phrases": (0.5, 0.95),
    "scoring localizations": (0.0, 1.0),
    "reading pictures": (0.0, 0.1),
    "learning from finished images": (0.1, 0.6),
    "proposing": (0.6, 1.0),
    "proposing for further images": (0.0, 1.0),
}
#: In which form a method takes items -> the share of the whole before it learns.
_LEARNS_FROM = {"kernel": 0.7}
_OTHERS_LEARN_FROM, _LEARNED = 0.2, 0.95


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


class Phases:
    """A function that phases call, and that tells a job. Raises what `Progress.advance` raises.

    The phases of a `method` move the share too, as the method declares them.
    """

    def __init__(self, progress: JobProgress, method: Method | None = None) -> None:
        self.progress = progress
        self._learning = _learning_phases(method) if method is not None else []

    def __call__(self, phase: str, done: int, of: int) -> None:
        """Told by a phase how far it is."""
        share, span = None, self._span(phase)
        if span is not None:
            start, end = span
            share = max(self.progress.share, start + (end - start) * min(1.0, done / max(1, of)))
        self.progress.advance(share, phase=phase)

    def _span(self, phase: str) -> tuple[float, float] | None:
        for place, (name, span) in enumerate(self._learning):
            if name == phase:
                del self._learning[:place]  # what comes before is done
                return span
        return SHARES.get(phase)


def _learning_phases(method: Method) -> list[tuple[str, tuple[float, float]]]:
    """The method's phases in order, with the shares of the whole before and after each."""
    begin = max(_LEARNS_FROM.get(form, _OTHERS_LEARN_FROM) for form in method.takes.values())
    whole = sum(share for _, share in method.phases)
    found = []
    for name, share in method.phases:
        end = begin + (_LEARNED - begin) * share / whole
        whole -= share
        found.append((name, (begin, end)))
        begin = end
    return found


def job_listener(progress: JobProgress) -> PhaseListener:
    """What services of batches tell, told to a job: the phase, and a share that never falls."""
    return lambda phase, share: progress.advance(max(progress.share, share), phase=phase)
