"""Read captions as content words, written words, dependency edges, tags, or names.

Reading is costly and does not depend on anything learned, so results are cached by content.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_core.features.text.edges import Edge
from models_core.features.text.lemmas import Lemmatiser, Word
from models_core.features.text.tags import TagPosition
from models_core.phase_cache import PhaseCache, digest_of_parts, from_json_array, to_json_array
from phrasebox.text.tokens import plain_words

#: The captions of an image: for each, its content words (or edges) in order.
CaptionWords = tuple[tuple[Word, ...], ...]

_TOGETHER = 200  # number of captions between two progress reports


@dataclass(frozen=True, slots=True)
class ImageExample:
    """An image of a corpus: its name, original captions, and its picture, if there is one.

    `lemmas` are the captions as lemmatised in the corpus, if it has lemmas; `edges` are the dependency edges
    of each caption, `tags` its tags and `caption_names` the captions' names, if they were requested.
    """

    name: str
    captions: tuple[str, ...]
    picture: Path | None = None
    lemmas: tuple[str, ...] | None = None
    edges: tuple[tuple[Edge, ...], ...] | None = None
    tags: tuple[tuple[TagPosition, ...], ...] | None = None
    caption_names: tuple[str, ...] | None = None


def to_lists(words: Sequence[CaptionWords]) -> list[list[list[list[str]]]]:
    """Return the captions' words as plain lists, for digests."""
    return [
        [[[word.lemma, word.part] for word in caption] for caption in image_captions]
        for image_captions in words
    ]


def written_words(examples: Sequence[ImageExample]) -> tuple[CaptionWords, ...]:
    """Return the words of every caption in lower case, without punctuation, each in the place of its lemma.

    Raises ValueError for an empty caption, naming it. Source: Karpathy and Fei-Fei 2015, section 4.
    """
    _check_captions(examples)
    return tuple(
        tuple(tuple(Word(word, "") for word in plain_words(caption)) for caption in example.captions)
        for example in examples
    )


def dependency_edges(examples: Sequence[ImageExample]) -> tuple[CaptionWords, ...]:
    """Return the edges of every caption, each in the place of a lemma. Raises ValueError for an image whose
    captions were not parsed, naming it."""
    _check_captions(examples)
    for example in examples:
        if example.edges is None or len(example.edges) != len(example.captions):
            raise ValueError(
                f"image {example.name!r} has a caption without a parse; leave it out, or import parses of all"
            )
    return tuple(
        tuple(tuple(Word(edge.token, "") for edge in caption) for caption in example.edges or ())
        for example in examples
    )


def caption_tags(examples: Sequence[ImageExample]) -> tuple[CaptionWords, ...]:
    """Return the tags of every caption with their places, each in the place of a lemma. Raises ValueError for
    an image whose tags were not read, naming it."""
    _check_captions(examples)
    for example in examples:
        if example.tags is None or len(example.tags) != len(example.captions):
            raise ValueError(f"image {example.name!r} has a caption whose tags were not read; read all")
    return tuple(
        tuple(tuple(Word(tag.token, "") for tag in caption) for caption in example.tags or ())
        for example in examples
    )


def caption_names(examples: Sequence[ImageExample]) -> tuple[CaptionWords, ...]:
    """Return the name of every caption, in the place of a lemma. Raises ValueError for an image whose
    captions have none, naming it."""
    for example in examples:
        if example.caption_names is None or len(example.caption_names) != len(example.captions):
            raise ValueError(f"the captions of image {example.name!r} have no names; expected one for each")
    return tuple(tuple((Word(name, ""),) for name in example.caption_names or ()) for example in examples)


def _check_captions(examples: Sequence[ImageExample]) -> None:
    for example in examples:
        if not example.captions:
            raise ValueError(f"image {example.name!r} has no caption; leave it out")
        if example.lemmas is not None and len(example.lemmas) != len(example.captions):
            raise ValueError(
                f"image {example.name!r} has {len(example.captions)} captions and {len(example.lemmas)} "
                "lemmatised ones; expected the same captions"
            )
        for number, caption in enumerate(example.captions):
            if not caption.strip():
                raise ValueError(
                    f"caption {number} of image {example.name!r} is empty; correct it, or leave the image out"
                )


def read_captions(examples: Sequence[ImageExample], *, cache: PhaseCache) -> tuple[CaptionWords, ...]:
    """Return the content words of every caption. Raises ValueError for an empty caption, naming it."""
    _check_captions(examples)
    texts = [[list(e.captions), None if e.lemmas is None else list(e.lemmas)] for e in examples]

    def read() -> dict[str, NDArray[np.uint8]]:
        lemmatiser = Lemmatiser()
        readings = []
        for index, example in enumerate(examples):
            if index % (_TOGETHER // 5) == 0:
                cache.progress("reading captions", index, len(examples))
            lemmas = example.lemmas or (None,) * len(example.captions)
            readings.append(
                [
                    [[w.lemma, w.part] for w in lemmatiser.words(caption, lemmatised)]
                    for caption, lemmatised in zip(example.captions, lemmas, strict=True)
                ]
            )
        return {"words": to_json_array(readings)}

    stored = cache.arrays(
        "reading captions", {"texts": digest_of_parts(texts), "HanTa": version("HanTa")}, read
    )["words"]
    return tuple(
        tuple(tuple(Word(*word) for word in c) for c in image_captions)
        for image_captions in from_json_array(stored)
    )
