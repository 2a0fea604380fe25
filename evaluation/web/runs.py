"""The pages of runs: the list, filtered, sorted and paged by the address, and one run with its figures."""

from typing import Any

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.common.operations import Invalid, OperationContext, operation_named, result_to_dict
from annotation.selectors.corpora import split_names
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles, for_roles_on
from annotation.web.common.lists import SortColumn, list_page
from annotation.web.common.request_forms import RequestForm, query_request
from evaluation.comparison.original_pairs import has_original_pairs
from evaluation.comparison.subsets import BadSubset
from evaluation.models import QrelsSnapshot, Run
from evaluation.services.runs.figures import qrels_of_corpus, score_under_qrels
from evaluation.services.runs.files import tied_queries
from evaluation.services.runs.listing import RunsRequest, narrow_runs
from evaluation.services.systems import registry
from evaluation.web import visible
from evaluation.web.page_context import page_context, set_choices, suggest_splits, text_parameter
from evaluation.web.submitted_forms import submitted_form
from phrasebox.errors import PhraseboxError
from phrasebox.metrics.table import UnknownMeasure
from phrasebox.registry import UnknownName
from phrasebox.text_files import FormatError

#: Runs per page.
RUNS_PER_PAGE = 50
#: The sort orders of the list, in the order of its columns.
_SORTS = {
    "name": SortColumn(gettext_lazy("Run"), "name"),
    "queries": SortColumn(gettext_lazy("Queries"), "query_count", down=True),
    "new": SortColumn(gettext_lazy("Created"), "id", down=True),
}
#: The filters of the list: fields of the request of `list_runs`.
_FILTERS = ("corpus", "direction", "system")
#: Seconds for which figures are cached; they depend only on runs, qrels, and their digests.
_REMEMBERED = 3600

#: Errors that a wrong address can cause.
RUN_ERRORS = (UnknownName, UnknownMeasure, PhraseboxError, BadSubset, FormatError)

#: The run of an address.
RUN = AddressedThing(
    lambda name: Run.objects.filter(name=name, published=True).first(),
    gettext_lazy("There is no run “%(name)s” here."),
)


@require_safe
@for_roles(*RUNNING, corpora=True)
def run_list(request: HttpRequest) -> HttpResponse:
    """List all runs, a page at a time."""
    registry.register_unlisted_systems()
    filters = {name: text_parameter(request.GET, name) for name in _FILTERS}
    filter_request = RunsRequest(direction=filters["direction"] or None, system=filters["system"] or None)
    runs = narrow_runs(visible.published_runs(request).select_related("corpus", "made_by"), filter_request)
    page = list_page(
        runs.filter(corpus__name=filters["corpus"]) if filters["corpus"] else runs,
        request.GET,
        sorts=_SORTS,
        number=RUNS_PER_PAGE,
        also=filters,
        searched=("name", "system"),
        archive=True,
    )
    return render(
        request,
        "evaluation/runs.html",
        page_context(
            "runs",
            page=page,
            narrowed=any(filters.values()) or page.query.find or page.query.archived,
            form=submitted_form(request, operation_named("list_runs"), only_fields=_FILTERS).form,
        ),
    )


@require_safe
@for_roles_on(RUN, *RUNNING)
def run_detail(request: HttpRequest, row: Run) -> HttpResponseBase:
    """Show one run: its origin, and its figures under chosen qrels."""
    choices, account, choice = qrels_of_corpus(row), account_of(request), request.GET.copy()
    choice["runs"] = row.name
    figures, message, snapshot = None, "", None
    try:
        snapshot = chosen_qrels(request, row.corpus, choices)
        if snapshot is not None or has_original_pairs(row.corpus):
            qrels = {"qrels": snapshot.versioned} if snapshot is not None else {}
            score_request, _row = query_request(
                operation_named("score_run"), account, request.GET, run=row.name, **qrels
            )
            figures = result_to_dict(score_under_qrels(score_request, OperationContext(account)))
    except Invalid as error:
        message = error.errors[0].detail
    except RUN_ERRORS as error:
        message = str(error)
    counterpart = Run.objects.filter(published=True, corpus=row.corpus).exclude(direction=row.direction)
    counterpart = (
        counterpart.filter(made_by=row.made_by) if row.made_by_id else counterpart.filter(system=row.system)
    )
    return render(
        request,
        "evaluation/run.html",
        page_context(
            "runs",
            deeper=True,
            run=row,
            form=figure_form(request, "score_run", row.corpus, with_chosen(choices, snapshot), snapshot),
            choices=choices,
            snapshot=snapshot,
            figures=figures,
            splits=[split for split in split_names(row.corpus) if split],
            tied=_tied(row),
            choice=choice.urlencode(),
            error=message,
            other=counterpart.order_by("name").first() if row.made_by_id or row.system else None,
        ),
    )


def chosen_qrels(request: HttpRequest, corpus: Any, choices: list[QrelsSnapshot]) -> QrelsSnapshot | None:
    """Return the qrels that an address names, by NAME or NAME:VERSION; None for the original pairs. A corpus
    without such pairs has its newest qrels instead, None if there are none.

    Raises UnknownName.
    """
    if named := text_parameter(request.GET, "qrels"):
        return visible.visible_qrels(request, named)
    return None if has_original_pairs(corpus) else next(iter(choices), None)


def figure_form(
    request: HttpRequest,
    operation: str,
    corpus: Any,
    choices: list[QrelsSnapshot],
    snapshot: QrelsSnapshot | None,
    *fields: str,
) -> RequestForm:
    """Return the form that selects qrels and images for figures, filled from the address."""
    visible_fields = ("qrels", "split", "missing", "convention", *fields)
    form = submitted_form(request, operation_named(operation), only_fields=visible_fields).form
    titles = {
        snapshot_choice.versioned: f"{snapshot_choice} ({snapshot_choice.pool})"
        if snapshot_choice.pool
        else str(snapshot_choice)
        for snapshot_choice in choices
    }
    pairs = _("original pairs") if corpus is not None and has_original_pairs(corpus) else None
    set_choices(form, "qrels", titles, none=pairs)
    suggest_splits(form, "split")
    if snapshot is not None:
        form.initial["qrels"] = snapshot.versioned
    return form


def with_chosen(choices: list[QrelsSnapshot], chosen: QrelsSnapshot | None) -> list[QrelsSnapshot]:
    """Return the choices, plus an older version if one was chosen."""
    return choices if chosen is None or chosen in choices else [chosen, *choices]


def _tied(row: Run) -> int:
    """Return how many queries have items with equal scores; it is cached, since a run never changes."""
    key = f"evaluation.tied.{row.pk}.{row.digest}"
    tied = cache.get(key)
    if tied is None:
        tied = tied_queries(row)
        cache.set(key, tied)
    return int(tied)
