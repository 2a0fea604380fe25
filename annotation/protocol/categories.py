"""The coarse categories of a mention: people, clothing, bodyparts, animals, vehicles, ...

Source: Plummer et al. 2015, section 2.1: "we categorize each mention into eight coarse-grained types using
manually constructed dictionaries", and its footnote 1: a chunk that is only a colour means clothing ("man in
blue"). The dictionary is `data/categories.txt`, by head noun; for other words, WordNet's hypernyms are used
if its files are installed.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from annotation.protocol.chunker.wordlists import entries, sections
from annotation.protocol.terms import (
    ANIMALS,
    BODYPARTS,
    CLOTHING,
    INSTRUMENTS,
    OTHER,
    PEOPLE,
    SCENE,
    VEHICLES,
)
from models_core.features.text.wordnet import Synset, WordNet, singulars

#: WordNet words all of whose hyponyms are of one category; the first on the way up decides.
_HYPERNYMS = {
    "person": PEOPLE,
    "clothing": CLOTHING,
    "footwear": CLOTHING,
    "headdress": CLOTHING,
    "jewelry": CLOTHING,
    "body part": BODYPARTS,
    "body covering": BODYPARTS,
    "animal": ANIMALS,
    "vehicle": VEHICLES,
    "musical instrument": INSTRUMENTS,
    "building": SCENE,
    "room": SCENE,
    "facility": SCENE,
    "way": SCENE,
    "geological formation": SCENE,
    "body of water": SCENE,
    "district": SCENE,
    "geographical area": SCENE,
    "land": SCENE,
}
_POSSESSIVES = ("'s", "’s", "'", "’")
_LONGEST_COMPOUND = 4


def categories_of(tokens: Sequence[str], wordnet: WordNet | None = None) -> tuple[str, ...]:
    """Return the categories of a noun phrase, at least one.

    The head noun decides, then the other words from right to left, then WordNet, else `other`. The head of "a
    group of friends" is "friends", as a group is nothing by itself; that of "a picture of friends" is
    "picture". A person's body part has both categories ("a man 's arm": bodyparts, people).
    """
    words = tuple(token.lower() for token in tokens)
    if _only_colour(words):
        return (CLOTHING,)
    cut = next((i for i in range(len(words) - 1, 0, -1) if words[i] in _POSSESSIVES), None)
    if cut is not None and cut + 1 < len(words):
        owned = _category(words[cut + 1 :], wordnet)
        if owned == BODYPARTS and _category(words[:cut], wordnet) in (PEOPLE, ANIMALS):
            return (owned, _category(words[:cut], wordnet))
        return (owned,)
    return (_category(words, wordnet),)


def _only_colour(words: Sequence[str]) -> bool:
    """Whether the words only name a colour: "red and white", "all black"."""
    colours = entries("colours.txt")
    return words[-1] in colours and all(
        w in colours or w in ("all", "and", ",", "dark", "light", "bright") for w in words
    )


def _category(words: Sequence[str], wordnet: WordNet | None) -> str:
    parts = list(_of_parts(words))
    transparent = entries("transparent.txt")
    heads = [part for part in parts if transparent.isdisjoint(_forms(part[-1]))] or parts[-1:]
    head = heads[0]
    if head[-1] in entries("stand_ins.txt"):
        return PEOPLE
    for end in range(len(head), 0, -1):
        for start in range(max(0, end - _LONGEST_COMPOUND), end):
            for form in _forms("-".join(head[start:end])):
                if form in _dictionary():
                    return _dictionary()[form]
    return _by_hypernym(head, wordnet) if wordnet is not None else OTHER


def _of_parts(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the parts between "of" and "of"; compounds of the dictionary that contain "of" stay whole."""
    start = 0
    for i, word in enumerate(words):
        if word == "of" and start < i and "-".join(words[i - 1 : i + 2]) not in _dictionary():
            yield words[start:i]
            start = i + 1
    if start < len(words):
        yield words[start:]


@cache
def _forms(word: str) -> tuple[str, ...]:
    """Return the word, then its possible singulars."""
    return (word, *singulars(word))


@cache
def _dictionary() -> dict[str, str]:
    """Return the category of each head noun."""
    return {word: category for category, words in sections("categories.txt").items() for word in words}


def _by_hypernym(words: Sequence[str], wordnet: WordNet) -> str:
    """Return the category by the hypernyms of the longest compound in WordNet, in its first sense; names come
    last."""
    for start in range(len(words)):
        senses = wordnet.senses(" ".join(words[start:]))
        if senses:
            common = (s for s in senses if any(word.islower() for word in s.words))
            return next(_above(next(common, senses[0]), wordnet), OTHER)
    return OTHER


def _above(synset: Synset, wordnet: WordNet) -> Iterator[str]:
    for path in wordnet.hypernym_paths(synset):
        for ancestor in path:
            if ancestor.words[0] in _HYPERNYMS:
                yield _HYPERNYMS[ancestor.words[0]]
