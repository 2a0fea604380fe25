"""Captions of regions, scored against what people say of things in the same place.

The references of a region are the mentions of a layer, or the descriptions of regions that people chose
themselves in a campaign, whose box overlaps it by an IoU of at least 0.5; a region that nobody spoke of has
no part in the figures. Beside the system stands the agreement among people: of each region with several
references the first, scored against the others.

Source: Karpathy and Fei-Fei 2015, section 4.3 and Table 3, whose references are such descriptions; mentions
of captions are shorter.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.campaigns import campaign_named
from annotation.datasets.layers import layer_to_read
from annotation.selectors.answers import answers
from annotation.selectors.records import stream_records
from evaluation.agreement.summary import Resampling
from evaluation.comparison.provenance import with_provenance
from evaluation.formats.figure_basis import FigureBasis, basis_from_dict
from evaluation.formats.figure_tables import Table
from evaluation.metrics.captions import DEFAULT_CUT, FAMILY, Captions, score_captions
from evaluation.metrics.localization import RIGHT_IOU, iou
from evaluation.metrics.table import METRICS
from evaluation.models import CaptionSet
from evaluation.selectors import names_of
from evaluation.services.alignments.localizing import boxed_mentions
from evaluation.services.captions.references import Documents
from evaluation.services.captions.scores import notes_on_cuts
from evaluation.services.captions.sets import caption_set_named
from evaluation.services.common import ImportRefused
from evaluation.significance.captions import caption_interval


@dataclass(frozen=True, slots=True)
class _Described:
    """A region with its caption and what people say of it."""

    image: str
    caption: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RegionReferences:
    """Where references are from: a `layer` of the corpus, or the region descriptions of a `campaign`."""

    layer: str = ""
    campaign: str = ""

    @property
    def called(self) -> str:
        """In words."""
        return f"layer {self.layer}" if self.layer else f"campaign {self.campaign}"


#: The boxes of an image and what is said of each.
_Said = list[tuple[NDArray[Any], str]]


def score_region_captions(
    *,
    corpus: str,
    name: str,
    references: RegionReferences,
    measures: Sequence[str],
    tokens: str = DEFAULT_CUT,
    resampling: Resampling,
) -> dict[str, Any]:
    """The figures of a set with their intervals over images, and those of people, as plain data.

    CIDEr's documents are the references of all these regions, for people too.

    Raises UnknownName, CampaignError, ImportRefused for a set of whole images, for a campaign of another
    corpus and where no region has a reference, and what `score_captions` raises.
    """
    found = caption_set_named(name)
    if found.corpus.name != corpus:
        raise ImportRefused(
            f"caption set {name!r} is of corpus {found.corpus.name!r}, not of {corpus!r}; name that one"
        )
    if not found.regions:
        raise ImportRefused(
            f"caption set {name!r} describes whole images, not regions; leave out --layer and --campaign to "
            "score it"
        )
    described = _described(found, references)
    if not described:
        raise ImportRefused(
            f"{references.called} has no box in the place of a region of {name!r}; choose one with boxes of "
            "these images"
        )
    people = [
        _Described(one.image, one.references[0], one.references[1:])
        for one in described
        if len(one.references) > 1
    ]
    documents = Documents(references.called, tuple(one.references for one in described))
    basis = FigureBasis(
        cases="regions",
        counted=len(described),
        out_of=found.caption_count,
        pool=f"{references.called} of corpus {corpus}",
        tokens=tokens,
        references=documents.label,
        notes=notes_on_cuts(METRICS.find(measure, family=FAMILY).name for measure in measures),
    )
    report = {
        "corpus": found.corpus.name,
        "file": name,
        **asdict(references),
        "regions": len(described),
        "without": found.caption_count - len(described),
        "references": sum(len(one.references) for one in described),
        "basis": basis.as_dict(),
        **asdict(resampling),
        "measures": _figures(described, measures, resampling, tokens, documents),
        "people_regions": len(people),
        "people": _figures(people, measures, resampling, tokens, documents) if people else [],
    }
    image = names_of(corpus).image
    return with_provenance(report, {name: found}, found.corpus, {image[one.image] for one in described})


def _described(found: CaptionSet, references: RegionReferences) -> list[_Described]:
    captions: dict[int, list[tuple[list[float], str]]] = {}
    rows = found.captions.order_by("position").values_list("image_id", "box", "text")
    for image, box, text in rows.iterator():
        captions.setdefault(image, []).append((box, text))
    read = _of_layer if references.layer else _of_campaign
    said = read(found, references.layer or references.campaign, captions.keys())
    names = names_of(found.corpus.name).image_name
    described = []
    for pk, own in said.items():
        boxes = np.stack([box for box, _ in own])
        for box, text in captions[pk]:
            there = iou(np.asarray(box, np.float64), boxes) >= RIGHT_IOU
            right = tuple(said_of for (_, said_of), here in zip(own, there, strict=True) if here)
            if right:
                described.append(_Described(names[pk], text, right))
    return described


def _of_layer(found: CaptionSet, layer: str, images: Container[int]) -> dict[int, _Said]:
    """The mentions of each of these images that have a box."""
    records = stream_records(corpus=found.corpus, layer=layer_to_read(found.corpus, layer))
    said = {}
    for pk, record in zip(names_of(found.corpus.name).image_name, records, strict=True):
        if pk not in images or record.layer is None:
            continue
        if own := list(boxed_mentions(record.layer)):
            said[pk] = [(box, mention.text) for mention, box in own]
    return said


def _of_campaign(found: CaptionSet, name: str, images: Container[int]) -> dict[int, _Said]:
    """The regions of these images that people described; withdrawn answers and reports do not count."""
    campaign = campaign_named(name)
    if campaign.corpus_id != found.corpus_id:
        raise ImportRefused(
            f"campaign {name!r} is about corpus {campaign.corpus.name!r}, not {found.corpus.name!r}; name "
            "one of that"
        )
    image_of = names_of(found.corpus.name).image
    said: dict[int, _Said] = {}
    for answer in answers(campaign):
        own = [] if answer["void"] or answer["flag"] else answer.get("regions", [])
        image = image_of[answer["image"]]
        if own and image in images:
            said.setdefault(image, []).extend(
                (np.asarray(region["box"], np.float64), region["text"]) for region in own
            )
    return said


def _figures(
    described: list[_Described],
    measures: Sequence[str],
    resampling: Resampling,
    tokens: str,
    documents: Documents,
) -> list[dict[str, Any]]:
    bootstrap = resampling.over([one.image for one in described])
    texts = Captions(
        [one.caption for one in described],
        [one.references for one in described],
        tokens=tokens,
        documents=documents.texts,
    )
    return [
        {"measure": name, **asdict(caption_interval(score, bootstrap))}
        for name, score in score_captions(texts, measures).items()
    ]


def table_of_region_captions(report: dict[str, Any]) -> Table:
    """The figures of `score_region_captions`, a measure in each row, people's beside the system's."""
    people = {one["measure"]: one["value"] for one in report["people"]}
    return Table(
        ["measure", "value", "low", "high", "regions", "people", "remark"],
        [
            [
                *(one[key] for key in ("measure", "value", "low", "high", "items")),
                people.get(one["measure"]),
                one["reason"],
            ]
            for one in report["measures"]
        ],
        dict.fromkeys(("value", "low", "high", "people"), 4),
        basis=basis_from_dict(report["basis"]),
    )


def remarks_on_region_captions(report: dict[str, Any]) -> str:
    """What is to be known about the figures of `score_region_captions`."""
    counted = f"{report['regions']:,} regions, {report['references']:,} references"
    called = RegionReferences(report["layer"], report["campaign"]).called
    lines = [
        f"{report['file']} against {called} of corpus {report['corpus']}: {counted}.",
        f"Left out: {report['without']:,} regions that nobody spoke of.",
        f"People: the first reference of each of {report['people_regions']:,} regions against its others.",
    ]
    if report["resamples"]:
        lines.append(
            f"Intervals of {100 * report['level']:g}%: {report['resamples']:,} resamples of whole images, "
            f"seed {report['seed']}."
        )
    return "\n".join(lines)
