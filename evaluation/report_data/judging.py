"""Statistics of judges: the number of answers per pair, agreement, and the effect of thresholds.

Coefficients are those of `phrasebox.agreement`, with intervals that resample whole images. The sweep compares
each answer with the mean of the other answers to its pair, at every threshold: where kappa is highest, a
single judge agrees best with the others. With a second set of judgments of the same pairs (by experts, say)
the means of both sets are compared, as in Table 10 of Hodosh et al. 2013.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phrasebox.agreement.coefficients import answer_counts, as_ratings, fleiss, krippendorff
from phrasebox.agreement.estimates import AgreementError, Bootstrap, Estimate, Floats
from phrasebox.agreement.summary import Resampling
from phrasebox.agreement.thresholds import Sweep, sweep
from phrasebox.figure_basis import FigureBasis
from phrasebox.relevance.grades import JudgedPair

#: The largest number of distinguishable lines and points in a plot of a sweep: the means of three grades from
#: 1 to 4 have nine cuts.
MOST_ROWS, MOST_COLUMNS = 9, 12
#: The largest number of cuts of each set that are searched for the highest kappa: all, unless answers are
#: measurements.
MOST_CUTS = 100


@dataclass(frozen=True, slots=True)
class AnswersPerPair:
    """`pairs` pairs have `answers` answers; in `unanimous` of them all answers are the same."""

    answers: int
    pairs: int
    unanimous: int


@dataclass(frozen=True, slots=True)
class SweptKappas:
    """Kappa of `first` cut at each of `rows` with `second` cut at each of `columns`: `kappa[row][column]`.

    `items` items were compared, each one of `unit` (answers, pairs). Where rows and columns are a selection
    of the cuts, the pair of cuts with the highest kappa (of MOST_CUTS by MOST_CUTS) is among them.
    """

    first: str
    second: str
    items: int
    unit: str
    rows: Sequence[float]
    columns: Sequence[float]
    kappa: Sequence[Sequence[Estimate]]


@dataclass(frozen=True, slots=True)
class JudgingSummary:
    """`judges` is the number of named judges, `nameless` that of pairs without any; `scale` are the answers
    that occur."""

    judgments: str
    pairs: int
    images: int
    answers: int
    judges: int
    nameless: int
    scale: Sequence[float]
    per_pair: Sequence[AnswersPerPair]
    coefficients: dict[str, Estimate]
    sweeps: Sequence[SweptKappas]

    @property
    def basis(self) -> FigureBasis:
        """Return the basis of its figures."""
        pool = f"judgments {self.judgments}"
        return FigureBasis(cases="pairs", counted=self.pairs, out_of=self.pairs, pool=pool)


def judging_of(
    pairs: Sequence[JudgedPair],
    resampling: Resampling,
    *,
    name: str,
    others: tuple[str, Sequence[JudgedPair]] | None = None,
) -> JudgingSummary:
    """Return the statistics of `pairs` (at least one); `others` are judgments of the same pairs by others.

    Raises AgreementError if the two sets share no pair.
    """
    grades = [pair.grades for pair in pairs]
    scale = sorted({grade for pair_grades in grades for grade in pair_grades})
    draws = resampling.over([pair.query for pair in pairs])
    named = {judge for pair in pairs for judge in pair.judges}
    sweeps = [kappas] if (kappas := _with_the_others(pairs, resampling)) else []
    if others is not None and (kappas := _between(name, pairs, *others, resampling)):
        sweeps.append(kappas)
    return JudgingSummary(
        judgments=name,
        pairs=len(pairs),
        images=len({pair.query for pair in pairs}),
        answers=sum(map(len, grades)),
        judges=len(named),
        nameless=sum(not pair.judges for pair in pairs),
        scale=scale,
        per_pair=_per_pair(grades),
        coefficients=_coefficients(grades, scale, draws),
        sweeps=sweeps,
    )


def _per_pair(grades: Sequence[Sequence[float]]) -> list[AnswersPerPair]:
    pairs, unanimous = (
        Counter(map(len, grades)),
        Counter(len(pair_grades) for pair_grades in grades if len(set(pair_grades)) == 1),
    )
    return [AnswersPerPair(number, pairs[number], unanimous[number]) for number in sorted(pairs)]


def _coefficients(
    grades: Sequence[Sequence[float]], scale: Sequence[float], draws: Bootstrap | None
) -> dict[str, Estimate]:
    ratings = as_ratings(grades)
    counts, _ = answer_counts(grades)
    # With two possible answers all levels of alpha are the same.
    levels = ("nominal",) if len(scale) <= 2 else ("nominal", "ordinal", "interval")
    coefficients = {
        f"Krippendorff's alpha, {level}": krippendorff(ratings, level=level, bootstrap=draws)
        for level in levels
    }
    return {**coefficients, "Fleiss' kappa": fleiss(counts, bootstrap=draws)}


def _with_the_others(pairs: Sequence[JudgedPair], resampling: Resampling) -> SweptKappas | None:
    """Compare each answer with the mean of the others to its pair; None if no pair has two answers."""
    first_grades: list[float] = []
    rest: list[float] = []
    owners: list[str] = []
    for pair in pairs:
        total, number = sum(pair.grades), len(pair.grades)
        if number > 1:
            first_grades += pair.grades
            rest += [(total - grade) / (number - 1) for grade in pair.grades]
            owners += [pair.query] * number
    if not first_grades:
        return None
    return _swept(
        "one judge",
        "the others' mean",
        np.array(first_grades),
        np.array(rest),
        owners,
        resampling,
        unit="answers",
    )


def _between(
    name: str,
    pairs: Sequence[JudgedPair],
    others_name: str,
    theirs: Sequence[JudgedPair],
    resampling: Resampling,
) -> SweptKappas | None:
    means = {(pair.query, pair.document): pair.mean for pair in theirs}
    shared = [pair for pair in pairs if (pair.query, pair.document) in means]
    if not shared:
        raise AgreementError(
            f"judgments {name!r} and {others_name!r} have no pair in common; choose another set"
        )
    return _swept(
        others_name,
        name,
        np.array([means[pair.query, pair.document] for pair in shared]),
        np.array([pair.mean for pair in shared]),
        [pair.query for pair in shared],
        resampling,
        unit="pairs",
    )


def _swept(
    first: str,
    second: str,
    first_values: Floats,
    second_values: Floats,
    owners: Sequence[str],
    resampling: Resampling,
    *,
    unit: str,
) -> SweptKappas | None:
    rows, columns = _cuts(first_values), _cuts(second_values)
    if not len(rows) or not len(columns):
        return None
    if len(rows) > MOST_ROWS or len(columns) > MOST_COLUMNS:
        # All cuts without intervals are cheap to compute; the shown selection must include the one with the
        # highest kappa.
        rows, columns = _cuts_to_show(
            sweep(first_values, second_values, rows=rows.tolist(), columns=columns.tolist())
        )
    swept = sweep(
        first_values,
        second_values,
        rows=rows.tolist(),
        columns=columns.tolist(),
        bootstrap=resampling.over(owners),
    )
    return SweptKappas(
        first, second, len(first_values), unit, list(swept.rows), list(swept.columns), swept.kappa
    )


def _cuts(scores: Floats) -> Floats:
    """Return the values that occur, except the lowest, which cuts nothing off; of many, evenly spaced
    ones."""
    return _evenly(np.unique(scores)[1:], MOST_CUTS)


def _cuts_to_show(every: Sweep) -> tuple[Floats, Floats]:
    """Return rows and columns of a sweep for display, including the pair with the highest kappa."""
    row, column, _ = every.best or (None, None, 0.0)
    return (
        _evenly(np.array(every.rows), MOST_ROWS, row),
        _evenly(np.array(every.columns), MOST_COLUMNS, column),
    )


def _evenly(values: Floats, most: int, included: float | None = None) -> Floats:
    """Return `most` of the sorted `values`, evenly spaced; `included`, one of them, replaces the nearest."""
    if len(values) <= most:
        return values
    chosen = np.linspace(0, len(values) - 1, most).round().astype(int)
    if included is not None:
        index = int(np.searchsorted(values, included))
        chosen[np.abs(chosen - index).argmin()] = index
    return values[chosen]
