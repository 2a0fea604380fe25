"""A localization set against the boxes that people drew: recall, average precision, and the proposals' bound.

AP of a set is the mean over phrases, mAP the mean over categories of the mean over their phrases. A phrase
belongs to each category that one of its mentions has. Beside R@1 stand a region drawn at random (expected)
and the largest one. These, and the bound, are of all regions of the set that the system chose from; of the
regions that were kept, where a set is from a file or its regions are no longer there.

Source: Plummer et al. 2015, section 3.2, Tables 2 and 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.terms import CATEGORIES
from evaluation.agreement.estimates import Bootstrap, estimate
from evaluation.agreement.summary import Resampling
from evaluation.comparison.subsets import Subset
from evaluation.metrics.localization import box_recall
from evaluation.models import LocalizationSet
from evaluation.selectors import digest_of_images, names_of
from evaluation.services.common import ImportRefused
from evaluation.services.localizations.gold import boxed_mentions_of, layer_and_state
from evaluation.services.localizations.scored import (
    ScoredLocalizations,
    in_own_images,
    scored,
    subset_of_set,
)
from evaluation.services.localizations.sets import images_looked_at, localization_set_named
from evaluation.significance.resampling import (
    Difference,
    bootstrap_difference,
    bootstrap_difference_of_sums,
    figure_interval,
)

_Floats = NDArray[np.float64]
#: Ranks up to which a right region counts (Table 2).
RECALL_RANKS = (1, 10, 100)
#: Phrases of Table 3.
MOST_FREQUENT = 24
#: The remark on figures of which more regions were dropped, or may have been.
OF_KEPT = "of the kept regions"


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
    `undetected` phrases keep AP from being of all images, and so does a `part` of the set's images. `level`
    is of all intervals. R@k is left out beyond `cut_at`, its differences beyond `differences_cut_at`, where
    these are numbers; beyond `least_kept` it is of the kept regions.

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
        "undetected": found.undetected,
        "part": found.part,
        "suppressed": True,
        "proposed": found.unranked.proposed,
        "cut_at": found.cut_at,
        "least_kept": found.least_kept,
        **asdict(wanted.resampling),
        "measures": list(_measures(found, wanted.resampling)),
        "categories": _by_category(found),
        "frequent": _frequent(found),
    }
    if other is not None:
        report |= _compared(found, other, subset, wanted)
    return report


def _compared(
    ours: ScoredLocalizations, other: LocalizationSet, subset: Subset | None, wanted: LocalizationScoring
) -> dict[str, Any]:
    """The differences from another set, and of which mentions they are: those in images that both looked at.

    `differences_everywhere`: AP is of all images, in which both looked for each phrase. Else it is of the
    images of each phrase's mentions alone, for both: where one has no detections elsewhere, and where they
    looked at different images, since of each phrase the best detections of a set were kept.
    """
    looked_at = [_looked_at(row, wanted) for row in (ours.row, other)]
    images = {mention.image for mention in ours.mentions}
    for own in looked_at:
        images &= own if own is not None else images
    common = [mention for mention in ours.mentions if mention.image in images]
    if not common:
        raise ImportRefused(
            f"localization sets {ours.row.name!r} and {other.name!r} looked at no image with one of the "
            f"{len(ours.mentions):,} boxed mentions in common"
        )
    if len(common) < len(ours.mentions):
        subset = Subset("images that both looked at", frozenset(images))
        ours = scored(ours.row, common, subset)
    theirs = scored(other, ours.mentions, subset)
    if ours.everywhere != theirs.everywhere or images_looked_at(ours.row) != images_looked_at(other):
        ours, theirs = in_own_images(ours, subset), in_own_images(theirs, subset)
    return {
        "against": other.name,
        "against_digest": other.digest,
        "differences_cut_at": _least(ours.cut_at, theirs.cut_at),
        "differences_everywhere": ours.everywhere,
        "differences_images": len({mention.image for mention in ours.mentions}),
        "differences_mentions": len(ours.mentions),
        "differences": list(_differences(ours, theirs, wanted.resampling)),
    }


def _looked_at(row: LocalizationSet, wanted: LocalizationScoring) -> frozenset[int] | None:
    """The images that a set looked at; None: all that are scored. Of a file nobody may have said which those
    were: then of images that are named (`split`) it counts as having looked at all, else at those of which it
    has something."""
    unknown = row.source and row.image_ids is None
    return None if unknown and wanted.split is not None else images_looked_at(row)


def _measures(found: ScoredLocalizations, how: Resampling) -> Iterator[dict[str, Any]]:
    images = [str(mention.image) for mention in found.mentions]

    def of_regions(name: str, values: _Floats, *, kept: bool, share: bool = True) -> dict[str, Any]:
        own = _mean(values, how.over(images), share=share)
        return {"measure": name, **own, "remark": _remarks(OF_KEPT if kept else "", own["remark"])}

    for k in ranks_up_to(found.cut_at):
        yield of_regions(f"R@{k}", box_recall(found.ranks, k), kept=_beyond(k, found.least_kept))
    unranked = found.unranked
    some = not unranked.proposed
    yield of_regions("proposals", unranked.bound, kept=some)
    phrases = list(found.precisions)
    values = np.asarray(list(found.precisions.values()))
    drawn = how.over(phrases, "phrase")
    cut = OF_KEPT if _precision_is_cut(found) else ""
    for name, own in (
        ("AP", _mean(values, drawn, share=False)),
        ("mAP", _mean_over_categories(found, drawn)),
    ):
        yield {"measure": name, **own, "remark": _remarks(cut, own["remark"])}
    yield of_regions("R@1, random", unranked.share, kept=some, share=False)
    yield of_regions("R@1, largest", unranked.largest, kept=some)


def ranks_up_to(cut_at: int | None) -> list[int]:
    """The ranks of recall that are told where so many regions were kept and others dropped."""
    return [k for k in RECALL_RANKS if cut_at is None or k <= cut_at]


def _precision_is_cut(found: ScoredLocalizations) -> bool:
    """Whether AP is of the regions kept for mentions, where more may have been dropped."""
    most = RECALL_RANKS[-1]
    return not found.everywhere and (
        (found.cut_at is not None and found.cut_at < most) or _beyond(most, found.least_kept)
    )


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
            OF_KEPT if _beyond(k, least) else "",
        )
        for k in ranks_up_to(_least(ours.cut_at, theirs.cut_at))
    ]
    precisions = [np.asarray([one.precisions[phrase] for phrase in phrases]) for one in (ours, theirs)]
    cut = OF_KEPT if _precision_is_cut(ours) or _precision_is_cut(theirs) else ""
    pairs.append(("AP", precisions[0], precisions[1], phrases, cut))
    for name, first, second, clusters, remark in pairs:
        bootstrap = how.over(clusters, "phrase" if clusters is phrases else "image")
        if bootstrap is None:
            yield {"measure": name, "difference": float(first.mean() - second.mean()), "remark": remark}
            continue
        told = bootstrap_difference(first, second, bootstrap)
        found = _difference(name, float(first.mean()), float(second.mean()), told)
        yield {**found, "remark": _remarks(remark, found["remark"])}
    sums = [_sums_of_categories(one) for one in (ours, theirs)]
    values = [float(_mean_of_means(one.sum(axis=0, keepdims=True))[0]) for one in sums]
    bootstrap = how.over(phrases, "phrase")
    if bootstrap is None:
        yield {"measure": "mAP", "difference": values[0] - values[1], "remark": cut}
        return
    told = bootstrap_difference_of_sums(sums[0], sums[1], _mean_of_means, bootstrap)
    last = _difference("mAP", values[0], values[1], told)
    yield {**last, "remark": _remarks(cut, last["remark"])}


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
