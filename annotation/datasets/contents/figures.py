"""The figures of a layer, read from its rows, beside the published ones, and its cost."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, OperationContext, invalid
from annotation.datasets.contents.corpus_summaries import CorpusRequest
from annotation.datasets.contents.images import LayerName
from annotation.datasets.layers import campaign_of_layer, layer_to_read
from annotation.models import Campaign, Corpus, Layer
from annotation.protocol.caption_statistics import PRINTED_OF_CAPTIONS, CaptionFigures, CaptionStatistics
from annotation.protocol.statistics import PRINTED_STATISTICS, Statistics, cost_figures
from annotation.protocol.terms import ImageRecord
from annotation.selectors.campaign.progress import funnel
from annotation.selectors.corpora import check_split
from annotation.selectors.layer_cost import cost_of
from annotation.selectors.records import stream_records


def layer_statistics(
    *,
    corpus: Corpus,
    layer: Layer,
    split: str | None = None,
    progress: Callable[[Iterable[ImageRecord]], Iterable[ImageRecord]] = iter,
) -> Statistics:
    """Return the statistics of every image of `corpus` that `layer` covers, of one `split` or of all.

    Chains that a reviewer excluded are not counted, as they are not exported either.
    """
    statistics = Statistics()
    for record in progress(stream_records(corpus=corpus, layer=layer, split=split)):
        if record.layer is not None:
            statistics.add(record.layer, captions=len(record.captions))
    return statistics


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFiguresRequest(CorpusRequest):
    """Compared with those of Plummer et al. 2015 (Table 1, section 2.4), and the layer's cost.
    docs/statistics.md has the definitions."""

    layer: Annotated[LayerName | None, Help(_("Layer"), _("Needed where there are several"))] = None
    split: Annotated[
        Annotated[str, Field(max_length=40)] | None,
        Help(_("Split"), _("Only its images: figures, not cost")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionStatsRequest(CorpusRequest):
    """Their length, words, verbs and agreement, beside those of Flickr8k (Hodosh et al. 2013, section 2.3).
    Verbs are recognized in English alone. docs/statistics.md has the definitions."""

    split: Annotated[Annotated[str, Field(max_length=40)] | None, Help(_("Split"), _("Only its images"))] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionStats(CaptionFigures):
    """Figures of the captions of a corpus, or of one split; `printed` are those of Flickr8k."""

    corpus: str
    split: str | None
    printed: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignReach:
    """Numbers of a campaign's images: all, begun and complete."""

    images: int
    begun: int
    complete: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFigures:
    """Figures of a layer, by image, by category and in total; `printed` are the published ones. `cost` is
    that of the whole layer, `campaign` the progress of its campaign."""

    corpus: str
    layer: str
    split: str | None
    images: int
    captions: int
    mentions_per_image: float | None
    mentions_per_caption: float | None
    chains_per_image: float | None
    boxes_per_image: float | None
    not_visual_mentions: int
    chains_without_mentions: int
    categories: dict[str, dict[str, Any]]
    total: dict[str, Any]
    printed: dict[str, Any]
    cost: dict[str, Any]
    campaign: CampaignReach | None


def caption_stats(request: CaptionStatsRequest, context: OperationContext) -> CaptionStats:
    """Return the figures of the captions of a corpus. Raises UnknownName for an unknown split."""
    corpus = request.row()
    if request.split is not None:
        check_split(corpus, request.split)
    statistics = CaptionStatistics()
    passed_on = context.progress_of("images", corpus.image_count)
    for record in passed_on(stream_records(corpus=corpus, split=request.split)):
        statistics.add([caption.words for caption in record.captions])
    return CaptionStats(
        corpus=corpus.name, split=request.split, printed=PRINTED_OF_CAPTIONS, **asdict(statistics.figures())
    )


def dataset_figures(request: DatasetFiguresRequest, context: OperationContext) -> DatasetFigures:
    """Return the figures of all images that the layer covers. Raises UnknownName and AmbiguousLayer."""
    corpus = request.row()
    layer = layer_to_read(corpus, request.layer)
    if layer is None:
        raise invalid("corpus", "no_layer", value=corpus.name)
    if request.split is not None:
        check_split(corpus, request.split)
    statistics = layer_statistics(
        corpus=corpus,
        layer=layer,
        split=request.split,
        progress=context.progress_of("images", corpus.image_count),
    )
    made_by = campaign_of_layer(layer)
    return DatasetFigures(
        corpus=corpus.name,
        layer=layer.name,
        split=request.split,
        **statistics.figures(),
        printed=PRINTED_STATISTICS,
        # The cost of a layer is known only for the whole layer.
        cost=cost_figures(cost_of(layer, made_by)) if request.split is None else {},
        campaign=None if made_by is None else _reach(made_by),
    )


def _reach(campaign: Campaign) -> CampaignReach:
    now = funnel(campaign, fresh=True)
    return CampaignReach(images=now.in_all, begun=now.begun, complete=now.complete)
