"""The number of things that a chain's phrases refer to: 2 for "two men", 1 for "a dog".

English only. If the phrases state no number, an approximate one ("a hundred people", "two or three men"), or
contradictory ones, the count is unknown, and nothing follows from it.
"""

from collections.abc import Iterable
from itertools import pairwise

from annotation.protocol.terms import Mention

_NUMBERS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
} | {"both": 2}
#: Words before which a number still counts the things: "the two men", "all three dogs".
_BEFORE_NUMBERS = frozenset(
    ("the", "these", "those", "all", "his", "her", "their", "its", "another", "other")
)
_SINGULAR = frozenset(("a", "an"))
#: Quantities that are rarely an exact count: "a hundred people", "two dozen boats".
_QUANTITIES = frozenset(
    (
        *("dozen", "dozens", "hundred", "hundreds", "thousand", "thousands", "million", "millions"),
        *("billion", "billions", "trillion", "trillions", "zillion", "zillions", "myriad"),
    )
)
#: Exceptions that are exact numbers. A phrase begins with one, or with a word of `_BEFORE_NUMBERS` and one.
_DOZENS = {
    ("half", "a", "dozen"): 6,
    ("a", "half", "dozen"): 6,
    ("half", "dozen"): 6,
    ("a", "dozen"): 12,
    ("one", "dozen"): 12,
    ("dozen",): 12,
}
#: The number of possessions is unknown: "a man 's hands", "two girls ' shoes".
_POSSESSIVE = frozenset(("'s", "’s", "'", "’"))
#: Words that are not one thing after "a": "a group", "a few men", "a pair of shoes".
_NOT_ONE = _POSSESSIVE | {
    *("band", "bunch", "class", "collection", "couple", "crew", "crowd", "duo", "family", "few", "flock"),
    *("group", "herd", "line", "lot", "number", "pack", "pair", "pile", "row", "set", "stack", "team"),
    *("trio", "variety", "and"),
}
#: Words for several things each after a number: "two couples", "three families".
_OF_SEVERAL = _POSSESSIVE | {
    *("bands", "bunches", "classes", "collections", "couples", "crews", "crowds", "duos", "families"),
    *("flocks", "groups", "herds", "lines", "lots", "packs", "pairs", "piles", "rows", "sets", "stacks"),
    *("teams", "trios"),
}
#: Words that begin a further phrase after "and": "two men and a woman". "two black and white dogs" are two.
_FURTHER = frozenset(("a", "an", "another", "the", *_NUMBERS))
#: With these words, the number is of something else, or is not exact: "two of the men", "two or three men".
_INEXACT = frozenset(("of", "or"))


def likely_count(mentions: Iterable[Mention]) -> int:
    """Return the number in the phrases of a chain, 1 or more; 0 if there is none, or if two differ."""
    named = {count for mention in mentions if (count := count_in(mention.tokens))}
    return named.pop() if len(named) == 1 else 0


def count_in(tokens: Iterable[str]) -> int:
    """Return the number in a phrase; 0 if there is none."""
    words = [token.casefold() for token in tokens]
    first = 1 if len(words) > 1 and words[0] in _BEFORE_NUMBERS else 0
    if not _INEXACT.isdisjoint(words):
        return 0
    if not _QUANTITIES.isdisjoint(words):
        begun = [number for dozen, number in _DOZENS.items() if tuple(words[first:])[: len(dozen)] == dozen]
        return begun[0] if begun else 0
    if words[first] in _NUMBERS:
        further = any(word == "and" and two in _FURTHER for word, two in pairwise(words))
        return 0 if further or not _OF_SEVERAL.isdisjoint(words) else _NUMBERS[words[first]]
    if words[0] in _SINGULAR and _NOT_ONE.isdisjoint(words):
        return 1
    return 0
