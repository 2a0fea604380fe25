"""A corpus as training and ranking need it: images with captions, and pictures or features, by name.

Images are selected by a split, a file of names (one per line), or a fold such as "2/5", dealt with a seed.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.formats.flickr8k import Flickr8k
from annotation.selectors.corpora import corpus_named, split_names
from annotation.selectors.records import stream_records
from evaluation.comparison.subsets import FOLD, listed_image_ids, part_of_fold
from evaluation.selectors import CorpusNames, names_of
from evaluation.services.features.parses import parses_of
from evaluation.services.features.store import FeatureSet, feature_set, is_label
from evaluation.services.systems.sources import Sources
from models_core.estimators.base import RaggedRows
from models_core.features.text.edges import edges_of
from models_core.phase_cache import digest_of_parts
from models_core.systems.caption_reading import ImageExample
from models_core.systems.dataset import RegionVectors
from models_core.systems.kernels import CaptionVectorTable
from phrasebox.formats.embeddings import read_embeddings
from phrasebox.registry import UnknownName
from phrasebox.text_files import FormatError, short_repr


@dataclass(frozen=True)
class Examples:
    """The images of a corpus that can be used, in its order, with their splits.

    `vectors` has a row for each image if a feature file was given, `regions` the regions of each if a set of
    regions was. `absent` are the names of images without a picture, or missing in the file or set.
    """

    corpus: str
    digest: str
    examples: tuple[ImageExample, ...]
    splits: tuple[str, ...]
    absent: frozenset[str]
    names: CorpusNames
    vectors: NDArray[np.floating] | None = None
    regions: RegionVectors | None = None

    def described(self, places: Sequence[int]) -> NDArray[np.floating] | RegionVectors | None:
        """Return the regions or vectors of these images, or None."""
        if self.regions is not None:
            return self.regions.take(places)
        return None if self.vectors is None else self.vectors[places]

    def chosen(self, what: str, *, seed: int = 0) -> list[int]:
        """Return the positions of the images of a split, a file of names or a fold.

        Raises UnknownName for an unknown split, FormatError for a file that names images which the corpus
        lacks, and ValueError if no image is left.
        """
        fold = FOLD.fullmatch(what)
        if fold:
            return part_of_fold(int(fold[1]), int(fold[2]), len(self.examples), seed=seed)
        there = [name for name in split_names(corpus_named(self.corpus)) if name]
        if what in there:
            indices = [index for index, split in enumerate(self.splits) if split == what]
        elif Path(what).is_file():
            listed = set(listed_image_ids(Path(what), self.names))
            indices = [
                index
                for index, example in enumerate(self.examples)
                if self.names.image[example.name] in listed
            ]
        else:
            known = ", ".join(map(repr, there)) or "none"
            raise UnknownName(
                f"unknown split {what!r} of corpus {self.corpus!r}; known: {known}, a file of image names, "
                "or a fold such as 1/5"
            )
        if not indices:
            raise ValueError(f"{what} names no image with a picture (or features) of corpus {self.corpus!r}")
        return indices

    def to_rank(self, what: str, *, seed: int = 0) -> list[int]:
        """Return the same as `chosen`, but all positions where `what` is empty."""
        return self.chosen(what, seed=seed) if what else list(range(len(self.examples)))

    def digest_of(self, places: Sequence[int]) -> str:
        """Return the SHA-256 of the names of these images, in this order."""
        return digest_of_parts([self.examples[index].name for index in places])


def captions_of_corpus(corpus: str) -> Iterator[str]:
    """Yield every caption of the published corpus `corpus`, whether its image can be used or not."""
    for record in stream_records(corpus=corpus_named(corpus)):
        yield from (caption.text for caption in record.captions)


def examples_from(corpus: str, sources: Sources) -> Examples:
    """Return the corpus's images, with the features and lemmas that `sources` names."""
    features = _described(corpus, sources)
    lemmas = Path(sources.lemmas) if sources.lemmas else None
    if not sources.regions:
        return examples_of(corpus, features=features, lemmas=lemmas)
    if features is not None:
        raise ValueError("images are described by features or by regions; give one of both")
    stored = feature_set(corpus, sources.settled(corpus).regions)
    spans = _spans_of(stored)
    of_spans = _Described(tuple(spans), np.asarray(list(spans.values()), np.intp), stored.label)
    known = examples_of(corpus, features=of_spans, lemmas=lemmas)
    begin, end = np.asarray(known.vectors, np.intp).T
    regions = RegionVectors(RaggedRows(stored.vectors(), begin, end), stored.digest)
    return replace(known, vectors=None, regions=regions)


def caption_vectors_of(corpus: str, text: str) -> CaptionVectorTable:
    """Return the vectors of a set of captions."""
    stored = feature_set(corpus, text)
    return CaptionVectorTable(stored.ids(), stored.vectors())


def with_edges(dataset: Examples) -> Examples:
    """Add the dependency edges of captions, from the corpus's parses; an image with a caption without a parse
    becomes absent.

    Raises UnknownName for a corpus without parses, and ValueError if no image is left.
    """
    edges = {
        item.id: edges_of(item.forms, item.heads, item.relations)
        for item in parses_of(dataset.corpus).sentences()
    }
    names = dataset.names
    captions = _captions_of(names)
    indices, examples = [], []
    for index, item in enumerate(dataset.examples):
        caption_names = captions[names.image[item.name]]
        if all(name in edges for name in caption_names):
            indices.append(index)
            examples.append(replace(item, edges=tuple(edges[name] for name in caption_names)))
    if not examples:
        raise ValueError(f"no image of corpus {dataset.corpus!r} has parses of all its captions; import more")
    return _only(dataset, indices, examples)


def with_caption_names(dataset: Examples, known: Collection[str]) -> Examples:
    """Add the names of captions; an image with a caption that is not `known` becomes absent.

    Raises ValueError if no image is left.
    """
    names, called = dataset.names, _captions_of(dataset.names)
    names_of_index = {
        index: tuple(called[names.image[example.name]])
        for index, example in enumerate(dataset.examples)
        if all(name in known for name in called[names.image[example.name]])
    }
    if not names_of_index:
        raise ValueError(
            f"no image of corpus {dataset.corpus!r} has vectors of all its captions; import more"
        )
    examples = tuple(
        replace(dataset.examples[index], caption_names=caption_names)
        for index, caption_names in names_of_index.items()
    )
    return _only(dataset, list(names_of_index), examples)


def _captions_of(names: CorpusNames) -> dict[int, list[str]]:
    """Return the names of each image's captions, in order."""
    captions_of_image: dict[int, list[str]] = {}
    for pk in sorted(names.caption_name, key=lambda pk: (names.owner[pk], names.number[pk])):
        captions_of_image.setdefault(names.owner[pk], []).append(names.caption_name[pk])
    return captions_of_image


def _only(dataset: Examples, indices: list[int], examples: Sequence[ImageExample]) -> Examples:
    """Keep the images at these positions, replaced by `examples`; the others become absent."""
    return replace(
        dataset,
        examples=tuple(examples),
        splits=tuple(dataset.splits[index] for index in indices),
        absent=dataset.absent
        | {example.name for example in dataset.examples} - {example.name for example in examples},
        vectors=None if dataset.vectors is None else dataset.vectors[indices],
        regions=None if dataset.regions is None else dataset.regions.take(indices),
    )


def _spans_of(regions: FeatureSet) -> dict[str, tuple[int, int]]:
    """Return image -> the first of its rows, and the one after its last.

    Raises ValueError if the regions of an image are not consecutive.
    """
    spans: dict[str, tuple[int, int]] = {}
    for row, name in enumerate(regions.ids()):
        begin, end = spans.get(name, (row, row))
        if end != row:
            raise ValueError(
                f"feature set {regions.label!r}: the regions of {name!r} do not follow each other; "
                "import them "
                "image by image"
            )
        spans[name] = (begin, row + 1)
    return spans


@dataclass(frozen=True, slots=True)
class _Described:
    """Vectors of images with their ids and their origin."""

    ids: tuple[str, ...]
    vectors: NDArray[Any]
    source: str


def _described(corpus: str, sources: Sources) -> _Described | None:
    """Read the features that `sources` names: a set, a file, or none. Raises FormatError, UnknownName,
    ValueError."""
    if not sources.features:
        return None
    if is_label(sources.features):
        stored = feature_set(corpus, sources.settled(corpus).features)
        return _Described(stored.ids(), stored.vectors(), stored.label)
    read = read_embeddings(Path(sources.features), "images", Path(sources.ids) if sources.ids else None)
    return _Described(read.ids, np.asarray(read.vectors, dtype=np.float64), sources.features)


def examples_of(
    corpus: str,
    *,
    features: _Described | None = None,
    lemmas: Path | None = None,
    pictures: bool = True,
) -> Examples:
    """Return the images of the published corpus `corpus`, with the vectors of `features`.

    `lemmas` has the captions with their corpus's lemmas, in Flickr8k's format. Without `pictures`, images
    that have none can be used too. Raises UnknownName, FormatError for a bad file, and ValueError if no
    image can be used.
    """
    row, names = corpus_named(corpus), names_of(corpus)
    place_of = {} if features is None else {name: index for index, name in enumerate(features.ids)}
    lemmatised = {} if lemmas is None else {r.id: r.captions for r in Flickr8k().read(lemmas)}
    examples, splits, absent, places = [], [], set(), []
    for name, record in zip(names.image_name.values(), stream_records(corpus=row), strict=True):
        index = next((place_of[n] for n in (name, record.id) if n in place_of), -1)
        if not record.captions or (pictures and record.picture is None if features is None else index < 0):
            absent.add(name)
            continue
        captions = tuple(caption.text for caption in record.captions)
        lemma_texts = None
        if lemmas is not None:
            lemma_texts = tuple(caption.text for caption in lemmatised.get(record.id, ()))
            if len(lemma_texts) != len(captions):
                raise FormatError(
                    f"has {len(lemma_texts)} captions of {short_repr(name)}",
                    file=lemmas,
                    expected=str(len(captions)),
                )
        examples.append(ImageExample(name, captions, record.picture, lemma_texts))
        splits.append(record.split)
        places.append(index)
    if not examples:
        what = (
            "a picture"
            if features is None
            else (f"features in {features.source} (it has, for example, {features.ids[0]!r})")
        )
        raise ValueError(
            f"no image of corpus {corpus!r} has a caption and {what}; "
            "import it with its pictures, or give features of its images"
        )
    return Examples(
        corpus,
        row.digest,
        tuple(examples),
        tuple(splits),
        frozenset(absent),
        names,
        None if features is None else np.asarray(features.vectors[places]),
    )
