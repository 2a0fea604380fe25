"""The page that compares runs: figures in both directions, marks against a chosen one, and downloads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.selectors.corpora import split_names
from annotation.web.common.access import RUNNING, for_roles
from evaluation.comparison.comparisons import compare_runs, compare_single_run, table_of_comparison
from evaluation.comparison.missing import REFUSE, Missing
from evaluation.comparison.ranked_runs import NotComparable
from evaluation.comparison.subsets import subset_named
from evaluation.formats.figure_tables import LAYOUTS, Marked, Table
from evaluation.metrics.table import METRICS
from evaluation.models import QrelsSnapshot, Run
from evaluation.services.runs.directions import RUN_DIRECTIONS
from evaluation.web import offered
from evaluation.web.frame import evaluation_frame, text_parameter, text_parameters
from evaluation.web.runs import (
    EACH_QUERY,
    RUN_REFUSALS,
    cached_for_runs,
    chosen_qrels,
    each_query,
    images_key,
    qrels_of_corpus,
    with_chosen,
)
from evaluation.web.splits import missing_in, part_in

#: What is downloaded, and as what.
_TYPES = {"csv": "text/csv", "latex": "application/x-latex"}
_SUFFIXES = {"csv": "csv", "latex": "tex"}
#: Runs offered on the page; more are named in the address.
MOST_RUNS_OFFERED = 200
#: Runs of a direction that are compared while a reader waits.
MOST_RUNS_COMPARED = 12
#: Rounds of the randomisation: those of a page by itself, and those of print.
_ROUNDS = (10_000, 100_000)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What runs are evaluated against, and how: as the address says it."""

    snapshot: QrelsSnapshot
    baseline: str
    measures: Sequence[str]
    rounds: int
    split: str
    missing: str


@dataclass(frozen=True, slots=True)
class _Side:
    """One direction: its report, the table as it is shown, and the runs in it, the baseline first."""

    direction: str
    report: dict[str, Any]
    head: Sequence[str]
    rows: Sequence[Sequence[tuple[str, str]]]
    tested: int
    apart: int


@require_safe
@for_roles(*RUNNING, corpora=True)
def run_compare(request: HttpRequest) -> HttpResponseBase:
    """Choose runs and qrels; the address holds the whole choice."""
    corpora = offered.offered_corpora(request)
    wrong, sides, snapshot = "", [], None
    rounds = next(
        (each for each in _ROUNDS if str(each) == text_parameter(request.GET, "rounds")), _ROUNDS[0]
    )
    download = text_parameter(request.GET, "as")
    missing: Missing = REFUSE
    runs: list[Run] = []
    choices: list[QrelsSnapshot] = []
    try:
        missing = missing_in(request.GET)
        runs = offered.offered_runs(request, text_parameters(request.GET, "run"))
        if runs:
            choices = qrels_of_corpus(*runs)
            snapshot = chosen_qrels(request, choices)
            if snapshot is None:
                wrong = _("This corpus has no qrels yet.")
            else:
                wanted = _Wanted(
                    snapshot,
                    text_parameter(request.GET, "baseline"),
                    _measures(request.GET),
                    rounds,
                    part_in(request.GET, "split", snapshot.corpus),
                    missing,
                )
                direction = text_parameter(request.GET, "direction")
                if download.startswith(EACH_QUERY):
                    own = _of_one_direction(runs, direction)
                    return each_query(
                        download, "comparison", own, snapshot, wanted.measures, wanted.split, missing
                    )
                sides = _sides(runs, wanted)
                if download:
                    return _download(download, sides, direction)
    except RUN_REFUSALS as error:
        wrong = str(error)
    corpus = runs[0].corpus.name if runs else text_parameter(request.GET, "corpus") or _first(corpora)
    chosen_corpus = next((each for each in corpora if each.name == corpus), None)
    alike = offered.published_runs(request).filter(corpus__name=corpus).order_by("name")
    in_use = alike.filter(archived_at=None)
    its = {
        direction: _with_chosen(in_use.filter(direction=direction)[:MOST_RUNS_OFFERED], runs, direction)
        for direction in RUN_DIRECTIONS
    }
    chosen = {run.name for run in runs}
    return render(
        request,
        "evaluation/compare.html",
        evaluation_frame(
            "compare",
            corpora=corpora,
            corpus=corpus,
            offered=[(way, [(run, run.name in chosen) for run in found]) for way, found in its.items()],
            many=any(len(found) >= MOST_RUNS_OFFERED for found in its.values()),
            runs=runs,
            choices=with_chosen(choices or _qrels_of(request, corpus), snapshot),
            snapshot=snapshot,
            baseline=text_parameter(request.GET, "baseline"),
            measures=text_parameter(request.GET, "measures"),
            rounds=rounds,
            all_rounds=_ROUNDS,
            split=text_parameter(request.GET, "split"),
            splits=[split for split in split_names(chosen_corpus) if split] if chosen_corpus else [],
            missing=missing,
            known=METRICS.names("ranking"),
            sides=sides,
            wrong=wrong,
            lacking=bool(runs) and not choices,
            same=request.GET.urlencode(),
        ),
        status=409 if wrong and download else 200,
    )


def _with_chosen(offered: Iterable[Run], runs: Sequence[Run], direction: str) -> list[Run]:
    """What is offered of a direction, with those that were chosen and are not among it."""
    found = list(offered)
    return found + [run for run in runs if run.direction == direction and run not in found]


def _sides(runs: Sequence[Run], wanted: _Wanted) -> list[_Side]:
    """Each direction that has a run, its runs tested against its baseline."""
    found = []
    for direction in RUN_DIRECTIONS:
        if own := _at_most([run for run in runs if run.direction == direction]):
            found.append(_side(direction, _baseline_first(own, wanted.baseline, runs), wanted))
    return found


def _of_one_direction(runs: Sequence[Run], direction: str) -> list[Run]:
    """The runs of the direction asked for, else of the first run's."""
    own = [run for run in runs if run.direction == direction]
    return _at_most(own or [run for run in runs if run.direction == runs[0].direction])


def _at_most(own: list[Run]) -> list[Run]:
    """The runs of a direction; raises NotComparable where they are more than a page compares."""
    if len(own) > MOST_RUNS_COMPARED:
        raise NotComparable(
            _(
                "You chose %(runs)d runs of one direction; this page compares at most %(most)d. Build a "
                "report instead."
            )
            % {"runs": len(own), "most": MOST_RUNS_COMPARED}
        )
    return own


def _baseline_first(own: list[Run], baseline: str, runs: Sequence[Run]) -> list[Run]:
    """The named run first, or the one of the same system in this direction; else as they were named."""
    named = next((run for run in runs if run.name == baseline), None)
    if named is None:
        return own
    first = next(
        (run for run in own if run == named),
        next((run for run in own if _maker(run) and _maker(run) == _maker(named)), own[0]),
    )
    return [first, *(run for run in own if run != first)]


def _maker(run: Run) -> int | str:
    return run.made_by_id or run.system


def _side(direction: str, runs: list[Run], wanted: _Wanted) -> _Side:
    snapshot, measures, missing = wanted.snapshot, wanted.measures, wanted.missing

    subset = subset_named(snapshot.corpus.name, wanted.split, files=False)

    def make() -> dict[str, Any]:
        if len(runs) == 1:
            return compare_single_run(runs[0], snapshot, measures, subset=subset, missing=missing)
        return compare_runs(runs, snapshot, measures, subset=subset, missing=missing, rounds=wanted.rounds)

    more = (str(wanted.rounds), wanted.split, images_key(subset), missing, *measures)
    report = cached_for_runs("compared-4", runs, snapshot, make, *more)
    table = table_of_comparison(report)
    tested = [test for test in report["tests"] if test["p"] is not None]
    return _Side(
        direction,
        report,
        table.head,
        [[_cell(table, row, column) for column in range(len(table.head))] for row in table.rows],
        len(tested),
        sum(bool(test["mark"]) for test in tested),
    )


def _cell(table: Table, row: Sequence[Any], column: int) -> tuple[str, str]:
    """A cell as it is read, and its mark."""
    cell = row[column]
    if isinstance(cell, Marked):
        return table.rounded([*row[:column], cell.value, *row[column + 1 :]])[column], cell.mark
    return table.rounded(row)[column], ""


def _download(layout: str, sides: Sequence[_Side], direction: str) -> HttpResponse:
    """One direction's table as CSV or LaTeX, or both with all tests as JSON."""
    if layout in _TYPES:
        side = next((each for each in sides if each.direction == direction), sides[0])
        body = LAYOUTS.get(layout)(table_of_comparison(side.report)) + "\n"
        response = HttpResponse(body, content_type=f"{_TYPES[layout]}; charset=utf-8")
        name = f"comparison-{side.direction}.{_SUFFIXES[layout]}"
    else:
        body = json.dumps([side.report for side in sides], indent=2, allow_nan=False, ensure_ascii=False)
        response = HttpResponse(f"{body}\n", content_type="application/json")
        name = "comparison.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _measures(given: Mapping[str, str]) -> list[str]:
    """Measures by name, separated by commas; none: the usual ones."""
    return [name.strip() for name in text_parameter(given, "measures").split(",") if name.strip()]


def _qrels_of(request: HttpRequest, corpus: str) -> list[QrelsSnapshot]:
    run = offered.published_runs(request).filter(corpus__name=corpus).first()
    return qrels_of_corpus(run) if run is not None else []


def _first(corpora: Sequence[Any]) -> str:
    """The first corpus that has runs, or "" where none has."""
    with_runs = set(Run.objects.filter(published=True).values_list("corpus_id", flat=True).distinct())
    return next((corpus.name for corpus in corpora if corpus.pk in with_runs), "")
