"""Correctness of a localization set's predictions: ranks of the first right regions, AP of phrases.

A mention is found at rank k if its k-th region overlaps the box around all of its boxes by an IoU of at least
0.5; a mention for which the set has no region is missed. AP is computed per phrase over all images, after
non-maximum suppression. It is 0 if images lack output and count as the worst result: wrong regions in them
might have been the best for any phrase.

Source: Plummer et al. 2015, section 3.2.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from annotation.common.database import chunks
from annotation.selectors.corpora import split_names
from evaluation.comparison.missing import Missing, check_missing
from evaluation.comparison.subsets import Subset, subset_called, subset_named
from evaluation.models import LocalizationSet
from evaluation.selectors import names_of
from evaluation.services.localizations.gold import BoxedMention
from evaluation.services.localizations.proposals import UnrankedRegions, proposals_of_set
from evaluation.services.localizations.sets import (
    DetectedPhrase,
    detections_of,
    images_looked_at,
    localized_mentions,
)
from models_core.features.text.phrases import phrase_text
from phrasebox.metrics.localization import box_average_precision, first_right, suppress

#: Number of mentions whose regions are compared at a time.
_TOGETHER = 1000


@dataclass(frozen=True)
class ScoredLocalizations:
    """The rank of the first right region of each boxed mention, shape (mentions,), infinity for none.

    `predicted` says for which mentions the set has a region. `precisions` has the AP of each phrase.
    `everywhere`: phrases were searched in all images, not only in those of their mentions. `undetected` is
    the number of phrases with a region for a mention but without a line of detections, in a set that has such
    lines: then AP is over the images of each phrase's mentions only. The same holds for a `part` of the
    images that the set looked at: it stores the best detections over all images, of which few are in the
    part. `lacking` is the number of images without output.
    """

    row: LocalizationSet
    mentions: list[BoxedMention]
    ranks: NDArray[np.float64]
    predicted: NDArray[np.bool_]
    unranked: UnrankedRegions
    precisions: dict[str, float]
    everywhere: bool
    undetected: int = 0
    part: bool = False
    lacking: int = 0

    @property
    def cut_at(self) -> int | None:
        """How many regions per mention the set stored, if it dropped others, or may have; else None."""
        if self.row.source:
            return None
        regions = self.unranked.regions[self.predicted]
        cut = regions > self.row.limit if self.unranked.proposed else regions >= self.row.limit
        return self.row.limit if cut.any() else None

    @property
    def fewest_stored(self) -> int | None:
        """The smallest number of regions that a file has for a mention with regions; None for a set that was
        predicted here."""
        counts = self.unranked.regions[self.predicted]
        return int(counts.min()) if self.row.source and len(counts) else None


def subset_of_set(row: LocalizationSet, split: str | None, seed: int = 0) -> Subset | None:
    """Return the images of `split`; for None those that the set covers. None means all."""
    if split is not None:
        return subset_named(row.corpus.name, split, seed=seed)
    if not row.split:
        return None
    if row.split in split_names(row.corpus):
        return subset_named(row.corpus.name, row.split, seed=row.seed)
    # The set's fold was dealt among the images of its regions, and its file may have been edited since.
    called = subset_called(row.split, seed=row.seed)
    return Subset(f"{called}, as localized", images_looked_at(row))


def images_without_output(
    row: LocalizationSet, mentions: list[BoxedMention], missing: Missing
) -> frozenset[int]:
    """Return the ids of the images with mentions for which a set has no output: neither a mention, even
    without a region, nor a detection. Raises MissingOutput if there are some and `missing` refuses
    them."""
    seen = set(row.mentions.values_list("image_id", flat=True))
    for phrase in detections_of(row):
        seen.update(phrase.images.tolist())
    images = dict.fromkeys(mention.image for mention in mentions)
    lacking = [image for image in images if image not in seen]
    names = names_of(row.corpus.name).image_name
    check_missing(
        missing,
        lacking=[names[image] for image in lacking],
        out_of=len(images),
        cases="images",
        output=f"regions in set {row.name!r}",
    )
    return frozenset(lacking)


def scored(
    row: LocalizationSet, mentions: list[BoxedMention], subset: Subset | None, lacking: int = 0
) -> ScoredLocalizations:
    """Compare the set's predictions with people's boxes; predictions are read one by one. `lacking` is the
    number of images with some of the mentions for which the set has no output."""
    place_of: dict[tuple[int, int, int, int], list[int]] = {}
    for number, mention in enumerate(mentions):
        place_of.setdefault(mention.key, []).append(number)
    ranks = np.full(len(mentions), np.inf)
    predicted = np.zeros(len(mentions), bool)
    proposed = proposals_of_set(row, mentions)
    unranked = proposed or UnrankedRegions.of_mentions(len(mentions), proposed=False)
    images = {mention.image for mention in mentions} if subset is not None else None
    for part in chunks(localized_mentions(row, images), _TOGETHER):
        predictions = [
            (number, prediction.regions)
            for prediction in part
            for number in place_of.get(
                (prediction.image, prediction.caption, prediction.start, prediction.end), ()
            )
        ]
        if predictions:
            numbers = [number for number, _ in predictions]
            predicted[numbers] = [len(regions) > 0 for _, regions in predictions]
            owner = np.repeat(np.arange(len(predictions)), [len(regions) for _, regions in predictions])
            boxes = np.concatenate([regions[:, :4] for _, regions in predictions])
            gold = np.stack([mentions[number].box for number in numbers])
            ranks[numbers] = first_right(boxes, owner, gold)
            if proposed is None:
                for (number, regions), box in zip(predictions, gold, strict=True):
                    unranked.put(number, regions[:, :4], box)
    phrases = set(row.detections.values_list("phrase", flat=True))
    undetected = (
        {mentions[number].phrase for number in np.flatnonzero(predicted)} - phrases if phrases else set()
    )
    some = bool(phrases) and subset is not None and not images_looked_at(row) <= subset.images
    everywhere = bool(phrases) and not undetected and not some
    detected = _detected(row) if everywhere else _within_mentioned_images(row)
    precisions = _precisions(() if lacking else detected, mentions, subset)
    return ScoredLocalizations(
        row, mentions, ranks, predicted, unranked, precisions, everywhere, len(undetected), some, lacking
    )


def within_mentioned_images(scored: ScoredLocalizations, subset: Subset | None) -> ScoredLocalizations:
    """Return the same with the AP of each phrase over the images of its mentions only, as for a set without
    detections."""
    if not scored.everywhere:
        return scored
    detected = () if scored.lacking else _within_mentioned_images(scored.row)
    precisions = _precisions(detected, scored.mentions, subset)
    return replace(scored, precisions=precisions, everywhere=False)


def _precisions(
    detected: Iterable[DetectedPhrase], mentions: list[BoxedMention], subset: Subset | None
) -> dict[str, float]:
    """Return the AP of each phrase that people boxed; 0 if the set does not have it. A box that several
    mentions of a phrase share counts once."""
    gold: dict[str, dict[tuple[float, ...], None]] = {mention.phrase: {} for mention in mentions}
    for mention in mentions:
        gold[mention.phrase][mention.image, *mention.box.tolist()] = None
    precisions = dict.fromkeys(gold, 0.0)
    chosen = None if subset is None else np.fromiter(subset.images, np.int64)
    for detected_phrase in detected:
        if detected_phrase.phrase not in gold:
            continue
        images, regions = detected_phrase.images, detected_phrase.regions
        if chosen is not None:
            in_chosen = np.isin(images, chosen)
            images, regions = images[in_chosen], regions[in_chosen]
        gold_boxes = np.asarray(list(gold[detected_phrase.phrase]), np.float64)
        precisions[detected_phrase.phrase] = box_average_precision(
            regions[:, :4], images, regions[:, 4], gold_boxes[:, 1:], gold_boxes[:, 0]
        )
    return precisions


def _detected(row: LocalizationSet) -> Iterator[DetectedPhrase]:
    """Yield the set's detections of each phrase in all images, after suppression: those of a file may lack
    it."""
    for detected in detections_of(row):
        remaining = (
            suppress(detected.regions[:, :4], detected.images, detected.regions[:, 4])
            if row.source
            else slice(None)
        )
        yield DetectedPhrase(detected.phrase, detected.images[remaining], detected.regions[remaining])


def _within_mentioned_images(row: LocalizationSet) -> Iterator[DetectedPhrase]:
    """Yield the detections of each phrase from a file without them: the regions of its mentions, after
    suppression."""
    held: dict[str, list[tuple[int, NDArray[np.float32]]]] = {}
    for mention in localized_mentions(row):
        held.setdefault(phrase_text(mention.phrase), []).append((mention.image, mention.regions))
    for phrase, of_mentions in held.items():
        images = np.repeat(
            [image for image, _ in of_mentions], [len(mention_regions) for _, mention_regions in of_mentions]
        )
        regions = np.concatenate([mention_regions for _, mention_regions in of_mentions])
        remaining = suppress(regions[:, :4], images, regions[:, 4])
        yield DetectedPhrase(phrase, images[remaining], regions[remaining])
