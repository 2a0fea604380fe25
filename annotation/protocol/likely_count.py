"""How many things a chain's phrases say that they refer to: "two men" are two, "a dog" is one.

English alone. Where the phrases say nothing, say it roughly ("a hundred people", "two or three men"), or
contradict each other, the count is unknown, and nothing follows from it.
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
#: Quantities: who writes "a hundred people" or "two dozen boats" has not counted them.
_QUANTITIES = frozenset(
    (
        *("dozen", "dozens", "hundred", "hundreds", "thousand", "thousands", "million", "millions"),
        *("billion", "billions", "trillion", "trillions", "zillion", "zillions", "myriad"),
    )
)
#: But these are numbers, as small as those above. A phrase begins with one, or with a word of
#: `_BEFORE_NUMBERS` and one.
_DOZENS = {
    ("half", "a", "dozen"): 6,
    ("a", "half", "dozen"): 6,
    ("half", "dozen"): 6,
    ("a", "dozen"): 12,
    ("one", "dozen"): 12,
    ("dozen",): 12,
}
#: Of what belongs to somebody the number is not told: "a man 's hands", "two girls ' shoes".
_POSSESSIVE = frozenset(("'s", "’s", "'", "’"))
#: After "a", what is not one thing: "a group", "a few men", "a pair of shoes".
_NOT_ONE = _POSSESSIVE | {
    *("band", "bunch", "class", "collection", "couple", "crew", "crowd", "duo", "family", "few", "flock"),
    *("group", "herd", "line", "lot", "number", "pack", "pair", "pile", "row", "set", "stack", "team"),
    *("trio", "variety", "and"),
}
#: After a number, what is made of more things than it says: "two couples", "three families".
_OF_SEVERAL = _POSSESSIVE | {
    *("bands", "bunches", "classes", "collections", "couples", "crews", "crowds", "duos", "families"),
    *("flocks", "groups", "herds", "lines", "lots", "packs", "pairs", "piles", "rows", "sets", "stacks"),
    *("teams", "trios"),
}
#: After "and", what begins a further phrase: "two men and a woman". "two black and white dogs" are two.
_FURTHER = frozenset(("a", "an", "another", "the", *_NUMBERS))
#: With these a number is of something else, or is no number: "two of the men", "two or three men".
_INEXACT = frozenset(("of", "or"))


def likely_count(mentions: Iterable[Mention]) -> int:
    """The number that the phrases of a chain name, 1 or more; 0 where none does, or two differ."""
    named = {count for mention in mentions if (count := count_in(mention.tokens))}
    return named.pop() if len(named) == 1 else 0


def count_in(tokens: Iterable[str]) -> int:
    """The number that a phrase names; 0 where it names none."""
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
