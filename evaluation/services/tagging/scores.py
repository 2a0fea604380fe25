"""Ranked tags of images, scored against those that people's captions give.

An image's true tags are the nouns (or compounds) of its captions, ranked by place and frequency as
`models_core.features.text.tags` has it. Those that the set could not have chosen are left out and counted.

- p@1, p@5: `metrics.tagging.precision_at`, in a pool of the true tags and of distractors; beside it the
  precision of a random order, and the gain over it, as a share.
- P@1, P@5: the share of the first tags, among all of the vocabulary, that are true, in whatever order.
- MAP, MiAP: mean average precision, tags ranking images and images ranking tags.

The vocabulary of a set of lists is what the images' captions or lists name. P@k and MiAP rank all of it; MAP
is of the tags that are true of an image, and distractors are drawn from these.

Tied tags are taken in the worst order for p@k, else in the mean of all orders. Intervals are bootstrapped
over images, of MAP over tags; those of p@k and P@k are Wilson's where every image's is 0 or 1, as with k 1.

Source: structured listwise tagging, section 4.3.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.selectors.records import stream_records
from evaluation.agreement.estimates import Bootstrap
from evaluation.agreement.summary import Resampling
from evaluation.comparison.provenance import with_provenance
from evaluation.comparison.subsets import Subset
from evaluation.formats.figure_basis import basis_from_dict
from evaluation.formats.figure_tables import Table
from evaluation.metrics.ranking import average_precision, precision
from evaluation.metrics.tagging import (
    among_wrong_tags,
    by_tag_and_image,
    draw_distractors,
    expected_precision_at,
    precision_at,
)
from evaluation.models import TagSet
from evaluation.selectors import names_of
from evaluation.services.common import ImportRefused
from evaluation.services.tagging.sets import tag_scores_of, tag_set_named
from evaluation.services.tags.ranked import caption_tokens
from evaluation.services.tags.reading import TagReader
from evaluation.significance.resampling import bootstrap_ratio, figure_interval
from models_core.features.text.tags import DEFAULT_ALPHA, TagUnit, check_alpha, ranked_tags
from models_core.phase_cache import PhaseProgress, no_progress

_Floats = NDArray[np.float64]
#: The distractors of Figure 3, and the cut-offs of Tables 2 to 4.
DISTRACTORS, POOL_DEPTHS = (0, 5, 10, 20), (1, 5)
#: Below every score that a set holds: that of a tag which its list does not have.
_ABSENT = -np.inf
_PHASE = "reading true tags"
#: Raised where figures of sets of lists change: in the first, wrong tags that no caption names did not count.
LISTS_DEFINITION = 2
#: Figures of lists that changed then.
_OF_WHOLE_LISTS = re.compile(r"P@\d+|MiAP")
_TOGETHER = 50  # images between two words of progress


@dataclass(frozen=True, slots=True, kw_only=True)
class TagScoring:
    """How a set is scored: `unit` and `alpha` rank the true tags, as in the set's training where None."""

    unit: TagUnit | None = None
    alpha: float | None = None
    depths: Sequence[int] = POOL_DEPTHS
    distractors: Sequence[int] = DISTRACTORS
    resampling: Resampling = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        for word, numbers, least in (("k", self.depths, 1), ("distractors", self.distractors, 0)):
            wrong = [number for number in numbers if number < least]
            if wrong or not numbers:
                raise ImportRefused(f"{word} is {wrong[0] if wrong else 'nothing'}; expected {least} or more")


@dataclass(frozen=True)
class TrueTags:
    """Images with what a set says and what is true of them: scores of shape (images, tags), and the numbers
    of each image's true tags, the most relevant first. `unknown` true tags the set could not have chosen;
    `without` images have none that it could.

    Of a set of lists, the tags are those that are true of an image. The lists name `more` besides, and
    `wrong` has the scores of those in each image's."""

    scores: _Floats
    numbers: list[list[int]]
    unknown: int
    without: int
    wrong: Sequence[Sequence[float]] = ()
    more: int = 0

    @property
    def vocabulary(self) -> int:
        """How many tags are ranked."""
        return self.scores.shape[1] + self.more


def score_tag_set(
    *,
    corpus: str,
    name: str,
    how: TagScoring,
    subset: Subset | None = None,
    progress: PhaseProgress = no_progress,
) -> dict[str, Any]:
    """The figures of a set with their intervals, as plain data.

    Raises UnknownName, ImportRefused for a set of another corpus and where no image has a true tag,
    ValueError for an alpha that is none, and AgreementError.
    """
    found = tag_set_named(name, corpus)
    unit: TagUnit = how.unit or found.settings.get("unit", "nouns")
    alpha = how.alpha
    if alpha is None:
        same = unit == found.settings.get("unit")
        alpha = found.settings["alpha"] if same else DEFAULT_ALPHA[unit]
    check_alpha(alpha)
    known = _true_tags(found, unit, alpha, subset, progress)
    if not any(known.numbers):
        raise ImportRefused(
            f"no image of tag set {name!r} has a tag in its captions that the set could have chosen; choose "
            "other images"
        )
    report = {
        "corpus": corpus,
        "name": name,
        "system": found.made_by.name if found.made_by else "",
        "source": found.source,
        "digest": found.digest,
        "subset": subset.called if subset else "",
        "unit": unit,
        "alpha": alpha,
        "score": found.settings.get("score", ""),
        "images": len(known.numbers) - known.without,
        "without": known.without,
        "vocabulary": known.vocabulary,
        "listed": not found.vocabulary,
        "tags": sum(map(len, known.numbers)),
        "unknown": known.unknown,
        **asdict(how.resampling),
        "measures": tag_figures(known, how),
    }
    return with_provenance(report, {name: found}, found.corpus, _images_scored(found, subset))


def _images_scored(found: TagSet, subset: Subset | None) -> set[int]:
    images = set(found.images.values_list("image_id", flat=True))
    return images if subset is None else images & subset.images


def keep_figures(name: str, report: dict[str, Any]) -> None:
    """Keep what `score_tag_set` found with the set, for pages and reports. Raises ImportRefused where the set
    was removed or replaced since."""
    same = TagSet.objects.filter(name=name, digest=report["digest"], published=True)
    if not same.update(figures=report):
        raise ImportRefused(f"tag set {name!r} was removed or replaced while it was scored; score it again")


def kept_figures(row: TagSet) -> dict[str, Any]:
    """The figures that are kept with a set. `outdated`: they are of lists and older than `LISTS_DEFINITION`;
    P@k and MiAP, which have changed, are then left out."""
    report = dict(row.figures)
    if row.vocabulary or not report or "listed" in report:
        return report
    measures = [one for one in report["measures"] if not _OF_WHOLE_LISTS.fullmatch(one["measure"])]
    return {**report, "measures": measures, "outdated": True}


def tag_figures(known: TrueTags, how: TagScoring) -> list[dict[str, Any]]:
    """Each figure with its interval: p@k for each number of distractors, P@k, MAP and MiAP."""
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
    there = [image for image, own in enumerate(known.numbers) if own]
    relevant = np.zeros((len(there), known.scores.shape[1]), bool)
    for row, image in enumerate(there):
        relevant[row, known.numbers[image]] = True
    tags, images = by_tag_and_image(known.scores[there], relevant)
    if known.more:
        wrong = [known.wrong[image] for image in there]
        images = among_wrong_tags(images, known.scores[there], wrong, known.more, absent=_ABSENT)
    named = {f"P@{k}": precision(images, k) for k in how.depths}
    named |= {"MAP": average_precision(tags), "MiAP": average_precision(images)}
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
    """The bootstrap of so many images or tags, each by itself."""
    return how.resampling.over([str(item) for item in range(items)], unit)


def _interval(values: _Floats, drawn: Bootstrap | None, *, share: bool) -> dict[str, Any]:
    items = int((~np.isnan(values)).sum())
    if drawn is None:
        value = float(np.nanmean(values))
        return {"value": value, "low": None, "high": None, "items": items, "interval": "", "remark": ""}
    found = figure_interval(values, drawn, share=share)
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "items": items,
        "interval": found.kind,
        "remark": found.remark,
    }


def _true_tags(
    found: TagSet, unit: TagUnit, alpha: float, subset: Subset | None, progress: PhaseProgress
) -> TrueTags:
    """What people's captions say of the images of a set, in its order."""
    said = _tags_of_captions(found, unit, alpha, subset, progress)
    wrong: list[list[float]] = []
    more = 0
    if found.vocabulary:
        number_of = {tag: number for number, tag in enumerate(found.vocabulary)}
        images, scores = tag_scores_of(found)
        kept = [place for place, image in enumerate(images) if image in said]
        every = [said[images[place]] for place in kept]
        table: _Floats = np.asarray(scores[kept], np.float64)
    else:
        lists = found.images.order_by("position").values_list("image_id", "tags")
        listed = {image: dict(map(tuple, tags)) for image, tags in lists if image in said}
        every = [said[image] for image in listed]
        number_of = {tag: n for n, tag in enumerate(sorted({tag for own in every for tag in own}))}
        table = np.array(
            [[own.get(tag, _ABSENT) for tag in number_of] for own in listed.values()], np.float64
        ).reshape(len(listed), len(number_of))
        wrong = [[score for tag, score in own.items() if tag not in number_of] for own in listed.values()]
        more = len({tag for own in listed.values() for tag in own}.difference(number_of))
    numbers = [[number_of[tag] for tag in own if tag in number_of] for own in every]
    unknown = sum(map(len, every)) - sum(map(len, numbers))
    return TrueTags(table, numbers, unknown, sum(not own for own in numbers), wrong, more)


def _tags_of_captions(
    found: TagSet, unit: TagUnit, alpha: float, subset: Subset | None, progress: PhaseProgress
) -> dict[int, list[str]]:
    """The ranked tags of each image of a set that is asked for, by the id of its row."""
    wanted = _images_scored(found, subset)
    reader = TagReader(unit)
    said: dict[int, list[str]] = {}
    order = names_of(found.corpus.name).image_name
    for pk, record in zip(order, stream_records(corpus=found.corpus), strict=True):
        if pk not in wanted:
            continue
        if len(said) % _TOGETHER == 0:
            progress(_PHASE, len(said), len(wanted))
        captions = [reader.tags(caption_tokens(one)) for one in record.captions if not one.unrelated]
        said[pk] = [tag for tag, _ in ranked_tags(captions, alpha)]
    progress(_PHASE, len(wanted), len(wanted))
    return said


def remarks_on_tags(report: dict[str, Any]) -> str:
    """What is to be known about the figures of `score_tag_set`."""
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
    """The figures of `score_tag_set`, one in each row."""
    numbers = ["value", "low", "high", "chance", "gain", "gain low", "gain high"]
    head = ["measure", "distractors", *numbers, "interval", "remark", "gain remark"]
    keys = [name.replace(" ", "_") for name in head]
    return Table(
        head,
        [[one.get(key) for key in keys] for one in report["measures"]],
        dict.fromkeys(numbers, 4),
        basis=basis_from_dict(report["basis"]),
    )
