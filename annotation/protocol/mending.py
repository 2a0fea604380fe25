"""Rules that mend a general tagger's tags in captions.

Captions are short, speak of people and things doing something, have at most one finite verb
to a clause, in the present tense, and are often fragments. So the same few confusions come
back: "A boy in a cap smiles" (a plural?), "two men dance on a stage" (a compound?), "a dog
barking at a car" (a noun?). Each rule settles one of them by what English grammar says,
mostly by number: "a boy" cannot end in a plural.

Tags are those of the British National Corpus (C5); every rule changes its list in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from annotation.protocol.wordlists import entries, sections

#: Adverbs, besides those in -ly, that modify an adjective.
DEGREES = frozenset(
    ("very", "too", "so", "more", "most", "quite", "rather", "well", "about", "almost", "over", "pretty")
)

_NOUN = frozenset(("NN", "NN0", "NN1", "NN2", "NP0", "UNC", "ZZ0"))
_ADJECTIVE = frozenset(("AJ0", "AJC", "AJS", "ORD"))
_NOMINAL = _NOUN | _ADJECTIVE
_DETERMINER = frozenset(("AT0", "DPS", "DT0"))
_BE = frozenset(("VBZ", "VBB", "VBD", "VBN", "VBI", "VBG"))
_FINITE = frozenset(("VBZ", "VBB", "VBD", "VHZ", "VHB", "VHD", "VDZ", "VDB", "VDD", "VM0", "VVZ", "VVB"))
#: What follows a verb, and follows a noun only where that noun ends its phrase.
_AFTER_VERB = frozenset(
    (
        "AT0",
        "DPS",
        "DT0",
        "PRP",
        "AVP",
        "AV0",
        "TO0",
        "CJS",
        "CJT",
        "CJC",
        "PNP",
        "PNX",
        "PUN",
        "END",
        "CRD",
        "PNI",
        "AVQ",
    )
)
#: What follows a verb and hardly ever a noun.
_OBJECT = frozenset(("AT0", "DPS", "PNP", "TO0", "AVP", "PNX"))
_SINGULAR = frozenset(("a", "an", "one", "another", "each", "every", "this", "that"))
_PLURAL = frozenset(
    (
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "several",
        "many",
        "these",
        "those",
    )
)
_PLURAL |= {"both", "few", "some", "other", "all"}
_DIRECTIONS = frozenset(
    ("down", "up", "into", "onto", "off", "away", "toward", "towards", "through", "over", "across", "along")
)
_WEAR = frozenset(("wearing", "wears", "wear"))
_NAMING = frozenset(("named", "called", "titled", "labeled", "labelled"))
_ACTIVITY_PREFIXES = frozenset(
    ("rock", "ice", "roller", "water", "mountain", "wind", "scuba", "sky", "ballroom", "horseback")
)
_ACTIVITY_PREFIXES |= {"pole", "bungee", "hang", "fly", "kite", "figure", "speed", "skim", "break"}
_SETS = frozenset(("drum", "swing", "chess", "train", "tv", "television", "tea", "play"))
_EMPTY_HEADS = frozenset(
    ("front", "top", "back", "spite", "advance", "lieu", "case", "terms", "need", "search")
)


def mend(words: Sequence[str], tags: list[str]) -> None:
    """Apply every rule to the C5 tags of one caption, in place. `words` are lower-cased."""
    for rule in (
        _idioms,
        _modifiers,
        _ing_forms,
        _infinitives,
        _verbs_as_nouns,
        _nouns_as_verbs,
        _past_tense,
        _pronouns,
        _predicates,
    ):
        rule(words, tags)


def _at(things: Sequence[str], i: int) -> str:
    """Entry `i`, or END outside the caption."""
    return things[i] if 0 <= i < len(things) else "END"


def _idioms(words: Sequence[str], tags: list[str]) -> None:
    """Words whose tag follows from a fixed neighbour."""
    for i, word in enumerate(words):
        before, after = _at(words, i - 1), _at(words, i + 1)
        if (before, word) in (("each", "other"), ("one", "another")):
            tags[i - 1] = tags[i] = "PNX"
        elif word == "upside" and after == "down":
            tags[i] = tags[i + 1] = "AJ0" if _at(tags, i + 2) in _NOUN else "AV0"
        elif (word, after) in (("next", "to"), ("close", "to"), ("close", "up")):
            tags[i] = "AV0"
        elif (
            tags[i] in _NOUN
            and _at(words, i + 2) == word
            and _at(tags, i + 1) == "PRP"
            and _at(tags, i - 1) not in _DETERMINER
        ):
            tags[i] = tags[i + 1] = tags[i + 2] = "AV0"  # "hand in hand"
        elif word == "set" and before in _SETS:
            tags[i] = "NN1"
        elif word in _EMPTY_HEADS and after == "of" and before in ("in", "on", "at"):
            tags[i] = "PRP"  # "in front of" is one preposition
        elif word in ("him", "them", "me", "us"):
            tags[i] = "PNP"
        elif word == "home" and before in ("at", "from"):
            tags[i] = "NN1"
        elif word == "outdoors":
            tags[i] = "NN1" if _at(tags, i - 1) in _DETERMINER | _ADJECTIVE else "PNI"


def _modifiers(words: Sequence[str], tags: list[str]) -> None:
    """Modifiers taken for something else: "the other", "a nearby tree", "her red hat", "a greasy haired man"."""
    for i, word in enumerate(words):
        before, after = _at(tags, i - 1), _at(tags, i + 1)
        nominal = after in _NOMINAL | {"VVG", "VVN", "CRD"}
        if word in ("other", "same", "few", "many", "little", "couple") and tags[i] in ("AV0", "DT0"):
            if before in _DETERMINER or nominal:
                tags[i] = "AJ0"
        elif word == "her" and nominal:
            tags[i] = "DPS"
        elif (
            before == "AT0"
            and tags[i] in ("AV0", "AVP", "PRP")
            and after in _NOMINAL
            and not word.endswith("ly")
        ):
            tags[i] = "AJ0"
        elif (
            word.endswith("ed")
            and tags[i].startswith("V")
            and after in _NOUN
            and before in _ADJECTIVE | {"AT0"}
        ):
            tags[i] = "VVN"
        elif word == "top" and tags[i] == "AJ0" and before in _NOMINAL | _DETERMINER:
            tags[i] = "NN1"  # the garment
        elif word in _NAMING and tags[i] in ("VVN", "VVD", "AJ0"):
            tags[i] = "VVB"  # takes a noun phrase of its own: "a man named Bob"


def _ing_forms(words: Sequence[str], tags: list[str]) -> None:
    """An -ing form is an action, unless it is a noun by itself or stands where only a modifier can."""
    for i, word in enumerate(words):
        if not word.endswith("ing") or len(word) < 5 or "-" in word or tags[i] not in _NOMINAL | {"VVG"}:
            continue
        back = i - 2 if _at(tags, i - 1) == "AV0" else i - 1
        before, after = _at(tags, back), _at(tags, i + 1)
        if back >= 0 and (
            _is_colour_of_clothes(words, tags, back) and after not in _NOUN or words[back] in _people()
        ):
            before = "NN1"
        opens = before in _DETERMINER | _ADJECTIVE | {"CRD", "POS"}
        if tags[i] == "VVG" and opens and after in _NOUN | _ADJECTIVE:
            tags[i] = "AJ0"
        elif (
            tags[i] == "VVG"
            and before == "PRF"
            and after in _NOUN
            and _at(words, i - 2) in entries("transparent.txt")
        ):
            tags[i] = "AJ0"  # "a group of smiling women", but "the process of roping cattle"
        elif tags[i] == "VVG" and opens and after not in ("VVN", "VVG", "AT0", "DPS", "PNP"):
            tags[i] = "NN1"
        elif tags[i] == "VVG":
            if (
                word in entries("ing_nouns.txt")
                and _at(words, i - 1) == "with"
                and after not in _DETERMINER | _NOMINAL
            ):
                tags[i] = "NN1"
        elif word in entries("ing_nouns.txt"):
            if before in _BE and after in _DETERMINER:
                tags[i] = "VVG"
        elif (
            before in _BE
            or (after in _NOMINAL and before in _NOUN | {"CJC"})
            or (after not in _NOMINAL and not opens)
        ):
            tags[i] = "VVG"
    for i in range(1, len(words)):
        if tags[i] == "VVG" and words[i - 1] in _ACTIVITY_PREFIXES and tags[i - 1] in _NOUN:
            start = _phrase_start(tags, i)
            if tags[start] not in _DETERMINER and _at(tags, start - 1) != "PRP":
                tags[i - 1] = "VVG"  # "rock climbing" is one verb


def _infinitives(words: Sequence[str], tags: list[str]) -> None:
    """ "ready to exit the water": a bare word between `to` and a determiner is a verb."""
    for i in range(1, len(words)):
        if tags[i] == "NN1" and words[i - 1] == "to" and _at(tags, i + 1) in ("AT0", "DPS", "PNP"):
            if _at(words, i - 2) not in ("next", "close"):
                tags[i - 1], tags[i] = "TO0", "VVI"


def _verbs_as_nouns(words: Sequence[str], tags: list[str]) -> None:
    """ "A boy smiles", "two girls dance", "a man in a red top bowls a ball": verbs tagged as nouns."""
    for i, word in enumerate(words):
        if i == 0 or tags[i] not in ("NN1", "NN2") or word not in _verb_forms():
            continue
        singular, mostly = _verb_forms()[word]
        before, after = _at(tags, i - 1), _at(tags, i + 1)
        if before in ("PNP", "PNQ", "PNI") and after in _AFTER_VERB | _NOMINAL:
            tags[i] = "VVZ" if singular else "VVB"
            continue
        clause = _clause(words, tags, i)
        if before == "CJC":
            doing = _at(tags, i - 2)
            moving = singular and _at(words, i + 1) in _DIRECTIONS
            second = (after in _OBJECT or moving or (singular and mostly)) and any(
                tags[j] in _FINITE for j in clause
            )
            if second or doing in ("VVZ", "VVB", "AVP", "AV0"):
                tags[i] = "VVZ" if singular else "VVB"
            continue
        coloured = _is_colour_of_clothes(words, tags, i - 1)
        ends_phrase = (
            before in _NOUN | {"ORD", "AVP", "AV0"}
            or coloured
            or (mostly and words[i - 1] in ("on", "off", ","))
        )
        if not ends_phrase or after not in _AFTER_VERB | _NOMINAL:
            continue
        start = _phrase_start(tags, i)
        opener = words[start] if start < i else ""
        agrees = opener in _SINGULAR if singular else before in ("NN2", "NN0") and opener not in _SINGULAR
        if before in _NOUN | {"ORD"} and agrees and after in _AFTER_VERB:
            tags[i] = "VVZ" if singular else "VVB"
        elif not any(tags[j] in _FINITE and _at(tags, j - 1) != "CJC" for j in clause):
            plural = _plural_subject(words, tags, range(clause.start, i))
            if singular and (after in _OBJECT or mostly or coloured or start == clause.start) and not plural:
                tags[i] = "VVZ"
            elif not singular and (
                plural
                and (mostly or start == clause.start or _is_animate_or_worn(words[i - 1]))
                or (mostly and after in _OBJECT and opener not in _SINGULAR)
            ):
                tags[i] = "VVB"


def _nouns_as_verbs(words: Sequence[str], tags: list[str]) -> None:
    """ "a chew toy", "a fruit stand with", "a bag of presents": nouns tagged as verbs."""
    for i in range(1, len(words)):
        before, after = tags[i - 1], _at(tags, i + 1)
        if tags[i] in ("VVB", "VVI"):
            start = _phrase_start(tags, i)
            bare_singular = (
                words[start] in ("a", "an")
                and before in ("NN1", "NN0", "AJ0")
                and after in ("PRP", "PUN", "PRF", "END")
            )
            unlikely = words[i] in _verb_forms() and not _verb_forms()[words[i]][1]
            if before in ("AT0", "DPS") or (
                bare_singular and unlikely and not _is_animate_or_worn(words[i - 1])
            ):
                tags[i] = "NN1"
        elif (
            tags[i] == "VVZ"
            and before in _NOMINAL
            and words[i] in _verb_forms()
            and not _verb_forms()[words[i]][1]
        ):
            clause = _clause(words, tags, i)
            earlier = range(clause.start, i)
            relative = clause.start > 0 and tags[clause.start - 1] in ("PNQ", "CJT", "DTQ")
            parted = any(tags[j] == "CJC" or words[j] == "," for j in earlier)
            if any(tags[j] in _FINITE for j in earlier) and not relative and not parted:
                tags[i] = "NN2"
        elif (
            tags[i] in ("VVN", "VVD")
            and after not in _NOMINAL | {"VVN", "CJC", "PUN"}
            and (words[i] in _verb_forms() or not words[i].endswith("ed"))
        ):
            if (
                _phrase_start(tags, i) < i
                and before in _ADJECTIVE
                and words[_phrase_start(tags, i)] in ("a", "an")
            ):
                tags[i] = "NN1"  # "a red sled"


def _past_tense(words: Sequence[str], tags: list[str]) -> None:
    """ "Two boys played soccer" takes an object, "a snow covered hill" does not."""
    for i in range(1, len(words)):
        doer = tags[i - 1] in ("NN2", "NN0", "PNP", "PNQ", "NP0") or words[i - 1] in _people()
        if tags[i] == "VVD" and doer and _at(tags, i + 1) in _NOMINAL:
            if not any(tags[j] in _FINITE for j in _clause(words, tags, i)):
                tags[i] = "VVB"


def _pronouns(words: Sequence[str], tags: list[str]) -> None:
    """ "while another watches": a determiner without its noun stands for it."""
    for i, word in enumerate(words):
        if word in ("another", "some", "many", "several") and tags[i] in ("DT0", "AJ0"):
            if _at(tags, i + 1) not in _NOMINAL | {"CRD", "VVN", "VVG", "PUQ"} or _at(tags, i + 1) == "VVG":
                tags[i] = "PNI"


def _predicates(words: Sequence[str], tags: list[str]) -> None:
    """ "The wall is painted white": a colour that neither modifies a noun nor stands for clothes."""
    for i, word in enumerate(words):
        if (
            word in entries("colours.txt")
            and tags[i] in _NOMINAL
            and _at(tags, i + 1) not in _NOMINAL | {"VVN"}
        ):
            before = _at(tags, i - 1)
            said_of = before in _BE | _NOUN | {"VVN", "PNI", "PNP"} and words[i - 1] not in entries(
                "colours.txt"
            )
            if (
                said_of
                and not _is_colour_of_clothes(words, tags, i)
                and _at(words, i + 1) not in ("and", ",")
            ):
                tags[i] = "AV0"


def _clause(words: Sequence[str], tags: Sequence[str], at: int) -> range:
    """The stretch around `at` that wants one finite verb: up to a conjunction, a relative or a stop."""

    def parts(i: int) -> bool:
        return tags[i] in ("CJS", "CJT", "PNQ", "AVQ") or words[i] in (".", ";", "as", "while")

    start, end = at, at + 1
    while start > 0 and not parts(start - 1):
        start -= 1
    while end < len(tags) and not parts(end):
        end += 1
    return range(start, end)


def _phrase_start(tags: Sequence[str], at: int) -> int:
    """Where the run of determiners, modifiers and nouns that ends before `at` begins."""
    start = at
    while start > 0 and tags[start - 1] in _NOMINAL | {"CRD"}:
        start -= 1
    if start > 0 and tags[start - 1] in _DETERMINER:
        start -= 1
    return start


def _plural_subject(words: Sequence[str], tags: Sequence[str], stretch: range) -> bool:
    """Whether `stretch` opens with a plural noun phrase, or with two joined by "and"."""
    end = stretch.start
    while end < stretch.stop and tags[end] in _NOMINAL | _DETERMINER | {"CRD"}:
        end += 1
    if end == stretch.start:
        return False
    if end < stretch.stop and (tags[end] == "PRF" or words[end] == "and"):
        return True
    return tags[end - 1] in ("NN2", "NN0") or words[stretch.start] in _PLURAL


def _is_colour_of_clothes(words: Sequence[str], tags: Sequence[str], at: int) -> bool:
    """Whether the word at `at` is a colour that stands for clothes: "in blue", "wearing red and black"."""
    colours = entries("colours.txt")
    if at < 1 or words[at] not in colours:
        return False
    first = at
    while first >= 1 and (words[first] in colours or words[first] == "and" and words[first - 1] in colours):
        first -= 1
    return tags[first] == "PRP" or words[first] in _WEAR or words[first] == "all"


@cache
def _people() -> frozenset[str]:
    return sections("categories.txt")["people"]


def _is_animate_or_worn(word: str) -> bool:
    """Whether the noun is one that hardly ever modifies another: a person, an animal, clothes, a body part."""
    return any(
        word in sections("categories.txt")[kind] for kind in ("people", "animals", "clothing", "bodyparts")
    )


@cache
def _verb_forms() -> dict[str, tuple[bool, bool]]:
    """Base and -s forms of the verbs in verbs.txt -> (is an -s form, is mostly a verb)."""
    found = {}
    for mostly, title in ((False, "verbs or nouns"), (True, "mostly verbs")):
        for verb in sections("verbs.txt")[title]:
            found[verb] = (False, mostly)
            found[third_person(verb)] = (True, mostly)
    return found


def third_person(verb: str) -> str:
    """ "walk" -> "walks", "carry" -> "carries", "watch" -> "watches"."""
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
