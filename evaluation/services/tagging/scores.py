"""Ranked tags of images, scored against those that people's captions give.

An image's true tags are the nouns (or compounds) of its captions, ranked by position and frequency as in
`models_core.features.text.tags`. Those that the set could not have chosen are excluded and counted.

- p@1, p@5: `metrics.tagging.precision_at`, in a pool of the true tags and of distractors; beside it the
  precision of a random order, and the gain over it, as a share.
- P@1, P@5: the share of the first tags, among all of the vocabulary, that are true, in whatever order.
- MAP, MiAP: mean average precision, tags ranking images and images ranking tags.

The vocabulary of a set of lists are all tags in the images' captions or lists. P@k and MiAP rank all of it;
MAP is over the tags that are true of at least one image, and distractors are drawn from these.

Images without output are refused, left out, or count as the worst possible output (`comparison.missing`):
their true tags come last and all others first in every ranking. Where lists are missing, their possible tags
may come before every tag that another list does not have.

Tied tags are in the worst order for p@k; other measures average over all orders. Intervals are bootstrapped
over images, for MAP over tags; those of p@k and P@k are Wilson's where every image's value is 0 or 1, as for
k 1.

Source: structured listwise tagging, section 4.3.
"""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
from django.db import transaction
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray
from pydantic import Field

from annotation.common.operations import (
    LEAVE_UNUSED,
    FieldError,
    Help,
    Named,
    OneOf,
    OperationContext,
    result_of,
)
from annotation.selectors.corpora import CORPORA
from evaluation.comparison.missing import LEAVE_OUT
from evaluation.comparison.provenance import with_provenance
from evaluation.comparison.subsets import Subset, subset_named
from evaluation.models import TagSet
from evaluation.services.common import InputError, check_same_corpus
from evaluation.services.declarations import TrainedOn
from evaluation.services.imported_sets import PREDICTIONS_UPLOAD
from evaluation.services.phases import PhaseShares
from evaluation.services.request_fields import EVERY_IMAGE, FigureRequest, check_images
from evaluation.services.stored_kinds import TAG_SETS
from evaluation.services.tagging.files import TagsImport, import_tags
from evaluation.services.tagging.sets import tag_set_named
from evaluation.services.tagging.true_tags import (
    DISTRACTORS,
    POOL_DEPTHS,
    TagScoring,
    TrueTags,
    images_of_set,
    pool_values,
    scored_images,
    true_tags_of,
    unit_and_alpha,
    unit_of,
    whole_values,
)
from models_core.features.text.tags import TagUnit
from models_core.phase_cache import PhaseProgress, no_progress
from phrasebox.agreement.estimates import Bootstrap
from phrasebox.balance import BalanceSheet
from phrasebox.figure_basis import FigureBasis, basis_from_dict
from phrasebox.figure_tables import Table
from phrasebox.metrics.tagging import expected_precision_at
from phrasebox.significance.resampling import bootstrap_ratio, figure_interval

_Floats = NDArray[np.float64]


def _units() -> Mapping[str, None]:
    return dict.fromkeys(get_args(TagUnit))


# Without slots: requests inherit it beside another base.
@dataclass(frozen=True, kw_only=True)
class TagFigures:
    """Which figures of tags are computed."""

    tags: Annotated[
        Annotated[TagUnit, OneOf(_units)] | None, Help(_("What a true tag is"), _("Else as in the training"))
    ] = None
    alpha: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Help(_("Weight of frequency among true tags"), _("Else as in the training")),
    ] = None
    distractors: Annotated[
        tuple[Annotated[int, Field(ge=0, le=10_000)], ...], Field(min_length=1), Help(_("Distractors"))
    ] = DISTRACTORS
    depths: Annotated[
        tuple[Annotated[int, Field(ge=1, le=10_000)], ...],
        Field(min_length=1),
        Help(_("Depths"), _("k of p@k")),
    ] = POOL_DEPTHS

    @property
    def how(self) -> TagScoring:
        """How sets are scored."""
        return result_of(TagScoring, self, unit=self.tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagScoringRequest(FigureRequest, TagFigures):
    """Tags are scored against the nouns of people's captions: precision among the image's own tags and
    distractors, with the gain over chance, MAP and MiAP."""

    tag_set: Annotated[Annotated[str, Named(TAG_SETS)] | None, Help(_("Tag set"))] = None
    file: Annotated[
        Annotated[Path, PREDICTIONS_UPLOAD] | None,
        Help(_("Or a file of tags"), _("As for an import; nothing of it is stored")),
    ] = None
    corpus: Annotated[
        Annotated[str, Named(CORPORA)] | None, Help(_("Corpus"), _("Whose images the file has tags of"))
    ] = None
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False
    trained_on: TrainedOn = ""

    def problems(self) -> Iterator[FieldError]:
        """Errors: neither a set nor a file, or both; fields of a file without one."""
        if self.file is None and self.tag_set is None:
            yield FieldError("tag_set", "missing", {})
        if self.file is not None and self.tag_set is not None:
            yield FieldError("file", "not_with", {"other": "tag_set"})
        if self.file is not None and self.corpus is None:
            yield FieldError("corpus", "missing", {})
        for name in ("corpus", "trained_on", "leave_unused"):
            if self.file is None and getattr(self, name):
                yield FieldError(name, "only_with", {"other": "file"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TagScores:
    """The figures of a tag set, or of a file; the report says what they are based on. `stored`: its page
    shows them. `sheet`: what was read of a file."""

    tag_set: str
    stored: bool
    report: dict[str, Any]
    sheet: BalanceSheet = BalanceSheet()


def check_tag_scoring(request: TagScoringRequest, context: OperationContext) -> TagScoringRequest:
    """Raise Invalid if the images do not exist."""
    if request.tag_set is not None:
        row = tag_set_named(request.tag_set)
        check_same_corpus(context, row)
        check_images("split", request.split, row.corpus, context, runs=True, also=EVERY_IMAGE)
    return request


def score_tags(request: TagScoringRequest, context: OperationContext) -> TagScores:
    """Score the set, and store its figures with it; or score a file, of which nothing is stored.

    Raises as `score_tag_set`, `store_figures` and `import_tags` do.
    """
    check_tag_scoring(request, context)
    if request.file is not None:
        return _score_file(request, context)
    row = tag_set_named(request.tag_set or "")
    report = _report(request, context, row, row.name)
    if request.store:
        store_figures(row.name, report)
    return TagScores(tag_set=row.name, stored=request.store, report=report)


def _score_file(request: TagScoringRequest, context: OperationContext) -> TagScores:
    """Import a file as a set, score it, and take the import back."""
    assert request.file is not None and request.corpus is not None
    with transaction.atomic():
        what = TagsImport(
            name=f"scored-{secrets.token_hex(8)}",
            file=request.file,
            corpus=request.corpus,
            leave_unused=request.leave_unused,
            trained_on=request.trained_on,
        )
        imported = import_tags(what, context)
        row = tag_set_named(imported.name)
        check_images("split", request.split, row.corpus, context, runs=True, also=EVERY_IMAGE)
        report = _report(request, context, row, request.file.name)
        transaction.set_rollback(True)
    return TagScores(tag_set=request.file.name, stored=False, report=report, sheet=imported.sheet)


def _report(
    request: TagScoringRequest, context: OperationContext, row: TagSet, called: str
) -> dict[str, Any]:
    images = request.images
    subset = subset_named(row.corpus.name, images, seed=request.fold_seed) if images else None
    if images == "":
        subset = Subset("all images", frozenset(row.corpus.images.values_list("pk", flat=True)))
    progress = PhaseShares(context.report_progress)
    return score_tag_set(row, how=request.how, subset=subset, called=called, progress=progress)


def score_tag_set(
    tag_set: TagSet,
    *,
    how: TagScoring,
    subset: Subset | None = None,
    called: str = "",
    progress: PhaseProgress = no_progress,
) -> dict[str, Any]:
    """Return the figures of a set with their intervals, as plain data; without a `subset` over the images
    that the set covers. `basis` describes what they are based on, `without_output` is the number of images
    that the set lacks. `called` is the set's name in them, by default its own.

    Raises InputError if no image has a true tag, MissingOutput, ValueError for an invalid alpha, and
    AgreementError.
    """
    name, corpus = called or tag_set.name, tag_set.corpus.name
    unit, alpha = unit_and_alpha(tag_set, how)
    subset = subset or images_of_set(tag_set)
    scored, lacking = scored_images(tag_set, subset, how.missing)
    (known,) = true_tags_of([tag_set], unit, alpha, scored, progress)
    if not any(known.numbers):
        raise InputError(
            f"no image of tag set {name!r} has a tag in its captions that the set could have chosen; choose "
            "other images"
        )
    images = len(known.numbers) - known.without
    basis = FigureBasis(
        cases="images",
        counted=images,
        out_of=images + (lacking if how.missing == LEAVE_OUT else 0),
        without_output=lacking if how.missing == LEAVE_OUT else known.lacking,
        pool=f"corpus {corpus}, {subset.called if subset else 'all images'}",
        protocol=f"{unit} of people's captions, alpha {alpha:g}",
        missing=how.missing,
    )
    report = {
        "corpus": corpus,
        "name": name,
        "system": tag_set.made_by.name if tag_set.made_by else "",
        "source": tag_set.source,
        "digest": tag_set.digest,
        "subset": subset.called if subset else "",
        "unit": unit,
        "alpha": alpha,
        "score": tag_set.settings.get("score", ""),
        "images": images,
        "without": known.without,
        "missing": how.missing,
        "without_output": basis.without_output,
        "basis": basis.as_dict(),
        "vocabulary": known.vocabulary,
        "listed": not tag_set.vocabulary,
        "tags": sum(map(len, known.numbers)),
        "unknown": known.unknown,
        **asdict(how.resampling),
        "measures": tag_figures(known, how),
    }
    return with_provenance(report, {name: tag_set}, tag_set.corpus, _images_scored(tag_set, subset))


def _images_scored(tag_set: TagSet, subset: Subset | None) -> set[int]:
    images = set(tag_set.images.values_list("image_id", flat=True))
    return images if subset is None else images & subset.images


def store_figures(name: str, report: dict[str, Any]) -> None:
    """Store a report of `score_tag_set` with the set, for pages and reports. Raises InputError if the set
    was removed or replaced since."""
    same = TagSet.objects.filter(name=name, digest=report["digest"], published=True)
    if not same.update(figures=report):
        raise InputError(f"tag set {name!r} was removed or replaced while it was scored; score it again")


def tag_figures(known: TrueTags, how: TagScoring) -> list[dict[str, Any]]:
    """Return each figure with its interval: p@k for each number of distractors, P@k, MAP and MiAP."""
    return [*_pool_figures(known, how), *_whole_figures(known, how)]


def _pool_figures(known: TrueTags, how: TagScoring) -> list[dict[str, Any]]:
    rows = []
    drawn = _drawn(how, len(known.numbers), "image")
    for number, k, values, extra in pool_values(known, how):
        chance = expected_precision_at(known.numbers, k, distractors=extra)
        row = {"measure": f"p@{k}", "distractors": number, **_interval(values, drawn, share=True)}
        gain = None if drawn is None else bootstrap_ratio(values, chance, drawn)
        ratio = float(np.nanmean(values) / np.nanmean(chance)) if gain is None else gain.value
        rows.append(
            row
            | {
                "chance": float(np.nanmean(chance)),
                "gain": ratio - 1,
                "gain_low": None if gain is None else gain.low - 1,
                "gain_high": None if gain is None else gain.high - 1,
                "gain_remark": "" if gain is None else gain.remark,
            }
        )
    return rows


def _whole_figures(known: TrueTags, how: TagScoring) -> list[dict[str, Any]]:
    return [
        {
            "measure": name,
            "distractors": None,
            **_interval(values, _drawn(how, len(values), unit_of(name)), share=name.startswith("P@")),
        }
        for name, values in whole_values(known, how).items()
    ]


def _drawn(how: TagScoring, items: int, unit: str) -> Bootstrap | None:
    """Return the bootstrap that resamples individual images or tags."""
    return how.resampling.over([str(item) for item in range(items)], unit)


def _interval(values: _Floats, drawn: Bootstrap | None, *, share: bool) -> dict[str, Any]:
    items = int((~np.isnan(values)).sum())
    if drawn is None:
        value = float(np.nanmean(values))
        return {"value": value, "low": None, "high": None, "items": items, "interval": "", "remark": ""}
    interval = figure_interval(values, drawn, share=share)
    return {
        "value": interval.value,
        "low": interval.low,
        "high": interval.high,
        "items": items,
        "interval": interval.kind,
        "remark": interval.remark,
    }


def remarks_on_tags(report: dict[str, Any]) -> str:
    """Return the remarks on the figures of `score_tag_set`."""
    which = f" ({report['subset']})" if report["subset"] else ""
    lines = [
        f"{report['name']} against the {report['unit']} of corpus {report['corpus']}'s captions, alpha "
        f"{report['alpha']:g}{which}: {report['images']:,} images, {report['tags']:,} true tags "
        f"among {report['vocabulary']:,}" + (" that captions or lists name." if report["listed"] else ".")
    ]
    if report["unknown"]:
        lines.append(f"Left out: {report['unknown']:,} true tags that the set could not have chosen.")
    if report["without"]:
        lines.append(f"Left out: {report['without']:,} images without a true tag that it could have chosen.")
    if report["resamples"]:
        lines.append(
            f"Intervals of {100 * report['level']:g}%: Wilson's where every image has 0 or 1, else "
            f"{report['resamples']:,} resamples of images (MAP: of tags), seed {report['seed']}, which draws "
            "the distractors too."
        )
    return "\n".join(lines)


def table_of_tags(report: dict[str, Any]) -> Table:
    """Return the figures of `score_tag_set`, one per row."""
    numbers = ["value", "low", "high", "chance", "gain", "gain low", "gain high"]
    head = ["measure", "distractors", *numbers, "interval", "remark", "gain remark"]
    keys = [name.replace(" ", "_") for name in head]
    return Table(
        head,
        [[row.get(key) for key in keys] for row in report["measures"]],
        dict.fromkeys(numbers, 4),
        basis=basis_from_dict(report["basis"]),
    )
