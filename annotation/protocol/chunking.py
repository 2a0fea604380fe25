"""Noun phrase chunks: a grammar over the letters of `annotation.protocol.tagging`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from annotation.protocol.tagging import CaptionTagger, Tagger


class Chunker(Protocol):
    """Anything that finds the noun phrases of a caption."""

    def chunk(self, tokens: Sequence[str]) -> list[tuple[int, int]]:
        """The phrases as (start, end) with end exclusive: sorted, disjoint, not empty."""


_QUOTED = r"q[^q]{1,4}q(?=[JKN])"
_MODIFIER = rf"(?:R*[JKCP]|{_QUOTED})"
_JOINED = r"(?:R*[JKP](?:(?:,|,?&)R*[JKP])+(?=[JKPN]))"
_MODIFIED = rf"(?:{_JOINED}|{_MODIFIER}|N(?=P*[NK]))*"
_CORE = rf"(?:{_MODIFIED}(?:N|(?<=C)K))"
_POSSESSED = rf"(?:SQ?{_CORE})*"
_COLOURS = r"K(?:(?:,|,?&)K)*"
_NP = rf"(?:Q?[AD]*{_CORE}{_POSSESSED}|Q?[AD]?{_COLOURS}|A{_MODIFIER}+|Q?[AD]?C?U|Q?[AD]?C)"
_PHRASE = re.compile(rf"{_NP}(?:F{_NP})*")


class NounPhraseChunker:
    """The chunker used by default."""

    def __init__(self, tagger: Tagger | None = None) -> None:
        self._tagger = tagger if tagger is not None else CaptionTagger()

    def chunk(self, tokens: Sequence[str]) -> list[tuple[int, int]]:
        letters = self._tagger.tag(tokens)
        spans = [m.span() for m in _PHRASE.finditer(letters)]
        return spans
