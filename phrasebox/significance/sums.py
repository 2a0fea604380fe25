"""Several systems compared in figures that are computed from sums over items: intervals of the figures, and
the difference of each system from the first with its interval and a test.

A mean over images and a figure of added-up counts (BLEU, METEOR) are both functions of sums over images. So a
resample is a row of multiplicities times what each image adds, and an exchange adds what one image adds to
the other system's sums. The corpus's figure is computed again from the sums each time; it is never a mean of
items' scores. Whole images are drawn with replacement, as many as there are, the same for all systems, and
exchanged whole; figures over other queries, such as phrases, draw and exchange those (`unit`). The weights of
CIDEr stay those of its documents: they say how common a run of words is, and are not drawn again.

p is that of Fisher's randomisation test (`randomisation`), adjusted by Holm over all tests of a table.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from phrasebox.agreement.estimates import Bootstrap, Estimate, clusters_of, estimate
from phrasebox.agreement.summary import Resampling
from phrasebox.significance.randomisation import ROUNDS, of_sums
from phrasebox.significance.resampling import bootstrap_difference_of_sums
from phrasebox.significance.tables import holm

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SummedFigure:
    """A figure of several systems on the same items: `added` has what each item adds to k sums, shape (items,
    k), by system.

    `figure` computes figures, shape (rows,), from sums, shape (rows, k). `clusters` has the image of each
    item, or whatever `unit` says; `remark` is a caveat of the figure itself.
    """

    measure: str
    added: Mapping[str, _Floats]
    figure: Callable[[_Floats], _Floats]
    clusters: Sequence[Hashable]
    unit: str = "image"
    remark: str = ""


@dataclass(frozen=True, slots=True)
class DifferenceFromFirst:
    """The figure of `system` minus the first system's, with its interval, and the test against no difference:
    `p`, and `adjusted` for all tests of the table. None where none was requested."""

    measure: str
    system: str
    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    adjusted: float | None = None
    unit: str = "image"
    remark: str = ""


def mean_sums(values: _Floats) -> _Floats:
    """Return what items add to the sums of a mean, shape (items, 2): value and number; a value of NaN adds
    nothing."""
    defined = ~np.isnan(values)
    return np.stack([np.where(defined, values, 0.0), defined.astype(np.float64)], axis=1)


def mean_of(sums: _Floats) -> _Floats:
    """Return the mean for each row of sums; NaN without an item.

    >>> mean_of(mean_sums(np.array([1.0, np.nan, 0.0])).sum(axis=0, keepdims=True)).tolist()
    [0.5]
    """
    return np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0)


def interval_of_sums(
    added: _Floats, figure: Callable[[_Floats], _Floats], bootstrap: Bootstrap | None
) -> Estimate:
    """Return a figure of one system with its interval; without one if there is no bootstrap.

    `bootstrap.clusters` has the image of each item. Raises AgreementError if their numbers differ.
    """
    owners, clusters = clusters_of(bootstrap, len(added))
    sums = np.zeros((clusters, added.shape[1]))
    np.add.at(sums, owners, added)
    return estimate(sums, figure, lambda totals: "undefined", items=len(added), bootstrap=bootstrap)


def differences_from_first(
    figures: Sequence[SummedFigure], resampling: Resampling, *, rounds: int = ROUNDS
) -> list[DifferenceFromFirst]:
    """Return the difference of each later system from the first, by figure, in their order. `rounds`: those
    of the randomisation test; 0 for none.

    Raises ValueError and AgreementError as the interval and the test do.
    """
    rows = [
        _difference(figure, system, resampling, rounds)
        for figure in figures
        for system in list(figure.added)[1:]
    ]
    adjusted = holm([np.nan if row.p is None else row.p for row in rows])
    return [
        row if row.p is None else replace(row, adjusted=float(p))
        for row, p in zip(rows, adjusted, strict=True)
    ]


def _difference(
    figure: SummedFigure, system: str, resampling: Resampling, rounds: int
) -> DifferenceFromFirst:
    ours, base = figure.added[system], next(iter(figure.added.values()))
    whole = (np.asarray(terms).sum(axis=0, keepdims=True) for terms in (ours, base))
    value, value_of_base = (float(figure.figure(sums)[0]) for sums in whole)
    row = DifferenceFromFirst(
        figure.measure, system, value - value_of_base, unit=figure.unit, remark=figure.remark
    )
    bootstrap = resampling.over(figure.clusters, figure.unit)
    if bootstrap is not None:
        drawn = bootstrap_difference_of_sums(ours, base, figure.figure, bootstrap)
        remark = "; ".join(filter(None, [figure.remark, drawn.remark]))
        row = replace(row, low=drawn.low, high=drawn.high, remark=remark)
    if rounds:
        test = of_sums(ours, base, figure.figure, images=figure.clusters, rounds=rounds, seed=resampling.seed)
        row = replace(row, p=test.p)
    return row
