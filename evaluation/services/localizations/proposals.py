"""The upper bound of a set of regions: for how many of people's mentions one of its regions is right.

A region's rank is its position among those of its image. Source: Plummer et al. 2015, section 3.2 (R@100).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray
from pydantic import Field

from annotation.common.operations import Help, Named, OperationContext
from annotation.protocol.terms import CATEGORIES
from annotation.selectors.corpora import CORPORA, corpus_named
from evaluation.comparison.missing import WORST
from evaluation.comparison.subsets import subset_named
from evaluation.models import LocalizationSet
from evaluation.selectors import names_of
from evaluation.services.features.store import FeatureSet, feature_set
from evaluation.services.localizations.gold import BoxedMention, boxed_mentions_of
from evaluation.services.predicting import SetField
from evaluation.services.request_fields import (
    FigureReport,
    IntervalRequest,
    LayerField,
    check_images,
    check_layer,
)
from evaluation.services.systems.sources import Sources
from phrasebox.figure_basis import FigureBasis, basis_from_dict
from phrasebox.figure_tables import Table
from phrasebox.metrics.localization import RIGHT_IOU, area, box_recall, first_right, iou, upper_bound
from phrasebox.registry import UnknownName
from phrasebox.significance.resampling import figure_interval

#: The k of recall at k; the last only where an image has more regions than the one before.
PROPOSAL_RANKS = (10, 50, 100, 1000)
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class UnrankedRegions:
    """Figures of regions without a ranking, for each mention, shape (mentions,).

    `bound` is 1 where any region is right, `share` the share of right regions, and `largest` 1 where the
    largest region is right; `regions` is their number. `proposed`: these are all proposals, not only those
    that a set stored.
    """

    bound: _Floats
    share: _Floats
    largest: _Floats
    regions: _Floats
    proposed: bool

    @classmethod
    def of_mentions(cls, number: int, *, proposed: bool) -> UnrankedRegions:
        """Create an instance for `number` mentions without regions."""
        bound, share, largest, regions = np.zeros((4, number))
        return cls(bound, share, largest, regions, proposed)

    def put(self, index: int, boxes: NDArray[np.floating], gold: _Floats) -> None:
        """Set the figures of the mention at `index` from its regions, shape (n, 4), and people's box, shape
        (4,)."""
        self.regions[index] = len(boxes)
        if len(boxes):
            right = iou(boxes, gold) >= RIGHT_IOU
            self.bound[index], self.share[index] = right.any(), right.mean()
            self.largest[index] = right[area(np.asarray(boxes, np.float64)).argmax()]


def proposals_of_set(row: LocalizationSet, mentions: list[BoxedMention]) -> UnrankedRegions | None:
    """Return the figures of the regions that a localization set chose from; None if they are unknown or no
    longer exist."""
    try:
        stored = feature_set(row.corpus.name, row.regions)
    except UnknownName:
        return None
    if stored.kind != "region":
        return None
    boxes_of = _boxes_of_images(stored)
    unranked = UnrankedRegions.of_mentions(len(mentions), proposed=True)
    for index, mention in enumerate(mentions):
        unranked.put(index, boxes_of.get(mention.image, np.empty((0, 4))), mention.box)
    return unranked


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalScoring(IntervalRequest):
    """For how many of the mentions that people boxed one of the first regions of their image is right, and
    for how many any: no localizer can do better."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    regions: Annotated[SetField, Field(min_length=1), Help(_("Regions"), _("A feature set"))]
    layer: Annotated[LayerField, Help(_("Layer with people's boxes"), _("Else the only one"))] = ""
    split: Annotated[
        str,
        Field(max_length=1000),
        Help(_("Split"), _("A split, a fold such as 1/5, or run:NAME; else all images")),
    ] = ""
    fold_seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of folds"))] = 0


def score_proposals(request: ProposalScoring, context: OperationContext) -> FigureReport:
    """Return recall of the first k regions of each image, and of all, over boxed mentions and by category.
    There are rows for R@1000 where an image with boxed mentions has more than 100 regions.

    Raises Invalid, UnknownName, ValueError for a set of another kind, and InputError for a layer without
    boxes.
    """
    corpus, layer, resampling = request.corpus, request.layer, request.resampling
    check_layer("layer", layer, corpus_named(corpus))
    check_images("split", request.split, corpus_named(corpus), context, runs=True)
    stored = feature_set(corpus, Sources(regions=request.regions).settled(corpus).regions)
    subset = subset_named(corpus, request.split, seed=request.fold_seed)
    mentions = boxed_mentions_of(corpus, layer, subset)
    boxes_of = _boxes_of_images(stored)
    ranks = _ranks(boxes_of, mentions)
    most = max(len(boxes_of.get(mention.image, ())) for mention in mentions)
    up_to = [k for k in PROPOSAL_RANKS if k < PROPOSAL_RANKS[-1] or most > PROPOSAL_RANKS[-2]]
    rows = [("all", np.ones(len(mentions), bool))]
    held = {label for mention in mentions for label in mention.categories}
    for category in [
        *(label for label in CATEGORIES if label in held),
        *sorted(held - set(CATEGORIES)),
    ]:
        rows.append((category, np.asarray([category in mention.categories for mention in mentions])))
    images = [str(mention.image) for mention in mentions]
    basis = FigureBasis(
        cases="mentions",
        counted=len(mentions),
        out_of=len(mentions),
        without_output=sum(mention.image not in boxes_of for mention in mentions),
        pool=f"{layer or 'the'} layer of corpus {corpus}, {subset.called if subset else 'all images'}",
        missing=WORST,
    )
    report: dict[str, Any] = {
        "corpus": corpus,
        "regions": stored.label,
        "layer": layer,
        "basis": basis.as_dict(),
        "rows": [],
    }
    for name, mask in rows:
        row: dict[str, Any] = {"category": name, "mentions": int(mask.sum())}
        for k in up_to:
            row[f"R@{k}"] = float(box_recall(ranks[mask], k).mean())
        row["all"] = float(upper_bound(ranks[mask]).mean())
        bootstrap = resampling.over([images[index] for index in np.flatnonzero(mask)])
        if bootstrap is not None:
            interval = figure_interval(box_recall(ranks[mask], 100), bootstrap, share=True)
            row |= {"low": interval.low, "high": interval.high}
        report["rows"].append(row)
    per_image = np.unique(np.asarray(stored.ids()), return_counts=True)[1]
    about = {"images": len(set(images)), "regions_an_image": float(per_image.mean())}
    return FigureReport(report={**report, **about})


def remarks_on_proposals(report: dict[str, Any]) -> str:
    """Return the remarks on the figures."""
    return (
        f"{report['regions']} of corpus {report['corpus']}: {report['regions_an_image']:.1f} regions an "
        f"image, {report['images']:,} images with boxed mentions. Intervals are of R@100, by images "
        "(Wilson's)."
    )


def _boxes_of_images(region_set: FeatureSet) -> dict[int, NDArray[Any]]:
    """Return the boxes of each image (row id) in order, shape (n, 4)."""
    names, boxes = names_of(region_set.corpus), np.asarray(region_set.boxes())
    rows: dict[int, list[int]] = {}
    for row, name in enumerate(region_set.ids()):
        rows.setdefault(names.image[name], []).append(row)
    return {image: boxes[rows_of_image] for image, rows_of_image in rows.items()}


def _ranks(boxes_of: dict[int, NDArray[Any]], mentions: list[BoxedMention]) -> _Floats:
    """Return the rank of the first right region of each mention, infinity for none."""
    ranks = np.full(len(mentions), np.inf)
    for index, mention in enumerate(mentions):
        boxes = boxes_of.get(mention.image, np.empty((0, 4)))
        ranks[index] = first_right(boxes, np.zeros(len(boxes), np.intp), mention.box[None])[0]
    return ranks


def table_of_proposals(report: dict[str, Any]) -> Table:
    """Return a table with a row for all mentions, and one per category."""
    ranks = [f"R@{k}" for k in PROPOSAL_RANKS if f"R@{k}" in report["rows"][0]]
    columns = ["category", "mentions", *ranks, "low", "high", "all"]
    rows = [[row.get(column) for column in columns] for row in report["rows"]]
    heads = [
        "R@100, low" if heading == "low" else "R@100, high" if heading == "high" else heading
        for heading in columns
    ]
    return Table(heads, rows, dict.fromkeys(heads[2:], 4), basis=basis_from_dict(report["basis"]))
