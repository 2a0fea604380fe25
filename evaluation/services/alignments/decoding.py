"""A layer of caption segments with their regions, written by a trained alignment.

Each word of a caption gets one of the image's regions (`models_core.estimators.neural.decoding`). Consecutive
words with the same region form a mention, all mentions of an image with the same region form a chain, and the
chain's box is the region's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray
from pydantic import Field

from annotation.common.operations import FieldError, Help, Named, OperationContext, invalid
from annotation.datasets.layer_rows import write_layer
from annotation.datasets.layers import layer_to_read
from annotation.protocol.terms import OTHER, Box, Chain, ImageRecord, LayerObject, LayerRecord, Mention
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from evaluation.models import System
from evaluation.selectors import names_of
from evaluation.services.alignments.localizing import boxed_mentions, is_localized, mentions_localized
from evaluation.services.common import InputError, check_same_corpus
from evaluation.services.features.store import feature_set
from evaluation.services.phases import PhaseShares
from evaluation.services.request_fields import LayerField, check_images, check_layer
from evaluation.services.systems.described_alike import check_described_alike
from evaluation.services.systems.examples import Examples, examples_from
from evaluation.services.systems.folders import system_folder
from evaluation.services.systems.parts import check_proposed
from evaluation.services.systems.registry import SYSTEMS, system_row
from evaluation.services.systems.sources import RegionsField, Sources
from evaluation.services.systems.training import system_named
from evaluation.services.systems.training_images import check_not_learned_from
from models_core import storage
from models_core.estimators.neural.alignment import Alignment
from models_core.estimators.neural.decoding import best_labels, segments
from models_core.phase_cache import PhaseProgress, digest_of_parts
from models_core.systems.text_sides import WordTexts
from models_core.systems.trained_system import TrainedSystem
from phrasebox.agreement.estimates import Bootstrap
from phrasebox.registry import UnknownName
from phrasebox.significance.resampling import figure_interval
from phrasebox.text.tokens import tokenise

#: The source of layers that an alignment wrote.
ALIGNMENT_SOURCE = "alignment"
#: The candidates for `beta` when a gold layer of people's boxes is given.
BETAS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
#: Number of images whose regions and words are embedded at a time.
_TOGETHER = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeRequest:
    """Each word of a caption gets the region that matches it best. Consecutive words with the same region
    become a mention with its box, in a layer of the corpus. With a layer of people's boxes the result
    contains the share of its mentions that are localized, on images where beta was not chosen."""

    system: Annotated[str, Named(SYSTEMS), Help(_("System"), _("A trained alignment, as one of recipe BRNN"))]
    layer: Annotated[str, Named(max_length=90), Help(_("Name of the layer"))]
    split: Annotated[
        str, Field(max_length=1000), Help(_("Split"), _("A split, or a fold such as 1/5; else all images"))
    ] = ""
    beta: Annotated[
        Annotated[float, Field(ge=0, le=10**5)] | None,
        Help(_("Worth of equal neighbours (beta)"), _("Larger values give longer mentions; 1 by default")),
    ] = None
    choose_beta_on: Annotated[
        str,
        Field(max_length=1000),
        Help(
            _("Choose beta on"), _("The beta that finds the most of people’s boxes on this split is chosen")
        ),
    ] = ""
    gold: Annotated[LayerField, Help(_("Compare with people’s boxes"), _("A layer"))] = ""
    regions: RegionsField = ""
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of folds"))] = 0
    replace: Annotated[
        bool, Help(_("Replace"), _("Replaces a layer of that name, if an alignment wrote it"))
    ] = False

    def problems(self) -> Iterator[FieldError]:
        """Errors of fields that do not fit together."""
        if self.choose_beta_on and self.beta is not None:
            yield FieldError("beta", "not_with", {"other": "choose_beta_on"})
        if self.choose_beta_on and not self.gold:
            yield FieldError("gold", "missing")


@dataclass(frozen=True, slots=True)
class Localized:
    """The share of people's mentions that a layer localizes, with its 95 % interval over images. `mentions`
    is their number. For comparison: the share with a random region of the image (expected), with its largest
    region other than the whole picture, and where any region is right."""

    mentions: int
    share: float
    low: float
    high: float
    random: float
    largest: float
    possible: float


@dataclass(frozen=True)
class Decoded:
    """The layer that was written: its images, mentions and chains, and how many of people's mentions it
    localizes. Beta was `chosen_on` that many images; the figures exclude them."""

    layer: str
    corpus: str
    images: int
    mentions: int
    chains: int
    beta: float
    chosen_on: int = 0
    tried: tuple[tuple[float, float], ...] = ()
    localized: Localized | None = None


def check_decoding(request: DecodeRequest, context: OperationContext) -> DecodeRequest:
    """Raise Invalid if a layer of that name exists already, and if images or layers do not exist."""
    row = system_row(request.system)
    layers = row.corpus.layers.filter(published=True)
    if not request.replace and layers.filter(name=request.layer).exists():
        raise invalid("layer", "taken", value=request.layer)
    _check_choices(request, row, context)
    return request


def _check_choices(request: DecodeRequest, row: System, context: OperationContext) -> None:
    check_same_corpus(context, row)
    for field in ("split", "choose_beta_on"):
        check_images(field, getattr(request, field), row.corpus, context)
    check_layer("gold", request.gold, row.corpus)


def decode_alignments(request: DecodeRequest, context: OperationContext) -> Decoded:
    """Write the layer. If a layer of that name exists, refuse; with `replace`, overwrite one that an
    alignment wrote.

    An identical layer is written again, so that a job that was killed at its very end can go on. Raises
    UnknownName, InputError, LayerError, BadModel and ValueError.
    """
    _check_choices(request, system_row(request.system), context)
    progress, decoder = PhaseShares(context.report_progress), _Decoder.of(request)
    corpus = corpus_named(decoder.dataset.corpus)
    _check_free(corpus, request)
    chosen = decoder.dataset.to_rank(request.split, seed=request.seed)
    check_not_learned_from(decoder.stored, request.system, decoder.dataset, chosen, request.split)
    beta, tried, chosen_on = 1.0 if request.beta is None else request.beta, dict[float, float](), set[int]()
    if request.choose_beta_on:
        chosen_on = set(decoder.dataset.to_rank(request.choose_beta_on, seed=request.seed))
        tried = decoder.shares(request.choose_beta_on, BETAS, progress)
        beta = max(tried, key=lambda tried_beta: tried[tried_beta])
    counts = {"images": 0, "mentions": 0, "chains": 0, "chosen_on": 0}
    images: list[str] = []
    right: dict[str, list[float]] = {name: [] for name in ("own", "random", "largest", "possible")}

    def shares() -> Iterator[tuple[str, LayerRecord]]:
        decoded = decoder.decoded(chosen, [beta], progress)
        for index, (record, boxes, layers) in zip(chosen, decoded, strict=True):
            layer = layers[0]
            counts["images"] += 1
            counts["chains"] += len(layer.chains)
            counts["mentions"] += len(layer.mentions)
            if index in chosen_on:
                counts["chosen_on"] += 1
            elif record.layer is not None:
                are_right = mentions_localized(layer, record.layer)
                images.extend([record.id] * len(are_right))
                right["own"] += map(float, are_right)
                for name, values in _without_words(boxes, record).items():
                    right[name] += values
            yield record.id, layer

    settings = {
        "system": request.system,
        "beta": beta,
        "split": request.split,
        "images": digest_of_parts([decoder.dataset.examples[index].name for index in chosen]),
        **decoder.provenance,
    }
    alike = corpus.layers.filter(name=request.layer, source=ALIGNMENT_SOURCE, settings=settings)
    written = write_layer(
        corpus=corpus,
        name=request.layer,
        source=ALIGNMENT_SOURCE,
        records=shares(),
        settings=settings,
        replace=request.replace or alike.exists(),
    )
    localized = None
    if images:
        interval = figure_interval(right["own"], Bootstrap(images), share=True)
        others = (float(np.mean(right[name])) for name in ("random", "largest", "possible"))
        localized = Localized(len(images), interval.value, interval.low, interval.high, *others)
    return Decoded(
        written.name,
        corpus.name,
        counts["images"],
        counts["mentions"],
        counts["chains"],
        beta,
        counts["chosen_on"],
        tuple(tried.items()),
        localized,
    )


def _check_free(corpus: Any, request: DecodeRequest) -> None:
    """Raise InputError if `replace` would remove a layer that no alignment wrote."""
    existing = corpus.layers.filter(name=request.layer, published=True).first()
    if existing and request.replace and existing.source != ALIGNMENT_SOURCE:
        raise InputError(
            f"layer {request.layer!r} of corpus {corpus.name!r} was not written by an alignment, and is not "
            "replaced; choose another name"
        )


@dataclass(frozen=True)
class _Decoder:
    """A trained alignment with the regions, their boxes and the records of a corpus's images."""

    model: Alignment
    stored: TrainedSystem
    words: Mapping[str, int]
    dataset: Examples
    boxes: NDArray[Any]
    gold: str
    provenance: Mapping[str, str]
    seed: int

    @classmethod
    def of(cls, request: DecodeRequest) -> _Decoder:
        stored = system_named(request.system)
        if not isinstance(stored.model, Alignment) or not isinstance(stored.texts, WordTexts):
            raise InputError(
                f"system {request.system!r} does not align words with regions; name one of recipe BRNN"
            )
        regions = request.regions or stored.metadata.get("regions", "")
        if not regions:
            raise InputError(
                f"system {request.system!r} was trained on whole images; name a set of regions of theirs"
            )
        corpus = str(stored.metadata["corpus"])
        check_described_alike(request.system, stored.metadata, corpus, Sources(regions=regions))
        dataset = examples_from(corpus, Sources(regions=regions))
        chosen = feature_set(corpus, regions)
        if request.gold:
            check_proposed(chosen)
        words = {word: number for number, word in enumerate(stored.texts.vocabulary)}
        provenance = {
            "regions": chosen.label,
            "regions_digest": chosen.digest,
            "system_digest": storage.read_manifest(system_folder(request.system))["sha256"],
        }
        return cls(
            stored.model, stored, words, dataset, chosen.boxes(), request.gold, provenance, request.seed
        )

    def shares(self, split: str, betas: Sequence[float], progress: PhaseProgress) -> dict[float, float]:
        """Return for each beta the share of people's mentions on these images that are localized."""
        right: dict[float, list[bool]] = {beta: [] for beta in betas}
        for record, _boxes, layers in self.decoded(
            self.dataset.to_rank(split, seed=self.seed), betas, progress
        ):
            if record.layer is not None:
                for beta, layer in zip(betas, layers, strict=True):
                    right[beta] += mentions_localized(layer, record.layer)
        if not all(right.values()):
            raise InputError(f"layer {self.gold!r} has no boxes of images of {split}; beta cannot be chosen")
        return {beta: float(np.mean(values)) for beta, values in right.items()}

    def decoded(
        self, places: Sequence[int], betas: Sequence[float], progress: PhaseProgress
    ) -> Iterator[tuple[ImageRecord, NDArray[Any], list[LayerRecord]]]:
        """Yield each image's record with its part of the layer `gold`, its boxes, and its decoded layer for
        each beta."""
        records = self._records({self.dataset.examples[index].name for index in places})
        regions = self.dataset.regions
        assert regions is not None
        for start in range(0, len(places), _TOGETHER):
            progress("aligning words", start, len(places))
            part = places[start : start + _TOGETHER]
            batch_records = [records[self.dataset.examples[index].name] for index in part]
            captions = [
                (record, number) for record in batch_records for number in range(len(record.captions))
            ]
            read = [_known(record.captions[number].words, self.words) for record, number in captions]
            data = self.stored.describe(
                regions.take(part), [[[word for word, _ in words]] for words in read], np.arange(len(read))
            )
            of_regions, of_words = self.model.embedded(data)
            at = 0
            for row, record in enumerate(batch_records):
                count = len(record.captions)
                boxes = self.boxes[regions.rows.begin[part[row]] : regions.rows.end[part[row]]]
                products = [of_regions.item(row) @ of_words.item(at + n).T for n in range(count)]
                places_of = [[index for _, index in read[at + n]] for n in range(count)]
                at += count
                yield record, boxes, [_layer(record, boxes, products, places_of, beta) for beta in betas]
        progress("aligning words", len(places), len(places))

    def _records(self, names_to_read: set[str]) -> dict[str, ImageRecord]:
        corpus = corpus_named(self.dataset.corpus)
        layer = layer_to_read(corpus, self.gold) if self.gold else None
        if self.gold and layer is None:
            raise UnknownName(f"corpus {corpus.name!r} has no layer {self.gold!r}")
        names = names_of(corpus.name).image_name.values()
        named_records = zip(names, stream_records(corpus=corpus, layer=layer), strict=True)
        return {name: record for name, record in named_records if name in names_to_read}


def _known(words: Sequence[str], vocabulary: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the words in the system's vocabulary, lower-cased, with their positions in the caption."""
    return [
        (token.lower(), index)
        for index, word in enumerate(words)
        for token in tokenise(word)
        if token.lower() in vocabulary
    ]


def _layer(
    record: ImageRecord,
    boxes: NDArray[Any],
    products: Sequence[NDArray[Any]],
    places: Sequence[Sequence[int]],
    beta: float,
) -> LayerRecord:
    """Return the image's segments. `products` has an array of shape (regions, known words) for each caption,
    and `places` the positions of its known words. A word between two words of a segment belongs to the
    segment."""
    mentions: dict[int, list[Mention]] = {}
    for number, (scores, at) in enumerate(zip(products, places, strict=True)):
        words, free = record.captions[number].words, 0
        for segment in segments(best_labels(scores, beta)):
            # A word of several tokens belongs to the first of their segments.
            start, end = max(at[segment.first], free), at[segment.end - 1] + 1
            if start < end:
                free = end
                mention = Mention(number, start, end, tuple(words[start:end]), (OTHER,))
                mentions.setdefault(segment.region, []).append(mention)
    chains = [Chain(str(region + 1), tuple(scores)) for region, scores in mentions.items()]
    objects = [LayerObject((str(region + 1),), _box(boxes[region], record)) for region in sorted(mentions)]
    return LayerRecord(tuple(chains), tuple(objects))


def _box(box: NDArray[Any], record: ImageRecord) -> Box:
    """Return a region's box in whole pixels, within the picture."""
    left, top, right, bottom = (max(1, round(float(edge))) for edge in box)
    wide, high = record.width or right, record.height or bottom
    return Box(min(left, wide), min(top, high), min(right, wide), min(bottom, high))


def _without_words(boxes: NDArray[Any], record: ImageRecord) -> dict[str, list[float]]:
    """Return, for each mention that people boxed: the share of the image's regions that are right, whether
    its largest region other than the whole picture is right, and whether any region is."""
    region_boxes = [_box(box, record) for box in boxes]
    parts = [box for box in region_boxes if box.area < record.width * record.height] or region_boxes
    largest = max(parts, key=lambda box: box.area)
    shares: dict[str, list[float]] = {"random": [], "largest": [], "possible": []}
    assert record.layer is not None
    for _mention, gold in boxed_mentions(record.layer):
        right = [is_localized([box], gold) for box in region_boxes]
        shares["random"].append(float(np.mean(right)))
        shares["largest"].append(float(is_localized([largest], gold)))
        shares["possible"].append(float(any(right)))
    return shares
