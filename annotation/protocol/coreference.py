"""Coreference: lanes, the next link to ask, and the parts of a rejected chain.

Source: Plummer et al. 2015, section 2.1. A new mention is compared with one mention of each existing chain,
so that at most O(|M||C|) links are asked; mentions of one caption and mentions without a common category are
assumed not to corefer. The order of the candidates is our choice: `likely_first` saves questions over the
paper's order of creation, and `learned` (by probabilities counted from finished images) over that. So is the
order of captions.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, get_args

from annotation.protocol.likeness import Likeness
from annotation.protocol.link_chances import LinkChances
from annotation.protocol.terms import Mention

LIKELY_FIRST: Final = "likely_first"
AS_PRINTED: Final = "as_printed"
LEARNED: Final = "learned"
LinkOrder = Literal["likely_first", "as_printed", "learned"]
CANDIDATE_ORDERS: tuple[LinkOrder, ...] = get_args(LinkOrder)


def lanes(mentions: Sequence[Mention], joined: Iterable[tuple[str, str]] = ()) -> list[list[Mention]]:
    """Return connected components of mentions under shared categories, each in caption order.

    `joined` has pairs of mention ids that belong together whatever their categories (a reviewer's partition).
    Lanes are in the order of their first mention.
    """
    ordered = sorted(mentions, key=lambda m: m.span)
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
    lanes: dict[str, list[Mention]] = {}
    for mention in ordered:
        lanes.setdefault(root(mention.id), []).append(mention)
    return list(lanes.values())


def may_corefer(mention: Mention, chain: Sequence[Mention]) -> bool:
    """Whether `mention` is compared with `chain`: a shared category, and no common caption."""
    mine, caption = mention.categories, mention.caption
    shared = False
    for member in chain:
        if member.caption == caption:
            return False
        if not shared:
            for category in member.categories:
                if category in mine:
                    shared = True
                    break
    return shared


def fullest_caption_first(lane: Sequence[Mention]) -> list[Mention]:
    """Reorder a lane's mentions: those of the caption with most of them first, then the next.

    Mentions of one caption are never compared with each other, so the more things the first caption names,
    the fewer questions are needed to distinguish them.
    """
    number = Counter(mention.caption for mention in lane)
    return sorted(lane, key=lambda mention: (-number[mention.caption], mention.span))


def candidates(
    mention: Mention,
    chains: Sequence[Sequence[Mention]],
    *,
    order: str,
    likeness: Likeness,
    chances: LinkChances | None = None,
) -> list[tuple[int, Mention]]:
    """Return the chains to ask about, in order: (index in `chains`, the mention shown for it).

    Raises ValueError for an `order` outside CANDIDATE_ORDERS, and for LEARNED without `chances`.
    """
    if order not in CANDIDATE_ORDERS:
        raise ValueError(f"order of candidates {order!r} is none of {', '.join(CANDIDATE_ORDERS)}")
    allowed = [i for i, chain in enumerate(chains) if may_corefer(mention, chain)]
    if order == AS_PRINTED:
        return [(i, chains[i][0]) for i in allowed]
    if order == LEARNED and chances is None:
        raise ValueError("candidates in learned order need a table of chances")
    ranked: list[tuple[float, int, int, int, Mention]] = []
    for i in allowed:
        chain = chains[i]
        alike = [likeness(mention, member) for member in chain]
        if order == LEARNED and chances is not None:
            scores = [chances.chance(mention, *pair) for pair in zip(chain, alike, strict=True)]
            best = max(scores)
            words = -max(words for _, words in alike)
            ranked.append((-best, words, -len(chain), i, chain[scores.index(best)]))
            continue
        closest = chain[alike.index(max(alike))]
        same_head = any(head for head, _ in alike)
        ranked.append((not same_head, -max(words for _, words in alike), -len(chain), i, closest))
    ranked.sort(key=lambda entry: entry[:4])
    return [(i, closest) for _, _, _, i, closest in ranked]


def split_by_head(
    mentions: Sequence[Mention], joined: Iterable[tuple[str, str]] = ()
) -> list[tuple[Mention, ...]] | None:
    """Return the parts of a rejected chain: mentions with the same head noun (case-folded).

    `joined` has pairs that a reviewer put together: their sets are merged. None if the chain would stay
    whole, which is for a reviewer to judge.
    """
    groups: dict[str, list[Mention]] = {}
    for mention in mentions:
        groups.setdefault(mention.head, []).append(mention)
    head_of = {m.id: m.head for m in mentions}
    for a, b in joined:
        if a in head_of and b in head_of and head_of[a] != head_of[b]:
            stays, lose = head_of[a], head_of[b]
            groups[stays].extend(groups.pop(lose))
            head_of.update({name: stays for name, head in head_of.items() if head == lose})
    if len(groups) < 2:
        return None
    sets = [tuple(sorted(group, key=lambda m: m.span)) for group in groups.values()]
    return sorted(sets, key=lambda group: group[0].span)
