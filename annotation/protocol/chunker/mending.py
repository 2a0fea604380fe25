"""Rules that correct a general tagger's tags in captions.

Captions are short, describe people and things doing something, in the present tense, with at most one finite
verb in a clause, and are often fragments. So the same confusions recur: "a dog barking at a car" (a noun?),
"the other" (an adverb?), "in front of" (a noun?). Each rule resolves one of them by its context;
`verb_or_noun` contains those that use number and the clause's verb. Tags are those of the British National
Corpus (C5).
"""

from collections.abc import Sequence

from annotation.protocol.chunker import verb_or_noun
from annotation.protocol.chunker.tagged_caption import (
    ADJECTIVE_TAGS,
    BE_TAGS,
    DETERMINER_TAGS,
    END_TAG,
    NOMINAL_TAGS,
    NOUN_TAGS,
    TaggedCaption,
)
from annotation.protocol.chunker.wordlists import entries, sections
from models_core.features.text.wordnet import singulars

_LISTS = "caption_grammar.txt"


def mend_tags(words: Sequence[str], tags: list[str]) -> None:
    """Apply every rule to the C5 tags of one caption, in place. `words` are in lower case."""
    caption = TaggedCaption(words, tags)
    _idioms(caption)
    _modifiers(caption)
    _ing_forms(caption)
    _verbs_of_activity(caption)
    _infinitives(caption)
    verb_or_noun.settle_verbs_and_nouns(caption)
    _lone_determiners(caption)
    _predicative_colours(caption)


def _idioms(c: TaggedCaption) -> None:
    """Correct words whose tag follows from a fixed neighbour."""
    lists = sections(_LISTS)
    for i, word in enumerate(c.words):
        before, after = c.word(i - 1), c.word(i + 1)
        if (before, word) in (("each", "other"), ("one", "another")):
            c.tags[i - 1] = c.tags[i] = "PNX"
        elif (word, after) == ("upside", "down"):
            c.tags[i] = c.tags[i + 1] = "AJ0" if c.tag(i + 2) in NOUN_TAGS else "AV0"
        elif (word, after) in (("next", "to"), ("close", "to"), ("close", "up")):
            c.tags[i] = "AV0"
        elif (
            c.tags[i] in NOUN_TAGS
            and c.word(i + 2) == word
            and c.tag(i + 1) == "PRP"
            and c.tag(i - 1) not in DETERMINER_TAGS
        ):
            c.tags[i] = c.tags[i + 1] = c.tags[i + 2] = "AV0"  # "hand in hand"
        elif word == "something" and c.tag(i - 1) == "CRD":
            c.tags[i - 1] = c.tags[i] = "AJ0"
        elif (before, word) == ("along", "side") or word == "past" and c.tag(i + 1) in DETERMINER_TAGS:
            c.tags[i] = "PRP"
        elif word in ("number", "#") and c.tag(i + 1) == "CRD":
            c.tags[i] = c.tags[i + 1] = "NN1"
        elif word == "set" and before in lists["before set"]:
            c.tags[i] = "NN1"
        elif word in lists["heads of prepositions"] and after == "of" and before in ("in", "on", "at"):
            c.tags[i] = "PRP"  # "in front of" is one preposition
        elif word in ("outside", "inside") and after == "of" and before != "the":
            c.tags[i] = "PRP"
        elif word in ("him", "them", "me", "us"):
            c.tags[i] = "PNP"
        elif word == "home" and before in ("at", "from"):
            c.tags[i] = "NN1"
        elif word == "outdoors":
            c.tags[i] = "NN1" if c.tag(i - 1) in DETERMINER_TAGS | ADJECTIVE_TAGS else "PNI"


def _modifiers(c: TaggedCaption) -> None:
    """Correct modifiers with other tags: "the other", "a nearby tree", "her hat", "a greasy haired man"."""
    lists = sections(_LISTS)
    for i, word in enumerate(c.words):
        tag, before, after = c.tags[i], c.tag(i - 1), c.tag(i + 1)
        nominal = after in NOMINAL_TAGS | {"VVG", "VVN", "CRD"}
        if word in ("other", "same", "few", "many", "little", "several", "couple") and tag in ("AV0", "DT0"):
            if before in DETERMINER_TAGS or nominal:
                c.tags[i] = "AJ0"
        elif word == "her" and nominal:
            c.tags[i] = "DPS"
        elif word == "more" and before == "CRD" and nominal:
            c.tags[i] = "AJ0"
        elif before == "AT0" and tag in ("AV0", "AVP", "PRP") and not word.endswith("ly"):
            if after in NOMINAL_TAGS:
                c.tags[i] = "AJ0"
            elif after in ("PUN", "PRP", "PRF", END_TAG):
                c.tags[i] = "NN1"  # "the well"
        elif (
            word.endswith("ed")
            and tag.startswith("V")
            and after in NOUN_TAGS
            and before in ADJECTIVE_TAGS | {"AT0"}
        ):
            c.tags[i] = "VVN"
        elif word == "looking" and tag == "VVG" and after in NOUN_TAGS and before in NOMINAL_TAGS:
            c.tags[i] = "AJ0"  # "a funny looking hat": without "at", it has no object
        elif word == "top" and tag == "AJ0" and before in NOMINAL_TAGS | DETERMINER_TAGS:
            c.tags[i] = "NN1"  # the garment
        elif before == "NN1" and c.word(i - 1) == "button" and word in ("down", "up"):
            c.tags[i] = "AJ0"
        elif word in ("about", "over", "around") and after == "CRD":
            c.tags[i] = "AV0"
        elif tag in ("AJC", "AV0") and word.endswith("er") and _names_a_doer(c, i):
            c.tags[i] = "NN1"  # "a windsurfer", "a deep fryer"
        elif word in lists["naming"] and tag in ("VVN", "VVD", "AJ0"):
            c.tags[i] = "VVX"  # has a noun phrase of its own: "a man named Bob"
        elif tag == "POS" and after in ("VVG", "AT0"):
            c.tags[i] = "VBZ"  # "he 's smiling"


def _names_a_doer(c: TaggedCaption, i: int) -> bool:
    """Whether a word in -er, tagged as a comparative, is a noun: a person, or the end of a phrase."""
    ends = c.tag(i - 1) in NOMINAL_TAGS | {"AT0", "DPS"} and c.tag(i + 1) not in NOMINAL_TAGS | {
        "VVG",
        "VVN",
        "CRD",
    }
    return c.is_person(i) or ends and c.words[i] not in sections(_LISTS)["comparatives and adverbs in -er"]


def _ing_forms(c: TaggedCaption) -> None:
    """Tag an -ing form as an action, unless it is a noun by itself or in the position of a modifier."""
    for i, word in enumerate(c.words):
        if (
            not word.endswith("ing")
            or len(word) < 5
            or "-" in word
            or c.tags[i] not in NOMINAL_TAGS | {"VVG"}
        ):
            continue
        back = i - 2 if c.tag(i - 1) == "AV0" else i - 1
        before, after = c.tag(back), c.tag(i + 1)
        doer = c.is_person(back) and (before in NOUN_TAGS or after not in NOUN_TAGS)
        doer |= c.is_colour_of_clothes(back) and after not in NOUN_TAGS
        opened = before in DETERMINER_TAGS | ADJECTIVE_TAGS | {"CRD", "POS"} and not doer
        opened &= c.word(back) not in ("all", "both", "each")
        listed = word in entries("ing_nouns.txt")
        if (
            _is_compound(word, c.word(i + 1))
            and before not in BE_TAGS | {"CJS", "TO0"}
            and not c.is_person(back)
        ):
            c.tags[i] = "AJ0" if c.tag(i - 1) not in NOUN_TAGS else "NN1"
            continue
        if word in sections(_LISTS)["transitive"] or word == "looking" and c.tags[i] != "AJ0":
            c.tags[i] = "VVG"
            continue
        if c.tags[i] == "VVG":
            many = before == "PRF" and c.word(i - 2) in entries("transparent.txt")
            if after in NOMINAL_TAGS and opened or after in NOUN_TAGS and many:
                c.tags[i] = "AJ0"  # "a group of smiling women", but "the process of roping cattle"
            elif opened and before != "CRD" and after not in ("VVN", "VVG", "AT0", "DPS", "PNP"):
                c.tags[i] = "NN1"
            elif listed and c.word(i - 1) == "with" and after not in DETERMINER_TAGS | NOMINAL_TAGS:
                c.tags[i] = "NN1"
        elif before in BE_TAGS:
            c.tags[i] = "VVG"
        elif not listed and word != "looking":
            acting = before in NOUN_TAGS | {"CJC"} or doer if after in NOMINAL_TAGS else not opened
            if acting:
                c.tags[i] = "VVG"


def _is_compound(first: str, second: str) -> bool:
    """Whether the two words are a noun of ing_compounds.txt, singular or plural."""
    return any(f"{first}-{form}" in entries("ing_compounds.txt") for form in (second, *singulars(second)))


def _verbs_of_activity(c: TaggedCaption) -> None:
    """ "A man rock climbing" contains one verb; "a rock climbing wall" contains one noun."""
    for i in range(1, len(c.words)):
        if (
            c.words[i] in sections(_LISTS)["activities"]
            and c.tags[i] == "VVG"
            and c.tags[i - 1] in ("NN1", "NN0", "AJ0")
        ):
            start = c.phrase_start(i)
            if (
                c.tag(i + 1) in NOUN_TAGS
                and c.tags[start] == "AT0"
                and start < i - 1
                and not c.is_animate_or_worn(i - 1)
            ):
                c.tags[i] = "NN1"
            elif start == i - 1 and c.tag(start - 1) in BE_TAGS or c.is_person(i - 2):
                c.tags[i - 1] = "VVG"


def _infinitives(c: TaggedCaption) -> None:
    """ "Ready to exit the water": a bare word between "to" and a determiner is a verb."""
    for i in range(1, len(c.words)):
        if c.tags[i] == "NN1" and c.words[i - 1] == "to" and c.tag(i + 1) in ("AT0", "DPS", "PNP", "PNX"):
            if c.word(i - 2) not in ("next", "close"):
                c.tags[i - 1], c.tags[i] = "TO0", "VVI"


def _lone_determiners(c: TaggedCaption) -> None:
    """ "While another watches": a determiner without its noun stands for it."""
    for i, word in enumerate(c.words):
        if word in ("another", "some", "many", "several") and c.tags[i] in ("DT0", "AJ0"):
            if c.tag(i + 1) not in NOMINAL_TAGS | {"CRD", "VVN", "PUQ"}:
                c.tags[i] = "PNI"


def _predicative_colours(c: TaggedCaption) -> None:
    """ "The wall is painted white": a colour that neither modifies a noun nor means clothes."""
    for i in range(1, len(c.words)):
        if not c.is_colour(i) or c.tags[i] not in NOMINAL_TAGS or c.is_colour(i - 1):
            continue
        said_of = c.tags[i - 1] in BE_TAGS | NOUN_TAGS | {"VVN", "PNI", "PNP"}
        alone = c.tag(i + 1) not in NOMINAL_TAGS | {"VVN"} and c.word(i + 1) not in ("and", ",")
        if said_of and alone and not c.is_colour_of_clothes(i):
            c.tags[i] = "AV0"
