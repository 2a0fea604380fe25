"""What a reviewer asserts about an image, and what follows for pairs of mentions and for chains.

Rulings name mentions by id, so they outlive every rebuild; a changed span is a new mention,
and what was said of the old one falls silent. Of two rulings on one thing the later holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from annotation.protocol.terms import Box, Mention


@dataclass(frozen=True, slots=True)
class Partition:
    """These groups of mentions are chains: together within a group, different between groups."""

    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class KeepApart:
    """Two mentions refer to different things: never one chain, and their boxes never merge."""

    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Boxes:
    """The chain of exactly these mentions has exactly these boxes, at least one."""

    mentions: tuple[str, ...]
    boxes: tuple[Box, ...]

    def __post_init__(self) -> None:
        if not self.boxes:
            raise ValueError(
                "a ruling on boxes needs one box or more; to say there is none, close it as non-visual"
            )


@dataclass(frozen=True, slots=True)
class Closure:
    """The chain of exactly these mentions is not visual (`kind` "scene" or "none") or "excluded"."""

    mentions: tuple[str, ...]
    kind: str

    def __post_init__(self) -> None:
        if self.kind not in ("scene", "none", "excluded"):
            raise ValueError(f"a closure is 'scene', 'none' or 'excluded', not {self.kind!r}")


@dataclass(frozen=True, slots=True)
class Resume:
    """The chain of exactly these mentions leaves review once; it also lifts what closed it before."""

    mentions: tuple[str, ...]


Ruling = Partition | KeepApart | Boxes | Closure | Resume


@dataclass(slots=True)
class Rulings:
    """An image's rulings in force, ready to be asked.

    `together` and `apart` hold unordered pairs of mention ids; `unmergeable` those of `apart`
    whose boxes must not merge either; `closed` the assertion on a mention set; `resumes` how
    often a mention set leaves review.
    """

    rank: dict[frozenset[str], tuple[int, str]] = field(default_factory=dict)
    closed: dict[frozenset[str], Boxes | Closure] = field(default_factory=dict)
    resumes: dict[frozenset[str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, rulings: Iterable[Ruling], mentions: Sequence[Mention]) -> Rulings:
        """The rulings that name only mentions this image still has; others fall silent."""
        known = {m.id for m in mentions}
        found = cls()
        for order, ruling in enumerate(rulings):
            if isinstance(ruling, Partition):
                for one, group in enumerate(ruling.groups):
                    for pair in combinations(group, 2):
                        found._say(pair, order, "together", known)
                    for other in ruling.groups[one + 1 :]:
                        for a in group:
                            for b in other:
                                found._say((a, b), order, "apart", known)
            elif isinstance(ruling, KeepApart):
                found._say((ruling.a, ruling.b), order, "unmergeable", known)
            elif known.issuperset(ruling.mentions):
                named = frozenset(ruling.mentions)
                if isinstance(ruling, Resume):
                    found.closed.pop(named, None)
                    found.resumes[named] = found.resumes.get(named, 0) + 1
                else:
                    found.closed[named] = ruling
        return found

    def _say(self, pair: tuple[str, str], order: int, word: str, known: set[str]) -> None:
        if known.issuperset(pair) and pair[0] != pair[1]:
            self.rank[frozenset(pair)] = (order, word)

    def joined(self) -> list[tuple[str, str]]:
        """Pairs put together, in a fixed order."""
        pairs = [tuple(sorted(pair)) for pair, (_, word) in self.rank.items() if word == "together"]
        return [(a, b) for a, b in sorted(pairs)]

    def between(self, mention: Mention, chain: Sequence[Mention]) -> tuple[int, str] | None:
        """The latest word on `mention` and a chain's members: (order, "together" or "apart"), or None."""
        if not self.rank:
            return None
        said = [self.rank[pair] for m in chain if (pair := frozenset((mention.id, m.id))) in self.rank]
        if not said:
            return None
        order, word = max(said)
        return order, "together" if word == "together" else "apart"

    def covers(self, chain: Sequence[Mention]) -> bool:
        """Whether every pair of the chain was put together, so that nobody need verify it."""
        if not self.rank:
            return False
        return all(
            self.rank.get(frozenset((a.id, b.id)), (0, ""))[1] == "together"
            for a, b in combinations(chain, 2)
        )

    def apart(
        self, words: tuple[str, ...], chains: Sequence[tuple[str, Sequence[Mention]]]
    ) -> frozenset[frozenset[str]]:
        """Pairs of chain ids between which some pair of mentions is ruled by one of `words`."""
        chain_of = {m.id: name for name, mentions in chains for m in mentions}
        pairs = set()
        for pair, (_, word) in self.rank.items():
            if word in words:
                a, b = (chain_of.get(name) for name in pair)
                if a is not None and b is not None and a != b:
                    pairs.add(frozenset((a, b)))
        return frozenset(pairs)
