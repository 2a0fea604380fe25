"""Progress of services: the current phase, and the share of the whole work done.

An exception of a progress callback ends the work, which then leaves nothing half done.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from models_core.estimators.base import Method

ProgressCallback = Callable[[str, float], object]

_T = TypeVar("_T")
#: Number of items between two reports.
_OFTEN = 1_000

#: Phase -> the share of the whole after it, in order, for the work before kernel methods learn.
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
#: Phase -> the shares of the whole before and after it. Phases listed neither here nor by the method name
#: themselves without moving the share.
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
    "learning from pictures": (0.1, 1.0),
    "proposing": (0.6, 1.0),
    "proposing for further images": (0.0, 1.0),
}
#: The form in which a method takes items -> the share of the whole before it learns.
_LEARNS_FROM = {"kernel": 0.7}
_OTHERS_LEARN_FROM, _LEARNED = 0.2, 0.95


def silent(phase: str, share: float) -> None:
    """A callback for callers that need no progress."""


def report_steps(
    things: Iterable[_T], *, total: int, report_progress: ProgressCallback, phase: str
) -> Iterator[_T]:
    """Yield `things`, `total` in number, and report a share from 0 to 1."""
    for number, thing in enumerate(things):
        if number % _OFTEN == 0:
            report_progress(phase, min(1.0, number / max(1, total)))
        yield thing


def part_of_progress(report_progress: ProgressCallback, start: float, end: float) -> ProgressCallback:
    """Return a callback for a part of some work: its shares, from 0 to 1, become those from `start` to
    `end`."""
    return lambda phase, share: report_progress(phase, start + (end - start) * share)


class PhaseShares:
    """A callback for phases that converts their progress to shares of the whole and calls `report_progress`;
    its exceptions pass through, and shares never decrease.

    The phases of a `method` move the share too, as the method declares them. A phase that does not run, such
    as trials where there is nothing to choose, leaves its share to later ones.
    """

    def __init__(self, report_progress: ProgressCallback, method: Method | None = None) -> None:
        self.report_progress, self.share = report_progress, 0.0
        forms = method.takes.values() if method is not None else ()
        #: The share after the method's phases so far, the phases to come, and the share at which the first of
        #: them began.
        self._reached = max((_LEARNS_FROM.get(form, _OTHERS_LEARN_FROM) for form in forms), default=0.0)
        self._coming = list(method.phases) if method is not None else []
        self._began: float | None = None

    def __call__(self, phase: str, done: int, of: int) -> None:
        """Report that a phase has finished `done` of `of` steps."""
        part = min(1.0, done / max(1, of))
        share = self._learned(phase, part)
        if share is None and phase in SHARES:
            start, end = SHARES[phase]
            share = start + (end - start) * part
        self.share = max(self.share, share or 0.0)
        self.report_progress(phase, self.share)

    def _learned(self, phase: str, part: float) -> float | None:
        """Return the share of the whole if `phase` is one of the method's remaining phases, else None."""
        index = next((n for n, (name, _) in enumerate(self._coming) if name == phase), None)
        if index is None:
            return None
        if index or self._began is None:
            del self._coming[:index]
            self._began = self._reached
        part_of_learning = self._coming[0][1] / (sum(share for _, share in self._coming) or 1)
        self._reached = self._began + (_LEARNED - self._began) * part_of_learning * part
        return self._reached
