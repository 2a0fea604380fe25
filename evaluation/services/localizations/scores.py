"""A localization set against the boxes that people drew: recall, average precision, and the proposals' bound.

A mention is found at rank k where the k-th of its regions overlaps the box around all of its boxes by an IoU
of at least 0.5; one that the set has no region for is missed. AP is of a phrase over all images, after
non-maximum suppression; AP of a set is the mean over phrases, mAP the mean over categories of the mean over
their phrases. A phrase belongs to each category that one of its mentions has. Beside R@1 stand a region drawn
at random (expected) and the largest one. These, and the bound, are of all regions of the set that the system
chose from; of the regions that were kept, where a set is from a file or its regions are no longer there.

Source: Plummer et al. 2015, section 3.2, Tables 2 and 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.common.batching import chunks
from annotation.protocol.terms import CATEGORIES
from annotation.selectors.corpora import split_names
from evaluation.agreement.estimates import Bootstrap, estimate
from evaluation.agreement.summary import Resampling
from evaluation.comparison.subsets import Subset, subset_called, subset_named
from evaluation.metrics.localization import (
    box_average_precision,
    box_recall,
    first_right,
    suppress,
)
from evaluation.models import LocalizationSet
from evaluation.selectors import digest_of_images, names_of
from evaluation.services.common import ImportRefused
from evaluation.services.localizations.gold import BoxedMention, boxed_mentions_of, layer_and_state
from evaluation.services.localizations.proposals import UnrankedRegions, proposals_of_set
from evaluation.services.localizations.sets import (
    DetectedPhrase,
    detections_of,
    images_looked_at,
    localization_set_named,
    localized_mentions,
)
from evaluation.significance.resampling import (
    Difference,
    bootstrap_difference,
    bootstrap_difference_of_sums,
    figure_interval,
)
from models_core.features.text.phrases import phrase_text

_Floats = NDArray[np.float64]
#: Ranks up to which a right region counts (Table 2).
RECALL_RANKS = (1, 10, 100)
#: Phrases of Table 3.
MOST_FREQUENT = 24
_OF_KEPT = "of the kept regions"
#: Mentions whose regions are compared at a time.
_TOGETHER = 1000


@dataclass(frozen=True)
class ScoredLocalizations:
    """The rank of the first right region of each boxed mention, shape (mentions,), infinity for none.

    `predicted` says which the set has a region for. `precisions` has the AP of each phrase. `everywhere`:
    phrases were looked for in all images, not in those of their mentions alone.
    """

    row: LocalizationSet
    mentions: list[BoxedMention]
    ranks: _Floats
    predicted: NDArray[np.bool_]
    unranked: UnrankedRegions
    precisions: dict[str, float]
    everywhere: bool

    @property
    def cut_at(self) -> int | None:
        """How many regions the set kept of a mention, where it dropped others, or may have; else None."""
        if self.row.source:
            return None
        regions = self.unranked.regions[self.predicted]
        dropped = regions > self.row.limit if self.unranked.proposed else regions >= self.row.limit
        return self.row.limit if dropped.any() else None

    @property
    def least_kept(self) -> int | None:
        """The fewest regions that a file has of a mention, where it has some; None of a set made here."""
        found = self.unranked.regions[self.predicted]
        return int(found.min()) if self.row.source and len(found) else None


@dataclass(frozen=True, slots=True)
class LocalizationScoring:
    """What is scored: the set against the boxed mentions of a layer in some images.

    These are the set's own where `split` is None. With `against` its differences from another set are told.
    """

    name: str
    layer: str = ""
    split: str | None = None
    fold_seed: int = 0
    against: str = ""
    resampling: Resampling = Resampling()


def score_localization(wanted: LocalizationScoring) -> dict[str, Any]:
    """The figures with their intervals, by category and for the most frequent phrases, as plain data.

    `digest` says of which predictions they are, `layer_state` which boxes they are against. `subset` says of
    which images they are, "" of all, and `images_digest` which those are; `whole` that they are the set's.
    `level` is that of all intervals. R@k is left out beyond `cut_at`, its differences beyond
    `differences_cut_at`, where these are numbers; beyond `least_kept` it is of the kept regions.

    Raises UnknownName, ImportRefused for a layer without boxes or a set of another corpus, FormatError,
    BadSubset and AgreementError, each one line.
    """
    row = localization_set_named(wanted.name)
    other = localization_set_named(wanted.against) if wanted.against else None
    if other is not None and other.corpus_id != row.corpus_id:
        raise ImportRefused(
            f"localization set {other.name!r} is of corpus {other.corpus.name!r}, {row.name!r} of "
            f"{row.corpus.name!r}; compare sets of one corpus"
        )
    subset = subset_of_set(row, wanted.split, wanted.fold_seed)
    # Before the boxes are read: where they change meanwhile, the figures are told as older than they are.
    layer, state = layer_and_state(row.corpus.name, wanted.layer or row.layer)
    mentions = boxed_mentions_of(row.corpus.name, layer, subset)
    found = scored(row, mentions, subset)
    report = {
        "set": row.name,
        "digest": row.digest,
        "system": row.made_by.name if row.made_by else "",
        "corpus": row.corpus.name,
        "layer": layer,
        "layer_state": state,
        "subset": subset.called if subset else "",
        "images_digest": digest_of_images(subset.images, names_of(row.corpus.name)) if subset else "",
        "whole": wanted.split is None,
        "regions": row.regions,
        "images": len({mention.image for mention in mentions}),
        "mentions": len(mentions),
        "predicted": int(found.predicted.sum()),
        "phrases": len(found.precisions),
        "everywhere": found.everywhere,
        "proposed": found.unranked.proposed,
        "cut_at": found.cut_at,
        "least_kept": found.least_kept,
        **asdict(wanted.resampling),
        "measures": list(_measures(found, wanted.resampling)),
        "categories": _by_category(found),
        "frequent": _frequent(found),
    }
    if other is not None:
        theirs = scored(other, mentions, subset)
        report["against"], report["against_digest"] = other.name, other.digest
        report["differences_cut_at"] = _least(found.cut_at, theirs.cut_at)
        report["differences"] = list(_differences(found, theirs, wanted.resampling))
    return report


def subset_of_set(row: LocalizationSet, split: str | None, seed: int = 0) -> Subset | None:
    """The images `split`, those of the set where None; None for all."""
    if split is not None:
        return subset_named(row.corpus.name, split, seed=seed)
    if row.source:
        images = images_looked_at(row)
        return Subset(f"{len(images)} images of the set", images)
    if not row.split or row.split in split_names(row.corpus):
        return subset_named(row.corpus.name, row.split, seed=row.seed)
    # Its fold was dealt among the images of its regions, and its file may have been edited since.
    called = subset_called(row.split, seed=row.seed)
    return Subset(f"{called}, as localized", images_looked_at(row))


def scored(row: LocalizationSet, mentions: list[BoxedMention], subset: Subset | None) -> ScoredLocalizations:
    """The set's predictions beside people's boxes; predictions are read one after the other."""
    place_of: dict[tuple[int, int, int, int], list[int]] = {}
    for number, mention in enumerate(mentions):
        place_of.setdefault(mention.place, []).append(number)
    ranks = np.full(len(mentions), np.inf)
    predicted = np.zeros(len(mentions), bool)
    proposed = proposals_of_set(row, mentions)
    unranked = proposed or UnrankedRegions.of_mentions(len(mentions), proposed=False)
    images = {mention.image for mention in mentions} if subset is not None else None
    for part in chunks(localized_mentions(row, images), _TOGETHER):
        said = [
            (number, one.regions)
            for one in part
            for number in place_of.get((one.image, one.caption, one.start, one.end), ())
        ]
        if said:
            numbers = [number for number, _ in said]
            predicted[numbers] = [len(regions) > 0 for _, regions in said]
            owner = np.repeat(np.arange(len(said)), [len(regions) for _, regions in said])
            boxes = np.concatenate([regions[:, :4] for _, regions in said])
            gold = np.stack([mentions[number].box for number in numbers])
            ranks[numbers] = first_right(boxes, owner, gold)
            if proposed is None:
                for (number, regions), box in zip(said, gold, strict=True):
                    unranked.put(number, regions[:, :4], box)
    everywhere = row.detections.exists()
    detected = detections_of(row) if everywhere else _in_own_images(row)
    precisions = _precisions(detected, mentions, subset)
    return ScoredLocalizations(row, mentions, ranks, predicted, unranked, precisions, everywhere)


def _precisions(
    detected: Iterator[DetectedPhrase], mentions: list[BoxedMention], subset: Subset | None
) -> dict[str, float]:
    """The AP of each phrase that people boxed; 0 where the set does not have it. A box that several mentions
    of a phrase share counts once."""
    gold: dict[str, dict[tuple[float, ...], None]] = {mention.phrase: {} for mention in mentions}
    for mention in mentions:
        gold[mention.phrase][mention.image, *mention.box.tolist()] = None
    found = dict.fromkeys(gold, 0.0)
    chosen = None if subset is None else np.fromiter(subset.images, np.int64)
    for one in detected:
        if one.phrase not in gold:
            continue
        images, regions = one.images, one.regions
        if chosen is not None:
            kept = np.isin(images, chosen)
            images, regions = images[kept], regions[kept]
        wanted = np.asarray(list(gold[one.phrase]), np.float64)
        found[one.phrase] = box_average_precision(
            regions[:, :4], images, regions[:, 4], wanted[:, 1:], wanted[:, 0]
        )
    return found


def _in_own_images(row: LocalizationSet) -> Iterator[DetectedPhrase]:
    """What a file without detections has of each phrase: the regions for its mentions, suppressed."""
    held: dict[str, dict[int, NDArray[np.float32]]] = {}
    for one in localized_mentions(row):
        held.setdefault(phrase_text(one.phrase), {}).setdefault(one.image, one.regions)
    for phrase, of_images in held.items():
        images = np.repeat(list(of_images), [len(regions) for regions in of_images.values()])
        regions = np.concatenate(list(of_images.values()))
        kept = suppress(regions[:, :4], images, regions[:, 4])
        yield DetectedPhrase(phrase, images[kept], regions[kept])


def _measures(found: ScoredLocalizations, how: Resampling) -> Iterator[dict[str, Any]]:
    images = [str(mention.image) for mention in found.mentions]

    def of_regions(name: str, values: _Floats, *, kept: bool, share: bool = True) -> dict[str, Any]:
        own = _mean(values, how.over(images), share=share)
        return {"measure": name, **own, "remark": _remarks(_OF_KEPT if kept else "", own["remark"])}

    for k in ranks_up_to(found.cut_at):
        yield of_regions(f"R@{k}", box_recall(found.ranks, k), kept=_beyond(k, found.least_kept))
    unranked = found.unranked
    some = not unranked.proposed
    yield of_regions("proposals", unranked.bound, kept=some)
    phrases = list(found.precisions)
    values = np.asarray(list(found.precisions.values()))
    yield {"measure": "AP", **_mean(values, how.over(phrases), share=False)}
    yield {"measure": "mAP", **_mean_over_categories(found, how.over(phrases))}
    yield of_regions("R@1, random", unranked.share, kept=some, share=False)
    yield of_regions("R@1, largest", unranked.largest, kept=some)


def ranks_up_to(cut_at: int | None) -> list[int]:
    """The ranks of recall that are told where so many regions were kept and others dropped."""
    return [k for k in RECALL_RANKS if cut_at is None or k <= cut_at]


def _beyond(k: int, least: int | None) -> bool:
    return least is not None and k > least


def _least(*numbers: int | None) -> int | None:
    return min((number for number in numbers if number is not None), default=None)


def _remarks(*said: str) -> str:
    return "; ".join(filter(None, said))


def _mean(values: _Floats, bootstrap: Bootstrap | None, *, share: bool) -> dict[str, Any]:
    if bootstrap is None:
        return {"value": float(values.mean()), "low": None, "high": None, "items": len(values), "remark": ""}
    told = figure_interval(values, bootstrap, share=share)
    return {
        "value": told.value,
        "low": told.low,
        "high": told.high,
        "items": len(values),
        "remark": told.remark,
    }


def _mean_over_categories(found: ScoredLocalizations, bootstrap: Bootstrap | None) -> dict[str, Any]:
    """mAP, with an interval that draws phrases."""
    sums = _sums_of_categories(found)
    clusters = sums if bootstrap is not None else sums.sum(axis=0, keepdims=True)
    told = estimate(
        clusters, _mean_of_means, lambda totals: "undefined", items=len(sums), bootstrap=bootstrap
    )
    return {
        "value": told.value,
        "low": told.low,
        "high": told.high,
        "items": sums.shape[1] // 2,
        "remark": told.reason,
    }


def _sums_of_categories(found: ScoredLocalizations) -> _Floats:
    """What each phrase adds to the sum of AP and to the number of phrases of each of its categories, shape
    (phrases, 2 categories)."""
    belongs = _categories_of_phrases(found)
    categories = _ordered({one for own in belongs.values() for one in own})
    sums = np.zeros((len(belongs), 2 * len(categories)))
    for row, (phrase, own) in enumerate(belongs.items()):
        for category in own:
            place = 2 * categories.index(category)
            sums[row, place] = found.precisions[phrase]
            sums[row, place + 1] = 1
    return sums


def _mean_of_means(totals: _Floats) -> _Floats:
    """The mean over categories of the mean AP of their phrases, of sums of shape (rows, 2 categories); of
    categories of which a resample drew no phrase there is none."""
    added, counted = totals[:, 0::2], totals[:, 1::2]
    there = counted > 0
    means = np.divide(added, counted, out=np.zeros_like(added), where=there)
    return np.asarray(means.sum(axis=1) / there.sum(axis=1))


def _by_category(found: ScoredLocalizations) -> list[dict[str, Any]]:
    """Table 2: a row a category."""
    belongs = _categories_of_phrases(found)
    rows = []
    for category in _ordered({one for mention in found.mentions for one in mention.categories}):
        own = np.asarray([category in mention.categories for mention in found.mentions])
        phrases = [phrase for phrase, of in belongs.items() if category in of]
        rows.append(
            {
                "category": category,
                "mentions": int(own.sum()),
                "phrases": len(phrases),
                **_shares(found, own),
                "AP": float(np.mean([found.precisions[phrase] for phrase in phrases])),
            }
        )
    return rows


def _frequent(found: ScoredLocalizations) -> list[dict[str, Any]]:
    """Table 3: a row for each of the most frequent phrases, equal ones by the alphabet."""
    counted = Counter(mention.phrase for mention in found.mentions)
    rows = []
    for phrase in sorted(counted, key=lambda one: (-counted[one], one))[:MOST_FREQUENT]:
        own = np.asarray([mention.phrase == phrase for mention in found.mentions])
        rows.append(
            {
                "phrase": phrase,
                "mentions": counted[phrase],
                **_shares(found, own),
                "AP": found.precisions[phrase],
            }
        )
    return rows


def _shares(found: ScoredLocalizations, own: NDArray[np.bool_]) -> dict[str, float]:
    shares = {f"R@{k}": float(box_recall(found.ranks[own], k).mean()) for k in ranks_up_to(found.cut_at)}
    return {**shares, "proposals": float(found.unranked.bound[own].mean())}


def _categories_of_phrases(found: ScoredLocalizations) -> dict[str, set[str]]:
    belongs: dict[str, set[str]] = {phrase: set() for phrase in found.precisions}
    for mention in found.mentions:
        belongs[mention.phrase].update(mention.categories)
    return belongs


def _ordered(categories: set[str]) -> list[str]:
    """The eight as printed, then others by the alphabet."""
    return [one for one in CATEGORIES if one in categories] + sorted(categories - set(CATEGORIES))


def _differences(
    ours: ScoredLocalizations, theirs: ScoredLocalizations, how: Resampling
) -> Iterator[dict[str, Any]]:
    """Ours less theirs on the same mentions, or phrases; images, or for AP and mAP phrases, are drawn, the
    same for both."""
    images = [str(mention.image) for mention in ours.mentions]
    phrases = list(ours.precisions)
    least = _least(ours.least_kept, theirs.least_kept)
    pairs: list[tuple[str, _Floats, _Floats, Sequence[str], str]] = [
        (
            f"R@{k}",
            box_recall(ours.ranks, k),
            box_recall(theirs.ranks, k),
            images,
            _OF_KEPT if _beyond(k, least) else "",
        )
        for k in ranks_up_to(_least(ours.cut_at, theirs.cut_at))
    ]
    precisions = [np.asarray([one.precisions[phrase] for phrase in phrases]) for one in (ours, theirs)]
    pairs.append(("AP", precisions[0], precisions[1], phrases, ""))
    for name, first, second, clusters, remark in pairs:
        bootstrap = how.over(clusters)
        if bootstrap is None:
            yield {"measure": name, "difference": float(first.mean() - second.mean()), "remark": remark}
            continue
        told = bootstrap_difference(first, second, bootstrap)
        found = _difference(name, float(first.mean()), float(second.mean()), told)
        yield {**found, "remark": _remarks(remark, found["remark"])}
    sums = [_sums_of_categories(one) for one in (ours, theirs)]
    values = [float(_mean_of_means(one.sum(axis=0, keepdims=True))[0]) for one in sums]
    bootstrap = how.over(phrases)
    if bootstrap is None:
        yield {"measure": "mAP", "difference": values[0] - values[1]}
        return
    told = bootstrap_difference_of_sums(sums[0], sums[1], _mean_of_means, bootstrap)
    yield _difference("mAP", values[0], values[1], told)


def _difference(name: str, first: float, second: float, told: Difference) -> dict[str, Any]:
    return {
        "measure": name,
        "first": first,
        "second": second,
        "difference": told.value,
        "low": told.low,
        "high": told.high,
        "p": told.p,
        "remark": told.remark,
    }
