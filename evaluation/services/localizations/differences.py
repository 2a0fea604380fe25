"""Differences between two localization sets on the same mentions."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.comparison.missing import LEAVE_OUT, Missing
from evaluation.comparison.subsets import Subset
from evaluation.models import LocalizationSet
from evaluation.services.common import InputError
from evaluation.services.localizations.gold import BoxedMention
from evaluation.services.localizations.measures import (
    OF_STORED_REGIONS,
    is_beyond,
    least_of,
    mean_of_means,
    precision_is_cut,
    ranks_up_to,
    remarks_of,
    sums_of_categories,
)
from evaluation.services.localizations.scored import (
    ScoredLocalizations,
    images_without_output,
    scored,
    within_mentioned_images,
)
from evaluation.services.localizations.sets import images_looked_at
from phrasebox.agreement.summary import Resampling
from phrasebox.metrics.localization import box_recall
from phrasebox.significance.resampling import Difference, bootstrap_difference, bootstrap_difference_of_sums


def differences_from(
    other_set: LocalizationSet,
    ours: ScoredLocalizations,
    mentions: list[BoxedMention],
    subset: Subset | None,
    missing: Missing,
    how: Resampling,
) -> dict[str, Any]:
    """Return the differences of `ours` from another set, and the `mentions` on which they are computed: all,
    or, where images without output are left out, those in images for which both have output.

    `differences_everywhere`: AP is over all images, and both looked for each phrase in all of them. Otherwise
    AP is over the images of each phrase's mentions, for both sets: where one has no detections elsewhere, and
    where they looked at different images, since a set stores only the best detections of each phrase.

    Raises MissingOutput, and InputError if no image with one of these mentions is left.
    """
    lacking = images_without_output(other_set, mentions, missing)
    common = ours.mentions
    if missing == LEAVE_OUT:
        common = [mention for mention in ours.mentions if mention.image not in lacking]
        lacking = frozenset()
    if not common:
        raise InputError(
            f"localization sets {ours.row.name!r} and {other_set.name!r} looked at no image with one of the "
            f"{len(mentions):,} boxed mentions in common"
        )
    if len(common) < len(mentions):
        subset = Subset("images that both looked at", frozenset(mention.image for mention in common))
        ours = scored(ours.row, common, subset)
    theirs = scored(other_set, ours.mentions, subset, len(lacking))
    if ours.everywhere != theirs.everywhere or images_looked_at(ours.row) != images_looked_at(other_set):
        ours, theirs = within_mentioned_images(ours, subset), within_mentioned_images(theirs, subset)
    return {
        "against": other_set.name,
        "against_digest": other_set.digest,
        "differences_cut_at": least_of(ours.cut_at, theirs.cut_at),
        "differences_everywhere": ours.everywhere,
        "differences_images": len({mention.image for mention in ours.mentions}),
        "differences_mentions": len(ours.mentions),
        "differences": list(_differences(ours, theirs, how)),
    }


def _differences(
    ours: ScoredLocalizations, theirs: ScoredLocalizations, how: Resampling
) -> Iterator[dict[str, Any]]:
    """Yield our figures minus theirs on the same mentions, or phrases; the same images (for AP and mAP
    phrases) are resampled for both."""
    images = [str(mention.image) for mention in ours.mentions]
    phrases = list(ours.precisions)
    least = least_of(ours.fewest_stored, theirs.fewest_stored)
    pairs: list[tuple[str, NDArray[np.float64], NDArray[np.float64], Sequence[str], str]] = [
        (
            f"R@{k}",
            box_recall(ours.ranks, k),
            box_recall(theirs.ranks, k),
            images,
            OF_STORED_REGIONS if is_beyond(k, least) else "",
        )
        for k in ranks_up_to(least_of(ours.cut_at, theirs.cut_at))
    ]
    precisions = [
        np.asarray([scored_set.precisions[phrase] for phrase in phrases]) for scored_set in (ours, theirs)
    ]
    cut = OF_STORED_REGIONS if precision_is_cut(ours) or precision_is_cut(theirs) else ""
    pairs.append(("AP", precisions[0], precisions[1], phrases, cut))
    for name, first, second, clusters, remark in pairs:
        bootstrap = how.over(clusters, "phrase" if clusters is phrases else "image")
        if bootstrap is None:
            yield {"measure": name, "difference": float(first.mean() - second.mean()), "remark": remark}
            continue
        difference = bootstrap_difference(first, second, bootstrap)
        row = _difference(name, float(first.mean()), float(second.mean()), difference)
        yield {**row, "remark": remarks_of(remark, row["remark"])}
    sums = [sums_of_categories(scored_set) for scored_set in (ours, theirs)]
    values = [float(mean_of_means(scored_set.sum(axis=0, keepdims=True))[0]) for scored_set in sums]
    bootstrap = how.over(phrases, "phrase")
    if bootstrap is None:
        yield {"measure": "mAP", "difference": values[0] - values[1], "remark": cut}
        return
    difference = bootstrap_difference_of_sums(sums[0], sums[1], mean_of_means, bootstrap)
    last = _difference("mAP", values[0], values[1], difference)
    yield {**last, "remark": remarks_of(cut, last["remark"])}


def _difference(name: str, first: float, second: float, difference: Difference) -> dict[str, Any]:
    return {
        "measure": name,
        "first": first,
        "second": second,
        "difference": difference.value,
        "low": difference.low,
        "high": difference.high,
        "p": difference.p,
        "remark": difference.remark,
    }
