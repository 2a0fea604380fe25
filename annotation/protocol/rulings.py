"""A reviewer's assertions about an image, and their consequences for mentions, pairs of them, and chains.

Rulings contain ids of mentions, so they survive every rebuild; a changed span is a new mention, and rulings
on the old one have no effect. Of two rulings on the same thing, the later one applies.

Rulings on phrases and captions determine the image's mentions; all others, and all answers, are read with
these. An answer whose question names a mention that is gone is superseded; any other counts as before, since
it was given to the same question. Source: Plummer et al. 2015, section 2.3, "Additional Review", which
"included some chunking errors that came to our attention (e.g., through worker comments)".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product

from annotation.protocol.terms import Box, Mention


@dataclass(frozen=True, slots=True)
class Partition:
    """These groups of mentions are chains: together within a group, different between groups.

    Raises ValueError if a mention occurs twice.
    """

    groups: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        named = [name for group in self.groups for name in group]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise ValueError(f"mention {twice[0]} is named twice; expected each in one group")


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
    """The chain of exactly these mentions leaves review once; this also cancels what closed it before."""

    mentions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Phrases:
    """Some mentions are no phrases, and others are: another span, other categories or another noun of a span,
    or a phrase that was missing. An added mention replaces the one with its span.

    Raises ValueError if it says nothing, or names a span twice.
    """

    removed: tuple[str, ...] = ()
    added: tuple[Mention, ...] = ()

    def __post_init__(self) -> None:
        if not self.removed and not self.added:
            raise ValueError("a ruling on phrases needs one or more to remove or to add")
        for names in (self.removed, [mention.id for mention in self.added]):
            if len(set(names)) < len(names):
                raise ValueError("a phrase is named twice; expected each once")


@dataclass(frozen=True, slots=True)
class UnrelatedCaption:
    """Caption number `caption` (from 0) does not describe the picture: its phrases are not asked about."""

    caption: int


Ruling = Partition | KeepApart | Boxes | Closure | Resume | Phrases | UnrelatedCaption


def mended(mentions: Iterable[Mention], rulings: Iterable[Ruling]) -> tuple[Mention, ...]:
    """Return an image's mentions after these rulings, by position. Applying them again changes nothing."""
    by_id = {mention.id: mention for mention in mentions}
    unrelated = set()
    for ruling in rulings:
        if isinstance(ruling, Phrases):
            for name in ruling.removed:
                by_id.pop(name, None)
            by_id.update((mention.id, mention) for mention in ruling.added)
        elif isinstance(ruling, UnrelatedCaption):
            unrelated.add(ruling.caption)
    return tuple(sorted((m for m in by_id.values() if m.caption not in unrelated), key=lambda m: m.span))


@dataclass(slots=True)
class Rulings:
    """An image's rulings in force, prepared for queries.

    `group` maps a mention id to those of its group, itself included; between two groups in `apart` no two
    mentions corefer, and between those in `unmergeable` no boxes merge either. `closed` is the assertion on a
    mention set; `resumes` is how often a mention set leaves review. `unrelated` are the captions that do not
    describe the picture.
    """

    group: dict[str, frozenset[str]] = field(default_factory=dict)
    apart: set[frozenset[frozenset[str]]] = field(default_factory=set)
    unmergeable: set[frozenset[frozenset[str]]] = field(default_factory=set)
    closed: dict[frozenset[str], Boxes | Closure] = field(default_factory=dict)
    resumes: dict[frozenset[str], int] = field(default_factory=dict)
    unrelated: tuple[int, ...] = ()

    @classmethod
    def of(cls, rulings: Iterable[Ruling], mentions: Sequence[Mention]) -> Rulings:
        """Return the rulings that name only mentions that the image still has."""
        known = {m.id for m in mentions}
        merged = cls()
        all_rulings = list(rulings)
        merged.unrelated = tuple(sorted({r.caption for r in all_rulings if isinstance(r, UnrelatedCaption)}))
        for ruling in all_rulings:
            if isinstance(ruling, Boxes | Closure | Resume) and known.issuperset(ruling.mentions):
                named = frozenset(ruling.mentions)
                if isinstance(ruling, Resume):
                    merged.closed.pop(named, None)
                    merged.resumes[named] = merged.resumes.get(named, 0) + 1
                else:
                    merged.closed[named] = ruling
        # Of two rulings on the same thing the later one applies, with its consequences: so the newest is
        # processed first, and an older one as far as it does not contradict.
        for ruling in reversed(all_rulings):
            if isinstance(ruling, Partition):
                for group in ruling.groups:
                    for a, b in pairwise(name for name in group if name in known):
                        merged._unite(a, b)
                for first_group, other_group in combinations(ruling.groups, 2):
                    for a, b in product(first_group, other_group):
                        if a in known and b in known:
                            merged._part(a, b, merged.apart)
            elif isinstance(ruling, KeepApart) and {ruling.a, ruling.b} <= known:
                merged._part(ruling.a, ruling.b, merged.apart)
                merged._part(ruling.a, ruling.b, merged.unmergeable)
        return merged

    def _of(self, name: str) -> frozenset[str]:
        return self.group.get(name, frozenset((name,)))

    def _unite(self, a: str, b: str) -> None:
        mine, theirs = self._of(a), self._of(b)
        if mine == theirs or frozenset((mine, theirs)) in self.apart:
            return
        both = mine | theirs
        self.group.update(dict.fromkeys(both, both))
        for pairs in (self.apart, self.unmergeable):
            moved = [pair for pair in pairs if mine in pair or theirs in pair]
            pairs.difference_update(moved)
            pairs.update(frozenset(both if g in (mine, theirs) else g for g in pair) for pair in moved)

    def _part(self, a: str, b: str, pairs: set[frozenset[frozenset[str]]]) -> None:
        mine, theirs = self._of(a), self._of(b)
        if mine != theirs:
            pairs.add(frozenset((mine, theirs)))

    def joined(self) -> list[tuple[str, str]]:
        """Return pairs that connect each group, in a fixed order."""
        groups = sorted(sorted(group) for group in set(self.group.values()))
        return [pair for group in groups for pair in pairwise(group)]

    @property
    def pair(self) -> bool:
        """Whether there is any ruling about pairs of mentions, see `between`."""
        return bool(self.group or self.apart)

    def between(self, mention: Mention, chain: Sequence[Mention]) -> str:
        """Return the ruling on `mention` and a chain: "together", "apart", or "" if there is none."""
        if not self.pair:
            return ""
        mine = self._of(mention.id)
        if any(m.id in mine for m in chain):
            return "together"
        return "apart" if any(frozenset((mine, self._of(m.id))) in self.apart for m in chain) else ""

    def covers(self, chain: Sequence[Mention]) -> bool:
        """Whether all of the chain was put together by a ruling, so that it needs no verification."""
        return {m.id for m in chain} <= self._of(chain[0].id)

    def pairs_apart(
        self, chains: Sequence[tuple[str, Sequence[Mention]]], *, unmergeable: bool
    ) -> frozenset[frozenset[str]]:
        """Return pairs of chain ids that must stay two; with `unmergeable`, those whose boxes must as
        well."""
        chain_of = {m.id: name for name, mentions in chains for m in mentions}
        pairs = set()
        for first, second in self.unmergeable if unmergeable else self.apart:
            for a, b in product(first, second):
                pair = frozenset(chain_of[name] for name in (a, b) if name in chain_of)
                if len(pair) == 2:
                    pairs.add(pair)
        return frozenset(pairs)
