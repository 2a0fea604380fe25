"""The pages of runs: all of them, filtered, sorted and paged by the address, and one with its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from django.core.cache import cache
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.common.operations import Invalid, OperationContext, operation_named, plain_result
from annotation.common.registry import UnknownName
from annotation.formats.base import FormatError
from annotation.selectors.corpora import split_names
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles, for_roles_on
from annotation.web.common.request_forms import RequestForm, sent_request
from annotation.web.staff.frame import query_string
from evaluation.comparison.ranked_runs import NotComparable
from evaluation.comparison.subsets import BadSubset
from evaluation.metrics.table import UnknownMeasure
from evaluation.models import QrelsSnapshot, Run
from evaluation.services.runs.directions import RUN_DIRECTIONS
from evaluation.services.runs.figures import qrels_of_corpus, score_under_qrels
from evaluation.services.runs.files import tied_queries
from evaluation.services.systems import registry
from evaluation.web import offered
from evaluation.web.frame import evaluation_frame, offer_choices, offer_splits, text_parameter
from evaluation.web.sent_forms import sent_form

#: Runs on a page.
RUNS_PER_PAGE = 50
#: By what a list is sorted: its column, and whether it begins with the most.
_SORTS = {
    "name": ("name", False),
    "queries": ("query_count", True),
    "new": ("pk", True),
}
_HEADS = {
    "name": gettext_lazy("Run"),
    "queries": gettext_lazy("Queries"),
    "new": gettext_lazy("Created"),
}
#: Seconds that figures are remembered; they depend on nothing but runs and qrels, and their digests.
_REMEMBERED = 3600


@dataclass(frozen=True, slots=True)
class _Asked:
    """What an address asks of the list; `after` is where the page before ended."""

    corpus: str = ""
    direction: str = ""
    system: str = ""
    find: str = ""
    sort: str = "name"
    down: bool = False
    archived: bool = False
    after: str = ""

    def address(self) -> str:
        """`?...`, without what is as it is by itself."""
        held = {**asdict(self), "sort": "" if self.sort == "name" else self.sort}
        flags = {"down": "1" if self.down else "", "archived": "1" if self.archived else ""}
        return query_string(**{**held, **flags}) or "?"


@dataclass(frozen=True, slots=True)
class _Head:
    """The head of a column that sorts: its title, where it leads, and which way it is sorted now."""

    title: str
    address: str
    way: str
    number: bool


#: What an address can be wrong about.
RUN_REFUSALS = (UnknownName, UnknownMeasure, NotComparable, BadSubset, FormatError)

#: The run of an address.
RUN = AddressedThing(
    lambda name: Run.objects.filter(name=name, published=True).first(),
    gettext_lazy("There is no run “%(name)s” here."),
)


@require_safe
@for_roles(*RUNNING, corpora=True)
def run_list(request: HttpRequest) -> HttpResponse:
    """All runs, a page at a time."""
    registry.register_unlisted_systems()
    wanted = _asked_in(request.GET)
    published = offered.published_runs(request)
    found = _filtered(published, wanted)
    rows = list(_after(found, wanted).select_related("corpus", "made_by")[: RUNS_PER_PAGE + 1])
    more = len(rows) > RUNS_PER_PAGE
    rows = rows[:RUNS_PER_PAGE]
    return render(
        request,
        "evaluation/runs.html",
        evaluation_frame(
            "runs",
            rows=rows,
            total=found.count(),
            wanted=wanted,
            narrowed=bool(
                wanted.corpus or wanted.direction or wanted.system or wanted.find or wanted.archived
            ),
            heads=[_head(wanted, sort) for sort in _SORTS],
            corpora=published.order_by("corpus__name").values_list("corpus__name", flat=True).distinct(),
            directions=RUN_DIRECTIONS,
            later=replace(wanted, after=_mark(rows[-1], wanted)).address() if more else "",
            first=replace(wanted, after="").address() if wanted.after else "",
            archive=_other_side(published, wanted),
        ),
    )


@require_safe
@for_roles_on(RUN, *RUNNING)
def run_detail(request: HttpRequest, row: Run) -> HttpResponseBase:
    """One run: where it comes from, and its figures under chosen qrels."""
    choices, account, choice = qrels_of_corpus(row), account_of(request), request.GET.copy()
    choice["runs"] = row.name
    figures, wrong, snapshot = None, "", None
    try:
        snapshot = chosen_qrels(request, choices)
        if snapshot is not None:
            asked, _row = sent_request(operation_named("score_run"), account, request.GET, run=row.name)
            figures = plain_result(score_under_qrels(asked, OperationContext(account)))
    except Invalid as error:
        wrong = error.errors[0].detail
    except RUN_REFUSALS as error:
        wrong = str(error)
    other = Run.objects.filter(published=True, corpus=row.corpus).exclude(direction=row.direction)
    other = other.filter(made_by=row.made_by) if row.made_by_id else other.filter(system=row.system)
    return render(
        request,
        "evaluation/run.html",
        evaluation_frame(
            "runs",
            deeper=True,
            run=row,
            form=figure_form(request, "score_run", with_chosen(choices, snapshot), snapshot),
            choices=choices,
            snapshot=snapshot,
            figures=figures,
            splits=[split for split in split_names(row.corpus) if split],
            tied=_tied(row),
            choice=choice.urlencode(),
            wrong=wrong,
            other=other.order_by("name").first() if row.made_by_id or row.system else None,
        ),
    )


def chosen_qrels(request: HttpRequest, choices: list[QrelsSnapshot]) -> QrelsSnapshot | None:
    """The qrels that an address names, by NAME or NAME:VERSION; else the newest, None where there are none.

    Raises UnknownName.
    """
    if named := text_parameter(request.GET, "qrels"):
        return offered.offered_qrels(request, named)
    return next(iter(choices), None)


def figure_form(
    request: HttpRequest,
    operation: str,
    choices: list[QrelsSnapshot],
    snapshot: QrelsSnapshot | None,
    *fields: str,
) -> RequestForm:
    """The form that says under which qrels, and of which images, figures are: as the address does."""
    shown = ("qrels", "split", "missing", *fields)
    form = sent_form(request, operation_named(operation), fields_shown=shown).form
    titles = {each.versioned: f"{each} ({each.pool})" if each.pool else str(each) for each in choices}
    offer_choices(form, "qrels", titles)
    offer_splits(form, "split")
    if snapshot is not None:
        form.initial["qrels"] = snapshot.versioned
    return form


def with_chosen(choices: list[QrelsSnapshot], chosen: QrelsSnapshot | None) -> list[QrelsSnapshot]:
    """What is offered, and an older version where one was chosen."""
    return choices if chosen is None or chosen in choices else [chosen, *choices]


def _tied(row: Run) -> int:
    """How many queries have items with equal scores: a run never changes."""
    key = f"evaluation.tied.{row.pk}.{row.digest}"
    found = cache.get(key)
    if found is None:
        found = tied_queries(row)
        cache.set(key, found)
    return int(found)


def _asked_in(given: Mapping[str, str]) -> _Asked:
    """What an address asks for; what is unknown counts as not asked."""
    sort, direction = text_parameter(given, "sort"), text_parameter(given, "direction")
    return _Asked(
        corpus=text_parameter(given, "corpus"),
        direction=direction if direction in RUN_DIRECTIONS else "",
        system=text_parameter(given, "system"),
        find=text_parameter(given, "find"),
        sort=sort if sort in _SORTS else "name",
        down=text_parameter(given, "down") == "1",
        archived=text_parameter(given, "archived") == "1",
        after=text_parameter(given, "after"),
    )


def _filtered(runs: QuerySet[Run], wanted: _Asked) -> QuerySet[Run]:
    runs = runs.filter(archived_at__isnull=not wanted.archived)
    if wanted.corpus:
        runs = runs.filter(corpus__name=wanted.corpus)
    if wanted.direction:
        runs = runs.filter(direction=wanted.direction)
    if wanted.system:
        runs = runs.filter(Q(made_by__name=wanted.system) | Q(system=wanted.system))
    if wanted.find:
        runs = runs.filter(Q(name__icontains=wanted.find) | Q(system__icontains=wanted.find))
    return runs


def _after(runs: QuerySet[Run], wanted: _Asked) -> QuerySet[Run]:
    """In the order asked for, those behind the mark "VALUE,PK" of the page before."""
    column = _SORTS[wanted.sort][0]
    sign, side = ("-", "lt") if wanted.down else ("", "gt")
    value, comma, key = wanted.after.rpartition(",")
    if comma and key.isdecimal() and (column == "name" or value.isdecimal()):
        beyond = Q(**{f"{column}__{side}": value}) | Q(**{column: value, f"pk__{side}": key})
        runs = runs.filter(beyond)
    return runs.order_by(f"{sign}{column}", f"{sign}pk")


def _other_side(runs: QuerySet[Run], wanted: _Asked) -> str:
    """The address of what is archived, or back from it; "" where nothing is."""
    if not wanted.archived and not runs.filter(archived_at__isnull=False).exists():
        return ""
    return replace(_Asked(), archived=not wanted.archived).address()


def _mark(row: Run, wanted: _Asked) -> str:
    return f"{getattr(row, _SORTS[wanted.sort][0])},{row.pk}"


def _head(wanted: _Asked, sort: str) -> _Head:
    """Sorting by another column begins as suits it; again turns it round."""
    now = wanted.sort == sort
    down = not wanted.down if now else _SORTS[sort][1]
    way = ("descending" if wanted.down else "ascending") if now else ""
    address = replace(wanted, sort=sort, down=down, after="").address()
    return _Head(str(_HEADS[sort]), address, way, number=sort == "queries")
