"""The page that compares runs: figures in both directions, significance against a chosen run, and
downloads."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.common.operations import Invalid, OperationContext, operation_named, result_to_dict
from annotation.selectors.corpora import Account, split_names
from annotation.web.common.access import RUNNING, account_of, for_roles
from annotation.web.common.request_forms import query_request
from evaluation.comparison.comparisons import table_of_comparison, table_of_intervals
from evaluation.comparison.original_pairs import has_original_pairs
from evaluation.models import QrelsSnapshot, Run
from evaluation.services.runs.figures import compare_under_qrels, qrels_of_corpus, run_of_system
from evaluation.services.runs.listing import RUN_DIRECTIONS
from evaluation.web import visible
from evaluation.web.page_context import page_context, text_parameter, text_parameters
from evaluation.web.runs import RUN_ERRORS, chosen_qrels, figure_form, with_chosen
from phrasebox.errors import PhraseboxError
from phrasebox.figure_tables import LAYOUTS, Marked, Table
from phrasebox.metrics.table import METRICS
from phrasebox.registry import UnknownName

#: The formats of downloads, with their content types.
_TYPES = {"csv": "text/csv", "latex": "application/x-latex"}
_SUFFIXES = {"csv": "csv", "latex": "tex"}
#: The largest number of runs listed on the page; the address can name others.
MOST_RUNS_LISTED = 200
#: The default number of rounds of the randomisation, kept low because somebody waits for the page.
_ROUNDS = 10_000


@dataclass(frozen=True, slots=True)
class _Side:
    """One direction: its report, the displayed table, and the choices of the address for it."""

    direction: str
    report: dict[str, Any]
    head: Sequence[str]
    rows: Sequence[Sequence[tuple[str, str, str]]]
    tested: int
    apart: int
    choice: str


@require_safe
@for_roles(*RUNNING, corpora=True)
def run_compare(request: HttpRequest) -> HttpResponseBase:
    """Choose runs and qrels; the address holds all choices."""
    account = account_of(request)
    corpora = visible.visible_corpora(request)
    message, sides, snapshot = "", [], None
    query = request.GET.copy()
    query.setdefault("rounds", str(_ROUNDS))
    download = text_parameter(query, "as")
    runs: list[Run] = []
    choices: list[QrelsSnapshot] = []
    try:
        runs = [
            *visible.visible_runs(request, text_parameters(query, "run")),
            *_runs_of_systems(request, text_parameters(query, "system"), text_parameter(query, "split")),
        ]
        if runs:
            choices = qrels_of_corpus(*runs)
            snapshot = chosen_qrels(request, runs[0].corpus, choices)
            if snapshot is not None:
                query["qrels"] = snapshot.versioned
            if snapshot is None and not has_original_pairs(runs[0].corpus):
                message = _("This corpus has no qrels yet.")
            else:
                sides = _sides(runs, query, account)
                if download:
                    return _download(download, sides, text_parameter(query, "direction"))
    except Invalid as error:
        message = error.errors[0].detail
    except RUN_ERRORS as error:
        message = str(error)
    corpus = runs[0].corpus.name if runs else text_parameter(request.GET, "corpus") or _first(corpora)
    chosen_corpus = next((candidate for candidate in corpora if candidate.name == corpus), None)
    alike = visible.published_runs(request).filter(corpus__name=corpus).order_by("name")
    in_use = alike.filter(archived_at=None)
    its = {
        direction: _with_chosen(in_use.filter(direction=direction)[:MOST_RUNS_LISTED], runs, direction)
        for direction in RUN_DIRECTIONS
    }
    chosen = {run.name for run in runs}
    form = figure_form(
        request,
        "compare_runs",
        chosen_corpus,
        with_chosen(choices or _qrels_of(request, corpus), snapshot),
        snapshot,
        *("rounds", "measures"),
    )
    form.initial["rounds"] = text_parameter(query, "rounds")
    return render(
        request,
        "evaluation/compare.html",
        page_context(
            "compare",
            corpora=corpora,
            corpus=corpus,
            offered=[(way, [(run, run.name in chosen) for run in listed]) for way, listed in its.items()],
            many=any(len(listed) >= MOST_RUNS_LISTED for listed in its.values()),
            runs=runs,
            form=form,
            baseline=text_parameter(query, "baseline"),
            rounds=sides[0].report["rounds"] if sides else 0,
            level=sides[0].report["level"] if sides else 0,
            splits=[split for split in split_names(chosen_corpus) if split] if chosen_corpus else [],
            known=METRICS.names("ranking"),
            sides=sides,
            error=message,
            lacking=bool(runs) and not (choices or has_original_pairs(runs[0].corpus)),
            same=request.GET.urlencode(),
        ),
        status=409 if message and download else 200,
    )


def _runs_of_systems(request: HttpRequest, names: Sequence[str], split: str) -> list[Run]:
    """Return the runs of both directions that systems stand for; raises UnknownName, PhraseboxError."""
    systems = {row.name: row for row in visible.visible_systems(request).filter(name__in=names)}
    runs: list[Run] = []
    for name in names:
        if name not in systems:
            raise UnknownName(_("There is no system “%(name)s” here.") % {"name": name[:100]})
        its = [run_of_system(systems[name], direction, split) for direction in RUN_DIRECTIONS]
        if its == [None, None]:
            raise PhraseboxError(_("System “%(name)s” has no runs of these images yet.") % {"name": name})
        runs += [run for run in its if run is not None]
    return runs


def _with_chosen(visible: Iterable[Run], runs: Sequence[Run], direction: str) -> list[Run]:
    """Return the listed runs of a direction, plus chosen ones that are not among them."""
    listed = list(visible)
    return listed + [run for run in runs if run.direction == direction and run not in listed]


def _sides(runs: Sequence[Run], query: QueryDict, account: Account) -> list[_Side]:
    """Return each direction that has a run, with its runs tested against its baseline."""
    result = []
    for direction in RUN_DIRECTIONS:
        if of_direction := [run for run in runs if run.direction == direction]:
            query_of_direction = query.copy()
            ordered = _baseline_first(of_direction, text_parameter(query, "baseline"), runs)
            query_of_direction.setlist("runs", [run.name for run in ordered])
            result.append(_side(direction, query_of_direction, account))
    return result


def _baseline_first(candidates: list[Run], baseline: str, runs: Sequence[Run]) -> list[Run]:
    """Put the baseline first: the named run, or the one of the same system in this direction; else keep the
    order."""
    named = next((run for run in runs if run.name == baseline), None)
    if named is None:
        return candidates
    first = next(
        (run for run in candidates if run == named),
        next((run for run in candidates if _maker(run) and _maker(run) == _maker(named)), candidates[0]),
    )
    return [first, *(run for run in candidates if run != first)]


def _maker(run: Run) -> int | str:
    return run.made_by_id or run.system


def _side(direction: str, query: QueryDict, account: Account) -> _Side:
    request, _row = query_request(operation_named("compare_runs"), account, query)
    report = result_to_dict(compare_under_qrels(request, OperationContext(account)))
    table, intervals = table_of_comparison(report), table_of_intervals(report)
    ends = [dict(zip(intervals.head[1:], row[1:], strict=True)) for row in intervals.rows]
    tested = [test for test in report["tests"] if test["p"] is not None]
    return _Side(
        direction,
        report,
        table.head,
        [
            [
                (*_cell(table, row, column), str(ends_of.get(head, "")))
                for column, head in enumerate(table.head)
            ]
            for row, ends_of in zip(table.rows, ends, strict=True)
        ],
        len(tested),
        sum(bool(test["mark"]) for test in tested),
        query.urlencode(),
    )


def _cell(table: Table, row: Sequence[Any], column: int) -> tuple[str, str]:
    """Return a cell as displayed, and its mark."""
    cell = row[column]
    if isinstance(cell, Marked):
        return table.rounded([*row[:column], cell.value, *row[column + 1 :]])[column], cell.mark
    return table.rounded(row)[column], ""


def _download(layout: str, sides: Sequence[_Side], direction: str) -> HttpResponse:
    """Return one direction's table as CSV or LaTeX, or both directions with all tests as JSON."""
    if layout in _TYPES:
        side = next((candidate for candidate in sides if candidate.direction == direction), sides[0])
        body = LAYOUTS.get(layout)(table_of_comparison(side.report, ends=layout == "csv")) + "\n"
        response = HttpResponse(body, content_type=f"{_TYPES[layout]}; charset=utf-8")
        name = f"comparison-{side.direction}.{_SUFFIXES[layout]}"
    else:
        body = json.dumps([side.report for side in sides], indent=2, allow_nan=False, ensure_ascii=False)
        response = HttpResponse(f"{body}\n", content_type="application/json")
        name = "comparison.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _qrels_of(request: HttpRequest, corpus: str) -> list[QrelsSnapshot]:
    run = visible.published_runs(request).filter(corpus__name=corpus).first()
    return qrels_of_corpus(run) if run is not None else []


def _first(corpora: Sequence[Any]) -> str:
    """Return the first corpus that has runs, or "" if none has."""
    with_runs = set(Run.objects.filter(published=True).values_list("corpus_id", flat=True).distinct())
    return next((corpus.name for corpus in corpora if corpus.pk in with_runs), "")
