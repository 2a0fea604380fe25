"""Figures with bootstrap intervals over clusters; an undefined figure has the reason.

Every coefficient here is a function of sums over items (a confusion table, a matrix of coincidences, three
counts). So the sums are computed once for each cluster, a resample is a row of cluster multiplicities, and
all resamples are one matrix product: nothing is computed twice.

Convention. Items about one image are not independent. Therefore whole images are drawn, with replacement, as
many as there are; the interval is between percentiles of the resampled values. With few clusters these
percentiles lie further out (`tails`), since resamples of few clusters vary less than samples do. Resamples on
which the figure is undefined are left out and counted. An interval of fewer than FEW_CLUSTERS clusters has a
remark, and so has one whose resamples are all equal. Shares of hits have another interval: see `shares`.
Sources: Efron and Tibshirani 1993, chapters 8 and 13; Hesterberg 2015 (percentiles for few).
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasebox.errors import PhraseboxError
from phrasebox.lazy import special

Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]

#: Maximum number of resamples: enough for bounds to three digits, without taking days.
MOST_RESAMPLES = 100_000
#: A bootstrap of fewer clusters has a remark beside the figure.
FEW_CLUSTERS = 10
#: The name of the kind of these intervals.
BOOTSTRAP = "bootstrap"
#: Remark on an interval whose resamples are all equal.
ALIKE = "every resample gives the same"
#: Number of entries in the largest array of a block of resamples: 128 MiB.
_BLOCK = 2**24
#: Number of entries in the largest table of values by values, over all clusters: 1 GiB.
_LARGEST_TABLE = 2**27


class AgreementError(PhraseboxError):
    """The request cannot be computed; `str()` is one line that says what can."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One figure. If it is undefined, `value` is None and `reason` says why.

    `low` and `high` bound the interval of level `level`, if one was requested and could be computed;
    `interval` is its kind ("bootstrap", "Wilson"), `clusters` is the number of clusters it is based on, and
    `reason` has remarks about it. `resamples` counts the resamples, `undefined` those of them without a
    value.
    """

    value: float | None
    items: int
    reason: str = ""
    low: float | None = None
    high: float | None = None
    level: float | None = None
    resamples: int = 0
    undefined: int = 0
    interval: str = ""
    clusters: int = 0


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How to resample: `clusters[k]` is the cluster of item k: an image, or whatever `unit` says.

    Raises AgreementError for invalid numbers.
    """

    clusters: Sequence[Hashable]
    resamples: int = 1000
    level: float = 0.95
    seed: int = 0
    unit: str = "image"

    def __post_init__(self) -> None:
        if self.resamples < 1:
            raise AgreementError(f"{self.resamples} resamples; use at least 1")
        if self.resamples > MOST_RESAMPLES:
            raise AgreementError(f"{self.resamples} resamples; use {MOST_RESAMPLES} at most")
        if not 0 < self.level < 1:
            raise AgreementError(
                f"level {self.level} is not a confidence level; give a number between 0 and 1, such as 0.95"
            )


def clusters_of(bootstrap: Bootstrap | None, items: int) -> tuple[_Integers, int]:
    """Return the cluster number of each item, and the number of clusters; a single cluster without a
    bootstrap."""
    if bootstrap is None:
        return np.zeros(items, dtype=np.int64), 1
    if len(bootstrap.clusters) != items:
        raise AgreementError(f"{len(bootstrap.clusters)} clusters for {items} items; name one for each item")
    numbers: dict[Hashable, int] = {}
    numbers_of_clusters = [numbers.setdefault(cluster, len(numbers)) for cluster in bootstrap.clusters]
    return np.array(numbers_of_clusters, dtype=np.int64), len(numbers)


def few_clusters_remark(clusters: int, unit: str = "image") -> str:
    """Return the remark on a bootstrap with this many clusters; empty unless they are few."""
    if clusters >= FEW_CLUSTERS:
        return ""
    drawn = f"{clusters} {unit}{'' if clusters == 1 else 's'}"
    return f"a bootstrap of {drawn}, fewer than {FEW_CLUSTERS}: may be too narrow"


def remarks(drawn: Floats, clusters: int, unit: str = "image") -> str:
    """Return the remarks on a bootstrap interval: few clusters, resamples that are all equal."""
    alike = ALIKE if (drawn == drawn[0]).all() else ""
    return "; ".join(filter(None, [few_clusters_remark(clusters, unit), alike]))


def tails(level: float, clusters: int) -> tuple[float, float]:
    """Return the two quantiles of the resamples that bound an interval of `level` with this many clusters.

    Resamples of n clusters vary (n - 1) / n as much as samples, and with so few the tails are Student's: the
    normal quantile is widened by both. Source: Hesterberg 2015.
    """
    if clusters < 2:
        return 0.0, 1.0
    out = float(special.stdtrit(clusters - 1, (1 + level) / 2)) * (clusters / (clusters - 1)) ** 0.5
    tail = float(special.ndtr(-out))
    return tail, 1 - tail


def check_table(clusters: int, kinds: int) -> None:
    """Raise AgreementError for tables of values by values that do not fit in memory, before they are made."""
    if clusters * kinds**2 > _LARGEST_TABLE:
        instead = "round them" if clusters == 1 else "round them, or leave the interval out"
        raise AgreementError(f"{kinds:,} different answers make tables of {kinds**2:,} cells; {instead}")


def estimate(
    sums: Floats,
    value: Callable[[Floats], Floats],
    reason: Callable[[Floats], str],
    *,
    items: int,
    bootstrap: Bootstrap | None,
) -> Estimate:
    """Return the figure over all clusters, with an interval if `bootstrap` is given.

    `sums` has shape (clusters, k): what each cluster adds to the k sums. `value` maps (rows, k) to (rows,),
    NaN if undefined; `reason` says why, for one row of sums.
    """
    return estimates(sums[:, None, :], value, reason, items=items, bootstrap=bootstrap)[0]


def estimates(
    sums: Floats,
    value: Callable[[Floats], Floats],
    reason: Callable[[Floats], str],
    *,
    items: int,
    bootstrap: Bootstrap | None,
) -> list[Estimate]:
    """Return several figures on the same resamples: like `estimate`, with `sums` of shape (clusters, figures,
    k)."""
    totals = sums.sum(axis=0)
    values = value(totals)
    drawn = _resampled(sums, value, bootstrap) if bootstrap and not np.isnan(values).all() else None
    return [
        Estimate(None, items, reason(totals[figure]))
        if np.isnan(values[figure])
        else Estimate(float(values[figure]), items)
        if drawn is None or bootstrap is None
        else _with_interval(
            float(values[figure]),
            items,
            drawn[:, figure],
            bootstrap,
            # A cluster that adds nothing to the figure gives no information about it.
            clusters=int((sums[:, figure] != 0).any(axis=1).sum()),
        )
        for figure in range(len(values))
    ]


def _with_interval(value: float, items: int, drawn: Floats, how: Bootstrap, *, clusters: int) -> Estimate:
    defined = drawn[~np.isnan(drawn)]
    missing = len(drawn) - len(defined)
    if not len(defined):
        why = f"no interval: undefined on all {len(drawn)} resamples"
        return Estimate(value, items, why, level=how.level, resamples=len(drawn), undefined=missing)
    low, high = np.quantile(defined, tails(how.level, clusters))
    return Estimate(
        value,
        items,
        remarks(defined, clusters, how.unit),
        low=float(low),
        high=float(high),
        level=how.level,
        resamples=len(drawn),
        undefined=missing,
        interval=BOOTSTRAP,
        clusters=clusters,
    )


def _resampled(sums: Floats, value: Callable[[Floats], Floats], bootstrap: Bootstrap) -> Floats:
    """Return the figures on each resample, shape (resamples, figures)."""
    rng = np.random.default_rng(bootstrap.seed)
    clusters, figures, k = sums.shape
    even = np.full(clusters, 1 / clusters)
    flat = sums.reshape(clusters, figures * k)
    drawn = np.empty((bootstrap.resamples, figures))
    step = max(1, _BLOCK // max(clusters, figures * k))
    for start in range(0, bootstrap.resamples, step):
        number = min(step, bootstrap.resamples - start)
        totals = rng.multinomial(clusters, even, size=number) @ flat
        drawn[start : start + number] = value(totals.reshape(number * figures, k)).reshape(number, figures)
    return drawn
