"""The tags of a caption: which of its tokens are nouns, and which nouns belong together.

A noun is a token that the lemmatiser tags as one within a noun phrase, found by annotation's chunker or
stored as a mention. Unlike the lemmatiser, the chunker corrects tags for captions: the "front" of "in front
of" and many verbs ("the dog bites") are outside all noun phrases.

Images are read by this process or by several, which do not query the database; memory does not grow with
their number.
"""

import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache, cached_property
from typing import NamedTuple

import django

from annotation.common.database import chunks
from annotation.protocol.chunker.chunking import NounPhraseChunker
from evaluation.formats.conllu import ParsedSentence
from evaluation.services.features.parses import letters_of
from models_core.features.text.lemmas import Lemmatiser, Word
from models_core.features.text.tags import TagPosition, TagUnit, ranked_tags, tags_in_caption, tree_locations

#: Number of images that a process reads at a time.
_BLOCK = 100
#: Number of blocks per process that are read ahead.
_AHEAD = 3
RankedTags = list[tuple[str, float]]


class CaptionToRead(NamedTuple):
    """A caption's tokens; its noun phrases among them, None if the chunker is to find them; and the locations
    of its tokens, None if these follow their order."""

    tokens: Sequence[str]
    phrases: Sequence[tuple[int, int]] | None = None
    locations: Sequence[float] | None = None


class TagReader:
    """Reads the tags of captions. It loads in a quarter of a second and reads about 1,400 captions a second,
    2,500 where noun phrases are known."""

    def __init__(self, unit: TagUnit = "nouns") -> None:
        self.unit = unit
        self._lemmatiser = Lemmatiser()

    @cached_property
    def _chunker(self) -> NounPhraseChunker:
        return NounPhraseChunker()

    def read(self, tokens: Sequence[str]) -> tuple[tuple[Word, ...], list[tuple[int, int]]]:
        """Return a caption's words, and its noun phrases among them, as `tags_in_caption` takes them."""
        return self._lemmatiser.every_token(tokens), self._chunker.chunk(tokens)

    def tags(
        self,
        tokens: Sequence[str],
        phrases: Sequence[tuple[int, int]] | None = None,
        locations: Sequence[float] | None = None,
    ) -> tuple[TagPosition, ...]:
        """Return the tags of a caption, in order; `phrases` are computed where None; `locations` as in
        `tags_in_caption`."""
        phrases_of_caption = self._chunker.chunk(tokens) if phrases is None else phrases
        if not phrases_of_caption:
            return ()
        return tags_in_caption(
            self._lemmatiser.every_token(tokens), phrases_of_caption, unit=self.unit, locations=locations
        )


@cache
def _reader(unit: TagUnit) -> TagReader:
    """Return the process's own reader."""
    return TagReader(unit)


def _ranked(unit: TagUnit, alpha: float, images: Sequence[Sequence[CaptionToRead]]) -> list[RankedTags]:
    reader = _reader(unit)
    return [ranked_tags([reader.tags(*caption) for caption in captions], alpha) for captions in images]


def check_process_count(number: int) -> None:
    """Raise ValueError unless `number` is at least 1."""
    if number < 1:
        raise ValueError(f"{number} processes; expected 1 or more")


def read_ranked_tags(
    images: Iterable[Sequence[CaptionToRead]], unit: TagUnit, alpha: float, *, processes: int = 1
) -> Iterator[RankedTags]:
    """Yield the ranked tags of each image, in order, from its captions; read by `processes` processes, by
    this one if it is 1. Raises ValueError as `check_process_count` does."""
    check_process_count(processes)
    blocks = chunks(images, _BLOCK if processes > 1 else 1)
    if processes == 1:
        for block in blocks:
            yield from _ranked(unit, alpha, block)
        return
    # Fresh processes: forked ones would share this process's connections. This module can only be imported
    # there after Django is set up.
    fresh = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=fresh, initializer=django.setup)
    under_way: deque[Future[list[RankedTags]]] = deque()
    try:
        for block in blocks:
            under_way.append(pool.submit(_ranked, unit, alpha, list(block)))
            if len(under_way) > _AHEAD * processes:
                yield from under_way.popleft().result()
        while under_way:
            yield from under_way.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def parsed_locations(tokens: Sequence[str], parse: ParsedSentence | None) -> list[float]:
    """Return the relative distance of each token from the root of its caption's parse; 1 without a parse.

    A parse may tokenise differently: a token has the distance of the nearest word that shares a letter with
    it.
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
    for index, word in enumerate(spoken):
        far[index] = min(nearest[at : at + len(word)], default=1.0)
        at += len(word)
    return far
