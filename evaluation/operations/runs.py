"""Operations on runs and their queries: list, show, archive, remove, import, export, score and compare."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import (
    CommandLine,
    File,
    FormPage,
    Has,
    Rest,
    StoredThing,
    register_stored,
    result_to_dict,
)
from annotation.common.roles import RESEARCHER
from evaluation.comparison.comparisons import (
    table_of_comparison,
    table_of_intervals,
    table_of_preferences,
    table_of_scores,
)
from evaluation.operations import register
from evaluation.services.runs import figures, files, listing, queries
from evaluation.services.runs.figures import RunComparison, RunScores
from evaluation.services.runs.files import RunFile, RunReport
from evaluation.services.stored import remove_stored, set_archived
from evaluation.services.stored_kinds import STORED_RUNS
from phrasebox.figure_basis import FigureBasis
from phrasebox.figure_tables import LAYOUTS, Table


def imported_run_text(report: RunReport) -> str:
    """Return the result of an import."""
    end = "already exists, nothing changed" if report.unchanged else "imported"
    best = f", the best {report.depth} stored" if report.depth else ""
    remarks = "".join(f"{remark}\n" for remark in report.remarks)
    return (
        f"{report.entries} entries in {report.queries} rankings ({report.direction}{best})\n"
        f"{remarks}"
        f"run {report.run!r} of corpus {report.corpus!r} {end}\n"
        f"{report.seconds:.1f} s, digest {report.digest}"
    )


def exported_text(written: RunFile) -> str:
    """Return what was written, and how other tools treat its ties."""
    lines = [f"{written.lines} lines written"]
    if written.tied:
        lines.append(
            f"{written.tied} queries have items with equal scores; where they stay equal, tools that reorder "
            "such items, as trec_eval does, may give other values for these queries"
        )
    if written.differ is not None:
        lines.append(f"{written.differ} queries have other values in trec_eval")
    return "\n".join(lines)


def scores_text(scores: RunScores) -> str:
    """Return a run's figures as a table, below the remarks on them."""
    which = "; ".join(filter(None, [scores.pool, scores.subset]))
    of = f"{scores.queries} queries of {_qrels(scores)}"
    lines = [f"{scores.run}, {scores.direction}: {of}{f' ({which})' if which else ''}."]
    if not scores.pool:
        lines.append("Unjudged items count as not relevant; in the column 'at best', as relevant.")
    if scores.folds:
        lines.append(f"Means over {scores.folds} folds of the images.")
    lines += ["", LAYOUTS.get("text")(table_of_scores(result_to_dict(scores)))]
    return "\n".join(lines)


def comparison_text(comparison: RunComparison) -> str:
    """Return the figures of runs with marks of significance, then their intervals."""
    tested = sum(test["p"] is not None for test in comparison.tests)
    report = result_to_dict(comparison)
    text = (
        f"{_of(comparison)}\nAgainst {comparison.baseline}: * p <= 0.1, ** p <= 0.05, *** p "
        f"<= 0.01, adjusted by Holm for {tested} tests (McNemar; randomisation, of whole images where "
        f"several queries are of one, {comparison.rounds} permutations).\n\n"
        f"{LAYOUTS.get('text')(table_of_comparison(report))}"
    )
    if not comparison.resamples:
        return text
    intervals = replace(table_of_intervals(report), basis=FigureBasis())  # shown below the first table
    return f"{text}\n\n{LAYOUTS.get('text')(intervals)}"


def _preferences(comparison: RunComparison) -> str:
    return (
        f"{_of(comparison)}\nAgainst {comparison.baseline}: queries on which a run is better, equal or "
        "worse; share of the better ones among the unequal, with its interval of 95% (Wilson); p of the "
        "exact sign test (of a randomisation of whole images where several queries are of one), "
        f"not adjusted.\n\n{LAYOUTS.get('text')(table_of_preferences(result_to_dict(comparison)))}"
    )


def _of(comparison: RunComparison) -> str:
    which = f" ({comparison.subset})" if comparison.subset else ""
    return f"{comparison.direction}: {comparison.queries} queries of {_qrels(comparison)}{which}."


def _qrels(figures: RunScores | RunComparison) -> str:
    """Return the qrels of figures in words."""
    return figures.qrels if figures.version is None else f"qrels {figures.qrels} version {figures.version}"


def _as(layout: str, table: Callable[[dict[str, Any]], Table]) -> Callable[[Any], str]:
    return lambda result: LAYOUTS.get(layout)(table(result_to_dict(result)))


#: The layouts of figures for papers and programs.
SCORES_LAYOUTS = {layout: _as(layout, table_of_scores) for layout in ("csv", "latex")}
COMPARISON_LAYOUTS = {
    "csv": _as("csv", partial(table_of_comparison, ends=True)),
    "latex": _as("latex", table_of_comparison),
    "preferences": _preferences,
    "preferences-csv": _as("csv", table_of_preferences),
}


_ON_RUN = Has((RESEARCHER,), on="run", corpora=True)

register_stored(
    StoredThing(
        kind=STORED_RUNS,
        word="run",
        words="runs",
        titles=(
            _("List runs"),
            _("Show a run"),
            _("Archive a run, or bring it back"),
            _("Remove a run"),
        ),
        path="runs",
        roles=(RESEARCHER,),
        listing=listing.RunsRequest,
        results=(listing.RunSummary, listing.RunSummary),
        summary=listing.run_summary,
        detail=listing.run_summary,
        narrow=listing.narrow_runs,
        related=("corpus", "made_by"),
        archive=set_archived,
        remove=remove_stored,
    )
)
register(
    title=_("Import a run"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=files.import_run,
    rest=Rest(
        "POST",
        "runs",
        "runs",
        route="runs",
        own_transactions=True,
        creates="runs/{run}",
        example={"name": "near", "corpus": "harbour"},
    ),
    command=CommandLine(positional=("name", "file"), text=imported_run_text),
    page=FormPage("evaluation:bring"),
)
register(
    title=_("Export a run"),
    result=File("text/plain"),
    permission=_ON_RUN,
    run=files.export_run,
    rest=Rest("GET", "runs/<str:run>/trec", "runs"),
    command=CommandLine(text=exported_text),
    page=FormPage(),
)
register(
    name="score_run",
    title=_("Score a run"),
    permission=_ON_RUN,
    run=figures.score_under_qrels,
    rest=Rest("GET", "runs/<str:run>/scores", "runs"),
    command=CommandLine(text=scores_text, layouts=SCORES_LAYOUTS),
    page=FormPage("evaluation:run"),
)
register(
    name="compare_runs",
    title=_("Compare runs"),
    permission=Has((RESEARCHER,), corpora=True),
    run=figures.compare_under_qrels,
    rest=Rest("GET", "comparisons", "runs"),
    command=CommandLine(positional=("runs",), text=comparison_text, layouts=COMPARISON_LAYOUTS),
    page=FormPage("evaluation:compare"),
)
register(
    name="export_values",
    title=_("Export each query's values"),
    result=File("application/octet-stream"),
    permission=Has((RESEARCHER,), corpora=True),
    run=figures.query_values,
    rest=Rest("GET", "query-values", "runs"),
    command=CommandLine(positional=("runs",)),
    page=FormPage(),
)
register(
    title=_("List the queries of a run"),
    result=queries.RunQuery,
    permission=_ON_RUN,
    run=queries.list_queries,
    rest=Rest("GET", "runs/<str:run>/queries", "runs", route="run_queries"),
    page=FormPage("evaluation:queries"),
)
register(
    title=_("Show a query of a run"),
    permission=_ON_RUN,
    run=queries.show_query,
    rest=Rest("GET", "runs/<str:run>/queries/<int:query>", "runs", route="run_query"),
    page=FormPage("evaluation:query"),
)
