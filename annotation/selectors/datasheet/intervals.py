"""How far two answers to the same question agree, with 95 % intervals that know which answers go together.

Percent agreement, Cohen's kappa (Cohen 1960) and the mean overlap of boxes. Answers about one image are not
independent, so images are the clusters: the variance of a figure is that of its linearisation, summed by
image (Fleiss, Cohen and Everitt 1969 is the case of one pair an image). Shares get Wilson's interval (1927)
for as many independent pairs as the clusters are worth, so that a share of 1 has an interval too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

#: The quantile of the normal distribution for 95 %.
Z95 = 1.959963984540054

#: By image: (first answer, second answer) -> how many pairs.
PairsByImage = Mapping[int, Mapping[tuple[str, str], int]]


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A figure and the ends of its 95 % interval; these are None together where one image tells no spread."""

    value: float
    low: float | None
    high: float | None


def equal_share(pairs: PairsByImage) -> IntervalEstimate:
    """The share of pairs whose two answers are the same; of one pair at least."""
    sizes = [sum(of.values()) for of in pairs.values()]
    same = [sum(n for (a, b), n in of.items() if a == b) for of in pairs.values()]
    total = sum(sizes)
    share = sum(same) / total
    variance = _cluster_variance(
        [one - share * size for one, size in zip(same, sizes, strict=True)], total=total
    )
    if variance is None:
        return IntervalEstimate(share, None, None)
    # Where all agree there is no spread to see: clusters then count as one pair each.
    alone = share * (1 - share) / total
    worth = total * alone / variance if variance > 0 and alone > 0 else len(pairs)
    return IntervalEstimate(share, *_wilson(share, min(worth, total)))


def cohen_kappa(pairs: PairsByImage) -> IntervalEstimate | None:
    """Cohen's kappa; None where both gave one and the same answer throughout."""
    table: Counter[tuple[str, str]] = Counter()
    for of in pairs.values():
        table.update(of)
    total = table.total()
    observed = sum(n for (a, b), n in table.items() if a == b) / total
    first, second = Counter[str](), Counter[str]()
    for (a, b), n in table.items():
        first[a] += n
        second[b] += n
    expected = sum(first[a] * second[a] for a in first) / total**2
    if expected >= 1:
        return None
    kappa = (observed - expected) / (1 - expected)

    def influence(a: str, b: str) -> float:
        by_chance = (second[a] + first[b]) / total - 2 * expected
        return ((a == b) - observed) / (1 - expected) - (1 - observed) * by_chance / (1 - expected) ** 2

    variance = _cluster_variance(
        [sum(n * influence(a, b) for (a, b), n in of.items()) for of in pairs.values()], total=total
    )
    if variance is None:
        return IntervalEstimate(kappa, None, None)
    half = Z95 * sqrt(variance)
    return IntervalEstimate(kappa, max(-1.0, kappa - half), min(1.0, kappa + half))


def mean_overlap(overlaps: Mapping[int, Sequence[float]]) -> IntervalEstimate:
    """The mean of overlaps (0..1), which are given by image; of one at least."""
    total = sum(map(len, overlaps.values()))
    mean = sum(map(sum, overlaps.values())) / total
    variance = _cluster_variance([sum(of) - mean * len(of) for of in overlaps.values()], total=total)
    if variance is None:
        return IntervalEstimate(mean, None, None)
    half = Z95 * sqrt(variance)
    return IntervalEstimate(mean, max(0.0, mean - half), min(1.0, mean + half))


def _cluster_variance(sums: Iterable[float], *, total: int) -> float | None:
    """The variance of a mean over `total` things, from the sum of deviations of each cluster; None of one."""
    clusters = list(sums)
    if len(clusters) < 2:
        return None
    return len(clusters) / (len(clusters) - 1) * sum(one * one for one in clusters) / total**2


def _wilson(share: float, size: float) -> tuple[float, float]:
    """Wilson's interval of a share over `size` independent things."""
    square = Z95 * Z95
    middle = (share + square / (2 * size)) / (1 + square / size)
    half = Z95 * sqrt(share * (1 - share) / size + square / (4 * size * size)) / (1 + square / size)
    return max(0.0, middle - half), min(1.0, middle + half)
