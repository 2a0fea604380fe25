"""Localization sets compared with one another, on the same mentions."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Named, OperationContext
from evaluation.comparison.provenance import with_provenance
from evaluation.comparison.set_comparisons import set_differences, set_figures
from evaluation.models import LocalizationSet
from evaluation.services.candidates import check_alike
from evaluation.services.localizations.differences import scored_alike, summed_box_figures
from evaluation.services.localizations.gold import boxed_mentions_of, layer_and_state
from evaluation.services.localizations.scored import images_without_output, subset_of_set
from evaluation.services.localizations.sets import localization_set_named
from evaluation.services.request_fields import (
    EVERY_IMAGE,
    MOST_COMPARED,
    USUAL_ROUNDS,
    LayerField,
    Rounds,
    SetComparison,
    SetImagesRequest,
    baseline_first,
    check_images,
    check_layer,
)
from evaluation.services.stored_kinds import LOCALIZATION_SETS
from phrasebox.figure_basis import FigureBasis


@dataclass(frozen=True, kw_only=True)
class _LocalizationSets:
    sets: Annotated[
        tuple[Annotated[str, Named(LOCALIZATION_SETS)], ...],
        Field(min_length=1, max_length=MOST_COMPARED),
        Help(_("Localization sets"), _("Of one corpus")),
    ]
    baseline: Annotated[
        Annotated[str, Named(LOCALIZATION_SETS)] | None,
        Help(_("Against"), _("The set that the others are tested against; else the first")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationComparisonRequest(SetImagesRequest, _LocalizationSets):
    """Regions in which systems find phrases are scored against the boxes that people drew, and each set is
    tested against the first, on the same mentions."""

    layer: Annotated[LayerField, Help(_("Layer with people's boxes"), _("Else the first set's layer"))] = ""
    rounds: Rounds = USUAL_ROUNDS


def check_localization_comparison(
    request: LocalizationComparisonRequest, context: OperationContext
) -> LocalizationComparisonRequest:
    """Raise Invalid if the images or the layer do not exist, and InputError for sets of different corpora."""
    sets = [localization_set_named(name) for name in baseline_first(request.sets, request.baseline)]
    check_alike(sets)
    check_layer("layer", request.layer, sets[0].corpus)
    check_images("split", request.split, sets[0].corpus, context, runs=True, also=EVERY_IMAGE)
    return request


def compare_localizations(request: LocalizationComparisonRequest, context: OperationContext) -> SetComparison:
    """Compare the sets. Raises MissingOutput, InputError for a layer without boxes and where no image is
    left, BadSubset and AgreementError."""
    check_localization_comparison(request, context)
    context.report_progress("scoring localizations", 0.0)
    return SetComparison(
        report=_report(
            request, [localization_set_named(name) for name in baseline_first(request.sets, request.baseline)]
        )
    )


def _report(request: LocalizationComparisonRequest, sets: Sequence[LocalizationSet]) -> dict[str, Any]:
    corpus = sets[0].corpus
    subset = subset_of_set(sets[0], request.images, request.fold_seed)
    layer, _state = layer_and_state(corpus.name, request.layer or sets[0].layer)
    mentions = boxed_mentions_of(corpus.name, layer, subset)
    lacking = {row.name: images_without_output(row, mentions, request.missing) for row in sets}
    results = scored_alike(sets, mentions, subset, request.missing)
    figures = list(summed_box_figures(results))
    without = frozenset[int]().union(*lacking.values())
    notes = [f"{name}: no output of {len(images):,} images." for name, images in lacking.items() if images]
    if not results[0].everywhere:
        notes.append("AP and mAP are of the images of each phrase's mentions alone.")
    basis = FigureBasis(
        cases="mentions",
        counted=len(results[0].mentions),
        out_of=len(mentions),
        without_output=sum(mention.image in without for mention in mentions),
        pool=f"layer {layer} of corpus {corpus.name}, {subset.called if subset else 'all images'}",
        missing=request.missing,
        notes=tuple(notes),
    )
    images = {mention.image for mention in results[0].mentions}
    figures_of_sets = set_figures(figures, request.resampling)
    report = {
        "corpus": corpus.name,
        "layer": layer,
        "subset": subset.called if subset else "",
        "images": len(images),
        "mentions": len(results[0].mentions),
        "phrases": len(results[0].precisions),
        "basis": basis.as_dict(),
        **asdict(request.resampling),
        "rounds": request.rounds,
        "baseline": sets[0].name,
        "sets": [{"set": name, "measures": measures} for name, measures in figures_of_sets.items()],
        "differences": set_differences(figures, request.resampling, request.rounds),
    }
    return with_provenance(report, {row.name: row for row in sets}, corpus, images)


def remarks_on_localization_comparison(report: dict[str, Any]) -> str:
    """Return what the sets were compared on."""
    called = " and ".join(one["set"] for one in report["sets"])
    which = f" ({report['subset']})" if report["subset"] else ""
    return (
        f"{called} against layer {report['layer']} of corpus {report['corpus']}{which}: "
        f"{report['mentions']:,} mentions and {report['phrases']:,} phrases in {report['images']:,} images."
    )
