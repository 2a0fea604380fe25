"""Similarity of two noun phrases of an image, by their words."""

from collections.abc import Iterable

from annotation.protocol.terms import Mention

_ARTICLES = frozenset(("a", "an", "the"))


class Likeness:
    """Similarity of two mentions of one image: same head noun, then words in common.

    Words are case-folded; articles do not count. Computed once per pair.
    """

    __slots__ = ("_heads", "_pairs", "_words")

    def __init__(self, mentions: Iterable[Mention]) -> None:
        self._heads = {m.id: m.head for m in mentions}
        self._words = {m.id: frozenset(t.casefold() for t in m.tokens) - _ARTICLES for m in mentions}
        self._pairs: dict[tuple[str, str], tuple[bool, int]] = {}

    def __call__(self, a: Mention, b: Mention) -> tuple[bool, int]:
        """Return (same head noun, number of shared words)."""
        pair = (a.id, b.id)
        likeness = self._pairs.get(pair)
        if likeness is None:
            likeness = (self._heads[a.id] == self._heads[b.id], len(self._words[a.id] & self._words[b.id]))
            self._pairs[pair] = likeness
        return likeness
