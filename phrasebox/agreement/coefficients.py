"""Agreement beyond chance: Cohen's kappa, Fleiss' kappa, Krippendorff's alpha.

Definitions. kappa = (P_o - P_e) / (1 - P_e), with P_o the observed and P_e the expected share of agreement:
for Cohen from the two raters' own marginals, for Fleiss from the pooled ones. Weighted kappa (Cohen 1968) is
1 - D_o / D_e, with D the mean difference of the two raters' answers, |a - b| (linear) or (a - b)^2
(quadratic); with two answers all three are equal. The answers are numbers, and their distances count: 1 and 4
are three apart, whether or not anybody answered 2 or 3 (scikit-learn counts the answers that occur, unless
its `labels` has the whole scale). alpha = 1 - D_o / D_e, with D_o
the mean squared difference within items and D_e that between any two pairable answers; the difference is
nominal (equal or not), ordinal (answers that lie between, by the pooled counts), interval (a - b) or ratio
((a - b) / (a + b), which is 0 for two zeros).

Conventions. NaN is a missing answer. Cohen excludes items that one of the two did not answer; alpha those
with fewer than two answers; Fleiss requires the same number of answers per item. A chance agreement of 1
(both raters gave one and the same answer throughout), and no variation at all, give 0/0: such a figure is
undefined, neither 1 nor 0, and the estimate says so.

Sources: Cohen 1960, 1968; Fleiss 1971; Krippendorff 2004, chapter 11. Hodosh et al. 2013 use kappa and alpha
(sections 4.2.1, 4.2.2).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from phrasebox.agreement.estimates import (
    AgreementError,
    Bootstrap,
    Estimate,
    Floats,
    check_table,
    clusters_of,
    estimate,
)

MEASUREMENT_LEVELS = ("nominal", "ordinal", "interval", "ratio")
#: How much two answers differ for kappa, from the gaps between values, by the name of the weights.
KAPPA_WEIGHTS: dict[str, Callable[[Floats], Floats]] = {
    "none": lambda gaps: (gaps != 0).astype(np.float64),
    "linear": np.abs,
    "quadratic": np.square,
}


def cohen(
    first: ArrayLike, second: ArrayLike, *, weights: str = "none", bootstrap: Bootstrap | None = None
) -> Estimate:
    """Return Cohen's kappa of two raters' answers to the same items, both of shape (items,), NaN where
    missing; `weights` is one of KAPPA_WEIGHTS.

    >>> cohen([1, 1, 0, 0], [1, 0, 0, 0]).value  # 3 of 4 agree, by chance 2 of 4 would
    0.5
    >>> cohen([1, 2, 3, 3], [1, 2, 2, 3], weights="quadratic").value  # they differ once, and by 1 only
    0.8
    """
    if weights not in KAPPA_WEIGHTS:
        raise AgreementError(f"unknown weights {weights!r}; known: {', '.join(KAPPA_WEIGHTS)}")
    a, b = _rows(first, "the first rater"), _rows(second, "the second rater")
    if len(a) != len(b):
        raise ValueError(f"the raters answered {len(a)} and {len(b)} items; give both the same items")
    clusters, number = clusters_of(bootstrap, len(a))
    shared = ~(np.isnan(a) | np.isnan(b))
    values, codes = np.unique(np.concatenate([a[shared], b[shared]]), return_inverse=True)
    kinds, items = len(values), int(shared.sum())
    check_table(number, kinds)
    cells = clusters[shared] * kinds**2 + codes[:items] * kinds + codes[items:]
    tables = np.bincount(cells, minlength=number * kinds**2).astype(np.float64)
    differences = KAPPA_WEIGHTS[weights](values[:, None] - values[None, :])

    def value(sums: Floats) -> Floats:
        table = sums.reshape(len(sums), kinds, kinds)
        total = table.sum(axis=(1, 2))
        observed = (table * differences).sum(axis=(1, 2))
        expected = (table.sum(axis=2)[:, :, None] * table.sum(axis=1)[:, None, :] * differences).sum(
            axis=(1, 2)
        )
        # Both terms times the square of the number of items: integers, so that 0 is exactly 0.
        return _ratio(expected - observed * total, expected)

    def reason(sums: Floats) -> str:
        return (
            f"both raters answered {_number_text(values[0])} throughout"
            if items
            else "no item was answered by both"
        )

    return estimate(
        tables.reshape(number, -1), value, reason, items=items, bootstrap=bootstrap if items else None
    )


def fleiss(counts: ArrayLike, *, bootstrap: Bootstrap | None = None) -> Estimate:
    """Return Fleiss' kappa of `counts`, shape (items, categories): the number of answers of each kind per
    item.

    >>> round(fleiss([[2, 0], [1, 1], [0, 2]]).value, 3)  # two of three items agree, by chance half would
    0.333
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or (table < 0).any() or (table != np.floor(table)).any():
        raise ValueError(f"counts have shape {table.shape}; give whole numbers of shape (items, categories)")
    clusters, number = clusters_of(bootstrap, len(table))
    answers = table.sum(axis=1)
    if not len(table) or answers.min() != answers.max() or answers[0] < 2:
        return Estimate(None, len(table), _not_for_fleiss(answers))
    raters = answers[0]
    agreeing = (table * (table - 1)).sum(axis=1)
    rows = np.column_stack([agreeing, table])
    sums = np.zeros((number, rows.shape[1]))
    np.add.at(sums, clusters, rows)

    def value(sums: Floats) -> Floats:
        pooled = sums[:, 1:]
        total = pooled.sum(axis=1)
        expected = (pooled**2).sum(axis=1)
        observed = sums[:, 0] / (raters - 1)
        return _ratio(observed * total - expected, total**2 - expected)

    return estimate(sums, value, lambda _: "every answer is the same", items=len(table), bootstrap=bootstrap)


def _not_for_fleiss(answers: Floats) -> str:
    if not len(answers):
        return "no items"
    low, high = int(answers.min()), int(answers.max())
    if low != high:
        return f"items have {low} to {high} answers, Fleiss' kappa needs the same number for each; use alpha"
    return f"items have {low} answers, Fleiss' kappa needs two or more"


def krippendorff(
    ratings: ArrayLike, *, level: str = "interval", bootstrap: Bootstrap | None = None
) -> Estimate:
    """Return Krippendorff's alpha of `ratings`, shape (raters, items), NaN where missing.

    The row of an item's answer does not matter. `level` is one of LEVELS. Memory is clusters x (different
    values)^2 numbers.

    >>> round(krippendorff([[1, 0, 1, 0], [1, 0, 0, 0]], level="nominal").value, 3)
    0.533
    """
    if level not in MEASUREMENT_LEVELS:
        raise AgreementError(f"unknown level {level!r}; known: {', '.join(MEASUREMENT_LEVELS)}")
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise ValueError(f"ratings have shape {table.shape}; give finite numbers of shape (raters, items)")
    clusters, number = clusters_of(bootstrap, table.shape[1])
    pairable = (~np.isnan(table)).sum(axis=0) >= 2
    items, answers = int(pairable.sum()), table[:, pairable]
    values, codes = np.unique(answers[~np.isnan(answers)], return_inverse=True)
    if level == "ratio" and len(values) and values[0] < 0:
        return Estimate(None, items, f"{_number_text(values[0])} is negative: a ratio scale begins at 0")
    kinds = len(values)
    check_table(number, kinds)
    counts = np.zeros((items, kinds))
    np.add.at(counts, (np.nonzero(~np.isnan(answers))[1], codes), 1)
    sums = _coincidences(counts, clusters[pairable], number)
    squares = _squared_differences(level, values)

    def value(sums: Floats) -> Floats:
        matrix = sums.reshape(len(sums), kinds, kinds)  # o_ck
        pooled = matrix.sum(axis=2)  # n_c
        total = pooled.sum(axis=1)
        differences = squares(pooled)
        observed = (matrix * differences).sum(axis=(1, 2))
        expected = (pooled[:, :, None] * pooled[:, None, :] * differences).sum(axis=(1, 2))
        return 1 - _ratio((total - 1) * observed, expected)

    def reason(sums: Floats) -> str:
        return f"every answer is {_number_text(values[0])}" if items else "no item has two answers"

    return estimate(sums, value, reason, items=items, bootstrap=bootstrap if items else None)


def _coincidences(counts: Floats, clusters: np.ndarray, number: int) -> Floats:
    """Return the coincidence matrix of each cluster, shape (clusters, values * values).

    An item with m answers adds n_c n_k / (m - 1) for two values, n_c (n_c - 1) / (m - 1) for one.
    """
    kinds = counts.shape[1]
    weights = 1 / (counts.sum(axis=1) - 1)
    sums = np.zeros((number, kinds, kinds))
    order = np.argsort(clusters, kind="stable")
    ends = np.searchsorted(clusters[order], np.arange(number + 1))
    for cluster in range(number):
        members = order[ends[cluster] : ends[cluster + 1]]
        weighted = counts[members] * weights[members, None]
        sums[cluster] = weighted.T @ counts[members] - np.diag(weighted.sum(axis=0))
    return sums.reshape(number, kinds * kinds)


def _squared_differences(level: str, values: Floats) -> Callable[[Floats], Floats]:
    """Return a function from pooled counts (..., values) to squared differences (..., values, values)."""
    if level == "ordinal":

        def ordinal(pooled: Floats) -> Floats:
            # The answers between two values, with half of each end, are a difference of mid-ranks.
            middle = np.cumsum(pooled, axis=-1) - pooled / 2
            return (middle[..., :, None] - middle[..., None, :]) ** 2

        return ordinal
    gaps = values[:, None] - values[None, :]
    if level == "nominal":
        fixed = (gaps != 0).astype(np.float64)
    elif level == "interval":
        fixed = gaps**2
    else:
        sums = values[:, None] + values[None, :]
        fixed = np.divide(gaps, sums, out=np.zeros_like(gaps), where=sums != 0) ** 2
    return lambda _: fixed


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return the quotients, NaN where `below` is 0."""
    return np.divide(above, below, out=np.full(np.shape(below), np.nan), where=below != 0)


def _rows(answers: ArrayLike, whose: str) -> Floats:
    values = np.asarray(answers, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"{whose} has answers of shape {values.shape}; give one for each item")
    return values


def _number_text(value: float) -> str:
    return f"{value:g}"


def answer_counts(answers: Sequence[Sequence[float]]) -> tuple[Floats, Floats]:
    """Return counts for `fleiss`, shape (items, values), and the values, from each item's answers.

    >>> counts, values = answer_counts([[1, 1], [0, 1]])
    >>> counts.tolist(), values.tolist()
    ([[0.0, 2.0], [1.0, 1.0]], [0.0, 1.0])
    """
    values, codes = np.unique(
        np.array([a for answers_of_item in answers for a in answers_of_item], dtype=np.float64),
        return_inverse=True,
    )
    counts = np.zeros((len(answers), len(values)))
    np.add.at(
        counts,
        (np.repeat(np.arange(len(answers)), [len(answers_of_item) for answers_of_item in answers]), codes),
        1,
    )
    return counts, values


def as_ratings(answers: Sequence[Sequence[float]]) -> Floats:
    """Return ratings for `krippendorff`, shape (most answers of an item, items), NaN where an item has fewer.

    >>> as_ratings([[1, 2], [3]]).tolist()
    [[1.0, 3.0], [2.0, nan]]
    """
    deep = max((len(answers_of_item) for answers_of_item in answers), default=0)
    table = np.full((len(answers), deep), np.nan)
    for item, answers_of_item in enumerate(answers):
        table[item, : len(answers_of_item)] = answers_of_item
    return table.T
