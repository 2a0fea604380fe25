"""Tag sets compared with one another: the same true tags, on the same images."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Named, OperationContext
from evaluation.comparison.missing import LEAVE_OUT
from evaluation.comparison.provenance import with_provenance
from evaluation.comparison.set_comparisons import set_differences, set_figures
from evaluation.comparison.subsets import Subset, subset_named
from evaluation.models import TagSet
from evaluation.services.candidates import check_alike
from evaluation.services.common import InputError
from evaluation.services.phases import PhaseShares
from evaluation.services.request_fields import (
    EVERY_IMAGE,
    MOST_COMPARED,
    USUAL_ROUNDS,
    Rounds,
    SetComparison,
    SetImagesRequest,
    baseline_first,
    check_images,
)
from evaluation.services.stored_kinds import TAG_SETS
from evaluation.services.tagging.scores import TagFigures
from evaluation.services.tagging.sets import tag_set_named
from evaluation.services.tagging.true_tags import (
    images_of_set,
    scored_images,
    summed_tag_figures,
    true_tags_of,
    unit_and_alpha,
)
from models_core.phase_cache import PhaseProgress
from phrasebox.figure_basis import FigureBasis


@dataclass(frozen=True, kw_only=True)
class _TagSets:
    sets: Annotated[
        tuple[Annotated[str, Named(TAG_SETS)], ...],
        Field(min_length=1, max_length=MOST_COMPARED),
        Help(_("Tag sets"), _("Of one corpus")),
    ]
    baseline: Annotated[
        Annotated[str, Named(TAG_SETS)] | None,
        Help(_("Against"), _("The set that the others are tested against; else the first")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TagComparisonRequest(SetImagesRequest, TagFigures, _TagSets):
    """Tags of systems are scored against the nouns of people's captions, and each set is tested against the
    first, on the same images and true tags: those that one of the sets could have chosen."""

    rounds: Rounds = USUAL_ROUNDS


def check_tag_comparison(request: TagComparisonRequest, context: OperationContext) -> TagComparisonRequest:
    """Raise Invalid if the images do not exist, and InputError for sets of different corpora."""
    sets = [tag_set_named(name) for name in baseline_first(request.sets, request.baseline)]
    check_alike(sets)
    check_images("split", request.split, sets[0].corpus, context, runs=True, also=EVERY_IMAGE)
    return request


def compare_tags(request: TagComparisonRequest, context: OperationContext) -> SetComparison:
    """Compare the sets. Raises InputError if no image has a true tag, MissingOutput, ValueError for an
    invalid alpha, and AgreementError."""
    check_tag_comparison(request, context)
    sets = [tag_set_named(name) for name in baseline_first(request.sets, request.baseline)]
    return SetComparison(report=_report(request, sets, PhaseShares(context.report_progress)))


def _report(request: TagComparisonRequest, sets: list[TagSet], progress: PhaseProgress) -> dict[str, Any]:
    how, corpus = request.how, sets[0].corpus
    unit, alpha = unit_and_alpha(sets[0], how)
    subset = _images(request, sets[0])
    images: set[int] | None = None
    lacking = {}
    for tag_set in sets:
        scored, lacking[tag_set.name] = scored_images(tag_set, subset, how.missing)
        images = scored if images is None else images & scored
    known = true_tags_of(sets, unit, alpha, images or set(), progress)
    counted = sum(map(bool, known[0].numbers))
    if not counted:
        raise InputError(
            "no image that all sets have tags of has one in its captions that they could have chosen; choose "
            "other images"
        )
    figures = summed_tag_figures({row.name: of_set for row, of_set in zip(sets, known, strict=True)}, how)
    without = max(lacking.values()) if how.missing == LEAVE_OUT else max(of_set.lacking for of_set in known)
    notes = [f"{name}: no tags of {number:,} images." for name, number in lacking.items() if number]
    basis = FigureBasis(
        cases="images",
        counted=counted,
        out_of=counted + (without if how.missing == LEAVE_OUT else 0),
        without_output=without,
        pool=f"corpus {corpus.name}, {subset.called if subset else 'all images'}",
        protocol=f"{unit} of people's captions, alpha {alpha:g}",
        missing=how.missing,
        notes=tuple(notes),
    )
    by_name = {tag_set.name: tag_set for tag_set in sets}
    figures_of_sets = set_figures(figures, how.resampling)
    report = {
        "corpus": corpus.name,
        "subset": subset.called if subset else "",
        "images": counted,
        "tags": sum(map(len, known[0].numbers)),
        "unknown": known[0].unknown,
        "basis": basis.as_dict(),
        **asdict(how.resampling),
        "rounds": request.rounds,
        "baseline": sets[0].name,
        "sets": [{"set": name, "measures": measures} for name, measures in figures_of_sets.items()],
        "differences": set_differences(figures, how.resampling, request.rounds),
    }
    return with_provenance(report, by_name, corpus, images or ())


def _images(request: TagComparisonRequest, first: TagSet) -> Subset | None:
    if request.images is None:
        return images_of_set(first)
    if not request.images:
        return Subset("all images", frozenset(first.corpus.images.values_list("pk", flat=True)))
    return subset_named(first.corpus.name, request.images, seed=request.fold_seed)


def remarks_on_tag_comparison(report: dict[str, Any]) -> str:
    """Return what the sets were compared on."""
    called = " and ".join(one["set"] for one in report["sets"])
    which = f" ({report['subset']})" if report["subset"] else ""
    left = (
        f" Left out: {report['unknown']:,} true tags that no set could have chosen."
        if report["unknown"]
        else ""
    )
    return (
        f"{called} of corpus {report['corpus']}{which}: {report['images']:,} images, {report['tags']:,} true "
        f"tags.{left}"
    )
