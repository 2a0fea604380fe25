"""The tags of a caption as people write it: what is a noun, and which nouns stand together.

A noun is what the lemmatiser tags as one within a noun phrase of annotation's chunker. The chunker mends tags
for captions, which the lemmatiser does not: outside all noun phrases stand the "front" of "in front of" and
many a verb ("the dog bites").
"""

from __future__ import annotations

from collections.abc import Sequence

from annotation.protocol.chunker.chunking import NounPhraseChunker
from models_core.features.text.lemmas import Lemmatiser, Word
from models_core.features.text.tags import TagPlace, TagUnit, tags_in_caption


class TagReader:
    """Reads the tags of captions. Loads in a quarter of a second; some 1,000 captions a second."""

    def __init__(self, unit: TagUnit = "nouns") -> None:
        self.unit = unit
        self._lemmatiser, self._chunker = Lemmatiser(), NounPhraseChunker()

    def read(self, tokens: Sequence[str]) -> tuple[tuple[Word, ...], list[tuple[int, int]]]:
        """A caption's words, and its noun phrases among them, as `tags_in_caption` takes them."""
        return self._lemmatiser.every_token(tokens), self._chunker.chunk(tokens)

    def tags(self, tokens: Sequence[str]) -> tuple[TagPlace, ...]:
        """The tags of a caption of these tokens, in order."""
        return tags_in_caption(*self.read(tokens), unit=self.unit)
