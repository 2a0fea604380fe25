"""Parts of speech of a caption's words, as one letter each: HanTa's tags, mended for captions.

HanTa (Wartena, "The Hanover Tagger", 2019) is a hidden Markov model with the tag set of the
British National Corpus (C5). A letter to a word lets the grammar of noun phrases be a
regular expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from HanTa.HanoverTagger import HanoverTagger

from annotation.protocol.chunker import mending
from annotation.protocol.chunker.wordlists import entries

ARTICLE = "A"  # a, an, the, no, every
DETERMINER = "D"  # his, some, another
PREDETERMINER = "Q"  # all, both, half, such
NUMERAL = "C"
ADJECTIVE = "J"
COLOUR = "K"
NOUN = "N"
PARTICIPLE = "P"  # a past participle, modifier or verb
VERB = "V"  # anything else of a verb, with every -ing form that is an action
ADVERB = "R"  # one that may modify an adjective: very, brightly
POSSESSIVE = "S"  # 's
OF = "F"
AND = "&"
COMMA = ","
PRONOUN = "U"  # stands for a noun phrase and is one: someone, others
QUOTE = "q"
PREPOSITION = "I"
ELSE = "X"

_BY_TAG = {
    "AT0": ARTICLE, "DPS": DETERMINER, "DT0": DETERMINER, "CRD": NUMERAL, "ORD": ADJECTIVE,
    "AJ0": ADJECTIVE, "AJC": ADJECTIVE, "AJS": ADJECTIVE, "NN": NOUN, "NN0": NOUN, "NN1": NOUN, "NN2": NOUN,
    "NP0": NOUN, "UNC": NOUN, "ZZ0": NOUN, "VVN": PARTICIPLE, "VVD": PARTICIPLE, "POS": POSSESSIVE,
    "PRF": OF, "CJC": AND, "PRP": PREPOSITION, "IN": PREPOSITION, "AVP": PREPOSITION, "PNI": PRONOUN,
    "PUQ": QUOTE,
}  # fmt: skip
_BY_WORD = {
    ",": COMMA, "all": PREDETERMINER, "both": PREDETERMINER, "half": PREDETERMINER, "such": PREDETERMINER,
    '"': QUOTE, "``": QUOTE, "''": QUOTE, "“": QUOTE, "”": QUOTE,
}  # fmt: skip
_DEGREES = frozenset("very too so more most quite rather well about almost over pretty".split())
_AFTER_NOUN = ("looking", "down", "up")  # adjectives that follow a noun: "button down shirt"
_LONGEST_WORD = 40  # HanTa's analysis of a word grows with the square of its length


class Tagger(Protocol):
    """Anything that gives each word of a caption one of this module's letters."""

    def tag(self, tokens: Sequence[str]) -> str:
        """One letter per token."""


class CaptionTagger:
    """HanTa's English model, then the rules of `mending`. Loads in a tenth of a second."""

    def __init__(self) -> None:
        self._hanta = HanoverTagger("morphmodel_en.pgz")

    def tag(self, tokens: Sequence[str]) -> str:
        """A letter for each token, which says its part of speech as the chunker's pattern reads it."""
        if not tokens:
            return ""
        words = [token.lower() for token in tokens]
        tags = list(
            self._hanta.tag_sent([self._shown(i, token) for i, token in enumerate(tokens)], taglevel=0)
        )
        mending.mend(words, tags)
        letters = map(_letter, words, tags)
        return "".join(
            PARTICIPLE if letter == ADJECTIVE and place and token[:1].isupper() else letter
            for place, (letter, token) in enumerate(zip(letters, tokens, strict=True))
        )

    @staticmethod
    def _shown(place: int, token: str) -> str:
        """What HanTa gets to see: a capital tells names from nouns, but not at the start."""
        if not token or len(token) > _LONGEST_WORD:
            return "?"
        return token.lower() if place == 0 else token


def _letter(word: str, tag: str) -> str:
    if word in _BY_WORD:
        return _BY_WORD[word]
    letter = _BY_TAG.get(tag, VERB if tag.startswith("V") else ELSE)
    if letter in (NOUN, ADJECTIVE) and word in entries("colours.txt"):
        return COLOUR
    if tag == "AV0" and (word.endswith("ly") or word in _DEGREES):
        return ADVERB
    if tag == "AJ0" and (word.endswith("ed") or word in _AFTER_NOUN):
        return PARTICIPLE
    return letter
