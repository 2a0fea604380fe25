"""Random numbers that depend on the words of a decision, not on its time: same seed and words, same draws.

Simulated workers must answer a question alike in any driver and any order, and control items that are drawn
again must be the same. So they never share the state of a generator.
"""

import math
from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from typing import TypeVar

_T = TypeVar("_T")

_NUMBERS = Struct("<8Q")
_SCALE = 1.0 / 2**64


class SeededRng:
    """A stream of uniform numbers that depends only on `words`."""

    __slots__ = ("_at", "_block", "_name", "_numbers")

    def __init__(self, *words: object) -> None:
        self._name = "\x1f".join(map(str, words)).encode()
        self._block = 0
        self._at = 8
        self._numbers: tuple[int, ...] = ()

    def uniform(self) -> float:
        """Return a number in [0, 1)."""
        if self._at == 8:
            digest = blake2b(self._name, digest_size=64, salt=self._block.to_bytes(16, "little"))
            self._numbers = _NUMBERS.unpack(digest.digest())
            self._block += 1
            self._at = 0
        self._at += 1
        return min(self._numbers[self._at - 1] * _SCALE, 1.0 - 2**-53)

    def below(self, end: int) -> int:
        """Return a whole number in 0..end-1."""
        return int(self.uniform() * end)

    def choice(self, things: Sequence[_T]) -> _T:
        """Return one of the things, with equal probabilities."""
        return things[self.below(len(things))]

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.uniform() < probability

    def normal(self) -> float:
        """Return a standard normal number (Box and Muller)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self.uniform()))
        return radius * math.cos(2.0 * math.pi * self.uniform())
