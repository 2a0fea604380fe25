"""The figures of a localization set: recall, average precision, and the proposals' upper bound, with
intervals, by category and for the most frequent phrases.

AP of a set is the mean over phrases, mAP the mean over categories of the mean over their phrases. A phrase
belongs to each category of any of its mentions. For comparison R@1 is also computed for a random region
(expected) and for the largest one. These, and the bound, use all regions of the set that the system chose
from, or the stored regions if a set is from a file or that set no longer exists.

Source: Plummer et al. 2015, section 3.2, Tables 2 and 3.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.terms import CATEGORIES
from evaluation.services.localizations.scored import ScoredLocalizations
from phrasebox.agreement.estimates import Bootstrap, estimate
from phrasebox.agreement.summary import Resampling
from phrasebox.metrics.localization import box_recall
from phrasebox.significance.resampling import figure_interval

_Floats = NDArray[np.float64]
#: The k of recall at k (Table 2).
RECALL_RANKS = (1, 10, 100)
#: The number of phrases in Table 3.
MOST_FREQUENT = 24
#: The remark on figures for which further regions were dropped, or may have been.
OF_STORED_REGIONS = "of the kept regions"


def measures_of(scored: ScoredLocalizations, how: Resampling) -> Iterator[dict[str, Any]]:
    """Yield R@k, the bound, AP, mAP, and R@1 of a random and the largest region, each with interval and
    remark."""
    images = [str(mention.image) for mention in scored.mentions]

    def of_regions(name: str, values: _Floats, *, of_stored: bool, share: bool = True) -> dict[str, Any]:
        row = _mean(values, how.over(images), share=share)
        return {
            "measure": name,
            **row,
            "remark": remarks_of(OF_STORED_REGIONS if of_stored else "", row["remark"]),
        }

    for k in ranks_up_to(scored.cut_at):
        yield of_regions(f"R@{k}", box_recall(scored.ranks, k), of_stored=is_beyond(k, scored.fewest_stored))
    unranked = scored.unranked
    some = not unranked.proposed
    yield of_regions("proposals", unranked.bound, of_stored=some)
    phrases = list(scored.precisions)
    values = np.asarray(list(scored.precisions.values()))
    drawn = how.over(phrases, "phrase")
    cut = OF_STORED_REGIONS if precision_is_cut(scored) else ""
    for name, row in (
        ("AP", _mean(values, drawn, share=False)),
        ("mAP", _mean_over_categories(scored, drawn)),
    ):
        yield {"measure": name, **row, "remark": remarks_of(cut, row["remark"])}
    yield of_regions("R@1, random", unranked.share, of_stored=some, share=False)
    yield of_regions("R@1, largest", unranked.largest, of_stored=some)


def ranks_up_to(cut_at: int | None) -> list[int]:
    """Return the ranks for which recall can be reported if only `cut_at` regions were stored."""
    return [k for k in RECALL_RANKS if cut_at is None or k <= cut_at]


def precision_is_cut(scored: ScoredLocalizations) -> bool:
    """Whether AP is based on the regions stored for mentions, where more may have been dropped."""
    most = RECALL_RANKS[-1]
    return not scored.everywhere and (
        (scored.cut_at is not None and scored.cut_at < most) or is_beyond(most, scored.fewest_stored)
    )


def is_beyond(k: int, least: int | None) -> bool:
    """Whether a rank is beyond the smallest number of regions that is stored for a mention."""
    return least is not None and k > least


def least_of(*numbers: int | None) -> int | None:
    """Return the smallest number; None stands for no limit."""
    return min((number for number in numbers if number is not None), default=None)


def remarks_of(*remarks: str) -> str:
    """Join the non-empty remarks in one line."""
    return "; ".join(filter(None, remarks))


def _mean(values: _Floats, bootstrap: Bootstrap | None, *, share: bool) -> dict[str, Any]:
    if bootstrap is None:
        return {"value": float(values.mean()), "low": None, "high": None, "items": len(values), "remark": ""}
    interval = figure_interval(values, bootstrap, share=share)
    return {
        "value": interval.value,
        "low": interval.low,
        "high": interval.high,
        "items": len(values),
        "remark": interval.remark,
    }


def _mean_over_categories(scored: ScoredLocalizations, bootstrap: Bootstrap | None) -> dict[str, Any]:
    """Return mAP, with an interval that resamples phrases."""
    sums = sums_of_categories(scored)
    clusters = sums if bootstrap is not None else sums.sum(axis=0, keepdims=True)
    interval = estimate(
        clusters, mean_of_means, lambda totals: "undefined", items=len(sums), bootstrap=bootstrap
    )
    return {
        "value": interval.value,
        "low": interval.low,
        "high": interval.high,
        "items": sums.shape[1] // 2,
        "remark": interval.reason,
    }


def sums_of_categories(scored: ScoredLocalizations) -> _Floats:
    """Return what each phrase adds to the sum of AP and to the number of phrases of each category, shape
    (phrases, 2 categories)."""
    belongs = _categories_of_phrases(scored)
    categories = _ordered({label for phrase_categories in belongs.values() for label in phrase_categories})
    sums = np.zeros((len(belongs), 2 * len(categories)))
    for row, (phrase, phrase_categories) in enumerate(belongs.items()):
        for category in phrase_categories:
            column = 2 * categories.index(category)
            sums[row, column] = scored.precisions[phrase]
            sums[row, column + 1] = 1
    return sums


def mean_of_means(totals: _Floats) -> _Floats:
    """Return the mean over categories of the mean AP of their phrases, from sums of shape (rows, 2
    categories); categories without a phrase in a resample are omitted."""
    added, counted = totals[:, 0::2], totals[:, 1::2]
    there = counted > 0
    means = np.divide(added, counted, out=np.zeros_like(added), where=there)
    return np.asarray(means.sum(axis=1) / there.sum(axis=1))


def by_category(scored: ScoredLocalizations) -> list[dict[str, Any]]:
    """Return the rows of Table 2, one per category."""
    belongs = _categories_of_phrases(scored)
    rows = []
    for category in _ordered({name for mention in scored.mentions for name in mention.categories}):
        in_category = np.asarray([category in mention.categories for mention in scored.mentions])
        phrases = [phrase for phrase, of in belongs.items() if category in of]
        rows.append(
            {
                "category": category,
                "mentions": int(in_category.sum()),
                "phrases": len(phrases),
                **_shares(scored, in_category),
                "AP": float(np.mean([scored.precisions[phrase] for phrase in phrases])),
            }
        )
    return rows


def frequent_phrases(scored: ScoredLocalizations) -> list[dict[str, Any]]:
    """Return the rows of Table 3, one for each of the most frequent phrases; equally frequent ones
    alphabetically."""
    counted = Counter(mention.phrase for mention in scored.mentions)
    rows = []
    for phrase in sorted(counted, key=lambda text: (-counted[text], text))[:MOST_FREQUENT]:
        of_phrase = np.asarray([mention.phrase == phrase for mention in scored.mentions])
        rows.append(
            {
                "phrase": phrase,
                "mentions": counted[phrase],
                **_shares(scored, of_phrase),
                "AP": scored.precisions[phrase],
            }
        )
    return rows


def _shares(scored: ScoredLocalizations, mask: NDArray[np.bool_]) -> dict[str, float]:
    shares = {f"R@{k}": float(box_recall(scored.ranks[mask], k).mean()) for k in ranks_up_to(scored.cut_at)}
    return {**shares, "proposals": float(scored.unranked.bound[mask].mean())}


def _categories_of_phrases(scored: ScoredLocalizations) -> dict[str, set[str]]:
    belongs: dict[str, set[str]] = {phrase: set() for phrase in scored.precisions}
    for mention in scored.mentions:
        belongs[mention.phrase].update(mention.categories)
    return belongs


def _ordered(categories: set[str]) -> list[str]:
    """Return the eight categories in the paper's order, then others alphabetically."""
    return [category for category in CATEGORIES if category in categories] + sorted(
        categories - set(CATEGORIES)
    )
