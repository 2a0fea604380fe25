"""How services of batches say how far they are: what is being done, and the share of the whole before it.

What a listener raises ends the work, which then leaves nothing half done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

PhaseListener = Callable[[str, float], object]

_T = TypeVar("_T")
#: Things between two words about them.
_OFTEN = 1_000


def silent(phase: str, share: float) -> None:
    """For whoever does not listen."""


def tell_steps(things: Iterable[_T], *, total: int, tell: PhaseListener, phase: str) -> Iterator[_T]:
    """`things`, `total` in number, while the share goes from 0 to 1."""
    for number, thing in enumerate(things):
        if number % _OFTEN == 0:
            tell(phase, min(1.0, number / max(1, total)))
        yield thing


def part_listener(tell: PhaseListener, start: float, end: float) -> PhaseListener:
    """A listener to a part of some work: its shares, from 0 to 1, become those from `start` to `end`."""
    return lambda phase, share: tell(phase, start + (end - start) * share)
