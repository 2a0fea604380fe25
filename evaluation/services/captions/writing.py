"""Captions that a trained system writes for images or regions of images, stored as a set in the database.

A captioner generates sentences. An alignment takes for each region the part of a training sentence that fits
it best: the baseline of Karpathy and Fei-Fei 2015, Table 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray
from pydantic import Field

from annotation.common.operations import Help, OperationContext
from evaluation.comparison.provenance import provenance_of
from evaluation.models import CaptionSet, System, WrittenCaption
from evaluation.services.captions.sets import CaptionSetSummary, caption_set_summary, write_caption_rows
from evaluation.services.common import InputError
from evaluation.services.features.store import feature_set, feature_sets
from evaluation.services.phases import PhaseShares
from evaluation.services.predicting import (
    PredictionRequest,
    SetField,
    check_set,
    method_of,
    region_sets,
    requested_system,
)
from evaluation.services.stored import get_or_publish
from evaluation.services.systems import registry
from evaluation.services.systems.described_alike import check_described_alike
from evaluation.services.systems.examples import Examples, examples_from
from evaluation.services.systems.origins.recipe import REMEMBERED_FILES
from evaluation.services.systems.region_texts import OF_REGION
from evaluation.services.systems.sources import Sources
from evaluation.services.systems.training import system_named
from evaluation.services.systems.training_images import check_not_learned_from
from models_core.estimators.base import RaggedRows
from models_core.estimators.neural.alignment import Alignment
from models_core.estimators.neural.substrings import best_substrings
from models_core.estimators.predictors import WritingSettings
from models_core.phase_cache import PhaseProgress
from models_core.systems.caption_reading import written_words
from models_core.systems.dataset import Vectors, checked_vectors
from models_core.systems.text_sides import WordTexts
from models_core.systems.trained_system import TrainedSystem, WrittenWords

#: Number of images or regions per block of work.
_TOGETHER = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionsRequest(PredictionRequest):
    """A trained system writes a caption of each image, or of each of the regions. A captioner generates
    sentences; an alignment selects the part of a training caption that fits a region best."""

    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of drawn words and of folds"))] = 0
    features: Annotated[SetField, Help(_("Features of images"), _("A feature set; else the training's"))] = ""
    regions: Annotated[
        SetField, Help(_("Regions to describe"), _("A feature set; else as in the training"))
    ] = ""
    beam: Annotated[
        int, Field(ge=1, le=1000), Help(_("Beam"), _("Beginnings that the search keeps; 1 is greedy"))
    ] = 7
    limit: Annotated[int, Field(ge=1, le=200), Help(_("Words of a caption, at most"))] = 20
    draw: Annotated[bool, Help(_("Draw words"), _("Instead of searching for the most probable"))] = False
    temperature: Annotated[
        float, Field(gt=0), Help(_("Temperature"), _("Of drawn words; below 1 probable ones are preferred"))
    ] = 1.0

    @property
    def how(self) -> WritingSettings:
        """How sentences are searched for."""
        return WritingSettings(
            "draw" if self.draw else "search", self.beam, self.limit, self.temperature, self.seed
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSet(CaptionSetSummary):
    """A written caption set; `words` is the mean length. `unchanged`: it existed already. `provenance` is
    what the system has seen of the images."""

    words: float
    unchanged: bool
    provenance: dict[str, Any]


def writes_captions(system: System) -> bool:
    """Whether a system can write captions: its method generates them, or takes parts of sentences for
    regions."""
    method = method_of(system)
    return method is not None and (method.predicts == "captions" or method.name == "alignment")


def check_captions(request: CaptionsRequest, context: OperationContext) -> CaptionsRequest:
    """Raise Invalid if the images or feature sets do not exist, InputError if the system cannot write
    captions."""
    system = requested_system(request, context)
    if not writes_captions(system):
        raise InputError(f"system {system.name!r} does not write captions; choose one that does")
    corpus = system.corpus.name
    check_set("regions", request.regions, region_sets(corpus))
    check_set(
        "features", request.features, (stored for stored in feature_sets(corpus) if stored.kind == "image")
    )
    return request


def generate_captions(request: CaptionsRequest, context: OperationContext) -> WrittenSet:
    """Write the set. A set from the same request stays unchanged; a different one of that name is refused.

    Raises UnknownName, InputError, BadModel, ValueError.
    """
    check_captions(request, context)
    system = registry.system_row(request.system)
    writer = _Writer.of(request)
    places = writer.dataset.to_rank(request.split, seed=request.seed)
    check_not_learned_from(writer.stored, request.system, writer.dataset, places, request.split)
    columns = {
        "made_by": system,
        "corpus": system.corpus,
        "split": request.split,
        "seed": request.seed,
        "settings": asdict(request.how),
        "features": writer.sources.features,
        "regions": writer.sources.regions,
        "system_digest": system.digest,
        "input_digest": writer.dataset.digest_of(places),
        "remarks": list(writer.remarks),
    }
    progress = PhaseShares(context.report_progress)
    stored, created = get_or_publish(
        CaptionSet,
        request.set_name,
        columns,
        lambda row: _fill(row, writer, places, request.how, progress),
    )
    texts = stored.captions.values_list("text", flat=True)
    images = stored.captions.values_list("image_id", flat=True)
    return WrittenSet(
        **asdict(caption_set_summary(stored)),
        words=sum(len(text.split()) for text in texts.iterator()) / stored.caption_count,
        unchanged=not created,
        provenance=provenance_of({stored.name: stored}, stored.corpus, images)[stored.name],
    )


def _fill(
    caption_set: CaptionSet,
    writer: _Writer,
    places: Sequence[int],
    how: WritingSettings,
    progress: PhaseProgress,
) -> None:
    """Write the rows of the set, and count them."""
    image = writer.dataset.names.image
    rows = (
        WrittenCaption(
            image_id=image[written.image],
            box=list(written.box),
            text=written.words.text,
            log_probability=written.words.log_probability,
        )
        for written in writer.captions(places, how, progress)
    )
    texts = write_caption_rows(caption_set, rows)
    known = writer.training_captions()
    caption_set.image_count = len(places)  # also those without a region
    caption_set.in_training = sum(text in known for text in texts)


@dataclass(frozen=True, slots=True)
class _WrittenCaption:
    """A caption of an image, or of the region in its `box`."""

    image: str
    box: tuple[float, ...]
    words: WrittenWords


@dataclass(frozen=True)
class _Writer:
    """A trained system with the images or regions that it describes."""

    stored: TrainedSystem
    dataset: Examples
    sources: Sources
    boxes: NDArray[Any] | None
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, request: CaptionsRequest) -> _Writer:
        """Load the system and its inputs. Raises InputError if it cannot write captions, and for features
        that do not fit it."""
        stored = system_named(request.system)
        aligns = isinstance(stored.model, Alignment)
        if stored.recipe.kind.predicts != "captions" and not aligns:
            raise InputError(
                f"system {request.system!r} does not write captions; name one of recipe mRNN or NN-caption"
            )
        if aligns and not isinstance(stored.texts, WordTexts):
            raise InputError(
                f"system {request.system!r} aligns dependency edges, not words: it finds no parts of "
                "sentences; name one of recipe BRNN"
            )
        corpus = str(stored.metadata["corpus"])
        chosen_sources = Sources(features=request.features, regions=request.regions)
        if not (chosen_sources.features or chosen_sources.regions):
            chosen_sources = Sources(**{key: stored.metadata.get(key, "") for key in REMEMBERED_FILES})
        if aligns and not chosen_sources.regions:
            raise InputError(
                f"system {request.system!r} aligns regions with words: it finds captions of regions alone; "
                "name a feature set of regions"
            )
        chosen_sources = chosen_sources.settled(corpus)
        remarks = check_described_alike(request.system, stored.metadata, corpus, chosen_sources)
        boxes = feature_set(corpus, chosen_sources.regions).boxes() if chosen_sources.regions else None
        return cls(
            stored, examples_from(corpus, replace(chosen_sources, lemmas="")), chosen_sources, boxes, remarks
        )

    def captions(
        self, places: Sequence[int], how: WritingSettings, progress: PhaseProgress
    ) -> Iterator[_WrittenCaption]:
        """Yield the captions of these images, in order."""
        items = list(self._items(places))
        writes = self._substrings if isinstance(self.stored.model, Alignment) else self.stored.write
        for start in range(0, len(items), _TOGETHER):
            progress("writing captions", start, len(items))
            part = items[start : start + _TOGETHER]
            rows = np.stack([np.asarray(self._values[row], np.float32) for _image, row in part])
            settings_of_part = replace(how, seed=how.seed + start)
            for (image, row), words in zip(part, writes(Vectors(rows), settings_of_part), strict=True):
                box = () if self.boxes is None else tuple(float(edge) for edge in self.boxes[row])
                yield _WrittenCaption(image, box, words)
        progress("writing captions", len(items), len(items))

    @property
    def _values(self) -> NDArray[Any]:
        """A row for each image, or for each region of all images."""
        if self.dataset.regions is not None:
            return self.dataset.regions.rows.values
        assert self.dataset.vectors is not None
        return self.dataset.vectors

    def _items(self, places: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Yield each image, or each region, with its row. Raises ValueError naming an image whose numbers
        cannot be used."""
        if self.dataset.regions is None:
            names = [self.dataset.examples[index].name for index in places]
            checked_vectors(names, self._values[list(places)])
            yield from zip(names, places, strict=True)
            return
        rows = self.dataset.regions.rows
        for index in places:
            for row in range(int(rows.begin[index]), int(rows.end[index])):
                yield self.dataset.examples[index].name, row

    def training_captions(self) -> frozenset[str]:
        """The captions of the training images, as the system tokenises them."""
        return frozenset(" ".join(words) for words in self._training_words())

    def _substrings(self, regions: Vectors, how: WritingSettings) -> list[WrittenWords]:
        """Return the part of a training sentence that fits each region best."""
        model = self.stored.model
        assert isinstance(model, Alignment)
        of_regions, _owners = model.embedded(self.stored.describe(regions, []))
        sentences, of_words = self._training_sentences
        matches = best_substrings(of_regions.joined(), of_words, longest=how.limit)
        return [
            WrittenWords(tuple(sentences[match.sentence][match.first : match.end]), 0.0) for match in matches
        ]

    @cached_property
    def _training_sentences(self) -> tuple[list[list[str]], RaggedRows]:
        """Return the known words of each training caption, and their vectors in the common space."""
        model, texts = self.stored.model, self.stored.texts
        assert isinstance(model, Alignment) and isinstance(texts, WordTexts)
        known = set(texts.vocabulary)
        spoken = [[word for word in caption if word in known] for caption in self._training_words()]
        any_vector = Vectors(self._values[:1])
        sentences = self.stored.describe(
            any_vector, [[sentence] for sentence in spoken], np.zeros(len(spoken), np.intp)
        )
        _of_images, of_words = model.embedded(sentences)
        return spoken, of_words

    def _training_words(self) -> Iterator[list[str]]:
        """Yield the words of each caption of the training images."""
        names = {name.partition(OF_REGION)[0] for name in self.stored.names}
        examples = [example for example in self.dataset.examples if example.name in names]
        for captions in written_words(examples):
            yield from ([word.lemma for word in caption] for caption in captions)
