"""The captions and judgments of Flickr8k as arrays, and the overlaps computed from them.

The pool is the 1,000 test images and, for each, its caption `#2`: all published judgments are
about those captions. A pair is (number of the image, number of the image whose caption it is).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.formats.flickr8k import Flickr8k
from annotation.protocol.terms import ImageRecord
from phrasebox.formats.flickr8k_judgments import Flickr8kCrowd, Flickr8kExpert
from phrasebox.metrics.captioning import grams
from phrasebox.metrics.overlap import Entries, Overlap, content_words, words
from phrasebox.relevance.grades import JudgedPair
from phrasebox.text.stopwords import STOP_WORDS
from phrasebox.text_files import FormatError, short_repr
from studies.hodosh.conventions import Conventions

#: The number of the caption that represents its image in the pool.
POOL = 2
LEMMAS = "Flickr8k.lemma.token.txt"
#: The references of an image by their printed name; R1(other) is a convention.
REFERENCES = {"R5": (0, 1, 2, 3, 4), "R1(gold)": (2,), "R4": (0, 1, 3, 4)}

ExpertScores = NDArray[np.float64]
_Integers = NDArray[np.int64]
#: How captions are split: ("words",), or ("content", order, stop words out, stemmed, lemmatised).
_Kind = tuple[Any, ...]
Texts = Sequence[Sequence[str]]


@dataclass(frozen=True)
class _Judged:
    """Judged pairs as columns: `images` and `captions` are numbers in the pool, `means` the mean answers."""

    pairs: tuple[JudgedPair, ...]
    images: _Integers
    captions: _Integers
    means: ExpertScores


@dataclass
class Evidence:
    """The content of the folder: the test images with five captions each, raw and lemmatised.

    `training_lemmas` are the lemmatised captions of the training images.
    """

    images: tuple[str, ...]
    captions: Texts
    lemmas: Texts
    training_lemmas: Texts
    experts: _Judged
    crowd: _Judged
    _entries: dict[_Kind, list[list[Entries]]] = field(default_factory=dict)
    _overlaps: dict[tuple[_Kind, tuple[int, ...]], Overlap] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        folder: Path,
        *,
        experts: Iterable[JudgedPair] | None = None,
        crowd: Iterable[JudgedPair] | None = None,
    ) -> Evidence:
        """Read Flickr8k's folder. Raises FormatError naming a missing or invalid file.

        Judgments in the arguments replace the folder's own.
        """
        records = list(Flickr8k().read(folder))
        test = [record for record in records if record.split == "test"]
        if not test:
            raise FormatError(
                "names no test images", file=folder, expected="Flickr_8k.testImages.txt beside the captions"
            )
        for record in test:
            if len(record.captions) != len(REFERENCES["R5"]):
                raise FormatError(
                    f"{short_repr(record.filename)} has {len(record.captions)} captions",
                    file=folder,
                    expected="five for each test image",
                )
        file = folder / LEMMAS
        lemmas = {record.id: record for record in Flickr8k().read(file)}
        for record in records:
            if len(record.captions) != len(lemmas[record.id].captions if record.id in lemmas else ()):
                raise FormatError(
                    f"lacks captions of {short_repr(record.filename)}",
                    file=file,
                    expected="those of every image",
                )
        images = tuple(record.filename for record in test)
        return cls(
            images=images,
            captions=_texts(test),
            lemmas=_texts(lemmas[record.id] for record in test),
            training_lemmas=_texts(lemmas[record.id] for record in records if record.split == "train"),
            experts=_judged(experts, Flickr8kExpert(), images, folder),
            crowd=_judged(crowd, Flickr8kCrowd(), images, folder),
        )

    @cached_property
    def originals(self) -> Mapping[str, str]:
        """The caption of each image in the pool."""
        return _pool(self.images)

    @cached_property
    def lay(self) -> ExpertScores:
        """Return the crowd's share of yes on each of the experts' pairs; NaN if the crowd did not judge
        it."""
        shares = np.full((len(self.images), len(self.images)), np.nan)
        shares[self.crowd.images, self.crowd.captions] = self.crowd.means
        scores_of_pairs: ExpertScores = shares[self.experts.images, self.experts.captions]
        return scores_of_pairs

    def bleu_overlap(self, references: tuple[int, ...], conventions: Conventions) -> Overlap:
        """Return the overlap of the pool with references, over the words that BLEU counts."""
        if conventions.bleu_of_content:
            return self.content_overlap(references, conventions)
        return self._overlap(("words",), references)

    def content_overlap(
        self, references: tuple[int, ...], conventions: Conventions, *, order: int = 1
    ) -> Overlap:
        """Return the overlap over n-grams of `order` content words, as in ROUGE and BLEU_pre."""
        how = (conventions.stop_words, conventions.stemmed, conventions.lemmatised)
        return self._overlap(("content", order, *how), references)

    def _overlap(self, kind: _Kind, references: tuple[int, ...]) -> Overlap:
        key = (kind, references)
        if key not in self._overlaps:
            cut = self._cut(kind)
            self._overlaps[key] = Overlap(
                [entries[POOL] for entries in cut],
                [[entries[number] for number in references] for entries in cut],
            )
        return self._overlaps[key]

    def _cut(self, kind: _Kind) -> list[list[Entries]]:
        """Return the captions as words, or as n-grams of content words."""
        if kind not in self._entries:
            if kind == ("words",):
                entries: list[list[Entries]] = [
                    [words(text) for text in captions] for captions in self.captions
                ]
            else:
                _, order, stop, stemmed, lemmatised = kind
                stop_words = STOP_WORDS if stop else frozenset()
                entries = [
                    [
                        grams(content_words(text, stop_words=stop_words, stemmed=stemmed), order)
                        for text in captions
                    ]
                    for captions in (self.lemmas if lemmatised else self.captions)
                ]
            self._entries[kind] = entries
        return self._entries[kind]


def _texts(records: Iterable[ImageRecord]) -> Texts:
    return [[caption.text for caption in record.captions] for record in records]


def _pool(images: Sequence[str]) -> dict[str, str]:
    return {image: f"{image}#{POOL}" for image in images}


def _judged(
    given_pairs: Iterable[JudgedPair] | None,
    reader: Flickr8kExpert | Flickr8kCrowd,
    images: Sequence[str],
    folder: Path,
) -> _Judged:
    """Return the pairs, by default the folder's, as columns. Raises FormatError if one is not in the pool."""
    pairs = reader.read(folder) if given_pairs is None else given_pairs
    source = folder / reader.file if given_pairs is None else f"the {reader.title} that were given"
    numbers = {image: number for number, image in enumerate(images)}
    captions = {caption: numbers[image] for image, caption in _pool(images).items()}
    judged_pairs = tuple(pairs)
    for pair in judged_pairs:
        if pair.query not in numbers or pair.document not in captions:
            raise FormatError(
                f"{short_repr(pair.query)} with {short_repr(pair.document)} is outside the pool",
                file=source,
                expected=f"a test image and the caption #{POOL} of a test image",
            )
    return _Judged(
        pairs=judged_pairs,
        images=np.array([numbers[pair.query] for pair in judged_pairs], dtype=np.int64),
        captions=np.array([captions[pair.document] for pair in judged_pairs], dtype=np.int64),
        means=np.array([pair.mean for pair in judged_pairs]),
    )
