"""The pages that inspect a run's queries: the list, and one query with its best items."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.web.common.access import RUNNING, for_roles_on
from annotation.web.staff.campaign_pages import query_string as as_query
from evaluation.comparison import inspection
from evaluation.comparison.original_pairs import has_original_pairs, original_pairs
from evaluation.models import QrelsSnapshot, Run
from evaluation.services.runs.figures import qrels_of_corpus
from evaluation.services.runs.queries import values_under
from evaluation.web import visible
from evaluation.web.page_context import page_context, text_parameter
from evaluation.web.runs import RUN, chosen_qrels
from phrasebox.errors import PhraseboxError
from phrasebox.registry import UnknownName

#: Queries per page of the list.
QUERIES_PER_PAGE = 50
#: The largest number of runs and qrels to choose from; the address can name others.
MOST_QRELS_LISTED = 200
_ORDERS = {
    "run": gettext_lazy("as in the run"),
    "worst": gettext_lazy("lowest value first"),
    "difference": gettext_lazy("largest difference first"),
}


@dataclass(frozen=True)
class _View:
    """The state of both pages: a run, optionally a second run and qrels, and an order of queries.

    `values` has each run's value of each query, by row id, without qrels under the original pairs; it is
    empty in a corpus that has neither.
    """

    run: Run
    beside: Run | None
    snapshot: QrelsSnapshot | None
    choices: list[QrelsSnapshot]
    order: str
    queries: list[int]
    values: list[dict[int, float | None]]
    error: str

    @property
    def runs(self) -> list[Run]:
        """The run, and the second one if there is one."""
        return [self.run] if self.beside is None else [self.run, self.beside]

    def address(self, query: int | None = None, **more: str | int) -> str:
        """Return the address of the list, or of one of its queries, with all choices."""
        chosen = {
            "qrels": f"{self.snapshot.name}:{self.snapshot.version}" if self.snapshot else "",
            "with": self.beside.name if self.beside else "",
            "order": "" if self.order == "run" else self.order,
        }
        held = as_query(**{**chosen, **more})
        if query is None:
            return reverse("evaluation:queries", args=[self.run.name]) + held
        return reverse("evaluation:query", args=[self.run.name, query]) + held


@require_safe
@for_roles_on(RUN, *RUNNING)
def query_list(request: HttpRequest, run: Run) -> HttpResponse:
    """List the queries of a run in a chosen order, a page at a time."""
    view = _view(request, run)
    start = _start(text_parameter(request.GET, "from"), view)
    queries = view.queries[start : start + QUERIES_PER_PAGE]
    called = inspection.entries_of(view.run, queries, asking=True)
    return render(
        request,
        "evaluation/queries.html",
        page_context(
            "runs",
            deeper=True,
            view=view,
            run=view.run,
            orders=_orders(view),
            pairs=has_original_pairs(run.corpus),
            others=_others(view),
            measure=inspection.MEASURE,
            rows=[
                (called[query], view.address(query), [values.get(query) for values in view.values])
                for query in queries
            ],
            total=len(view.queries),
            later=view.address(**{"from": view.queries[start + QUERIES_PER_PAGE]})
            if start + QUERIES_PER_PAGE < len(view.queries)
            else "",
            first=view.address() if start else "",
        ),
    )


@require_safe
@for_roles_on(RUN, *RUNNING)
def query_detail(request: HttpRequest, run: Run, query: int) -> HttpResponse:
    """Show one query with the best items of the run and of the second run."""
    view = _view(request, run)
    asking = inspection.entries_of(view.run, [query], asking=True).get(query)
    if asking is None:
        raise Http404(_("Run “%(name)s” has no such query.") % {"name": view.run.name})
    index = view.queries.index(query) if query in view.queries else None
    return render(
        request,
        "evaluation/query.html",
        page_context(
            "runs",
            deeper=True,
            view=view,
            run=view.run,
            asking=asking,
            tops=[
                (
                    run,
                    inspection.top_of(run, asking, view.snapshot),
                    view.values[number].get(query) if view.values else None,
                )
                for number, run in enumerate(view.runs)
            ],
            measure=inspection.MEASURE,
            place=None if index is None else index + 1,
            total=len(view.queries),
            before=view.address(view.queries[index - 1]) if index else "",
            behind=view.address(view.queries[index + 1])
            if index is not None and index + 1 < len(view.queries)
            else "",
            back=view.address(),
        ),
    )


def _view(request: HttpRequest, run: Run) -> _View:
    """Return the choices of an address; invalid ones are dropped with a message."""
    choices, message = qrels_of_corpus(run), ""
    snapshot: QrelsSnapshot | None = None
    beside: Run | None = None
    values: list[dict[int, float | None]] = []
    try:
        if text_parameter(request.GET, "with"):
            (beside,) = visible.visible_runs(request, [text_parameter(request.GET, "with")])
            if (beside.corpus_id, beside.direction) != (run.corpus_id, run.direction):
                message = _("Run “%(name)s” has another corpus or direction: choose a different one.") % {
                    "name": beside.name
                }
                beside = None
        snapshot = chosen_qrels(request, run.corpus, choices)
        if snapshot is not None or has_original_pairs(run.corpus):
            values = [
                values_under(scored_run, snapshot or original_pairs([scored_run]))
                for scored_run in ([run] if beside is None else [run, beside])
            ]
    except (UnknownName, PhraseboxError) as error:
        message, snapshot, values = str(error), None, []
    order = text_parameter(request.GET, "order")
    if order not in _ORDERS or (order != "run" and not values) or (order == "difference" and len(values) < 2):
        order = "run"
    match order:
        case "worst":
            queries = inspection.worst(values[0])
        case "difference":
            queries = inspection.most_different(*values)
        case _:
            queries = inspection.queries_in_order(run)
    return _View(run, beside, snapshot, choices, order, queries, values, message)


def _orders(view: _View) -> list[tuple[str, Any]]:
    """Return the available orders: by value if there are qrels, by difference if there are two runs."""
    held = [key for key in _ORDERS if key == "run" or (view.values and (key == "worst" or view.beside))]
    return [(key, _ORDERS[key]) for key in held]


def _others(view: _View) -> Sequence[Run]:
    """Return the runs for the comparison: of the same corpus and direction, including the chosen one."""
    run = view.run
    alike = Run.objects.filter(published=True, corpus=run.corpus_id, direction=run.direction)
    others = list(alike.exclude(pk=run.pk).order_by("name")[:MOST_QRELS_LISTED])
    return others + [run for run in view.runs[1:] if run not in others]


def _start(text: str, view: _View) -> int:
    """Return the position of the query at which a page begins; 0 if the address names none."""
    query = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
    return view.queries.index(query) if query in view.queries else 0
