"""Images and captions in prepared form: captions as lemmas, pictures as words or as the vectors of a file.

Both are costly and depend on nothing learned, so they are made once and shared by all recipes, folds and
systems. Codebooks are learned from the given pictures, without captions.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import RaggedRows
from models_core.features.image import extraction, pictures, vocabulary
from models_core.features.image.descriptors import DESCRIPTORS
from models_core.features.image.pyramid import FINEST, histogram, pyramid
from models_core.features.image.vocabulary import Vocabulary
from models_core.phase_cache import PhaseCache, digest_of_parts
from models_core.systems.caption_reading import (
    CaptionWords,
    ImageExample,
    caption_names,
    caption_tags,
    dependency_edges,
    read_captions,
    to_lists,
    written_words,
)
from models_core.systems.side_settings import CaptionForm
from phrasebox.kernels.grams import Shares
from phrasebox.kernels.idf import Document

#: The index of the caption that represents an image if only one is used: published judgments are about this
#: one.
STANDS_FOR = 2

#: Name of an image kernel -> function that returns shares of pixels by cell from the counts of one kind of
#: words.
COUNTED_SHARES = {"pyramid": pyramid, "histogram": histogram}


@dataclass(frozen=True)
class CountedWords:
    """Pictures as counts of words in 4 x 4 cells: `counts` has shape (images, 16, words of all kinds)."""

    counts: NDArray[np.uint32]
    codebooks: Vocabulary

    def __len__(self) -> int:
        return len(self.counts)

    def take(self, chosen: Sequence[int] | NDArray[np.intp]) -> CountedWords:
        """Return these images only."""
        return CountedWords(self.counts[np.asarray(chosen, dtype=np.intp)], self.codebooks)

    def shares(self, kernel: str) -> list[Shares]:
        """Return shares of pixels, an array for each kind of words."""
        return [COUNTED_SHARES[kernel](kind) for kind in self.codebooks.split(self.counts)]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the counts and the codebooks."""
        return digest_of_parts(self.codebooks.digest, self.counts)


@dataclass(frozen=True)
class Vectors:
    """Pictures as vectors of a feature file, shape (images, dimensions)."""

    values: NDArray[np.floating]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, chosen: Sequence[int] | NDArray[np.intp]) -> Vectors:
        """Return these images only."""
        return Vectors(self.values[np.asarray(chosen, dtype=np.intp)])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the vectors."""
        return digest_of_parts(np.asarray(self.values))


@dataclass(frozen=True)
class RegionVectors:
    """Pictures as the vectors of their regions; `source` identifies their origin by content."""

    rows: RaggedRows
    source: str

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: Sequence[int] | NDArray[np.intp]) -> RegionVectors:
        """Return these images only; no vector is copied."""
        return RegionVectors(self.rows.take(chosen), self.source)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the origin of the vectors and of the selection."""
        return digest_of_parts(self.source, self.rows.begin, self.rows.end)


Features = CountedWords | Vectors | RegionVectors


@dataclass(frozen=True)
class WeakPairs:
    """Images as vectors, shape (images, dimensions), each with an original text."""

    vectors: NDArray[Any]
    texts: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.vectors) != len(self.texts):
            raise ValueError(
                f"{len(self.vectors)} weak images with {len(self.texts)} texts; expected one each"
            )


@dataclass(frozen=True)
class PreparedDataset:
    """Prepared images: names, words of all captions, and features in the same order."""

    names: tuple[str, ...]
    words: tuple[CaptionWords, ...]
    features: Features

    def __len__(self) -> int:
        return len(self.names)

    def take(self, chosen: Sequence[int] | NDArray[np.intp]) -> PreparedDataset:
        """Return the images with these indices, in this order."""
        places = [int(index) for index in chosen]
        return PreparedDataset(
            tuple(self.names[index] for index in places),
            tuple(self.words[index] for index in places),
            self.features.take(places),
        )

    def documents(self, captions: int | None = None) -> list[Document]:
        """Return each image's first `captions` as lemmas; all of them if None."""
        return [
            [[word.lemma for word in caption] for caption in image_captions[:captions]]
            for image_captions in self.words
        ]

    def single_captions(self, number: int = STANDS_FOR) -> list[Document]:
        """Return one caption of each image: that with index `number`, or its last if it has fewer."""
        return [[captions[min(number, len(captions) - 1)]] for captions in self.documents()]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names, words and features."""
        return digest_of_parts(list(self.names), to_lists(self.words), self.features.digest)


#: Form of captions -> function that reads them.
_READERS: Mapping[CaptionForm, Callable[[Sequence[ImageExample], PhaseCache], tuple[CaptionWords, ...]]] = {
    "lemmas": lambda examples, cache: read_captions(examples, cache=cache),
    "words": lambda examples, cache: written_words(examples),
    "edges": lambda examples, cache: dependency_edges(examples),
    "tags": lambda examples, cache: caption_tags(examples),
    "names": lambda examples, cache: caption_names(examples),
}


def prepare(
    examples: Sequence[ImageExample],
    *,
    cache: PhaseCache,
    codebooks: Vocabulary | None = None,
    vectors: NDArray[np.floating] | RegionVectors | None = None,
    seed: int = 0,
    reads: CaptionForm = "lemmas",
) -> PreparedDataset:
    """Read captions and pictures; with `vectors`, shape (examples, dimensions), or vectors of regions,
    pictures are not read. Captions are read as `reads` says.

    `codebooks` are learned from the pictures if None. Results are cached by content. Raises ValueError naming
    the image for an empty caption, a duplicate name, a missing picture and a vector with a number that is not
    finite; BadPicture for a file that is not a picture.
    """
    names = tuple(example.name for example in examples)
    if len(set(names)) != len(names):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise ValueError(f"image {twice!r} is given twice; expected each once")
    words = _READERS[reads](examples, cache)
    if isinstance(vectors, RegionVectors):
        return PreparedDataset(names, words, _checked_regions(names, vectors))
    if vectors is not None:
        return PreparedDataset(names, words, checked_vectors(names, vectors))
    return PreparedDataset(
        names, words, count_words(examples, phase_cache=cache, codebooks=codebooks, seed=seed)
    )


def count_words(
    examples: Sequence[ImageExample],
    *,
    phase_cache: PhaseCache,
    codebooks: Vocabulary | None = None,
    seed: int = 0,
) -> CountedWords:
    """Return the counts of the pictures' words; codebooks are learned from the pictures if none are given."""
    named = []
    for example in examples:
        if example.picture is None:
            raise ValueError(f"image {example.name!r} has no picture; leave it out, or give a feature file")
        named.append((example.name, example.picture))
    books = codebooks or learn_codebooks([path for _, path in named], cache=phase_cache, seed=seed)
    counts = np.empty((len(named), FINEST**2, sum(map(len, books.centres))), dtype=np.uint32)
    with _cache(phase_cache) as cache:
        stream = extraction.extract(
            named,
            books,
            cache,
            total=len(named),
            progress=lambda done, of: phase_cache.progress("describing pictures", done, of),
        )
        for index, counted in enumerate(stream):
            counts[index] = counted.counts
    return CountedWords(counts, books)


def learn_codebooks(paths: Sequence[Path], *, cache: PhaseCache, seed: int = 0) -> Vocabulary:
    """Return codebooks of these pictures, cached by their content. Raises BadPicture, and ValueError without
    pictures."""
    settings = vocabulary.CodebookSettings(seed=seed)

    def learn() -> dict[str, NDArray[np.float32]]:
        learned = vocabulary.learn(paths, settings, progress=cache.progress)
        return dict(zip(DESCRIPTORS, learned.centres, strict=True))

    provenance = {
        "pictures": digest_of_parts(sorted({pictures.read_picture(path).digest for path in paths})),
        "settings": json.loads(json.dumps(asdict(settings))),
    }
    books = cache.arrays("learning codebooks", provenance, learn)
    return Vocabulary(tuple(books[kind] for kind in DESCRIPTORS), settings)


@contextmanager
def _cache(cache: PhaseCache) -> Iterator[Path]:
    """Yield the folder for counts of pictures: that of the cache, or a temporary one."""
    if cache.folder is not None:
        yield cache.folder / "pictures"
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _checked_regions(names: Sequence[str], regions: RegionVectors) -> RegionVectors:
    """Return the regions of these images; raises ValueError naming the first image that has none."""
    if len(regions) != len(names):
        raise ValueError(f"regions of {len(regions)} images for {len(names)}; expected the same images")
    without = np.flatnonzero(regions.rows.counts == 0)
    if len(without):
        raise ValueError(f"image {names[int(without[0])]!r} has no region; leave it out")
    return regions


def checked_vectors(names: Sequence[str], vectors: NDArray[np.floating]) -> Vectors:
    """Return the vectors of these images; raises ValueError naming the first that is not finite, or has no
    direction."""
    checked = np.asarray(vectors)
    if checked.ndim != 2 or len(checked) != len(names) or checked.dtype.kind not in "fiu":
        raise ValueError(
            f"features have shape {checked.shape} of {checked.dtype}; "
            f"expected numbers, ({len(names)}, dimensions)"
        )
    # Single precision is kept: it halves the memory of large sets.
    checked = checked.astype(np.float32 if checked.dtype in (np.float16, np.float32) else np.float64)
    invalid = np.argwhere(~np.isfinite(checked))
    if len(invalid):
        image, column = (int(n) for n in invalid[0])
        raise ValueError(f"the features of image {names[image]!r} are not finite at dimension {column}")
    empty = np.flatnonzero(~checked.any(axis=1))
    if len(empty):
        raise ValueError(
            f"the features of image {names[int(empty[0])]!r} are all 0 and have no direction; "
            "compute them again, or leave the image out"
        )
    return Vectors(checked)
