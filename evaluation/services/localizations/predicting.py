"""Where a trained system finds the phrases of a layer: a localization set in the database.

For each mention the regions of its image are ranked. For each phrase, which is the words of mentions in lower
case without articles, the regions of all images are ranked too, with non-maximum suppression: average
precision is computed from these. A phrase without a word in the system's vocabulary gets no prediction and
counts as missed, so that it cannot be right merely by the order of the regions.

Source: Plummer et al. 2015, section 3.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray
from pydantic import Field

from annotation.common.operations import Help, OperationContext
from annotation.datasets.layers import layer_to_read
from annotation.protocol.terms import NOT_VISUAL, Mention
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from evaluation.comparison.provenance import provenance_of
from evaluation.comparison.subsets import FOLD, subset_named
from evaluation.models import LocalizationSet, System
from evaluation.selectors import digest_of_images
from evaluation.services.common import InputError
from evaluation.services.features.store import FeatureSet, feature_set
from evaluation.services.localizations.sets import (
    REGION_NUMBERS,
    DetectedPhrase,
    LocalizationSetSummary,
    LocalizedMention,
    localization_set_values,
    write_rows,
)
from evaluation.services.phases import PhaseShares
from evaluation.services.predicting import (
    PredictionRequest,
    SetField,
    check_set,
    method_of,
    packed_ids,
    region_sets,
    requested_system,
)
from evaluation.services.request_fields import LayerField, check_layer
from evaluation.services.stored import get_or_publish
from evaluation.services.systems import registry
from evaluation.services.systems.described_alike import check_described_alike
from evaluation.services.systems.examples import Examples, examples_from
from evaluation.services.systems.parts import check_proposed
from evaluation.services.systems.sources import Sources
from evaluation.services.systems.training import system_named
from evaluation.services.systems.training_images import check_not_learned_from
from models_core.features.text.phrases import phrase_text
from models_core.phase_cache import PhaseProgress, digest_of_parts
from models_core.systems.dataset import RegionVectors
from models_core.systems.phrase_side import PhraseTexts
from models_core.systems.trained_system import TrainedSystem, check_predicts
from phrasebox.kernels.idf import Document
from phrasebox.metrics.localization import best_detections
from phrasebox.text.tokens import plain_words

#: Number of images whose mentions are localized, and of phrases that are detected, at a time.
_IMAGES, _PHRASES = 256, 64
#: The number of detections stored per phrase, and per mention of it, whichever gives more.
LEAST_DETECTIONS, DETECTIONS_A_MENTION = 100, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizeRequest(PredictionRequest):
    """A trained system ranks the regions of each image for each mention of a layer, and those of all images
    for each phrase."""

    layer: Annotated[
        LayerField, Help(_("Layer"), _("Its mentions are looked for; else as in the training"))
    ] = ""
    regions: Annotated[
        SetField, Help(_("Regions to rank"), _("A feature set that nobody drew; else as in the training"))
    ] = ""
    limit: Annotated[int, Field(ge=1, le=10_000), Help(_("Regions of a mention, at most"))] = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizedSet(LocalizationSetSummary):
    """Mentions that were localized, of that many `phrases`. `unchanged`: the set existed already.
    `provenance` is what the system has seen of the images."""

    phrases: int
    unchanged: bool
    provenance: dict[str, Any]


def localizes(system: System) -> bool:
    """Whether a system can localize phrases."""
    method = method_of(system)
    return method is not None and method.predicts == "localizations"


def check_localizing(request: LocalizeRequest, context: OperationContext) -> LocalizeRequest:
    """Raise Invalid if the images, layer or regions do not exist, InputError if the system cannot
    localize."""
    system = requested_system(request, context)
    if not localizes(system):
        raise InputError(f"system {system.name!r} does not localize phrases; choose one that does")
    check_layer("layer", request.layer, system.corpus)
    check_set("regions", request.regions, region_sets(system.corpus.name, proposed=True))
    return request


def localize(request: LocalizeRequest, context: OperationContext) -> LocalizedSet:
    """Rank regions for each mention and phrase, and store them. A set from the same request stays unchanged.

    Raises UnknownName, InputError, BadRecipe, BadModel, Busy, and ValueError if there is nothing to
    localize.
    """
    check_localizing(request, context)
    system = registry.system_row(request.system)
    localizer = _Localizer.of(request, system)
    columns = {
        "made_by": system,
        "corpus": system.corpus,
        "split": request.split,
        "seed": request.seed,
        "layer": localizer.layer,
        "regions": localizer.regions.label,
        "limit": request.limit,
        "system_digest": system.digest,
        "input_digest": localizer.input_digest(),
        "remarks": list(localizer.remarks),
    }
    progress = PhaseShares(context.report_progress)

    def fill(row: LocalizationSet) -> None:
        places = localizer.places
        row.unknown_count = localizer.count_unknown()
        row.image_ids = packed_ids(localizer.requested_images)
        write_rows(row, localizer.mentions(places, progress), localizer.detections(places, progress))
        if not row.mention_count:
            raise ValueError(f"layer {localizer.layer!r} has no mention in these images; nothing to localize")

    stored, created = get_or_publish(LocalizationSet, request.set_name, columns, fill)
    seen = provenance_of({stored.name: stored}, stored.corpus, localizer.image_ids.tolist())
    return LocalizedSet(
        **localization_set_values(stored),
        phrases=stored.detections.count(),
        unchanged=not created,
        provenance=seen[stored.name],
    )


@dataclass(frozen=True)
class _Localizer:
    """A trained system with the regions and mentions to localize."""

    system: str
    stored: TrainedSystem
    dataset: Examples
    regions: FeatureSet
    layer: str
    split: str
    limit: int
    seed: int
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, request: LocalizeRequest, system: System) -> _Localizer:
        """Load the system and its inputs. Raises BadRecipe if the system cannot localize, and InputError
        for regions that people drew."""
        stored = system_named(request.system)
        check_predicts(stored.recipe, "localizations")
        corpus = system.corpus.name
        label = request.regions or str(stored.metadata.get("regions", ""))
        regions = feature_set(corpus, Sources(regions=label).settled(corpus).regions)
        check_proposed(regions)
        sources = Sources(regions=regions.label)
        remarks = check_described_alike(request.system, stored.metadata, corpus, sources)
        layer = layer_to_read(
            corpus_named(corpus), request.layer or str(stored.metadata.get("layer", "")) or None
        )
        if layer is None:
            raise InputError(f"corpus {corpus!r} has no layer; import or annotate mentions first")
        dataset = examples_from(corpus, sources)
        selection = request.split, request.limit, request.seed
        return cls(request.system, stored, dataset, regions, layer.name, *selection, remarks)

    @cached_property
    def places(self) -> list[int]:
        """The positions of the images among the examples."""
        places = self.dataset.to_rank(self.split, seed=self.seed)
        check_not_learned_from(self.stored, self.system, self.dataset, places, self.split)
        return places

    @cached_property
    def mentions_of(self) -> dict[str, list[Mention]]:
        """The mentions of each image in order, without those marked as not visual."""
        corpus = corpus_named(self.dataset.corpus)
        layer = layer_to_read(corpus, self.layer)
        names_needed = {self.dataset.examples[index].name for index in self.places}
        mentions_of_image: dict[str, list[Mention]] = {}
        names = self.dataset.names.image_name.values()
        for name, record in zip(names, stream_records(corpus=corpus, layer=layer), strict=True):
            if name in names_needed and record.layer is not None:
                chains = [chain for chain in record.layer.chains if chain.id != NOT_VISUAL]
                places = {mention.span: mention for chain in chains for mention in chain.mentions}
                mentions_of_image[name] = [places[index] for index in sorted(places)]
        return mentions_of_image

    @cached_property
    def phrases(self) -> Counter[str]:
        """Each phrase with the number of its mentions, in the order of first occurrence."""
        mentions_by_image = (
            self.mentions_of.get(self.dataset.examples[index].name, ()) for index in self.places
        )
        return Counter(phrase_text(mention.text) for mentions in mentions_by_image for mention in mentions)

    @cached_property
    def unknown(self) -> frozenset[str]:
        """The phrases without a word in the system's vocabulary."""
        texts = self.stored.texts
        assert isinstance(texts, PhraseTexts)
        known = texts.describe([[phrase.split()] for phrase in self.phrases]).known
        return frozenset(phrase for phrase, there in zip(self.phrases, known, strict=True) if not there)

    @property
    def image_ids(self) -> NDArray[np.int64]:
        """The row ids of the images, shape (images,)."""
        names = [self.dataset.examples[index].name for index in self.places]
        return np.asarray([self.dataset.names.image[name] for name in names], np.int64)

    @cached_property
    def requested_images(self) -> NDArray[np.int64]:
        """The same, plus the images without regions that are in the split or named by the file: their
        mentions count as missed. A fold is dealt among the images with regions only."""
        image_ids = set(self.image_ids.tolist())
        if not FOLD.fullmatch(self.split) and (named := subset_named(self.dataset.corpus, self.split)):
            image_ids |= named.images
        return np.asarray(sorted(image_ids), np.int64)

    def input_digest(self) -> str:
        """Return the SHA-256 of the names of the images, including those without regions, and of the
        mentions."""
        mention_lists = {
            name: [[mention.caption, mention.start, mention.end, mention.text] for mention in mentions]
            for name, mentions in self.mentions_of.items()
        }
        parts: list[Any] = [self.dataset.digest_of(self.places), mention_lists]
        without = set(self.requested_images.tolist()).difference(self.image_ids.tolist())
        if without:
            parts.append(digest_of_images(without, self.dataset.names))
        return digest_of_parts(*parts)

    def count_unknown(self) -> int:
        """Return the number of mentions without a word in the system's vocabulary."""
        return sum(self.phrases[phrase] for phrase in self.unknown)

    def mentions(self, places: list[int], progress: PhaseProgress) -> Iterator[LocalizedMention]:
        """Yield the best regions for each mention, none where its phrase is unknown."""
        boxes = self.regions.boxes()
        for start in range(0, len(places), _IMAGES):
            progress("localizing mentions", start, len(places))
            part = places[start : start + _IMAGES]
            names = [self.dataset.examples[index].name for index in part]
            numbered_mentions = [
                (number, mention)
                for number, name in enumerate(names)
                for mention in self.mentions_of.get(name, ())
            ]
            if not numbered_mentions:
                continue
            documents: list[Document] = [[plain_words(mention.text)] for _, mention in numbered_mentions]
            image_of = np.asarray([number for number, _ in numbered_mentions], np.intp)
            described = self._regions(part)
            scores = self.stored.localize(described, documents, image_of)
            for index, (number, mention) in enumerate(numbered_mentions):
                values = scores.item(index)
                limit = 0 if phrase_text(mention.text) in self.unknown else self.limit
                best = np.argsort(-values, kind="stable")[:limit]
                rows = np.empty((len(best), REGION_NUMBERS), np.float32)
                rows[:, :4] = boxes[int(described.rows.begin[number]) + best]
                rows[:, 4] = values[best]
                image = self.dataset.names.image[names[number]]
                yield LocalizedMention(image, mention.caption, mention.start, mention.end, mention.text, rows)
        progress("localizing mentions", len(places), len(places))

    def detections(self, places: list[int], progress: PhaseProgress) -> Iterator[DetectedPhrase]:
        """Yield the best regions of all images for each known phrase, after suppression within each image."""
        described = self._regions(places)
        rows, image = rows_of_images(described)
        boxes = np.asarray(self.regions.boxes()[rows], np.float32)
        ids = self.image_ids
        phrases = [phrase for phrase in self.phrases if phrase not in self.unknown]
        if not phrases:
            return
        scores = self.stored.detect(described, [[phrase.split()] for phrase in phrases])
        everything = slice(0, scores.shape[1])
        for start in range(0, len(phrases), _PHRASES):
            progress("detecting phrases", start, len(phrases))
            tile = scores.tile(slice(start, start + _PHRASES), everything)
            for phrase, values in zip(phrases[start : start + _PHRASES], tile, strict=True):
                most = max(LEAST_DETECTIONS, DETECTIONS_A_MENTION * self.phrases[phrase])
                best = best_detections(values, boxes, image, most)
                packed = np.column_stack([boxes[best], values[best]]).astype(np.float32)
                yield DetectedPhrase(phrase, ids[image[best]], packed)
        progress("detecting phrases", len(phrases), len(phrases))

    def _regions(self, places: list[int]) -> RegionVectors:
        described = self.dataset.described(places)
        assert isinstance(described, RegionVectors)
        return described


def rows_of_images(described: RegionVectors) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the row in its set, and the position of the image, for each region of these images in order."""
    counts = described.rows.counts
    image = np.repeat(np.arange(len(counts)), counts)
    first = np.cumsum(counts) - counts
    rows = np.arange(len(image)) - first[image] + described.rows.begin[image]
    return rows, image
