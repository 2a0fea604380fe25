"""Runs: listed, shown, archived, removed, imported, exported, scored and compared; their queries."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import (
    CommandLine,
    File,
    FormPage,
    Has,
    Rest,
    StoredThing,
    register,
    register_stored,
)
from annotation.common.roles import RESEARCHER
from evaluation.operations import run_texts as texts
from evaluation.services.runs import figures, files, listing, queries
from evaluation.services.stored import remove_stored, set_archived
from evaluation.services.stored_kinds import STORED_RUNS

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
    errors=(ValueError,),
    rest=Rest(
        "POST",
        "runs",
        "runs",
        route="runs",
        own_transactions=True,
        creates="runs/{run}",
        example={"name": "near", "corpus": "harbour"},
    ),
    command=CommandLine(positional=("name", "file"), text=texts.imported_run_text),
    page=FormPage("evaluation:bring"),
)
register(
    title=_("Export a run"),
    result=File("text/plain"),
    permission=_ON_RUN,
    run=files.export_run,
    rest=Rest("GET", "runs/<str:run>/trec", "runs"),
    command=CommandLine(text=texts.exported_text),
    page=FormPage(),
)
register(
    name="score_run",
    title=_("Score a run"),
    permission=_ON_RUN,
    run=figures.score_under_qrels,
    rest=Rest("GET", "runs/<str:run>/scores", "runs"),
    command=CommandLine(text=texts.scores_text, layouts=texts.SCORES_LAYOUTS),
    page=FormPage("evaluation:run"),
)
register(
    name="compare_runs",
    title=_("Compare runs"),
    permission=Has((RESEARCHER,), corpora=True),
    run=figures.compare_under_qrels,
    rest=Rest("GET", "comparisons", "runs"),
    command=CommandLine(positional=("runs",), text=texts.comparison_text, layouts=texts.COMPARISON_LAYOUTS),
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
