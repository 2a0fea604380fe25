"""The queries of a run: listed, and one looked at."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, FormPage, Has, Operation, Rest, register
from annotation.common.roles import RESEARCHER
from evaluation.comparison.ranked_runs import NotComparable
from evaluation.metrics.table import UnknownMeasure
from evaluation.services.runs import queries

_ON_RUN = Has((RESEARCHER,), on="run", corpora=True)
_REFUSED = (NotComparable, UnknownMeasure)

register(
    Operation(
        name="list_queries",
        title=_("List the queries of a run"),
        request=queries.QueriesRequest,
        result=queries.RunQuery,
        permission=_ON_RUN,
        run=queries.list_queries,
        errors=_REFUSED,
        listed=True,
        rest=Rest("GET", "runs/<str:run>/queries", "runs", route="run_queries"),
        command=CommandLine(positional=("run",)),
        page=FormPage("evaluation:queries"),
    )
)
register(
    Operation(
        name="show_query",
        title=_("Show a query of a run"),
        request=queries.QueryRequest,
        result=queries.InspectedQuery,
        permission=_ON_RUN,
        run=queries.show_query,
        errors=_REFUSED,
        rest=Rest("GET", "runs/<str:run>/queries/<int:query>", "runs", route="run_query"),
        command=CommandLine(positional=("run", "query")),
        page=FormPage("evaluation:query"),
    )
)
