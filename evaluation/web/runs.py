"""The pages of runs: all of them, filtered, sorted and paged by the address, and one with its figures."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.core.cache import cache
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.common.registry import UnknownName
from annotation.selectors.corpora import split_names
from annotation.web.common.access import RUNNING, AddressedThing, for_roles, for_roles_on
from annotation.web.staff.frame import query_string
from evaluation.comparison.comparisons import per_query_rows, score_run
from evaluation.comparison.missing import REFUSE, Missing
from evaluation.comparison.query_sets import ASKS
from evaluation.comparison.ranked_runs import NotComparable
from evaluation.comparison.subsets import BadSubset, Subset, subset_named
from evaluation.formats.per_query import WRITERS, write_per_query
from evaluation.metrics.table import UnknownMeasure
from evaluation.models import QrelsSnapshot, Run, System
from evaluation.services.runs.directions import RUN_DIRECTIONS
from evaluation.services.runs.files import tied_queries
from evaluation.services.systems import registry
from evaluation.web import offered
from evaluation.web.frame import evaluation_frame, file_download, text_parameter
from evaluation.web.splits import NotOffered, missing_in, part_in

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
#: What each query's values are asked for by: `as=queries-csv`.
EACH_QUERY = "queries-"


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
RUN_REFUSALS = (UnknownName, UnknownMeasure, NotComparable, NotOffered, BadSubset)

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
    """One run: where it comes from, and its figures under chosen qrels; or each query's values, as a file."""
    choices = qrels_of_corpus(row)
    figures, wrong, snapshot = None, "", None
    missing: Missing = REFUSE
    try:
        missing = missing_in(request.GET)
        snapshot = chosen_qrels(request, choices)
        if snapshot is not None:
            split = part_in(request.GET, "split", row.corpus)
            if text_parameter(request.GET, "as"):
                return each_query(
                    text_parameter(request.GET, "as"), row.name, [row], snapshot, (), split, missing
                )

            subset = subset_named(row.corpus.name, split, files=False)

            def make() -> dict[str, Any]:
                return score_run(row, snapshot, subset=subset, missing=missing)

            figures = cached_for_runs("scored-5", [row], snapshot, make, split, images_key(subset), missing)
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
            choices=with_chosen(choices, snapshot),
            snapshot=snapshot,
            figures=figures,
            split=text_parameter(request.GET, "split"),
            splits=[split for split in split_names(row.corpus) if split],
            missing=missing,
            tied=_tied(row),
            same=_without_as(request),
            wrong=wrong,
            other=other.order_by("name").first() if row.made_by_id or row.system else None,
        ),
        status=409 if wrong and text_parameter(request.GET, "as") else 200,
    )


def qrels_of_corpus(run: Run, *others: Run) -> list[QrelsSnapshot]:
    """The qrels that all of these runs can be scored under, the newest version of each name, newest first."""
    newest: dict[str, QrelsSnapshot] = {}
    for row in QrelsSnapshot.objects.filter(corpus=run.corpus_id, published=True).order_by("-pk"):
        newest.setdefault(row.name, row)
    asked = {ASKS[one.direction] for one in (run, *others)}
    return [row for row in newest.values() if not row.asks or asked == {row.asks}]


def with_chosen(choices: list[QrelsSnapshot], chosen: QrelsSnapshot | None) -> list[QrelsSnapshot]:
    """What is offered, and an older version where one was chosen."""
    return choices if chosen is None or chosen in choices else [chosen, *choices]


def chosen_qrels(request: HttpRequest, choices: list[QrelsSnapshot]) -> QrelsSnapshot | None:
    """The qrels that an address names, by NAME or NAME:VERSION; else the newest, None where there are none.

    Raises UnknownName.
    """
    named = text_parameter(request.GET, "qrels")
    if named:
        return offered.offered_qrels(request, named)
    return choices[0] if choices else None


def each_query(
    layout: str,
    called: str,
    runs: Sequence[Run],
    snapshot: QrelsSnapshot,
    measures: Sequence[str],
    split: str,
    missing: str,
) -> HttpResponseBase:
    """Each query's values as a file; raises NotOffered for a layout that is none, else as scoring does."""
    ending = f".{layout.removeprefix(EACH_QUERY)}"
    if not layout.startswith(EACH_QUERY) or ending not in WRITERS:
        raise NotOffered(
            _("“%(given)s” is not a file format: choose one of the links.") % {"given": layout[:20]}
        )
    subset = subset_named(snapshot.corpus.name, split, files=False)
    rows = per_query_rows(runs, snapshot, measures, subset=subset, missing=missing)
    return file_download(f"{called}-queries{ending}", lambda file: write_per_query(file, rows))


def _tied(row: Run) -> int:
    """How many queries have items with equal scores: a run never changes."""
    key = f"evaluation.tied.{row.pk}.{row.digest}"
    found = cache.get(key)
    if found is None:
        found = tied_queries(row)
        cache.set(key, found)
    return int(found)


def _without_as(request: HttpRequest) -> str:
    """The address's whole choice, without the kind of file."""
    given = request.GET.copy()
    given.pop("as", None)
    return given.urlencode()


def images_key(subset: Subset | None) -> str:
    """A word for the images of a subset ("" for all): those of a run may be others under the same name."""
    return hashlib.sha256(repr(sorted(subset.images)).encode()).hexdigest() if subset else ""


def cached_for_runs(what: str, runs: list[Run], snapshot: QrelsSnapshot, make: Any, *more: str) -> Any:
    """What `make` computes of runs under qrels, once an hour: it depends on them, their digests, and what is
    declared of their systems alone.

    Qrels of the same rows may have two names, and what is made tells the one that was asked for.
    """
    known = [f"{snapshot.pk}.{snapshot.digest}", *(f"{run.pk}.{run.digest}" for run in runs)]
    declared = System.objects.filter(runs__in=runs).order_by("pk").values_list("trained_on", flat=True)
    key = ":".join([what, *known, *declared, *more])
    found = cache.get(_short(key))
    if found is None:
        found = make()
        cache.set(_short(key), found, _REMEMBERED)
    return found


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


def _short(key: str) -> str:
    return f"evaluation.{hashlib.sha256(key.encode()).hexdigest()}"
