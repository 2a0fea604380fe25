"""Tags of images: precision@k among distractors, and average precision by tag or by image.

- Precision@k: an image's true tags are an ordered list. The pool that is ranked is that list and
  `distractors` tags drawn, without replacement and once (at test time), from the tags of all other
  images that are not its own. With v true tags, precision@k is the share of the k best of the pool
  that are among the k best true ones; where v < k, both stop at v. So without distractors the pool
  holds true tags only and precision grows with k to 1, as print observes.
- MAP is the mean over tags of the average precision of ranking images, MiAP the mean over images of
  ranking tags; both as `ranking.average_precision`, over the tags of any image and the images with tags.

Source: structured listwise tagging, section 4.3 (its Figure 3 and Table 5); MiAP: Li et al. 2016.
The paper does not define precision@k where order matters and nothing is irrelevant; the definition
above is the one under which what it observes holds.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasebox.metrics.judgments import Judged, judged
from phrasebox.metrics.ranked import Ranked, from_tiles
from phrasebox.metrics.table import add_measure
from phrasebox.scoring.ranking import Ties, first_among_best
from phrasebox.scoring.tiles import Dense

_Floats = NDArray[np.float64]
_Indices = NDArray[np.intp]


def draw_distractors(true_tags: Sequence[Sequence[int]], number: int, *, seed: int = 0) -> list[_Indices]:
    """Return distractors of each image: tags of other images that are not its own; fewer where there are not
    enough."""
    if number < 0:
        raise ValueError(f"{number} distractors; expected 0 or more")
    rng = np.random.default_rng(seed)
    all_tags = np.unique(
        np.concatenate([np.asarray(tags, np.intp) for tags in true_tags] or [np.empty(0, np.intp)])
    )
    distractors = []
    for tags in true_tags:
        others = np.setdiff1d(all_tags, np.asarray(tags, np.intp))
        distractors.append(rng.choice(others, min(number, len(others)), replace=False))
    return distractors


def precision_at(
    scores: ArrayLike,
    true_tags: Sequence[Sequence[int]],
    k: int,
    *,
    distractors: Sequence[Sequence[int] | _Indices] | None = None,
) -> _Floats:
    """Precision@k of each image, shape (images,); NaN for an image without tags.

    `scores` has shape (images, tags); `true_tags` lists each image's tags, the most relevant first.
    Tied tags are taken in the worst order. Raises ValueError for a tag listed twice or out of range.

    >>> precision_at([[0.9, 0.2, 0.5]], [[0, 1]], k=1).tolist()  # tag 0 is best of its two
    [1.0]
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or len(values) != len(true_tags):
        raise ValueError(f"scores have shape {values.shape}; expected ({len(true_tags)}, tags)")
    if k < 1:
        raise ValueError(f"k is {k}; expected 1 or more")
    precisions = np.full(len(values), np.nan)
    for image, tags in enumerate(true_tags):
        extra = [] if distractors is None else list(distractors[image])
        pool = np.array([*tags, *extra], dtype=np.intp)
        _check_pool(pool, values, image)
        depth = min(k, len(tags))
        if depth:
            precisions[image] = first_among_best(values[image, pool], depth) / depth
    return precisions


def expected_precision_at(
    true_tags: Sequence[Sequence[int]],
    k: int,
    *,
    distractors: Sequence[Sequence[int] | _Indices] | None = None,
) -> _Floats:
    """Return precision@k of a random order of each image's pool: the dashed lines of Figure 3."""
    tag_counts = np.array([len(tags) for tags in true_tags], dtype=np.float64)
    extra = 0 if distractors is None else np.array([len(tags) for tags in distractors])
    pool = tag_counts + extra
    return np.divide(
        np.minimum(k, tag_counts), pool, out=np.full(len(tag_counts), np.nan), where=tag_counts > 0
    )


def _check_pool(pool: _Indices, values: _Floats, image: int) -> None:
    bad = pool[(pool < 0) | (pool >= values.shape[1])]
    if len(bad):
        raise ValueError(f"image {image} has tag {bad[0]}; expected 0 to {values.shape[1] - 1}")
    if len(np.unique(pool)) != len(pool):
        tags, times = np.unique(pool, return_counts=True)
        raise ValueError(f"tag {tags[times > 1][0]} is in the pool of image {image} twice; expected once")
    nan = pool[np.isnan(values[image, pool])]
    if len(nan):
        raise ValueError(f"score of image {image} with tag {nan[0]} is NaN; every score must be a number")


def by_tag_and_image(scores: ArrayLike, relevant: ArrayLike, *, ties: Ties = "mean") -> tuple[Ranked, Ranked]:
    """Rankings of images for each tag (its AP averages to MAP), and of tags for each image (MiAP).

    Both arguments have shape (images, tags); `relevant` is true or false.

    >>> from phrasebox.metrics.ranking import average_precision
    >>> tags, images = by_tag_and_image([[0.9, 0.1], [0.8, 0.7]], [[True, False], [False, True]])
    >>> average_precision(tags).tolist(), average_precision(images).tolist()
    ([1.0, 1.0], [1.0, 0.5])
    """
    truth = np.asarray(relevant)
    image, tag = np.nonzero(truth)
    of_images: Judged = judged(image, tag, np.ones(len(image)), queries=truth.shape[0], items=truth.shape[1])
    images, tags = from_tiles(Dense(scores), of_images, of_images.swapped(), ties=ties)
    return tags, images


def among_distractors(
    images: Ranked, scores: ArrayLike, others: Sequence[ArrayLike], number: int, *, absent: float = -np.inf
) -> Ranked:
    """Return rankings of tags for each image with `number` further tags, all wrong, in the ranking.

    `images` is the result of `by_tag_and_image` for `scores`, shape (images, tags). `others` lists, for each
    image, the scores of those further tags that it has; the rest score `absent`. They get no columns: users'
    lists have many thousands of tags.

    >>> from phrasebox.metrics.ranking import average_precision
    >>> scores = [[0.5, -np.inf], [-np.inf, 1.0]]  # of "dog", "cat"; the first list has "zebra" before "dog"
    >>> _, images = by_tag_and_image(scores, [[True, False], [False, True]])
    >>> average_precision(among_distractors(images, scores, [[1.0], []], 1)).tolist()
    [0.5, 1.0]
    """
    true_scores = np.asarray(scores, np.float64)[images.judged.query, images.judged.item]
    better, equal = images.better.copy(), images.equal.copy()
    begin = np.searchsorted(images.judged.query, np.arange(images.judged.queries + 1))
    for image, listed in enumerate(others):
        pairs = slice(int(begin[image]), int(begin[image + 1]))
        line = np.sort(np.asarray(listed, np.float64))
        if len(line) > number:
            raise ValueError(f"image {image} has {len(line)} further tags; expected {number} at most")
        above = len(line) - np.searchsorted(line, true_scores[pairs], side="right")
        level = np.searchsorted(line, true_scores[pairs], side="right") - np.searchsorted(
            line, true_scores[pairs]
        )
        unlisted = number - len(line)
        better[pairs] += above + unlisted * (true_scores[pairs] < absent)
        equal[pairs] += level + unlisted * (true_scores[pairs] == absent)
    judged_of_all = replace(images.judged, items=images.judged.items + number)
    return Ranked(judged_of_all, better, equal, images.depth + number, images.ties, images.level)


add_measure(
    "tag precision@k",
    "share of the k best tags, among distractors, that are the image's k first",
    "tagging",
    precision_at,
    "structured listwise tagging, section 4.3",
    cut_off="required",
)
