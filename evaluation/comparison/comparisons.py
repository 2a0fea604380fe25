"""Results of scoring and comparing runs, as plain data and as tables, for commands and pages alike."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

import numpy as np

from evaluation.comparison.conventions import MEAN_RANKS
from evaluation.comparison.missing import REFUSE
from evaluation.comparison.original_pairs import AnyQrels
from evaluation.comparison.provenance import with_provenance
from evaluation.comparison.ranked_runs import RowIds, candidates_apart
from evaluation.comparison.scoring import (
    Against,
    Scored,
    figure_basis,
    images_of_queries,
    remarks_on,
    score,
    score_against_first,
    score_all,
    score_folds,
)
from evaluation.comparison.subsets import Subset
from evaluation.models import Run
from evaluation.report_data.directions import interval_of
from evaluation.report_data.tables import level_text
from evaluation.selectors import names_of
from phrasebox.agreement.estimates import Bootstrap
from phrasebox.agreement.summary import Resampling
from phrasebox.figure_basis import basis_from_dict
from phrasebox.figure_tables import Cell, Marked, Table, finite_or_none
from phrasebox.metrics.scoring import Score
from phrasebox.metrics.table import METRICS, UnknownMeasure
from phrasebox.significance.randomisation import ROUNDS

#: Columns for items that a run did not rank.
NOT_RANKED = {"missing": "not ranked", "candidates": "candidates"}
#: How a comparison is resampled that needs no intervals.
NO_INTERVALS = Resampling(0)
#: Decimal places of figures that are no shares.
DECIMALS_BY_MEASURE = {"median rank": 1, "mean rank": 1}


def score_run(
    run: Run,
    snapshot: AnyQrels,
    measures: Sequence[str] = (),
    folds: int | None = None,
    *,
    subset: Subset | None = None,
    missing: str = REFUSE,
    convention: str = MEAN_RANKS,
) -> dict[str, Any]:
    """Return a run's figures, or their means over folds; raises as `scoring.score` does."""
    if folds is None:
        parts = [score(run, snapshot, measures, subset=subset, missing=missing, convention=convention)]
    else:
        parts = score_folds(
            run, snapshot, folds, measures, subset=subset, missing=missing, convention=convention
        )
    report = {
        "run": run.name,
        "system": run.system,
        "direction": run.direction,
        **_conditions(snapshot, subset, missing, convention),
        "pool": snapshot.pool,
        "basis": figure_basis(
            parts, snapshot, subset=subset, missing=missing, convention=convention
        ).as_dict(),
        "queries": sum(len(part.queries) for part in parts),
        "total_queries": sum(part.query_count for part in parts),
        "missing": sum(part.missing for part in parts),
        "candidates": None if folds else len(parts[0].candidates.items),
        "whole": None if folds else parts[0].candidates.whole,
        "items": None if folds else parts[0].items,
        "remarks": _of_folds(parts) if folds else remarks_on(parts),
        "folds": folds,
        "measures": [
            {
                "measure": name,
                "value": _mean(part.scores[name].value for part in parts),
                "optimistic": _mean(part.scores[name].optimistic for part in parts),
                "judged_at": parts[0].judged[name][0],
                "judged": _mean(part.judged[name][1] for part in parts),
                "queries": sum(part.scores[name].queries for part in parts),
                "folds": [finite_or_none(part.scores[name].value) for part in parts] if folds else [],
            }
            for name in parts[0].scores
        ],
    }
    return _with_provenance(report, [run], snapshot, np.concatenate([part.queries for part in parts]))


def _with_provenance(
    report: dict[str, Any], runs: Sequence[Run], snapshot: AnyQrels, queries: RowIds
) -> dict[str, Any]:
    """Add to the report what the systems behind the runs have seen of the images of the queries."""
    images = images_of_queries(queries, runs[0].direction, snapshot)
    return with_provenance(report, {run.name: run for run in runs}, snapshot.corpus, images)


def _conditions(snapshot: AnyQrels, subset: Subset | None, missing: str, convention: str) -> dict[str, Any]:
    return {
        "qrels": snapshot.name,
        "version": snapshot.version,
        "digest": snapshot.digest,
        "subset": subset.called if subset else "",
        "unranked": missing,
        "convention": convention,
    }


def _of_folds(folds: Sequence[Scored]) -> list[str]:
    """Return the remarks on all folds together."""
    gone, queries = sum(fold.missing for fold in folds), sum(fold.query_count for fold in folds)
    if not gone:
        return []
    how = (
        "count as the worst result" if sum(len(fold.queries) for fold in folds) == queries else "are left out"
    )
    return [f"{folds[0].run} does not rank {gone} of the {queries} queries; they {how}."]


def table_of_scores(report: dict[str, Any]) -> Table:
    """Return a table with a row per measure."""
    parts = [f"fold {number}" for number in range(1, (report["folds"] or 0) + 1)]
    # Under a protocol nobody judged.
    judged = (
        {} if report["pool"] else {"at best": "optimistic", "judged": "judged", "in the top": "judged_at"}
    )
    columns = ["missing", "candidates"] if report["remarks"] else []
    rows: list[list[Cell]] = [
        [
            m["measure"],
            m["value"],
            *(m[key] for key in judged.values()),
            m["queries"],
            *(report[key] for key in columns),
            *m["folds"],
        ]
        for m in report["measures"]
    ]
    head = ["measure", "value", *judged, "queries", *(NOT_RANKED[key] for key in columns), *parts]
    return Table(head, rows, notes=report["remarks"], basis=basis_from_dict(report["basis"]))


def compare_runs(
    runs: Sequence[Run],
    snapshot: AnyQrels,
    measures: Sequence[str] = (),
    *,
    subset: Subset | None = None,
    missing: str = REFUSE,
    convention: str = MEAN_RANKS,
    rounds: int = ROUNDS,
    resampling: Resampling = NO_INTERVALS,
) -> dict[str, Any]:
    """Return all runs' figures with intervals, and tests of each later run against the first, drawn by the
    same seed (of one run its figures alone); raises as `scoring.score_against_first`."""
    figures: Sequence[Scored]
    tests: Sequence[Against] = ()
    how: dict[str, Any] = {"subset": subset, "missing": missing, "convention": convention}
    if len(runs) == 1:
        figures = [score(runs[0], snapshot, measures, **how)]
    else:
        figures, tests = score_against_first(
            runs, snapshot, measures, **how, rounds=rounds, seed=resampling.seed
        )
    images = images_of_queries(figures[0].queries, runs[0].direction, snapshot)
    report = {
        "baseline": figures[0].run,
        "direction": runs[0].direction,
        **_conditions(snapshot, subset, missing, convention),
        "pool": snapshot.pool,
        "basis": figure_basis(figures[:1], snapshot, **how).as_dict(),
        "queries": len(figures[0].queries),
        "total_queries": figures[0].query_count,
        "remarks": remarks_on(figures),
        "apart": candidates_apart([(scored.run, scored.candidates) for scored in figures]),
        "systems": [_system(scored, images, resampling, judged=not snapshot.pool) for scored in figures],
        "rounds": rounds,
        "seed": resampling.seed,
        "resamples": resampling.resamples,
        "level": resampling.level,
        "tests": [{**asdict(test), "difference": finite_or_none(test.difference)} for test in tests],
    }
    return with_provenance(report, {run.name: run for run in runs}, snapshot.corpus, images)


def _system(scored: Scored, images: Sequence[int], resampling: Resampling, *, judged: bool) -> dict[str, Any]:
    """Return a run's part of a comparison: its figures with intervals, and what it did not rank."""
    draws = None
    if resampling.resamples:
        draws = Bootstrap(images, resampling.resamples, resampling.level, resampling.seed)
    return {
        "run": scored.run,
        "missing": scored.missing,
        "candidates": len(scored.candidates.items),
        "whole": scored.candidates.whole,
        "figures": {name: finite_or_none(figure.value) for name, figure in scored.scores.items()},
        "intervals": {name: _interval(figure, draws) for name, figure in scored.scores.items()},
        "judged": {f"judged@{k}": finite_or_none(share) for k, share in scored.judged.values()}
        if judged
        else {},
    }


def _interval(score: Score, draws: Bootstrap | None) -> list[float | None] | None:
    """Return the ends of a figure's interval; None where there is none."""
    interval = None if draws is None else interval_of(score, draws)
    return None if interval is None else [finite_or_none(interval.low), finite_or_none(interval.high)]


def table_of_comparison(report: dict[str, Any], *, ends: bool = False) -> Table:
    """Return a table with a row per run, with marks of significance; the best figure of each measure is
    emphasised. With `ends`, the ends of each figure's interval have columns beside it.

    Items that runs did not rank have columns if there are any.
    """
    marks = {(test["run"], test["measure"]): test["mark"] for test in report["tests"]}
    first = report["systems"][0]
    figures = marked_figures({system["run"]: system["figures"] for system in report["systems"]}, marks)
    columns = ["missing", "candidates"] if report["remarks"] else []

    def cells(system: dict[str, Any]) -> Iterator[Cell]:
        for name, cell in zip(system["figures"], figures[system["run"]], strict=True):
            yield cell
            if ends:
                yield from system["intervals"][name] or (None, None)

    heads = [[name, *([f"{name} low", f"{name} high"] if ends else [])] for name in first["figures"]]
    return Table(
        ["run", *chain(*heads), *first["judged"], *(NOT_RANKED[key] for key in columns)],
        [
            [
                system["run"],
                *cells(system),
                *system["judged"].values(),
                *(system[key] for key in columns),
            ]
            for system in report["systems"]
        ],
        places=DECIMALS_BY_MEASURE,
        notes=report["remarks"],
        basis=basis_from_dict(report["basis"]),
    )


def marked_figures(
    figures: Mapping[str, Mapping[str, float | None]], marks: Mapping[tuple[str, str], str]
) -> dict[str, list[Marked]]:
    """Return the figures of systems by measure as cells: with the `marks` of (system, measure), and the best
    figure of each measure emphasised."""
    measures = list(next(iter(figures.values())))
    best = {name: _best(name, [of_system[name] for of_system in figures.values()]) for name in measures}
    return {
        system: [
            Marked(value, marks.get((system, name), ""), "best" if value == best[name] else "")
            for name, value in of_system.items()
        ]
        for system, of_system in figures.items()
    }


def table_of_preferences(report: dict[str, Any]) -> Table:
    """Return a table with a row per measure and run: the numbers of queries on which it is better than the
    first, equal, or worse."""
    columns = ("better", "equal", "worse", "share", "low", "high", "p")
    return Table(
        ["measure", "run", *columns],
        [
            [
                test["measure"],
                test["run"],
                *(test["preference"][key] for key in columns),
            ]
            for test in report["tests"]
            if test["preference"] is not None
        ],
        notes=report["remarks"],
        basis=basis_from_dict(report["basis"]),
    )


def table_of_intervals(report: dict[str, Any]) -> Table:
    """Return a table with a row per run: the interval of each figure, from low to high."""
    measures = list(report["systems"][0]["figures"])
    return Table(
        ["run", *measures],
        [
            [system["run"], *(_interval_text(name, system["intervals"][name]) for name in measures)]
            for system in report["systems"]
        ],
        notes=[f"Intervals of {level_text(report['level'])}."],
        basis=basis_from_dict(report["basis"]),
    )


def _interval_text(measure: str, interval: Sequence[float | None] | None) -> str:
    """Return the interval of a figure, rounded like it; "-" where there is none."""
    return "-" if interval is None else " to ".join(figure_value(measure, end) for end in interval)


def figure_value(measure: str, value: float | None) -> str:
    """Return a figure rounded as in tables; "-" where there is none."""
    return "-" if value is None else f"{value:.{DECIMALS_BY_MEASURE.get(measure, 3)}f}"


def _best(name: str, values: Sequence[float | None]) -> float | None:
    """Return the best figure of a measure; None if all are equal, or there is only one."""
    there = [value for value in values if value is not None]
    if len(set(there)) < 2:
        return None
    try:
        higher = METRICS.find(name).measure.higher_is_better
    except UnknownMeasure:  # of tags or boxes
        higher = True
    return max(there) if higher else min(there)


def per_query_rows(
    runs: Sequence[Run],
    snapshot: AnyQrels,
    measures: Sequence[str] = (),
    folds: int | None = None,
    *,
    subset: Subset | None = None,
    missing: str = REFUSE,
    convention: str = MEAN_RANKS,
) -> Iterator[dict[str, Any]]:
    """Yield a row per run and scored query: the query's name, and its value of each measure.

    A value is None if the query has none. With folds, of one run, each row has its fold, counted from 1.
    The last column says what the figures are based on. Raises as `scoring.score` does.
    """
    names = names_of(runs[0].corpus.name)
    called = names.image_name if runs[0].direction == Run.ANNOTATION else names.caption_name
    if folds is None:
        scored = score_all(runs, snapshot, measures, subset=subset, missing=missing, convention=convention)
        parts = scored[:1]
    else:
        (run,) = runs
        scored = parts = score_folds(
            run, snapshot, folds, measures, subset=subset, missing=missing, convention=convention
        )
    basis = " ".join(
        figure_basis(parts, snapshot, subset=subset, missing=missing, convention=convention).lines()
    )
    for number, part in enumerate(scored, start=1):
        for row in _per_query(part, called):
            yield {**({} if folds is None else {"fold": number}), **row, "basis": basis}


def _per_query(scored: Scored, called: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    values = {name: figure.per_query.tolist() for name, figure in scored.scores.items()}
    for row, query in enumerate(scored.queries.tolist()):
        yield {
            "query": called[query],
            "run": scored.run,
            **{name: finite_or_none(per_query[row]) for name, per_query in values.items()},
        }


def _mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the folds' figures; None if a fold has none."""
    numbers = list(values)
    return finite_or_none(float(np.mean([np.nan if value is None else value for value in numbers])))
