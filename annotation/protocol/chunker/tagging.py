"""Parts of speech of a caption's words, as one letter each: HanTa's tags, corrected for captions.

HanTa (Wartena, "The Hanover Tagger", 2019) is a hidden Markov model with the tag set of the British National
Corpus (C5). With one letter per word, the grammar of noun phrases is a regular expression.
"""

from collections.abc import Sequence
from typing import Protocol

from annotation.protocol.chunker import mending
from annotation.protocol.chunker.wordlists import entries
from models_core.features.text.hanta import english_tagger

_ARTICLE = "A"  # a, an, the, no, every
_DETERMINER = "D"  # his, some, another
_PREDETERMINER = "Q"  # all, both, half, such
_NUMERAL = "C"
_ADJECTIVE = "J"
_COLOUR = "K"
_NOUN = "N"
_PARTICIPLE = "P"  # a past participle, modifier or verb
_VERB = "V"  # any other verb form, including every -ing form that is an action
VERB_FORMS = _PARTICIPLE + _VERB
_ADVERB = "R"  # one that may modify an adjective: very, brightly
_POSSESSIVE = "S"  # 's
_OF = "F"
_AND = "&"
_COMMA = ","
_PRONOUN = "U"  # replaces a noun phrase and is one: someone, others
_QUOTE = "q"
_PREPOSITION = "I"
_ELSE = "X"

_BY_TAG = {
    "AT0": _ARTICLE, "DPS": _DETERMINER, "DT0": _DETERMINER, "CRD": _NUMERAL, "ORD": _ADJECTIVE,
    "AJ0": _ADJECTIVE, "AJC": _ADJECTIVE, "AJS": _ADJECTIVE,
    "NN": _NOUN, "NN0": _NOUN, "NN1": _NOUN, "NN2": _NOUN,
    "NP0": _NOUN, "UNC": _NOUN, "ZZ0": _NOUN, "VVN": _PARTICIPLE, "VVD": _PARTICIPLE, "POS": _POSSESSIVE,
    "PRF": _OF, "CJC": _AND, "PRP": _PREPOSITION, "IN": _PREPOSITION, "AVP": _PREPOSITION, "PNI": _PRONOUN,
    "PUQ": _QUOTE,
}  # fmt: skip
_BY_WORD = {
    ",": _COMMA, "all": _PREDETERMINER, "both": _PREDETERMINER, "half": _PREDETERMINER,
    "such": _PREDETERMINER,
    '"': _QUOTE, "``": _QUOTE, "''": _QUOTE, "“": _QUOTE, "”": _QUOTE,
}  # fmt: skip
_DEGREES = frozenset("very too so more most quite rather well about almost over pretty".split())
_AFTER_NOUN = ("looking", "down", "up")  # adjectives that follow a noun: "button down shirt"
_LONGEST_WORD = 40  # HanTa's analysis of a word grows with the square of its length


class Tagger(Protocol):
    """Returns one of this module's letters for each word of a caption."""

    def tag(self, tokens: Sequence[str]) -> str:
        """Return one letter per token."""


class CaptionTagger:
    """HanTa's English model, then the rules of `mending`."""

    def __init__(self) -> None:
        self._hanta = english_tagger()

    def tag(self, tokens: Sequence[str]) -> str:
        """Return a letter for each token: its part of speech for the chunker's pattern."""
        if not tokens:
            return ""
        words = [token.lower() for token in tokens]
        tags = list(
            self._hanta.tag_sent([self._for_tagger(i, token) for i, token in enumerate(tokens)], taglevel=0)
        )
        mending.mend_tags(words, tags)
        letters = map(_letter, words, tags)
        return "".join(
            _PARTICIPLE if letter == _ADJECTIVE and index and token[:1].isupper() else letter
            for index, (letter, token) in enumerate(zip(letters, tokens, strict=True))
        )

    @staticmethod
    def _for_tagger(index: int, token: str) -> str:
        """Return a token for HanTa: a capital distinguishes names from nouns, but not at the start."""
        if not token or len(token) > _LONGEST_WORD:
            return "?"
        return token.lower() if index == 0 else token


def _letter(word: str, tag: str) -> str:
    if word in _BY_WORD:
        return _BY_WORD[word]
    letter = _BY_TAG.get(tag, _VERB if tag.startswith("V") else _ELSE)
    if letter in (_NOUN, _ADJECTIVE) and word in entries("colours.txt"):
        return _COLOUR
    if tag == "AV0" and (word.endswith("ly") or word in _DEGREES):
        return _ADVERB
    if tag == "AJ0" and (word.endswith("ed") or word in _AFTER_NOUN):
        return _PARTICIPLE
    return letter
