"""Coverage of 95 % intervals, by simulation; prints tables.

    python -m studies.intervals [--simulations 4000] [--resamples 1000] [--seed 0]

Shares: hits and misses of 5, 10, 30 and 100 images with one query each, and with five correlated ones (an
image's own share is drawn from a beta distribution of intraclass correlation 0.3). Before: percentiles of a
bootstrap over images. After: Wilson's interval for the effective number of queries, which the product uses.
Exact: Clopper and Pearson's for the same number (Korn and Graubard 1998), for comparison. Means and medians:
a value from 0 to 1 as R-precision's (beta 0.4, 0.8), and a rank (log-normal). Before: plain percentiles;
after: those of `phrasebox.agreement.estimates.tails`.

In brackets: the mean width. The standard error of a coverage of 95 % is 0.3 points with 4,000 simulations.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from annotation.common.plain_text import text_table
from phrasebox.agreement.estimates import Bootstrap, tails
from phrasebox.agreement.shares import effective_number, share_interval
from phrasebox.significance.resampling import figure_interval

LEVEL = 0.95
CLUSTERS = (5, 10, 30, 100)
SHARES = (0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99)
QUERIES = (1, 5)
ALIKE = 0.3

Floats = NDArray[np.float64]
#: Lower and upper bounds, shape (simulations,) each.
Bounds = tuple[Floats, Floats]


def samples(share: float, clusters: int, queries: int, simulations: int, seed: int) -> Floats:
    """Return hits of each image, shape (simulations, clusters)."""
    rng = np.random.default_rng([seed, clusters, queries, round(1000 * share)])
    chance: Floats | float = share
    if queries > 1:
        strength = (1 - ALIKE) / ALIKE
        chance = rng.beta(share * strength, (1 - share) * strength, (simulations, clusters))
    return rng.binomial(queries, chance, (simulations, clusters)).astype(np.float64)


def drawn(values: Floats, resamples: int, level: tuple[float, float]) -> Bounds:
    """Return quantiles of resampled means of equal clusters, as in the product; `values` (n, clusters)."""
    clusters = values.shape[1]
    times = np.random.default_rng(0).multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples)
    moved = values @ (times.T / clusters)
    low, high = np.quantile(moved, level, axis=1)
    return low, high


def wilson(hits: Floats, queries: int) -> Bounds:
    items = np.full(hits.shape[1], float(queries))
    low, high = np.array([share_interval(hits_of_run, items, LEVEL) for hits_of_run in hits]).T
    return low, high


def exact(hits: Floats, queries: int) -> Bounds:
    """Return Clopper and Pearson's interval for the effective number."""
    items = np.full(hits.shape[1], float(queries))
    number = np.array([effective_number(hits_of_run, items, LEVEL) for hits_of_run in hits])
    successes = hits.mean(axis=1) / queries * number
    tail = (1 - LEVEL) / 2
    low = np.where(successes > 0, stats.beta.ppf(tail, successes, number - successes + 1), 0.0)
    high = np.where(successes < number, stats.beta.ppf(1 - tail, successes + 1, number - successes), 1.0)
    return low, high


def bounds_text(bounds: Bounds, truth: float) -> str:
    """Return coverage in per cent and mean width."""
    low, high = bounds
    held = (low <= truth + 1e-12) & (high >= truth - 1e-12)
    return f"{100 * held.mean():.1f} ({(high - low).mean():.3f})"


def shares(simulations: int, resamples: int, seed: int) -> str:
    rows = []
    levels = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    for queries in QUERIES:
        for clusters in CLUSTERS:
            for share in SHARES:
                hits = samples(share, clusters, queries, simulations, seed)
                before = drawn(hits / queries, resamples, levels)
                intervals = (before, wilson(hits, queries), exact(hits, queries))
                rows.append([queries, clusters, share, *(bounds_text(bounds, share) for bounds in intervals)])
    return text_table(["queries an image", "images", "share", "before", "after", "exact"], rows)


def means_and_medians(simulations: int, resamples: int, seed: int) -> str:
    rows = []
    levels = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    for clusters in CLUSTERS:
        values = np.random.default_rng([seed, clusters]).beta(0.4, 0.8, (simulations, clusters))
        before, after = (drawn(values, resamples, level) for level in (levels, tails(LEVEL, clusters)))
        interval = figure_interval(values[0], Bootstrap(range(clusters), resamples))
        assert np.allclose((interval.low, interval.high), (after[0][0], after[1][0])), (
            "not what the product prints"
        )
        rows.append(["mean of 0 to 1", clusters, bounds_text(before, 1 / 3), bounds_text(after, 1 / 3)])
    for clusters in CLUSTERS:
        ranks = np.random.default_rng([seed, clusters]).lognormal(2, 1.5, (simulations // 4, clusters))
        coverage = []
        for level in (LEVEL, None):
            if level is None:
                intervals = [
                    figure_interval(ranks_of_run, _images(clusters, resamples), statistic="median")
                    for ranks_of_run in ranks
                ]
                coverage.append(
                    (
                        np.array([interval.low for interval in intervals]),
                        np.array([interval.high for interval in intervals]),
                    )
                )
            else:
                coverage.append(_plain_medians(ranks, resamples, levels))
        rows.append(["median", clusters, *(bounds_text(bounds, float(np.exp(2))) for bounds in coverage)])
    return text_table(["figure", "images", "before", "after"], rows)


def _images(clusters: int, resamples: int) -> Bootstrap:
    return Bootstrap(range(clusters), resamples, LEVEL)


def _plain_medians(ranks: Floats, resamples: int, level: tuple[float, float]) -> Bounds:
    """Return percentiles of resampled medians."""
    clusters = ranks.shape[1]
    chosen = np.random.default_rng(0).integers(clusters, size=(resamples, clusters))
    low, high = np.array(
        [np.quantile(np.median(ranks_of_run[chosen], axis=1), level) for ranks_of_run in ranks]
    ).T
    return low, high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=4000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    arguments = options.simulations, options.resamples, options.seed
    print(f"{options.simulations:,} simulations, {options.resamples:,} resamples, seed {options.seed}\n")
    print(shares(*arguments), means_and_medians(*arguments), sep="\n\n")


if __name__ == "__main__":
    main()
