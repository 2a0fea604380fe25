"""The operation that scores captions of systems: of whole images, or of regions."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

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
from evaluation.comparison.subsets import subset_named
from evaluation.services.captions.figures import CaptionScoring, subset_of_documents
from evaluation.services.captions.region_scores import (
    RegionReferences,
    remarks_on_region_captions,
    score_region_captions,
)
from evaluation.services.captions.scores import remarks_on_captions, score_caption_files
from evaluation.services.declarations import TrainedOn, declared_training
from evaluation.services.request_fields import FigureReport, IntervalRequest, LayerField
from phrasebox.balance import BalanceSheet
from phrasebox.metrics.captions import CUTS, DEFAULT_CUT, FAMILY
from phrasebox.metrics.table import METRICS

_Images = Annotated[str, Field(max_length=1000)]


def _cuts() -> dict[str, None]:
    return dict.fromkeys(CUTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionsToScore(IntervalRequest):
    """Captions that systems wrote are scored against those of a corpus, and compared with the first. A file
    holds one caption for each image: JSON lines {"image": NAME, "caption": TEXT}, or the results of the COCO
    evaluation. Captions of regions are scored against a layer, or a campaign. Nothing is stored."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"), _("Whose captions are the references"))]
    captions: Annotated[
        tuple[Annotated[Path, FileUpload()], ...],
        Field(min_length=1),
        Help(_("Captions"), _("Files, or names of caption sets; the others are compared with the first")),
    ]
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
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False
    trained_on: TrainedOn = ""
    layer: Annotated[
        LayerField, Help(_("Layer"), _("For captions of regions: with people's boxes and mentions"))
    ] = ""
    campaign: Annotated[
        str, Field(max_length=100), Help(_("Campaign"), _("Or one in which people described regions"))
    ] = ""

    def problems(self) -> Iterator[FieldError]:
        """Errors of fields that captions of regions do not use: they are scored whole, and are not read from
        a file."""
        of_regions = "layer" if self.layer else "campaign" if self.campaign else ""
        if self.layer and self.campaign:
            yield FieldError("campaign", "not_with", {"other": "layer"})
        for name, usual in (("split", ""), ("documents", ""), ("missing", REFUSE), ("trained_on", "")):
            if of_regions and getattr(self, name) != usual:
                yield FieldError(name, "not_with", {"other": of_regions})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredCaptions(FigureReport):
    """Figures of captions, and which of the captions they are of."""

    sheet: BalanceSheet = BalanceSheet()


@with_sheet
def score_written_captions(request: CaptionsToScore, context: OperationContext) -> ScoredCaptions:
    """Score the captions; raises as `score_caption_files` and `score_region_captions` do."""
    how = CaptionScoring(measures=request.measures, tokens=request.tokens, resampling=request.resampling)
    if request.layer or request.campaign:
        references = RegionReferences(request.layer, request.campaign)
        report = score_region_captions(
            corpus=request.corpus, names=request.captions, references=references, how=how
        )
    else:
        report = score_caption_files(
            corpus=request.corpus,
            files=request.captions,
            how=how,
            subset=subset_named(request.corpus, request.split, seed=request.fold_seed),
            documents=subset_of_documents(
                request.corpus, request.split, request.documents, seed=request.fold_seed
            ),
            missing=request.missing,
            leave_unused=request.leave_unused,
            declared=declared_training(request.trained_on, context),
        )
    return ScoredCaptions(report=report)


def remarks_on_scored(report: dict[str, Any]) -> str:
    """Return the remarks on the figures."""
    return remarks_on_region_captions(report) if "people" in report else remarks_on_captions(report)
