"""Coreference: lanes, which link to ask next, and what a refused chain falls into.

Source: Plummer et al. 2015, section 2.1. A new mention is compared with one mention of each
chain found so far, so that at most O(|M||C|) links are asked; mentions of one caption and
mentions without a common category are assumed not to corefer. The order of the candidates
is decided here: `likely_first` saves questions over the printed order of creation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, get_args

from annotation.protocol.terms import Mention

LIKELY_FIRST: Final = "likely_first"
AS_PRINTED: Final = "as_printed"
LinkOrder = Literal["likely_first", "as_printed"]
CANDIDATE_ORDERS: tuple[LinkOrder, ...] = get_args(LinkOrder)

_ARTICLES = frozenset(("a", "an", "the"))


class Likeness:
    """How alike two mentions of one image look: same head noun, then words in common.

    Words are case-folded; articles do not count. Computed once per pair.
    """

    __slots__ = ("_heads", "_pairs", "_words")

    def __init__(self, mentions: Iterable[Mention]) -> None:
        self._heads = {m.id: m.head for m in mentions}
        self._words = {m.id: frozenset(t.casefold() for t in m.tokens) - _ARTICLES for m in mentions}
        self._pairs: dict[tuple[str, str], tuple[bool, int]] = {}

    def __call__(self, a: Mention, b: Mention) -> tuple[bool, int]:
        """(same head noun, number of shared words)."""
        pair = (a.id, b.id)
        found = self._pairs.get(pair)
        if found is None:
            found = (self._heads[a.id] == self._heads[b.id], len(self._words[a.id] & self._words[b.id]))
            self._pairs[pair] = found
        return found


def lanes(mentions: Sequence[Mention], joined: Iterable[tuple[str, str]] = ()) -> list[list[Mention]]:
    """Connected components of mentions under shared categories, each in caption order.

    `joined` holds pairs of mention ids that belong together whatever their categories (a
    reviewer's partition). Lanes stand in the order of their first mention.
    """
    ordered = sorted(mentions, key=lambda m: m.place)
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for mention in ordered:
        for category in mention.categories:
            parent[root(f"category {category}")] = root(mention.id)
    for a, b in joined:
        parent[root(a)] = root(b)
    found: dict[str, list[Mention]] = {}
    for mention in ordered:
        found.setdefault(root(mention.id), []).append(mention)
    return list(found.values())


def may_corefer(mention: Mention, chain: Sequence[Mention]) -> bool:
    """Whether `mention` is asked against `chain`: a shared category, and no common caption."""
    mine, caption = mention.categories, mention.caption
    shared = False
    for other in chain:
        if other.caption == caption:
            return False
        if not shared:
            for category in other.categories:
                if category in mine:
                    shared = True
                    break
    return shared


def candidates(
    mention: Mention, chains: Sequence[Sequence[Mention]], *, order: str, likeness: Likeness
) -> list[tuple[int, Mention]]:
    """The chains to ask about, in asking order: (index in `chains`, the mention shown for it).

    `order` is one of ORDERS; anything else raises ValueError.
    """
    if order not in CANDIDATE_ORDERS:
        raise ValueError(f"order of candidates {order!r} is none of {', '.join(CANDIDATE_ORDERS)}")
    allowed = [i for i, chain in enumerate(chains) if may_corefer(mention, chain)]
    if order == AS_PRINTED:
        return [(i, chains[i][0]) for i in allowed]
    ranked = []
    for i in allowed:
        chain = chains[i]
        alike = [likeness(mention, other) for other in chain]
        shown = chain[alike.index(max(alike))]
        same_head = any(head for head, _ in alike)
        ranked.append((not same_head, -max(words for _, words in alike), -len(chain), i, shown))
    ranked.sort(key=lambda entry: entry[:4])
    return [(i, shown) for _, _, _, i, shown in ranked]


def split_by_head(
    mentions: Sequence[Mention], joined: Iterable[tuple[str, str]] = ()
) -> list[tuple[Mention, ...]] | None:
    """The sets sharing a head noun (case-folded) into which a refused chain falls.

    `joined` holds pairs a reviewer put together: their sets stay one. None where everything
    would stay one set, which is for a reviewer to judge.
    """
    groups: dict[str, list[Mention]] = {}
    for mention in mentions:
        groups.setdefault(mention.head, []).append(mention)
    head_of = {m.id: m.head for m in mentions}
    for a, b in joined:
        if a in head_of and b in head_of and head_of[a] != head_of[b]:
            keep, lose = head_of[a], head_of[b]
            groups[keep].extend(groups.pop(lose))
            head_of.update({name: keep for name, head in head_of.items() if head == lose})
    if len(groups) < 2:
        return None
    sets = [tuple(sorted(group, key=lambda m: m.place)) for group in groups.values()]
    return sorted(sets, key=lambda group: group[0].place)
