"""The tags of a caption as people write it: what is a noun, and which nouns stand together.

A noun is what the lemmatiser tags as one within a noun phrase of annotation's chunker. The chunker mends tags
for captions, which the lemmatiser does not: outside all noun phrases stand the "front" of "in front of" and
many a verb ("the dog bites").
"""

from __future__ import annotations

from collections.abc import Sequence

from annotation.protocol.chunker.chunking import NounPhraseChunker
from evaluation.formats.conllu import ParsedSentence
from evaluation.services.features.parses import letters_of
from models_core.features.text.lemmas import Lemmatiser, Word
from models_core.features.text.tags import TagPlace, TagUnit, tags_in_caption, tree_locations


class TagReader:
    """Reads the tags of captions. Loads in a quarter of a second; some 1,000 captions a second."""

    def __init__(self, unit: TagUnit = "nouns") -> None:
        self.unit = unit
        self._lemmatiser, self._chunker = Lemmatiser(), NounPhraseChunker()

    def read(self, tokens: Sequence[str]) -> tuple[tuple[Word, ...], list[tuple[int, int]]]:
        """A caption's words, and its noun phrases among them, as `tags_in_caption` takes them."""
        return self._lemmatiser.every_token(tokens), self._chunker.chunk(tokens)

    def tags(self, tokens: Sequence[str], locations: Sequence[float] | None = None) -> tuple[TagPlace, ...]:
        """The tags of a caption of these tokens, in order; `locations` as `tags_in_caption` takes them."""
        return tags_in_caption(*self.read(tokens), unit=self.unit, locations=locations)


def parsed_locations(tokens: Sequence[str], parse: ParsedSentence | None) -> list[float]:
    """How far each token is from the root of its caption's parse, relatively; 1 where there is no parse.

    A parse may cut words otherwise: a token is as near as the nearest word that shares a letter with it.
    """
    far = [1.0] * len(tokens)
    if parse is None:
        return far
    words = [letters_of(form) for form in parse.forms]
    spoken = [letters_of(token) for token in tokens]
    if "".join(words) != "".join(spoken):
        return far
    nearest: list[float] = []  # of each letter
    for word, location in zip(words, tree_locations(parse.heads), strict=True):
        nearest += [location] * len(word)
    at = 0
    for place, word in enumerate(spoken):
        far[place] = min(nearest[at : at + len(word)], default=1.0)
        at += len(word)
    return far
