"""Differences between localization sets on the same mentions."""

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
    sums_of_categories,
)
from evaluation.services.localizations.scored import (
    ScoredLocalizations,
    images_without_output,
    scored,
    within_mentioned_images,
)
from evaluation.services.localizations.sets import images_looked_at
from evaluation.services.request_fields import USUAL_ROUNDS
from phrasebox.agreement.summary import Resampling
from phrasebox.metrics.localization import box_recall
from phrasebox.significance.sums import SummedFigure, differences_from_first, mean_of, mean_sums


def scored_alike(
    sets: Sequence[LocalizationSet], mentions: list[BoxedMention], subset: Subset | None, missing: Missing
) -> list[ScoredLocalizations]:
    """Return sets scored on the same mentions: all, or, where images without output are left out, those in
    images for which all have output.

    AP is over all images if all sets looked for each phrase in all of them, and in the same ones. Otherwise
    it is over the images of each phrase's mentions, for all sets: where one has no detections elsewhere, and
    where they looked at different images, since a set stores only the best detections of each phrase.

    Raises MissingOutput, and InputError if no image with one of these mentions is left.
    """
    lacking = [images_without_output(row, mentions, missing) for row in sets]
    common = mentions
    if missing == LEAVE_OUT:
        left = frozenset[int]().union(*lacking)
        common = [mention for mention in mentions if mention.image not in left]
        lacking = [frozenset() for _ in sets]
    if not common:
        names = " and ".join(repr(row.name) for row in sets)
        raise InputError(
            f"localization sets {names} looked at no image with one of the {len(mentions):,} boxed mentions "
            "in common"
        )
    if len(common) < len(mentions):
        subset = Subset("images that all looked at", frozenset(mention.image for mention in common))
    results = [scored(row, common, subset, len(images)) for row, images in zip(sets, lacking, strict=True)]
    looked_at = {images_looked_at(row) for row in sets}
    if len(looked_at) > 1 or len({result.everywhere for result in results}) > 1:
        results = [within_mentioned_images(result, subset) for result in results]
    return results


def summed_box_figures(results: Sequence[ScoredLocalizations]) -> Iterator[SummedFigure]:
    """Yield the figures of sets that were scored alike: R@k over images, AP and mAP over phrases."""
    images = [str(mention.image) for mention in results[0].mentions]
    phrases = list(results[0].precisions)
    least = least_of(*(result.fewest_stored for result in results))
    for k in ranks_up_to(least_of(*(result.cut_at for result in results))):
        recalls = _by_name(results, [mean_sums(box_recall(result.ranks, k)) for result in results])
        remark = OF_STORED_REGIONS if is_beyond(k, least) else ""
        yield SummedFigure(f"R@{k}", recalls, mean_of, images, remark=remark)
    cut = OF_STORED_REGIONS if any(map(precision_is_cut, results)) else ""
    precisions = [
        mean_sums(np.asarray([result.precisions[phrase] for phrase in phrases])) for result in results
    ]
    yield SummedFigure("AP", _by_name(results, precisions), mean_of, phrases, "phrase", cut)
    categories = _by_name(results, [sums_of_categories(result) for result in results])
    yield SummedFigure("mAP", categories, mean_of_means, phrases, "phrase", cut)


def _by_name(
    results: Sequence[ScoredLocalizations], added: Sequence[NDArray[np.float64]]
) -> dict[str, NDArray[np.float64]]:
    return {result.row.name: sums for result, sums in zip(results, added, strict=True)}


def differences_from(
    other_set: LocalizationSet,
    row: LocalizationSet,
    mentions: list[BoxedMention],
    subset: Subset | None,
    missing: Missing,
    how: Resampling,
) -> dict[str, Any]:
    """Return the differences of a set from another one, and the number of mentions on which they are computed
    (`scored_alike`). `differences_everywhere`: AP is over all images. Raises as `scored_alike`."""
    theirs, ours = results = scored_alike([other_set, row], mentions, subset, missing)
    figures = list(summed_box_figures(results))
    values = [
        [float(figure.figure(sums.sum(axis=0, keepdims=True))[0]) for sums in figure.added.values()]
        for figure in figures
    ]
    differences = differences_from_first(figures, how, rounds=USUAL_ROUNDS if how.resamples else 0)
    return {
        "against": other_set.name,
        "against_digest": other_set.digest,
        "differences_cut_at": least_of(ours.cut_at, theirs.cut_at),
        "differences_everywhere": ours.everywhere,
        "differences_images": len({mention.image for mention in ours.mentions}),
        "differences_mentions": len(ours.mentions),
        "differences": [
            {
                "measure": difference.measure,
                "first": own,
                "second": others,
                "difference": difference.difference,
                "low": difference.low,
                "high": difference.high,
                "p": difference.p,
                "remark": difference.remark,
            }
            for difference, (others, own) in zip(differences, values, strict=True)
        ],
    }
