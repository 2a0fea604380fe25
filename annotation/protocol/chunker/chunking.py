"""Noun phrase chunks: a grammar over the letters of `annotation.protocol.chunker.tagging`."""

import re
from collections.abc import Sequence
from typing import Protocol

from annotation.protocol.chunker.tagging import CaptionTagger, Tagger


class Chunker(Protocol):
    """Finds the noun phrases of a caption."""

    def chunk(self, tokens: Sequence[str]) -> list[tuple[int, int]]:
        """Return the phrases as (start, end) with end exclusive: sorted, disjoint, not empty."""


# Letters: see tagging.py. A quoted phrase may be a modifier ("a ' stop ' sign").
_QUOTED = r"q[^q]{1,4}q(?=[JKN])"
_MODIFIER = rf"(?:R*[JKCP]|{_QUOTED})"
# "red , white and blue flag": modifiers joined before a noun.
_JOINED = r"(?:R*[JKP](?:(?:,|,?&)R*[JKP])+(?=[JKPN]))"
_MEASURE = r"CN(?=J[JKP]*N)"  # "a 5 year old girl"
# A noun may modify a noun, also before a participle: "a snow covered hill", "a salmon colored shirt".
_CORE = rf"(?:(?:{_MEASURE}|{_JOINED}|{_MODIFIER}|N(?=P*[NK]))*(?:N|(?<=C)K))"
_OWNED = rf"(?:SQ?{_CORE})*S?"
_COLOURS = r"K(?:(?:,|,?&)K)*"
_HEADLESS = rf"A{_MODIFIER}+"  # "the other", "the young"
_NP = rf"(?:Q?[AD]*{_CORE}{_OWNED}|Q?[AD]?{_COLOURS}(?![JP])|{_HEADLESS}|Q?[AD]?C?U|Q?[AD]?C)"
_PHRASE = re.compile(rf"(?:{_NP}|[QD](?=F{_NP}))(?:F{_NP})*")


def phrases_in(letters: str) -> list[tuple[int, int]]:
    """Return the noun phrases of a tagged caption as spans from 0, end exclusive, without overlaps."""
    return [match.span() for match in _PHRASE.finditer(letters)]


class NounPhraseChunker:
    """The default chunker."""

    def __init__(self, tagger: Tagger | None = None) -> None:
        self._tagger = tagger if tagger is not None else CaptionTagger()

    def chunk(self, tokens: Sequence[str]) -> list[tuple[int, int]]:
        """Return the noun phrases of a tokenised caption as spans from 0, end exclusive, without overlaps."""
        return phrases_in(self._tagger.tag(tokens))
