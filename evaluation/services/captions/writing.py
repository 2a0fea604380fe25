"""Captions that a trained system writes of images, or of regions of images: a set in the database.

A captioner writes its own sentences. An alignment takes for each region that part of a training sentence
which fits it best: the baseline of Karpathy and Fei-Fei 2015, Table 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.common.batching import chunks
from evaluation.comparison.provenance import provenance_of
from evaluation.models import CaptionSet, WrittenCaption
from evaluation.services.captions.sets import write_coco_results
from evaluation.services.common import ROWS_PER_INSERT, ImportRefused
from evaluation.services.features.store import feature_set
from evaluation.services.stored import get_or_publish
from evaluation.services.systems import registry
from evaluation.services.systems.described_alike import check_described_alike
from evaluation.services.systems.examples import Examples, examples_from
from evaluation.services.systems.folds import check_left_out
from evaluation.services.systems.origins.recipe import REMEMBERED_FILES
from evaluation.services.systems.region_texts import OF_REGION
from evaluation.services.systems.sources import Sources
from evaluation.services.systems.training import system_named
from models_core.estimators.base import RaggedRows
from models_core.estimators.captioners import WritingSettings
from models_core.estimators.neural.alignment import Alignment
from models_core.estimators.neural.substrings import best_substrings
from models_core.phase_cache import PhaseProgress, digest_of_parts, no_progress
from models_core.systems.caption_reading import written_words
from models_core.systems.dataset import Vectors, checked_vectors
from models_core.systems.text_sides import WordTexts
from models_core.systems.trained_system import TrainedSystem, WrittenWords

#: Images or regions that are written for at a time.
_TOGETHER = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionsRequest:
    """The captions to be written: by which system, of which images, and how sentences are found.

    `name` is that of the set, the system's where empty. `split` is as for rankings, all images where empty.
    `features` and `regions` are feature sets of the corpus, by default those of the training. With `regions`
    each region gets a caption, else each image. `out` is a new file of COCO results.
    """

    system: str
    name: str = ""
    split: str = "test"
    features: str = ""
    regions: str = ""
    how: WritingSettings = field(default_factory=WritingSettings)
    out: Path | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class WrittenSet:
    """The set that stands: `captions` of so many `images`, so many of them `distinct`, and so many
    `in_training`: word for word a training caption. `unchanged`: it stood already. `provenance` is what the
    system has seen of the images."""

    name: str
    system: str
    corpus: str
    images: int
    captions: int
    distinct: int
    in_training: int
    words: float
    file: str
    unchanged: bool
    provenance: dict[str, Any]


def generate_captions(
    request: CaptionsRequest,
    *,
    progress: PhaseProgress = no_progress,
) -> WrittenSet:
    """Write the set. One that was asked for alike stands unchanged; another of that name is refused.

    Raises UnknownName, ImportRefused, BadModel, ValueError, and OSError for `out`.
    """
    name = request.name or request.system
    if request.out is not None and request.out.exists():
        raise ImportRefused(f"{request.out} already exists; choose another file")
    system = registry.system_row(request.system)
    writer = _Writer.of(request)
    places = writer.found.to_rank(request.split, seed=request.seed)
    check_left_out(writer.stored, request.system, writer.found, places, request.split)
    facts = {
        "made_by": system,
        "corpus": system.corpus,
        "split": request.split,
        "seed": request.seed,
        "settings": asdict(request.how),
        "features": writer.sources.features,
        "regions": writer.sources.regions,
        "system_digest": system.digest,
        "asked_digest": writer.found.digest_of(places),
        "remarks": list(writer.remarks),
    }
    found, created = get_or_publish(
        CaptionSet, name, facts, lambda row: _fill(row, writer, places, request.how, progress)
    )
    if request.out is not None:
        write_coco_results(found, request.out)
    return _report(found, "" if request.out is None else str(request.out), unchanged=not created)


def _fill(
    found: CaptionSet,
    writer: _Writer,
    places: Sequence[int],
    how: WritingSettings,
    progress: PhaseProgress,
) -> None:
    """Write the rows of the set, and count them."""
    image = writer.found.names.image
    texts: list[list[Any]] = []
    rows = (
        WrittenCaption(
            caption_set=found,
            position=position,
            image_id=image[one.image],
            box=list(one.box),
            text=one.said.text,
            log_probability=one.said.log_probability,
        )
        for position, one in enumerate(writer.captions(places, how, progress))
    )
    for chunk in chunks(rows, ROWS_PER_INSERT):
        WrittenCaption.objects.bulk_create(chunk)
        texts += [[row.image_id, row.box, row.text] for row in chunk]
    known = writer.training_captions()
    found.caption_count, found.image_count = len(texts), len(places)
    found.distinct = len({text for _, _, text in texts})
    found.in_training = sum(text in known for _, _, text in texts)
    names = writer.found.names.image_name
    found.digest = digest_of_parts([[names[pk], box, text] for pk, box, text in texts])


@dataclass(frozen=True, slots=True)
class _Said:
    """A caption of an image, or of the region in its `box`."""

    image: str
    box: tuple[float, ...]
    said: WrittenWords


@dataclass(frozen=True)
class _Writer:
    """A trained system with what it is to describe."""

    stored: TrainedSystem
    found: Examples
    sources: Sources
    boxes: NDArray[Any] | None
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, request: CaptionsRequest) -> _Writer:
        """Raises ImportRefused where the system writes no captions, and for features that do not fit it."""
        stored = system_named(request.system)
        aligns = isinstance(stored.model, Alignment)
        if stored.recipe.kind.predicts != "captions" and not aligns:
            raise ImportRefused(
                f"system {request.system!r} does not write captions; name one of recipe mRNN or NN-caption"
            )
        if aligns and not isinstance(stored.texts, WordTexts):
            raise ImportRefused(
                f"system {request.system!r} aligns dependency edges, not words: it finds no parts of "
                "sentences; name one of recipe BRNN"
            )
        corpus = str(stored.facts["corpus"])
        given = Sources(features=request.features, regions=request.regions)
        if not (given.features or given.regions):
            given = Sources(**{key: stored.facts.get(key, "") for key in REMEMBERED_FILES})
        if aligns and not given.regions:
            raise ImportRefused(
                f"system {request.system!r} aligns regions with words: it finds captions of regions alone; "
                "name a feature set of regions"
            )
        given = given.settled(corpus)
        remarks = check_described_alike(request.system, stored.facts, corpus, given)
        boxes = feature_set(corpus, given.regions).boxes() if given.regions else None
        return cls(stored, examples_from(corpus, replace(given, lemmas="")), given, boxes, remarks)

    def captions(
        self, places: Sequence[int], how: WritingSettings, progress: PhaseProgress
    ) -> Iterator[_Said]:
        """The captions of these images, in order."""
        items = list(self._items(places))
        writes = self._substrings if isinstance(self.stored.model, Alignment) else self.stored.write
        for start in range(0, len(items), _TOGETHER):
            progress("writing captions", start, len(items))
            part = items[start : start + _TOGETHER]
            rows = np.stack([np.asarray(self._values[row], np.float32) for _, row in part])
            own = replace(how, seed=how.seed + start)
            for (image, row), said in zip(part, writes(Vectors(rows), own), strict=True):
                box = () if self.boxes is None else tuple(float(edge) for edge in self.boxes[row])
                yield _Said(image, box, said)
        progress("writing captions", len(items), len(items))

    @property
    def _values(self) -> NDArray[Any]:
        """A row for each image, or for each region of all images."""
        if self.found.regions is not None:
            return self.found.regions.rows.values
        assert self.found.vectors is not None
        return self.found.vectors

    def _items(self, places: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Each image, or each region, with its row. Raises ValueError naming an image whose numbers cannot
        be looked at."""
        if self.found.regions is None:
            names = [self.found.examples[place].name for place in places]
            checked_vectors(names, self._values[list(places)])
            yield from zip(names, places, strict=True)
            return
        rows = self.found.regions.rows
        for place in places:
            for row in range(int(rows.begin[place]), int(rows.end[place])):
                yield self.found.examples[place].name, row

    def training_captions(self) -> frozenset[str]:
        """The captions of the training images, as the system reads them."""
        return frozenset(" ".join(words) for words in self._training_words())

    def _substrings(self, regions: Vectors, how: WritingSettings) -> list[WrittenWords]:
        """The part of a training sentence that fits each region best."""
        model = self.stored.model
        assert isinstance(model, Alignment)
        of_regions, _ = model.embedded(self.stored.describe(regions, []))
        said, of_words = self._training_sentences
        found = best_substrings(of_regions.joined(), of_words, longest=how.limit)
        return [WrittenWords(tuple(said[own.sentence][own.first : own.end]), 0.0) for own in found]

    @cached_property
    def _training_sentences(self) -> tuple[list[list[str]], RaggedRows]:
        """The known words of each training caption, and their vectors in the common space."""
        model, texts = self.stored.model, self.stored.texts
        assert isinstance(model, Alignment) and isinstance(texts, WordTexts)
        known = set(texts.vocabulary)
        said = [[word for word in caption if word in known] for caption in self._training_words()]
        one = Vectors(self._values[:1])
        sentences = self.stored.describe(one, [[own] for own in said], np.zeros(len(said), np.intp))
        _, of_words = model.embedded(sentences)
        return said, of_words

    def _training_words(self) -> Iterator[list[str]]:
        """The words of each caption of the training images."""
        names = {name.partition(OF_REGION)[0] for name in self.stored.names}
        own = [one for one in self.found.examples if one.name in names]
        for captions in written_words(own):
            yield from ([word.lemma for word in caption] for caption in captions)


def _report(found: CaptionSet, file: str, *, unchanged: bool) -> WrittenSet:
    texts = found.captions.values_list("text", flat=True)
    words = sum(len(text.split()) for text in texts.iterator())
    images = found.captions.values_list("image_id", flat=True)
    return WrittenSet(
        found.name,
        found.made_by.name,
        found.corpus.name,
        found.image_count,
        found.caption_count,
        found.distinct,
        found.in_training,
        words / found.caption_count,
        file,
        unchanged,
        provenance_of({found.name: found}, found.corpus, images)[found.name],
    )
