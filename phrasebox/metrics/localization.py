"""Localizing phrases: recall of ranked regions, average precision, and the upper bound of proposals.

Boxes are (xmin, ymin, xmax, ymax) in pixels, both corners inside, so a box of one pixel has area 1. A region
is right where its IoU with the phrase's box is at least 0.5; a phrase with several boxes has the box around
them all. A phrase for which nothing is predicted is missed, and stays in the denominator.

- Recall@k: the share of phrases of which one of the k best regions is right. With all regions it is
  the upper bound that the proposals set.
- AP: for one phrase as a detector over all images. Detections, best first, are right where the
  box of their image that they overlap most is right and not yet taken; a second detection of it is
  wrong. AP is the area under precision made falling (PASCAL VOC since 2010). mAP is the mean over
  phrases.
- Non-maximum suppression: of one phrase's regions in one image, one that overlaps a better one by
  more than 0.3 is dropped (the papers print no threshold; 0.3 is that of R-CNN).

Source: Plummer et al. 2015, section 3.2; Everingham et al. 2010 (AP); Girshick et al. 2014 (NMS).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasebox.metrics.table import add_measure

_Floats = NDArray[np.float64]
_Indices = NDArray[np.intp]

RIGHT_IOU = 0.5
SUPPRESS_IOU = 0.3
#: Number of regions examined per detection: the others are suppressed.
_LOOKED_AT = 10


@dataclass(frozen=True, slots=True)
class Regions:
    """Regions, or gold boxes, of phrases in images; all arrays have n rows. Gold has scores of 0."""

    phrases: _Indices
    images: _Indices
    boxes: _Floats
    scores: _Floats

    def of(self, phrase: int) -> Regions:
        """Return those of one phrase."""
        of_phrase = self.phrases == phrase
        return Regions(
            self.phrases[of_phrase], self.images[of_phrase], self.boxes[of_phrase], self.scores[of_phrase]
        )


def _boxes_of(boxes: ArrayLike, word: str = "box") -> _Floats:
    """Return boxes of shape (..., 4), checked to be finite and to have ordered corners."""
    numbers = np.asarray(boxes, dtype=np.float64)
    if not numbers.size and numbers.ndim < 2:
        return np.empty((0, 4))
    if numbers.shape[-1] != 4:
        raise ValueError(f"{word} has shape {numbers.shape}; expected (..., 4): xmin, ymin, xmax, ymax")
    bad = np.argwhere(~np.isfinite(numbers).all(axis=-1) | (numbers[..., 2:] < numbers[..., :2]).any(axis=-1))
    if len(bad):
        at = tuple(int(n) for n in bad[0])
        raise ValueError(
            f"{word} {at} is {numbers[at].tolist()}; expected numbers, xmin <= xmax, ymin <= ymax"
        )
    return numbers


def area(boxes: _Floats) -> _Floats:
    """In pixels, shape (...).

    >>> area(np.array([1.0, 1.0, 1.0, 1.0])).tolist()  # one pixel
    1.0
    """
    return np.asarray(np.prod(boxes[..., 2:] - boxes[..., :2] + 1, axis=-1))


def iou(first: ArrayLike, second: ArrayLike) -> _Floats:
    """Intersection over union of boxes, shapes (..., 4) as broadcast; in 0..1.

    >>> iou([1, 1, 2, 2], [2, 1, 3, 2]).round(3).tolist()  # two pixels shared of six
    0.333
    """
    return _iou(_boxes_of(first), _boxes_of(second))


def _iou(first: _Floats, second: _Floats) -> _Floats:
    low = np.maximum(first[..., :2], second[..., :2])
    high = np.minimum(first[..., 2:], second[..., 2:])
    common = np.prod(np.maximum(high - low + 1, 0), axis=-1)
    return np.asarray(common / (area(first) + area(second) - common))


def union_box(boxes: ArrayLike) -> _Floats:
    """The box around all of `boxes`, shape (n, 4), n at least 1.

    >>> union_box([[1, 1, 2, 2], [5, 3, 6, 4]]).tolist()
    [1.0, 1.0, 6.0, 4.0]
    """
    corners = _boxes_of(boxes)
    if not len(corners):
        raise ValueError("no boxes are given; leave out phrases without boxes")
    return np.concatenate([corners[:, :2].min(axis=0), corners[:, 2:].max(axis=0)])


def first_right(
    regions: ArrayLike, phrase: ArrayLike, gold: ArrayLike, *, threshold: float = RIGHT_IOU
) -> _Floats:
    """The rank of each phrase's first right region, shape (phrases,); infinity where it has none.

    `regions` has shape (n, 4): all phrases' regions, each phrase's best first; `phrase[n]` says
    whose, in any order between phrases. `gold` has shape (phrases, 4).

    >>> regions = [[1, 1, 9, 9], [20, 20, 29, 29]]  # of phrase 0, the best first
    >>> first_right(regions, [0, 0], [[20, 20, 29, 28]]).tolist()  # the second has an IoU of 0.9
    [2.0]
    """
    region_boxes, gold_boxes = _boxes_of(regions, "region"), _boxes_of(gold, "gold box")
    owner = np.asarray(phrase, dtype=np.intp)
    if owner.shape != region_boxes.shape[:1]:
        raise ValueError(
            f"{len(region_boxes)} regions of {len(owner)} phrases; expected the phrase of each region"
        )
    strange = np.flatnonzero((owner < 0) | (owner >= len(gold_boxes)))
    if len(strange):
        raise ValueError(
            f"region {strange[0]} is of phrase {owner[strange[0]]}; expected 0 to {len(gold_boxes) - 1}"
        )
    ranks = np.full(len(gold_boxes), np.inf)
    order = np.argsort(owner, kind="stable")
    rank = np.arange(len(owner)) - np.searchsorted(owner[order], owner[order], side="left") + 1
    right = _iou(region_boxes[order], gold_boxes[owner[order]]) >= threshold
    np.minimum.at(ranks, owner[order][right], rank[right])
    return ranks


def box_recall(ranks: _Floats, k: int) -> _Floats:
    """Return 1 for a phrase with a right region among the k best, else 0."""
    return (ranks <= k).astype(np.float64)


def upper_bound(ranks: _Floats, k: int | None = None) -> _Floats:
    """Return 1 for a phrase with any right region: no ranking of these regions can do better."""
    return np.isfinite(ranks).astype(np.float64)


def suppress(
    boxes: ArrayLike, images: ArrayLike, scores: ArrayLike, *, threshold: float = SUPPRESS_IOU
) -> _Indices:
    """Indices of one phrase's regions that are kept, ascending; those of two images do not overlap.

    >>> suppress([[1, 1, 10, 10], [1, 1, 10, 9], [50, 50, 60, 60]], [0, 0, 0], [0.9, 0.8, 0.7]).tolist()
    [0, 2]
    """
    region_boxes, values = _boxes_of(boxes, "region"), _scores(scores)
    _, where = np.unique(np.asarray(images), return_inverse=True)
    order = np.lexsort((-values, where))
    region_boxes, where = region_boxes[order], where[order]
    step_of = np.arange(len(where)) - np.searchsorted(where, where, side="left")
    is_left = np.ones(len(where), dtype=bool)
    # All images at once: first their best regions, then their second best, as far as still kept.
    for step in range(int(step_of.max(initial=-1))):
        heads = np.flatnonzero(is_left & (step_of == step))
        head_of = np.full(int(where.max()) + 1, -1)
        head_of[where[heads]] = heads
        after = np.flatnonzero(is_left & (step_of > step) & (head_of[where] >= 0))
        is_left[after] = _iou(region_boxes[after], region_boxes[head_of[where[after]]]) <= threshold
    return np.sort(order[is_left])


def best_detections(values: NDArray[np.floating], boxes: ArrayLike, images: ArrayLike, most: int) -> _Indices:
    """Return the indices of the `most` best regions of one phrase after suppression, best first.

    Only the best are examined until enough remain: a worse region never suppresses a better one, so the
    result is the same as suppressing all.
    """
    region_boxes, where = np.asarray(boxes), np.asarray(images)
    looked = most * _LOOKED_AT
    while True:
        number = min(looked, len(values))
        best = np.arange(len(values))
        if number < len(values):
            # All that equal the last one: the earlier ones of them come first.
            best = np.flatnonzero(values >= np.partition(values, -number)[-number])
        order = best[np.argsort(-values[best], kind="stable")]
        best_kept = suppress(region_boxes[order], where[order], -np.arange(len(order)))
        if len(best_kept) >= most or len(best) == len(values):
            return np.asarray(order[best_kept][:most])
        looked *= 4


def box_average_precision(
    boxes: ArrayLike,
    images: ArrayLike,
    scores: ArrayLike,
    gold: ArrayLike,
    gold_images: ArrayLike,
    *,
    threshold: float = RIGHT_IOU,
) -> float:
    """AP of one phrase: its n detections and m gold boxes over all images; NaN without gold.

    Detections of equal score are taken in the order given.

    >>> boxes, gold = [[1, 1, 10, 10], [50, 50, 60, 60]], [[50, 50, 60, 60]]
    >>> box_average_precision(boxes, [0, 0], [0.9, 0.8], gold, [0])  # found second
    0.5
    """
    region_boxes, gold_boxes = _boxes_of(boxes, "region"), _boxes_of(gold, "gold box")
    if not len(gold_boxes):
        return float("nan")
    order = np.argsort(-_scores(scores), kind="stable")
    where, gold_where = np.asarray(images)[order], np.asarray(gold_images)
    free = np.ones(len(gold_boxes), dtype=bool)
    hits = np.zeros(len(region_boxes), dtype=bool)
    for index in np.flatnonzero(np.isin(where, gold_where)):
        candidates = np.flatnonzero(gold_where == where[index])
        overlaps = _iou(region_boxes[order[index]], gold_boxes[candidates])
        best = candidates[np.argmax(overlaps)]
        hits[index] = overlaps.max() >= threshold and free[best]
        free[best] &= not hits[index]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    falling = np.maximum.accumulate(precision[::-1])[::-1]
    return float(falling[hits].sum() / len(gold_boxes))


def average_precisions(regions: Regions, gold: Regions, *, phrases: int) -> _Floats:
    """Return AP-NMS of each phrase, shape (phrases,), NaN for one without gold; mAP is the mean of the
    others."""
    precisions = np.full(phrases, np.nan)
    for phrase in range(phrases):
        detected, gold_of_phrase = regions.of(phrase), gold.of(phrase)
        remaining = suppress(detected.boxes, detected.images, detected.scores)
        precisions[phrase] = box_average_precision(
            detected.boxes[remaining],
            detected.images[remaining],
            detected.scores[remaining],
            gold_of_phrase.boxes,
            gold_of_phrase.images,
        )
    return precisions


def _scores(scores: ArrayLike) -> _Floats:
    values = np.asarray(scores, dtype=np.float64)
    bad = np.flatnonzero(np.isnan(values))
    if len(bad):
        raise ValueError(f"score of region {bad[0]} is NaN; every score must be a number")
    return values


PLUMMER = "Plummer et al. 2015, section 3.2"
add_measure(
    "phrase recall@k",
    "phrases of which one of the k best regions is right",
    "localization",
    box_recall,
    PLUMMER,
    cut_off="required",
    aliases=("localization recall",),
)
add_measure(
    "upper bound",
    "phrases of which any proposed region is right",
    "localization",
    upper_bound,
    PLUMMER,
)
add_measure(
    "AP-NMS",
    "average precision of phrases after non-maximum suppression",
    "detection",
    average_precisions,
    PLUMMER,
)
