"""Captions of regions, scored against what people say about the same part of the picture.

The references of a region are the mentions of a layer, or the descriptions of regions that people chose in a
campaign, whose box overlaps it by an IoU of at least 0.5; regions without references are excluded. For
comparison, the agreement among people: of each region with several references, the first is scored against
the others.

Source: Karpathy and Fei-Fei 2015, section 4.3 and Table 3, whose references are such descriptions; mentions
of captions are shorter.
"""

from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.campaigns import campaign_named
from annotation.datasets.layers import layer_to_read
from annotation.selectors.answers import answers
from annotation.selectors.records import stream_records
from evaluation.comparison.provenance import with_provenance
from evaluation.models import CaptionSet
from evaluation.selectors import names_of
from evaluation.services.alignments.localizing import boxed_mentions
from evaluation.services.captions.figures import (
    CaptionScoring,
    Documents,
    caption_figures,
    notes_on_cuts,
)
from evaluation.services.captions.scores import CaptionSource
from evaluation.services.captions.sets import caption_set_named
from evaluation.services.common import InputError
from phrasebox.figure_basis import FigureBasis
from phrasebox.metrics.localization import RIGHT_IOU, iou


@dataclass(frozen=True, slots=True)
class _Described:
    """A region (the id of its image and its box) with its caption and the references that people gave."""

    position: tuple[int, tuple[float, ...]]
    image: str
    caption: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RegionReferences:
    """The origin of references: a `layer` of the corpus, or the region descriptions of a `campaign`."""

    layer: str = ""
    campaign: str = ""

    @property
    def called(self) -> str:
        """The origin as text."""
        return f"layer {self.layer}" if self.layer else f"campaign {self.campaign}"


#: The boxes of an image with a text for each.
_BoxedTexts = list[tuple[NDArray[Any], str]]


def score_region_captions(
    *, corpus: str, sources: Mapping[str, CaptionSource], references: RegionReferences, how: CaptionScoring
) -> dict[str, Any]:
    """Score sets of captions of the same regions: figures with intervals over images, differences of the
    others from the first (`caption_figures`), and the figures of people, as plain data.

    CIDEr's documents are the references of all these regions, for people too.

    Raises UnknownName, CampaignError, InputError for sets of whole images or of other regions than the first,
    for a campaign of another corpus and if no region has a reference, and what `score_captions` raises.
    """
    rows = {name: _set_of_regions(source, corpus) for name, source in sources.items()}
    first, described = next(iter(rows)), {name: _described(row, references) for name, row in rows.items()}
    regions = described[first]
    if not regions:
        raise InputError(
            f"{references.called} has no box in the place of a region of {first!r}; choose one with boxes of "
            "these images"
        )
    for name, others in described.items():
        if [region.position for region in others] != [region.position for region in regions]:
            raise InputError(
                f"caption sets {first!r} and {name!r} are of different regions; compare sets of one feature "
                "set and split"
            )
    documents = Documents(references.called, tuple(region.references for region in regions))
    figures, differences = caption_figures(
        {name: [region.caption for region in measured] for name, measured in described.items()},
        [region.references for region in regions],
        [region.image for region in regions],
        documents,
        how,
    )
    people = [region for region in regions if len(region.references) > 1]
    of_people: dict[str, list[dict[str, Any]]] = {"people": []}
    if people:
        of_people, _ = caption_figures(
            {"people": [region.references[0] for region in people]},
            [region.references[1:] for region in people],
            [region.image for region in people],
            documents,
            how,
        )
    out_of = rows[first].caption_count
    basis = FigureBasis(
        cases="regions",
        counted=len(regions),
        out_of=out_of,
        pool=f"{references.called} of corpus {corpus}",
        tokens=how.tokens,
        references=documents.label,
        notes=notes_on_cuts(how.measures),
    )
    report = {
        "corpus": corpus,
        **asdict(references),
        "regions": len(regions),
        "without": out_of - len(regions),
        "references": sum(len(region.references) for region in regions),
        "basis": basis.as_dict(),
        **asdict(how.resampling),
        "rounds": how.rounds,
        "baseline": next(iter(figures)),
        "sets": [{"set": name, "measures": measured} for name, measured in figures.items()],
        "differences": differences,
        "people_regions": len(people),
        **of_people,
    }
    image = names_of(corpus).image
    return with_provenance(report, rows, rows[first].corpus, {image[region.image] for region in regions})


def _set_of_regions(source: CaptionSource, corpus: str) -> CaptionSet:
    row = caption_set_named(source.name)
    name = row.name
    if row.corpus.name != corpus:
        raise InputError(
            f"caption set {name!r} is of corpus {row.corpus.name!r}, not of {corpus!r}; name that one"
        )
    if not row.regions:
        raise InputError(
            f"caption set {name!r} describes whole images, not regions; score it without layer and campaign"
        )
    return row


def _described(caption_set: CaptionSet, references: RegionReferences) -> list[_Described]:
    captions: dict[int, list[tuple[list[float], str]]] = {}
    rows = caption_set.captions.order_by("position").values_list("image_id", "box", "text")
    for image, box, text in rows.iterator():
        captions.setdefault(image, []).append((box, text))
    read = _of_layer if references.layer else _of_campaign
    texts_of_image = read(caption_set, references.layer or references.campaign, captions.keys())
    names = names_of(caption_set.corpus.name).image_name
    described = []
    for pk, boxed_texts in texts_of_image.items():
        boxes = np.stack([box for box, _ in boxed_texts])
        for box, text in captions[pk]:
            there = iou(np.asarray(box, np.float64), boxes) >= RIGHT_IOU
            right = tuple(text for (_, text), here in zip(boxed_texts, there, strict=True) if here)
            if right:
                described.append(_Described((pk, tuple(box)), names[pk], text, right))
    return described


def _of_layer(caption_set: CaptionSet, layer: str, images: Container[int]) -> dict[int, _BoxedTexts]:
    """Return the mentions with boxes of each of these images."""
    records = stream_records(corpus=caption_set.corpus, layer=layer_to_read(caption_set.corpus, layer))
    texts_of_image = {}
    for pk, record in zip(names_of(caption_set.corpus.name).image_name, records, strict=True):
        if pk not in images or record.layer is None:
            continue
        if boxed_texts := list(boxed_mentions(record.layer)):
            texts_of_image[pk] = [(box, mention.text) for mention, box in boxed_texts]
    return texts_of_image


def _of_campaign(row: CaptionSet, name: str, images: Container[int]) -> dict[int, _BoxedTexts]:
    """Return the regions of these images that people described; withdrawn answers and reports do not
    count."""
    campaign = campaign_named(name)
    if campaign.corpus_id != row.corpus_id:
        raise InputError(
            f"campaign {name!r} is about corpus {campaign.corpus.name!r}, not {row.corpus.name!r}; name "
            "one of that"
        )
    image_of = {image.key: pk for pk, image in names_of(row.corpus.name).images.images.items()}
    texts_of_image: dict[int, _BoxedTexts] = {}
    for answer in answers(campaign):
        answer_regions = [] if answer["withdrawn"] or answer["flag"] else answer.get("regions", [])
        image = image_of[answer["image"]]
        if answer_regions and image in images:
            texts_of_image.setdefault(image, []).extend(
                (np.asarray(region["box"], np.float64), region["text"]) for region in answer_regions
            )
    return texts_of_image


def remarks_on_region_captions(report: dict[str, Any]) -> str:
    """Return the remarks on the figures of `score_region_captions`."""
    counted = f"{report['regions']:,} regions, {report['references']:,} references"
    references = RegionReferences(report["layer"], report["campaign"]).called
    called = " and ".join(caption_set["set"] for caption_set in report["sets"])
    lines = [
        f"{called} against {references} of corpus {report['corpus']}: {counted}.",
        f"Left out: {report['without']:,} regions that nobody spoke of.",
        f"People: the first reference of each of {report['people_regions']:,} regions against its others.",
    ]
    return "\n".join(lines)
