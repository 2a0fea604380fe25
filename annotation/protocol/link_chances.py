"""Probability that two phrases refer to the same thing, counted from images whose chains are known.

All pairs that could be linked (a shared category, two captions) are counted: by their similarity (same head
noun, number of shared words), and by their two head nouns. A pair of head nouns that differs from its
similarity class ("guy" and "man", "man" and "people") gets its own probability; any other pair has that of
its similarity. Probabilities only order questions: people's answers decide.

Source: asking about likely pairs first, since their consequences need not be asked, is from Wang et al. 2013
(Leveraging transitive relations for crowdsourced joins). The estimate of the probability is our choice.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import Any

from annotation.protocol.likeness import Likeness
from annotation.protocol.terms import LayerRecord, Mention

#: Maximum count of shared words.
MOST_WORDS = 2
#: Maximum number of pairs of head nouns with their own probability: every open image stores the table.
MOST_HEAD_PAIRS = 200
#: Weight of the prior: the number of extra observations of its similarity class for a pair of head nouns.
_PRIOR = 2.0
#: Words for the two cases in the keys of head nouns and similarities: "guy man", "same 2", "other 0".
_SAME, _DIFFERENT = "same", "other"


class BadChances(ValueError):
    """A text that is no table of probabilities."""


@dataclass(frozen=True, slots=True)
class LinkChances:
    """Probabilities of "the same" (0..1): `alike` by similarity (0.5 if it was never seen), `pairs` by head
    nouns.

    A head noun is case-folded, and the two of a pair are in alphabetical order.
    """

    alike: Mapping[tuple[bool, int], float] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def chance(self, a: Mention, b: Mention, likeness: tuple[bool, int]) -> float:
        """Return the probability that `a` and `b`, with this similarity, refer to the same thing."""
        learned = self.pairs.get(_heads(a, b))
        return self.alike.get(_bin(likeness), 0.5) if learned is None else learned

    def as_text(self) -> str:
        """Return the table as one line of JSON, for `chances_from`."""
        rows = {
            f"{_SAME if same else _DIFFERENT} {words}": p for (same, words), p in sorted(self.alike.items())
        }
        pairs = {f"{first} {two}": p for (first, two), p in sorted(self.pairs.items())}
        return json.dumps(
            {"alike": rows, "pairs": pairs}, ensure_ascii=False, separators=(",", ":"), sort_keys=True
        )


def learn_chances(layers: Iterable[LayerRecord]) -> LinkChances:
    """Return probabilities counted from the layers of some images, rounded to hundredths; without layers, an
    empty table."""
    seen: Counter[tuple[tuple[bool, int], bool]] = Counter()
    by_heads: Counter[tuple[tuple[str, str], tuple[bool, int], bool]] = Counter()
    for layer in layers:
        for first, two, alike, same in _pairs(layer):
            seen[alike, same] += 1
            by_heads[_heads(first, two), alike, same] += 1
    alike_chance = {
        alike: (seen[alike, True] + 1) / (seen[alike, True] + seen[alike, False] + 2)
        for alike in sorted({alike for alike, _ in seen})
    }
    pairs_seen: Counter[tuple[str, str]] = Counter()
    same_of: Counter[tuple[str, str]] = Counter()
    expected: Counter[tuple[str, str]] = Counter()
    for (heads, alike, same), number in sorted(by_heads.items()):
        pairs_seen[heads] += number
        same_of[heads] += number * same
        expected[heads] += number * alike_chance[alike]  # type: ignore[assignment]
    # The pairs that change most questions come first.
    learned_pairs = sorted(pairs_seen, key=lambda heads: (-abs(same_of[heads] - expected[heads]), heads))[
        :MOST_HEAD_PAIRS
    ]
    pairs = {
        heads: (same_of[heads] + _PRIOR * expected[heads] / pairs_seen[heads]) / (pairs_seen[heads] + _PRIOR)
        for heads in learned_pairs
    }
    return LinkChances(
        {alike: round(p, 2) for alike, p in alike_chance.items()},
        {heads: round(p, 2) for heads, p in pairs.items()},
    )


@lru_cache(maxsize=64)
def chances_from(text: str) -> LinkChances:
    """Return the table from `as_text`. Raises BadChances, which names the error."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise BadChances("expected a learned table of chances, as JSON") from error
    if not isinstance(content, dict) or set(content) != {"alike", "pairs"}:
        raise BadChances('expected a table of chances with the two parts "alike" and "pairs"')
    alike = {_likeness_in(name): p for name, p in _entries(content["alike"])}
    pairs = {_heads_in(name): p for name, p in _entries(content["pairs"])}
    if len(pairs) > MOST_HEAD_PAIRS:
        raise BadChances(f"{len(pairs)} pairs of head nouns; expected {MOST_HEAD_PAIRS} or fewer")
    return LinkChances(alike, pairs)


def _pairs(layer: LayerRecord) -> Iterator[tuple[Mention, Mention, tuple[bool, int], bool]]:
    """Yield the pairs that could be linked: both mentions, their similarity, and whether they are the same
    thing."""
    chain_of = {m.id: number for number, chain in enumerate(layer.chains) for m in chain.mentions}
    mentions = layer.mentions
    likeness = Likeness(mentions)
    for first, two in combinations(mentions, 2):
        if first.caption != two.caption and not set(first.categories).isdisjoint(two.categories):
            yield first, two, _bin(likeness(first, two)), chain_of[first.id] == chain_of[two.id]


def _heads(a: Mention, b: Mention) -> tuple[str, str]:
    first, two = a.head, b.head
    return (first, two) if first <= two else (two, first)


def _bin(likeness: tuple[bool, int]) -> tuple[bool, int]:
    same, words = likeness
    return same, min(words, MOST_WORDS)


def _entries(part: Any) -> Iterator[tuple[str, float]]:
    if not isinstance(part, dict):
        raise BadChances(f"{part!r} in a table of chances; expected names with a chance each")
    for name, chance in part.items():
        if isinstance(chance, bool) or not isinstance(chance, int | float) or not 0 <= chance <= 1:
            raise BadChances(f"the chance of {name!r} is {chance!r}; expected a number, 0 to 1")
        yield name, float(chance)


def _likeness_in(name: str) -> tuple[bool, int]:
    word, _, number = name.partition(" ")
    if word not in (_SAME, _DIFFERENT) or number not in [str(n) for n in range(MOST_WORDS + 1)]:
        raise BadChances(f"likeness {name!r}; expected {_SAME} or {_DIFFERENT}, and 0 to {MOST_WORDS}")
    return word == _SAME, int(number)


def _heads_in(name: str) -> tuple[str, str]:
    first, _, two = name.partition(" ")
    if not first or not two or first > two:
        raise BadChances(f"head nouns {name!r}; expected two, in the order of the alphabet")
    return first, two
