"""The operation that scores captions of systems: of whole images, or of regions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import (
    LEAVE_UNUSED,
    FieldError,
    FileUpload,
    Help,
    Named,
    OneOf,
    OperationContext,
    with_sheet,
)
from annotation.selectors.corpora import CORPORA
from evaluation.comparison.missing import REFUSE, Missing, missing_choices
from evaluation.comparison.provenance import UNDECLARED, Declaration
from evaluation.comparison.subsets import subset_named
from evaluation.services.candidates import check_alike
from evaluation.services.captions.figures import CaptionScoring, subset_of_documents
from evaluation.services.captions.region_scores import (
    RegionReferences,
    remarks_on_region_captions,
    score_region_captions,
)
from evaluation.services.captions.scores import (
    CaptionSource,
    caption_sources,
    remarks_on_captions,
    score_caption_sources,
)
from evaluation.services.captions.sets import caption_set_named
from evaluation.services.declarations import TrainedOn, declared_training
from evaluation.services.request_fields import (
    MOST_COMPARED,
    USUAL_ROUNDS,
    FigureReport,
    IntervalRequest,
    LayerField,
    Rounds,
    SetComparison,
    baseline_first,
    check_images,
    check_layer,
)
from evaluation.services.stored_kinds import CAPTION_SETS
from phrasebox.balance import BalanceSheet
from phrasebox.metrics.captions import CUTS, DEFAULT_CUT, FAMILY
from phrasebox.metrics.table import METRICS

_Images = Annotated[str, Field(max_length=1000)]


def _cuts() -> dict[str, None]:
    return dict.fromkeys(CUTS)


# Without slots, as its base: the requests below inherit what they score from another base.
@dataclass(frozen=True, kw_only=True)
class CaptionFigureFields(IntervalRequest):
    """How captions are scored, and on which images."""

    rounds: Rounds = USUAL_ROUNDS
    # All measures that need no other program.
    measures: Annotated[tuple[str, ...], Field(min_length=1), Help(_("Measures"))] = tuple(
        name for name in METRICS.names(FAMILY) if name != "METEOR"
    )
    split: Annotated[
        _Images, Help(_("Split"), _("A split, a file of names, a fold such as 1/5, or run:NAME; else all"))
    ] = ""
    fold_seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of folds"))] = 0
    documents: Annotated[
        _Images,
        Help(
            _("Images whose references CIDEr counts as documents"),
            _("Named as a split is; else those of the split, or of the whole corpus where it is none"),
        ),
    ] = ""
    tokens: Annotated[
        str,
        OneOf(_cuts),
        Help(_("Tokens"), _("Cut as by the COCO evaluation (ptb), or at hyphens and all signs (own)")),
    ] = DEFAULT_CUT
    missing: Annotated[Missing, OneOf(missing_choices), Help(_("Images without a caption"))] = REFUSE
    layer: Annotated[
        LayerField, Help(_("Layer"), _("For captions of regions: with people's boxes and mentions"))
    ] = ""
    campaign: Annotated[
        str, Field(max_length=100), Help(_("Campaign"), _("Or one in which people described regions"))
    ] = ""

    #: What captions of regions do not use: they are scored whole.
    _whole: ClassVar[tuple[tuple[str, str], ...]] = (("split", ""), ("documents", ""), ("missing", REFUSE))

    def problems(self) -> Iterator[FieldError]:
        """Errors of fields that captions of regions do not use."""
        of_regions = "layer" if self.layer else "campaign" if self.campaign else ""
        if self.layer and self.campaign:
            yield FieldError("campaign", "not_with", {"other": "layer"})
        for name, usual in self._whole:
            if of_regions and getattr(self, name) != usual:
                yield FieldError(name, "not_with", {"other": of_regions})

    @property
    def how(self) -> CaptionScoring:
        """How the captions are scored."""
        return CaptionScoring(
            measures=self.measures,
            tokens=self.tokens,
            resampling=self.resampling,
            rounds=self.rounds,
        )


@dataclass(frozen=True, kw_only=True)
class _CaptionsOfCorpus:
    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"), _("Whose captions are the references"))]
    captions: Annotated[
        tuple[Annotated[Path, FileUpload()], ...],
        Field(min_length=1),
        Help(_("Captions"), _("Files, or names of caption sets; the others are compared with the first")),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionsToScore(CaptionFigureFields, _CaptionsOfCorpus):
    """Captions that systems wrote are scored against those of a corpus, and compared with the first. A file
    holds one caption for each image: JSON lines {"image": NAME, "caption": TEXT}, the results of the COCO
    evaluation, or a table. Captions of regions are scored against a layer, or a campaign. Nothing is
    stored."""

    leave_unused: Annotated[bool, LEAVE_UNUSED] = False
    trained_on: TrainedOn = ""

    _whole: ClassVar[tuple[tuple[str, str], ...]] = (*CaptionFigureFields._whole, ("trained_on", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredCaptions(FigureReport):
    """Figures of captions, and which of the captions they are of."""

    sheet: BalanceSheet = BalanceSheet()


@with_sheet
def score_written_captions(request: CaptionsToScore, context: OperationContext) -> ScoredCaptions:
    """Score the captions; raises as `score_caption_sources` and `score_region_captions` do."""
    declared = declared_training(request.trained_on, context)
    return ScoredCaptions(
        report=_report(
            request, request.corpus, caption_sources(request.captions), declared, request.leave_unused
        )
    )


@dataclass(frozen=True, kw_only=True)
class _CaptionSets:
    sets: Annotated[
        tuple[Annotated[str, Named(CAPTION_SETS)], ...],
        Field(min_length=1, max_length=MOST_COMPARED),
        Help(_("Caption sets"), _("Of one corpus")),
    ]
    baseline: Annotated[
        Annotated[str, Named(CAPTION_SETS)] | None,
        Help(_("Against"), _("The set that the others are tested against; else the first")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionComparisonRequest(CaptionFigureFields, _CaptionSets):
    """Captions of systems are scored against those of people, and each set is tested against the first, on
    the same images."""


def check_caption_comparison(
    request: CaptionComparisonRequest, context: OperationContext
) -> CaptionComparisonRequest:
    """Raise Invalid if the images do not exist, and InputError for sets of different corpora."""
    sets = [caption_set_named(name) for name in baseline_first(request.sets, request.baseline)]
    check_alike(sets)
    for field in ("split", "documents"):
        check_images(field, getattr(request, field), sets[0].corpus, context, runs=True)
    check_layer("layer", request.layer, sets[0].corpus)
    for name in request.measures:
        METRICS.find(name, family=FAMILY)
    return request


def compare_captions(request: CaptionComparisonRequest, context: OperationContext) -> SetComparison:
    """Compare the sets; raises as `score_caption_sources` and `score_region_captions` do."""
    check_caption_comparison(request, context)
    context.report_progress("comparing captions", 0.0)
    names = baseline_first(request.sets, request.baseline)
    sets = {name: caption_set_named(name) for name in names}
    corpus = sets[names[0]].corpus.name
    return SetComparison(report=_report(request, corpus, sets))


def _report(
    request: CaptionFigureFields,
    corpus: str,
    sources: Mapping[str, CaptionSource],
    declared: Declaration = UNDECLARED,
    leave_unused: bool = True,
) -> dict[str, Any]:
    if request.layer or request.campaign:
        references = RegionReferences(request.layer, request.campaign)
        return score_region_captions(corpus=corpus, sources=sources, references=references, how=request.how)
    return score_caption_sources(
        corpus=corpus,
        sources=sources,
        how=request.how,
        subset=subset_named(corpus, request.split, seed=request.fold_seed),
        documents=subset_of_documents(corpus, request.split, request.documents, seed=request.fold_seed),
        missing=request.missing,
        leave_unused=leave_unused,
        declared=declared,
    )


def remarks_on_scored(report: dict[str, Any]) -> str:
    """Return the remarks on the figures."""
    return remarks_on_region_captions(report) if "people" in report else remarks_on_captions(report)
