"""Scoring a localization set against the boxes that people drew, and comparing it with another set.

Source: Plummer et al. 2015, section 3.2, Tables 2 and 3.
"""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, Named, OperationContext
from evaluation.comparison.missing import LEAVE_OUT
from evaluation.comparison.provenance import with_provenance
from evaluation.selectors import digest_of_images, names_of
from evaluation.services.common import InputError, check_same_corpus
from evaluation.services.localizations.differences import differences_from
from evaluation.services.localizations.gold import boxed_mentions_of, layer_and_state
from evaluation.services.localizations.measures import by_category, frequent_phrases, measures_of
from evaluation.services.localizations.scored import images_without_output, scored, subset_of_set
from evaluation.services.localizations.sets import localization_set_named
from evaluation.services.localizations.stored_scores import store_localization_scores
from evaluation.services.request_fields import (
    EVERY_IMAGE,
    FigureRequest,
    LayerField,
    check_images,
    check_layer,
)
from evaluation.services.stored_kinds import LOCALIZATION_SETS
from phrasebox.figure_basis import FigureBasis


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationScoring(FigureRequest):
    """The regions in which a system finds phrases are scored against the boxes that people drew: recall at 1,
    10 and 100, average precision, and the bound of the proposals."""

    localization_set: Annotated[str, Named(LOCALIZATION_SETS), Help(_("Localization set"))]
    layer: Annotated[LayerField, Help(_("Layer with people's boxes"), _("Else the set's layer"))] = ""
    against: Annotated[
        Annotated[str, Named(LOCALIZATION_SETS)] | None,
        Help(_("Compare with"), _("Another set of the corpus, whose figures are subtracted")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationScores:
    """The figures of a localization set; the report says what they are based on. `stored`: its page shows
    them."""

    localization_set: str
    stored: bool
    report: dict[str, Any]


def check_localization_scoring(
    request: LocalizationScoring, context: OperationContext
) -> LocalizationScoring:
    """Raise Invalid if the images or the layer do not exist."""
    row = localization_set_named(request.localization_set)
    check_same_corpus(context, row)
    check_layer("layer", request.layer, row.corpus)
    check_images("split", request.split, row.corpus, context, runs=True, also=EVERY_IMAGE)
    return request


def score_localization(request: LocalizationScoring, context: OperationContext) -> LocalizationScores:
    """Score the set, and store its figures, replacing those of the same images; raises as
    `localization_report` and `store_localization_scores`."""
    check_localization_scoring(request, context)
    context.report_progress("scoring localizations", 0.0)
    report = localization_report(request)
    if request.store:
        store_localization_scores(request.localization_set, report)
    return LocalizationScores(localization_set=request.localization_set, stored=request.store, report=report)


def localization_report(request: LocalizationScoring) -> dict[str, Any]:
    """Return the figures with their intervals, by category and for the most frequent phrases, as plain data.

    `digest` identifies the predictions, `layer_state` the boxes. `subset` names the images, "" for all,
    `images_digest` identifies them; `whole`: they are the set's. With `undetected` phrases, or on a `part` of
    the set's images, AP is not over all images. `level` applies to all intervals. R@k is omitted beyond
    `cut_at`, its differences beyond `differences_cut_at`, where these are numbers; beyond `fewest_stored` it
    is based on the stored regions. `basis` describes the basis of the figures, and `differences_basis` that
    of the differences; for `without_output` images the set has no output.

    Raises UnknownName, MissingOutput, InputError for a layer without boxes or a set of another corpus,
    FormatError, BadSubset and AgreementError; each message is one line.
    """
    row = localization_set_named(request.localization_set)
    other_set = localization_set_named(request.against) if request.against else None
    if other_set is not None and other_set.corpus_id != row.corpus_id:
        raise InputError(
            f"localization set {other_set.name!r} is of corpus {other_set.corpus.name!r}, {row.name!r} of "
            f"{row.corpus.name!r}; compare sets of one corpus"
        )
    subset = subset_of_set(row, request.images, request.fold_seed)
    # Read before the boxes: if they change meanwhile, the figures are reported as outdated.
    layer, state = layer_and_state(row.corpus.name, request.layer or row.layer)
    all_mentions = boxed_mentions_of(row.corpus.name, layer, subset)
    lacking = images_without_output(row, all_mentions, request.missing)
    if request.missing == LEAVE_OUT:
        mentions = [mention for mention in all_mentions if mention.image not in lacking]
        if not mentions:
            raise InputError(f"localization set {row.name!r} has no output of these images; choose others")
        scored_set = scored(row, mentions, subset)
    else:
        mentions = all_mentions
        scored_set = scored(row, mentions, subset, len(lacking))

    def basis_of(counted: int) -> dict[str, Any]:
        images = len({mention.image for mention in all_mentions})
        return FigureBasis(
            cases="mentions",
            counted=counted,
            out_of=len(all_mentions),
            without_output=sum(mention.image in lacking for mention in all_mentions),
            pool=f"layer {layer} of corpus {row.corpus.name}, {subset.called if subset else 'all images'}",
            missing=request.missing,
            notes=(f"Images without output: {len(lacking):,} of {images:,}.",) if lacking else (),
        ).as_dict()

    report = {
        "set": row.name,
        "digest": row.digest,
        "system": row.made_by.name if row.made_by else "",
        "corpus": row.corpus.name,
        "layer": layer,
        "layer_state": state,
        "subset": subset.called if subset else "",
        "images_digest": digest_of_images(subset.images, names_of(row.corpus.name)) if subset else "",
        "whole": not request.split,
        "regions": row.regions,
        "images": len({mention.image for mention in mentions}),
        "mentions": len(mentions),
        "predicted": int(scored_set.predicted.sum()),
        "phrases": len(scored_set.precisions),
        "everywhere": scored_set.everywhere,
        "undetected": scored_set.undetected,
        "part": scored_set.part,
        "missing": request.missing,
        "without_output": len(lacking),
        "basis": basis_of(len(mentions)),
        "proposed": scored_set.unranked.proposed,
        "cut_at": scored_set.cut_at,
        "fewest_stored": scored_set.fewest_stored,
        **asdict(request.resampling),
        "measures": list(measures_of(scored_set, request.resampling)),
        "categories": by_category(scored_set),
        "frequent": frequent_phrases(scored_set),
    }
    if other_set is not None:
        report |= differences_from(other_set, row, all_mentions, subset, request.missing, request.resampling)
        report["differences_basis"] = basis_of(report["differences_mentions"])
    sets = {row_of_set.name: row_of_set for row_of_set in (row, other_set) if row_of_set is not None}
    return with_provenance(report, sets, row.corpus, {mention.image for mention in mentions})
