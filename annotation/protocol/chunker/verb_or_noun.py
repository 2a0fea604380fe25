"""Decide in context whether ambiguous words are verbs or nouns: "A boy in a cap smiles", "a fruit stand".

Two facts decide. Number: "a boy" cannot end in a plural, so "smiles" is a verb; "two boys" is no modifier, so
"dance" after it is a verb. The clause: it needs one finite verb, so a candidate is the verb if there is no
other, and a noun if there is.
"""

from functools import cache
from typing import NamedTuple

from annotation.protocol.chunker.tagged_caption import (
    ADJECTIVE_TAGS,
    END_TAG,
    NOMINAL_TAGS,
    NOUN_TAGS,
    TaggedCaption,
)
from annotation.protocol.chunker.wordlists import sections

#: Tags that follow a verb, and follow a noun only at the end of its phrase.
_AFTER_VERB = frozenset("AT0 DPS DT0 PRP AVP AV0 TO0 CJS CJT CJC PNP PNX PUN CRD PNI AVQ".split() + [END_TAG])
#: Tags that follow a verb and rarely a noun.
_OBJECT = frozenset(("AT0", "DPS", "PNP", "TO0", "AVP", "PNX"))
_LISTS = sections("caption_grammar.txt")
_SINGULAR = _LISTS["singular openers"]
_DIRECTIONS = _LISTS["directions"]
_CAUSES = _LISTS["causes"]


class _Form(NamedTuple):
    """A form of a verb of verbs.txt: whether it is the -s form, and whether its noun is rare."""

    singular: bool
    mostly_verb: bool

    @property
    def tag(self) -> str:
        return "VVZ" if self.singular else "VVB"


def settle_verbs_and_nouns(c: TaggedCaption) -> None:
    """Decide, in place, the tags of words that may be verbs or nouns."""
    for i in range(1, len(c.words)):
        form = _forms().get(c.words[i])
        if c.tags[i] in ("NN1", "NN2") and form and _is_verb(c, i, form):
            c.tags[i] = form.tag
        elif c.tags[i] == "NN2" and form is None and _is_unlisted_verb(c, i):
            c.tags[i] = "VVZ"
    for i in range(1, len(c.words)):
        if c.tags[i] in ("VVB", "VVI") and _is_bare_noun(c, i):
            c.tags[i] = "NN1"
        elif c.tags[i] == "VVZ" and _is_second_verb(c, i):
            c.tags[i] = "NN2"
        elif c.tags[i] in ("VVN", "VVD") and _ends_phrase_with_article(c, i):
            c.tags[i] = "NN1"
        elif c.tags[i] == "VVD" and _takes_object(c, i):
            c.tags[i] = "VVB"


def _is_verb(c: TaggedCaption, i: int, form: _Form) -> bool:
    """Whether the word at `i`, tagged as a noun, is the verb of its clause."""
    before, after = c.tags[i - 1], c.tag(i + 1)
    if before in ("PNP", "PNQ", "PNI"):
        return after in _AFTER_VERB | NOMINAL_TAGS
    clause = c.clause(i)
    if before == "CJC":
        joins_on = after in _OBJECT or form.singular and (form.mostly_verb or c.word(i + 1) in _DIRECTIONS)
        return joins_on and c.has_finite(clause) or c.tag(i - 2) in ("VVZ", "VVB", "AVP", "AV0")
    if after not in _AFTER_VERB | NOMINAL_TAGS:
        return False
    start = c.phrase_start(i)
    opener = c.words[start] if start < i else ""
    if after in _AFTER_VERB and _number_forbids_noun(c, i, form, opener):
        return True
    clothed = c.is_colour_of_clothes(i - 1)
    worn = c.is_animate_or_worn(i - 1)
    ended = form.mostly_verb and c.words[i - 1] in ("on", "off", ",")
    ended |= c.words[i - 1] == "on" and c.is_animate_or_worn(i - 2)  # "with no shirt on stands"
    listed = before == "PUN" and after == "PUN" and not form.singular  # "two girls , in capes , bow ."
    if not (before in NOUN_TAGS | {"AVP", "AV0"} or clothed or ended or listed or c.words[i - 1] == "other"):
        return False
    if any(c.tags[j - 1] != "CJC" and c.has_finite(range(j, j + 1)) for j in clause if j):
        return False
    numbers = c.subject_numbers(range(clause.start, i))
    first = start == clause.start
    first |= c.tag(start - 1) == "PRF" and c.phrase_start(start - 1) == clause.start
    over = clothed or worn or ended or first or c.words[i - 1] == "other"  # the noun phrase before
    if form.singular:
        return after in _OBJECT or "singular" in numbers and (form.mostly_verb or over)
    if "plural" in numbers and (form.mostly_verb or first or before == "AVP" or worn or listed):
        return True
    return form.mostly_verb and (worn or clothed or after in _OBJECT and opener not in _SINGULAR)


def _is_unlisted_verb(c: TaggedCaption, i: int) -> bool:
    """ "A goat treks": no plural noun follows "a" with a person or an animal."""
    start = c.phrase_start(i)
    if start == i or not c.is_animate_or_worn(i - 1) or c.tag(i + 1) in NOUN_TAGS | {"POS", "PRF", "CJC"}:
        return False
    return c.words[i].endswith("s") and _number_forbids_noun(c, i, _Form(True, False), c.words[start])


def _number_forbids_noun(c: TaggedCaption, i: int, form: _Form, opener: str) -> bool:
    """ "A boy smiles": no plural after "a". "Two boys dance": plurals modify no noun."""
    if form.singular:
        counted = c.words[i - 1] in _LISTS["counting nouns"]
        return (
            opener in _SINGULAR
            and (c.tags[i - 1] in NOMINAL_TAGS or c.words[i - 1] == opener)
            and not counted
        )
    return c.tags[i - 1] in ("NN2", "NN0") and opener not in _SINGULAR


def _is_bare_noun(c: TaggedCaption, i: int) -> bool:
    """Whether a bare form tagged as a verb is a noun: "a chew toy", "a fruit stand", "his sports bike"."""
    before, after = c.tags[i - 1], c.tag(i + 1)
    if before in ("AT0", "DPS"):
        return True
    form = _forms().get(c.words[i])
    if (
        not form
        or form.mostly_verb
        or before not in NOMINAL_TAGS
        or after not in ("PRP", "PUN", "PRF", END_TAG)
    ):
        return False
    start, clause = c.phrase_start(i), c.clause(i)
    if c.is_animate_or_worn(i - 1) or not _CAUSES.isdisjoint(c.words[clause.start : i]):
        return False
    if c.words[start] in ("a", "an"):
        return c.tags[i - 1] not in ("NN2", "NP0")
    return (
        c.tags[start] in ("AT0", "DPS") and start > clause.start and c.has_finite(range(clause.start, start))
    )


def _is_second_verb(c: TaggedCaption, i: int) -> bool:
    """Whether the clause already has its finite verb: "has his face in a bag of presents"."""
    form = _forms().get(c.words[i])
    if c.tags[i - 1] not in NOMINAL_TAGS or (form.mostly_verb if form else c.tag(i + 1) != "PUN"):
        return False
    clause = c.clause(i)
    earlier = range(clause.start, i)
    relative = c.tag(clause.start - 1) in ("PNQ", "CJT", "DTQ")
    parted = any(c.tags[j] == "CJC" or c.words[j] == "," for j in earlier)
    return c.has_finite(earlier) and not relative and not parted


def _ends_phrase_with_article(c: TaggedCaption, i: int) -> bool:
    """ "Pulling a red sled across": an article and its adjectives need a noun, not a participle."""
    start = c.phrase_start(i)
    if (
        start == i
        or c.words[start] not in ("a", "an")
        or c.tag(i + 1) in NOMINAL_TAGS | {"VVN", "CJC", "PUN"}
    ):
        return False
    if start == i - 1:
        return True
    described = c.tags[i - 1] in ADJECTIVE_TAGS or c.is_colour(i - 1)
    return described and (not c.words[i].endswith("ed") or c.words[i] in _forms())


def _takes_object(c: TaggedCaption, i: int) -> bool:
    """ "Two boys played soccer" has a past tense; "a snow covered hill" has a participle."""
    doer = c.tags[i - 1] in ("NN2", "NN0", "PNP", "PNQ", "NP0") or c.is_person(i - 1)
    return doer and c.tag(i + 1) in NOMINAL_TAGS and not c.has_finite(c.clause(i))


@cache
def _forms() -> dict[str, _Form]:
    """Return base and -s forms of the verbs in verbs.txt."""
    forms = {}
    for title, mostly_verb in (("verbs or nouns", False), ("mostly verbs", True)):
        for verb in sections("verbs.txt")[title]:
            forms[verb] = _Form(False, mostly_verb)
            forms[_third_person(verb)] = _Form(True, mostly_verb)
    return forms


def _third_person(verb: str) -> str:
    """Return the third person: "walk" -> "walks", "carry" -> "carries", "watch" -> "watches", "go" ->
    "goes"."""
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
