"""True tags of images, those that people's captions give, beside the scores that sets of tags give them; and
the values of each measure, by image or by tag.

Source: structured listwise tagging, section 4.3; `evaluation.services.tagging.scores` has the conventions.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.selectors.corpora import split_names
from annotation.selectors.records import stream_records
from evaluation.comparison.missing import REFUSE, WORST, Missing, check_missing
from evaluation.comparison.subsets import Subset, subset_called, subset_named
from evaluation.models import TagSet
from evaluation.selectors import names_of
from evaluation.services.predicting import packed_images
from evaluation.services.tagging.sets import tag_scores_of
from evaluation.services.tags.ranked import caption_tokens
from evaluation.services.tags.reading import TagReader
from models_core.features.text.tags import DEFAULT_ALPHA, TagUnit, check_alpha, ranked_tags
from models_core.phase_cache import PhaseProgress
from phrasebox.agreement.summary import Resampling
from phrasebox.metrics.ranking import average_precision, precision
from phrasebox.metrics.tagging import among_distractors, by_tag_and_image, draw_distractors, precision_at
from phrasebox.significance.sums import SummedFigure, mean_of, mean_sums

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


def unit_and_alpha(tag_set: TagSet, how: TagScoring) -> tuple[TagUnit, float]:
    """Return what a true tag is, and the weight of its frequency: as requested, else as in the training."""
    unit: TagUnit = how.unit or tag_set.settings.get("unit", "nouns")
    alpha = how.alpha
    if alpha is None:
        same = unit == tag_set.settings.get("unit")
        alpha = tag_set.settings["alpha"] if same else DEFAULT_ALPHA[unit]
    check_alpha(alpha)
    return unit, alpha


def images_of_set(tag_set: TagSet) -> Subset | None:
    """Return the images for which a set was requested: its split, or all of its corpus (None). For a fold or
    a file it is the images in the set: folds are dealt among images with features, and files may change."""
    if not tag_set.split:
        return None
    if tag_set.split in split_names(tag_set.corpus):
        return subset_named(tag_set.corpus.name, tag_set.split)
    called = f"{subset_called(tag_set.split, seed=tag_set.seed)}, as tagged"
    images = packed_images(tag_set)
    return Subset(called, images or frozenset(tag_set.images.values_list("image_id", flat=True)))


def scored_images(tag_set: TagSet, subset: Subset | None, missing: Missing) -> tuple[set[int], int]:
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


def pool_values(known: TrueTags, how: TagScoring) -> Iterator[tuple[int, int, _Floats, Any]]:
    """Yield p@k of each image: the number of distractors, k, the values, and the distractors."""
    for number in how.distractors:
        extra = draw_distractors(known.numbers, number, seed=how.resampling.seed)
        for k in how.depths:
            yield number, k, precision_at(known.scores, known.numbers, k, distractors=extra), extra


def unit_of(measure: str) -> str:
    """Return what a figure averages over."""
    return "tag" if measure == "MAP" else "image"


def whole_values(known: TrueTags, how: TagScoring) -> dict[str, _Floats]:
    """Return P@k and MiAP of each image, and MAP of each tag."""
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
    return {**named, "MAP": of_tags, "MiAP": average_precision(images)}


def summed_tag_figures(known: Mapping[str, TrueTags], how: TagScoring) -> list[SummedFigure]:
    """Return the figures of several sets with the same true tags, by the set's name, for their comparison."""
    figures = []
    values_of_sets = {name: _values_by_measure(of_set, how) for name, of_set in known.items()}
    for measure in next(iter(values_of_sets.values())):
        values = {name: of_set[measure] for name, of_set in values_of_sets.items()}
        items = range(len(next(iter(values.values()))))
        added = {name: mean_sums(of_set) for name, of_set in values.items()}
        figures.append(SummedFigure(measure, added, mean_of, items, unit_of(measure)))
    return figures


def _values_by_measure(known: TrueTags, how: TagScoring) -> dict[str, _Floats]:
    pools = {
        f"p@{k}" + (f", {number} distractors" if number else ""): values
        for number, k, values, _extra in pool_values(known, how)
    }
    return pools | whole_values(known, how)


def true_tags_of(
    sets: Sequence[TagSet], unit: TagUnit, alpha: float, scored: Collection[int], progress: PhaseProgress
) -> list[TrueTags]:
    """Return the true tags of the images to score, in the order of the corpus, with the scores of each set.

    All sets have the same true tags: those that one of them could have chosen. A tag that a set could not
    choose, or does not list, comes last.
    """
    tags_of_captions = _tags_of_captions(sets[0], unit, alpha, scored, progress)
    tags = dict.fromkeys(chain.from_iterable(tag_set.vocabulary for tag_set in sets))
    listed = not all(tag_set.vocabulary for tag_set in sets)
    if listed:
        tags |= dict.fromkeys(sorted({tag for item in tags_of_captions.values() for tag in item}))
    number_of = {tag: number for number, tag in enumerate(tags)}
    numbers = [[number_of[tag] for tag in item if tag in number_of] for item in tags_of_captions.values()]
    outputs = [_output(tag_set, number_of, tags_of_captions) for tag_set in sets]
    more = len({tag for output in outputs for others in output.others.values() for tag in others})
    results = []
    for output in outputs:
        table = np.full((len(tags_of_captions), len(number_of)), np.inf)
        for row, (image, true) in enumerate(zip(tags_of_captions, numbers, strict=True)):
            if image in output.scores:
                table[row] = output.scores[image]
            else:
                table[row, true] = -np.inf
        pairs = zip(tags_of_captions, numbers, strict=True)
        results.append(
            TrueTags(
                table,
                numbers,
                unknown=sum(map(len, tags_of_captions.values())) - sum(map(len, numbers)),
                without=sum(not item for item in numbers),
                distractors=[list(output.others.get(image, {}).values()) for image in tags_of_captions],
                more=more,
                lacking=sum(bool(item) and image not in output.scores for image, item in pairs),
                listed=listed,
            )
        )
    return results


@dataclass(frozen=True, slots=True)
class _Output:
    """The scores that a set gives each image for the tags of a table, and `others`: those of its further
    tags."""

    scores: dict[int, _Floats]
    others: dict[int, dict[str, float]]


def _output(tag_set: TagSet, number_of: Mapping[str, int], images: Collection[int]) -> _Output:
    if tag_set.vocabulary:
        columns = [number_of[tag] for tag in tag_set.vocabulary]
        row_ids, table = tag_scores_of(tag_set)
        scores = {}
        for image, item in zip(row_ids, table, strict=True):
            if image in images:
                scores[image] = np.full(len(number_of), _ABSENT)
                scores[image][columns] = item
        return _Output(scores, {})
    lists = tag_set.images.order_by("position").values_list("image_id", "tags")
    listed: dict[int, dict[str, float]] = {
        image: dict(map(tuple, tags)) for image, tags in lists if image in images
    }
    return _Output(
        {
            image: np.array([item.get(tag, _ABSENT) for tag in number_of], np.float64)
            for image, item in listed.items()
        },
        {
            image: {tag: score for tag, score in item.items() if tag not in number_of}
            for image, item in listed.items()
        },
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
