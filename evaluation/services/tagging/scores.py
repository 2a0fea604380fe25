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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
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
from annotation.selectors.corpora import CORPORA, split_names
from annotation.selectors.records import stream_records
from evaluation.comparison.missing import LEAVE_OUT, REFUSE, WORST, Missing, check_missing
from evaluation.comparison.provenance import with_provenance
from evaluation.comparison.subsets import Subset, subset_called, subset_named
from evaluation.models import TagSet
from evaluation.selectors import names_of
from evaluation.services.common import InputError, check_same_corpus
from evaluation.services.declarations import TrainedOn
from evaluation.services.imported_sets import PREDICTIONS_UPLOAD
from evaluation.services.phases import PhaseShares
from evaluation.services.predicting import packed_images
from evaluation.services.request_fields import EVERY_IMAGE, FigureRequest, check_images
from evaluation.services.stored_kinds import TAG_SETS
from evaluation.services.tagging.files import TagsImport, import_tags
from evaluation.services.tagging.sets import tag_scores_of, tag_set_named
from evaluation.services.tags.ranked import caption_tokens
from evaluation.services.tags.reading import TagReader
from models_core.features.text.tags import DEFAULT_ALPHA, TagUnit, check_alpha, ranked_tags
from models_core.phase_cache import PhaseProgress, no_progress
from phrasebox.agreement.estimates import Bootstrap
from phrasebox.agreement.summary import Resampling
from phrasebox.balance import BalanceSheet
from phrasebox.figure_basis import FigureBasis, basis_from_dict
from phrasebox.figure_tables import Table
from phrasebox.metrics.ranking import average_precision, precision
from phrasebox.metrics.tagging import (
    among_distractors,
    by_tag_and_image,
    draw_distractors,
    expected_precision_at,
    precision_at,
)
from phrasebox.significance.resampling import bootstrap_ratio, figure_interval

_Floats = NDArray[np.float64]
#: The numbers of distractors in Figure 3, and the cut-offs of Tables 2 to 4.
DISTRACTORS, POOL_DEPTHS = (0, 5, 10, 20), (1, 5)
#: Below every score of a set: the score of a tag that an image's list does not have.
_ABSENT = float(np.finfo(np.float64).min)
_PHASE = "reading true tags"
_TOGETHER = 50  # images between two progress reports


@dataclass(frozen=True, slots=True, kw_only=True)
class TagScoring:
    """How a set is scored: `unit` and `alpha` rank the true tags, as in the set's training where None.

    `missing` says how images without output are treated.
    """

    unit: TagUnit | None = None
    alpha: float | None = None
    missing: Missing = REFUSE
    depths: Sequence[int] = POOL_DEPTHS
    distractors: Sequence[int] = DISTRACTORS
    resampling: Resampling = field(default_factory=Resampling)


def _units() -> Mapping[str, None]:
    return dict.fromkeys(get_args(TagUnit))


@dataclass(frozen=True, slots=True, kw_only=True)
class TagScoringRequest(FigureRequest):
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

    @property
    def how(self) -> TagScoring:
        """How the set is scored."""
        return result_of(TagScoring, self, unit=self.tags)


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


@dataclass(frozen=True)
class TrueTags:
    """Images with a set's scores and their true tags: scores of shape (images, tags), and the numbers of each
    image's true tags, the most relevant first. `unknown` counts true tags that the set could not have chosen;
    `without` counts images with no other true tags. For `lacking` images the set has no output: they are
    scored as the worst possible output.

    For a set of lists, the tags are those that are true of at least one image. The lists have `more` tags
    besides, and `distractors` has the scores of those in each image's list.
    """

    scores: _Floats
    numbers: list[list[int]]
    unknown: int
    without: int
    distractors: Sequence[Sequence[float]] = ()
    more: int = 0
    lacking: int = 0
    listed: bool = False

    @property
    def vocabulary(self) -> int:
        """The number of ranked tags."""
        return self.scores.shape[1] + self.more


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
    unit: TagUnit = how.unit or tag_set.settings.get("unit", "nouns")
    alpha = how.alpha
    if alpha is None:
        same = unit == tag_set.settings.get("unit")
        alpha = tag_set.settings["alpha"] if same else DEFAULT_ALPHA[unit]
    check_alpha(alpha)
    subset = subset or _images_of_set(tag_set)
    scored, lacking = _scored_images(tag_set, subset, how.missing)
    known = _true_tags(tag_set, unit, alpha, scored, progress)
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


def _images_of_set(tag_set: TagSet) -> Subset | None:
    """Return the images for which a set was requested: its split, or all of its corpus (None). For a fold or
    a file it is the images in the set: folds are dealt among images with features, and files may change."""
    if not tag_set.split:
        return None
    if tag_set.split in split_names(tag_set.corpus):
        return subset_named(tag_set.corpus.name, tag_set.split)
    called = f"{subset_called(tag_set.split, seed=tag_set.seed)}, as tagged"
    images = packed_images(tag_set)
    return Subset(called, images or frozenset(tag_set.images.values_list("image_id", flat=True)))


def _scored_images(tag_set: TagSet, subset: Subset | None, missing: Missing) -> tuple[set[int], int]:
    """Return the ids of the images to score, and the number of images without output among them, or left out;
    only images with captions count. Raises MissingOutput if there are some and `missing` refuses them."""
    there = set(tag_set.images.values_list("image_id", flat=True))
    described = tag_set.corpus.images.filter(captions__unrelated=False).order_by("position", "pk").distinct()
    images = [pk for pk in described.values_list("pk", flat=True) if subset is None or pk in subset.images]
    lacking = [pk for pk in images if pk not in there]
    names = names_of(tag_set.corpus.name).image_name
    check_missing(
        missing,
        lacking=[names[pk] for pk in lacking],
        out_of=len(images),
        cases="images",
        output=f"tags in set {tag_set.name!r}",
    )
    scored = there if subset is None else there & subset.images
    return scored | (set(lacking) if missing == WORST else set()), len(lacking)


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
    for number in how.distractors:
        extra = draw_distractors(known.numbers, number, seed=how.resampling.seed)
        for k in how.depths:
            values = precision_at(known.scores, known.numbers, k, distractors=extra)
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
    there = [image for image, true_scores in enumerate(known.numbers) if true_scores]
    relevant = np.zeros((len(there), known.scores.shape[1]), bool)
    for row, image in enumerate(there):
        relevant[row, known.numbers[image]] = True
    tags, images = by_tag_and_image(known.scores[there], relevant)
    if known.more:
        wrong_scores = [known.distractors[image] for image in there]
        images = among_distractors(images, known.scores[there], wrong_scores, known.more, absent=_ABSENT)
    if known.lacking and known.listed:
        true_scores = known.scores[there][images.judged.query, images.judged.item]
        images = replace(images, better=np.where(true_scores <= _ABSENT, np.inf, images.better))
    named = {f"P@{k}": precision(images, k) for k in how.depths}
    # A tag that is true of no image is no query.
    of_tags = np.where(relevant.any(axis=0), average_precision(tags), np.nan)
    named |= {"MAP": of_tags, "MiAP": average_precision(images)}
    return [
        {
            "measure": name,
            "distractors": None,
            **_interval(
                values,
                _drawn(how, len(values), "tag" if name == "MAP" else "image"),
                share=name.startswith("P@"),
            ),
        }
        for name, values in named.items()
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


def _true_tags(
    tag_set: TagSet, unit: TagUnit, alpha: float, scored: Collection[int], progress: PhaseProgress
) -> TrueTags:
    """Return the true tags of the images to score, in the order of the corpus."""
    tags_of_captions = _tags_of_captions(tag_set, unit, alpha, scored, progress)
    listed: dict[int, dict[str, float]] = {}
    if tag_set.vocabulary:
        number_of = {tag: number for number, tag in enumerate(tag_set.vocabulary)}
        images, scores = tag_scores_of(tag_set)
        output: dict[int, _Floats] = {
            image: item.astype(np.float64)
            for image, item in zip(images, scores, strict=True)
            if image in tags_of_captions
        }
    else:
        lists = tag_set.images.order_by("position").values_list("image_id", "tags")
        listed = {image: dict(map(tuple, tags)) for image, tags in lists if image in tags_of_captions}
        number_of = {
            tag: n
            for n, tag in enumerate(sorted({tag for item in tags_of_captions.values() for tag in item}))
        }
        output = {
            image: np.array([item.get(tag, _ABSENT) for tag in number_of], np.float64)
            for image, item in listed.items()
        }
    numbers = [[number_of[tag] for tag in item if tag in number_of] for item in tags_of_captions.values()]
    table = np.full((len(tags_of_captions), len(number_of)), np.inf)
    for row, (image, true) in enumerate(zip(tags_of_captions, numbers, strict=True)):
        if image in output:
            table[row] = output[image]
        else:
            table[row, true] = -np.inf
    return TrueTags(
        table,
        numbers,
        unknown=sum(map(len, tags_of_captions.values())) - sum(map(len, numbers)),
        without=sum(not item for item in numbers),
        distractors=[
            [score for tag, score in listed.get(image, {}).items() if tag not in number_of]
            for image in tags_of_captions
        ],
        more=len({tag for item in listed.values() for tag in item}.difference(number_of)),
        lacking=sum(
            bool(item) and image not in output for image, item in zip(tags_of_captions, numbers, strict=True)
        ),
        listed=not tag_set.vocabulary,
    )


def _tags_of_captions(
    tag_set: TagSet, unit: TagUnit, alpha: float, scored: Collection[int], progress: PhaseProgress
) -> dict[int, list[str]]:
    """Return the ranked tags of each of these images, by row id, in the order of the corpus."""
    reader = TagReader(unit)
    tags_of_image: dict[int, list[str]] = {}
    order = names_of(tag_set.corpus.name).image_name
    for pk, record in zip(order, stream_records(corpus=tag_set.corpus), strict=True):
        if pk not in scored:
            continue
        if len(tags_of_image) % _TOGETHER == 0:
            progress(_PHASE, len(tags_of_image), len(scored))
        captions = [
            reader.tags(caption_tokens(caption)) for caption in record.captions if not caption.unrelated
        ]
        tags_of_image[pk] = [tag for tag, _ in ranked_tags(captions, alpha)]
    progress(_PHASE, len(scored), len(scored))
    return tags_of_image


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
