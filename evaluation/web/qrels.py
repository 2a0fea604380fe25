"""The pages of qrels: all of them beside the judgments they may be made of, and one with its versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.cache import cache
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.formats.base import FormatError
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles, for_roles_on
from annotation.web.staff.frame import said
from evaluation.comparison.query_sets import ASKS, query_remarks
from evaluation.formats import JUDGMENT_FORMATS
from evaluation.formats.qrels_files import QRELS_FORMATS
from evaluation.models import JudgmentSet, QrelsSnapshot, Run
from evaluation.relevance.qrels import rule_named
from evaluation.selectors import QrelsCounts, counts_of
from evaluation.services.common import ImportRefused
from evaluation.services.judgments.freezing import remove_qrels
from evaluation.services.judgments.qrels_files import ID_KINDS, export_qrels
from evaluation.services.systems.registry import InUse
from evaluation.web import offered
from evaluation.web.frame import evaluation_frame, file_download, newest_page, text_parameter
from evaluation.web.job_lines import job_lines, pages_of_made

_KINDS = ("freeze_qrels",)
#: Qrels on a page, judgments below them, and runs that are offered beside one's qrels.
QRELS_PER_PAGE, MOST_SETS, _MOST_RUNS = 30, 100, 200


@dataclass(frozen=True, slots=True)
class _Line:
    """A version of qrels: what it holds, and how its rule reads, "" of a protocol."""

    row: QrelsSnapshot
    counts: QrelsCounts
    rule: str


#: The qrels of an address, in their newest version.
QRELS_OF_ADDRESS = AddressedThing(
    lambda name: (
        QrelsSnapshot.objects.select_related("corpus", "judgments")
        .filter(name=name, published=True)
        .order_by("version")
        .last()
    ),
    gettext_lazy("There are no qrels “%(name)s” here."),
)


@require_safe
@for_roles(*RUNNING, corpora=True)
def qrels_list(request: HttpRequest) -> HttpResponse:
    """All qrels in their newest version, the newest first, and the judgments of the same corpora."""
    open_here = offered.published_qrels(request)
    last = open_here.order_by().values("name").annotate(last=Max("pk")).values("last")
    page = newest_page(
        open_here.filter(pk__in=last).select_related("corpus", "judgments"),
        request.GET,
        number=QRELS_PER_PAGE,
    )
    sets = offered.judgment_sets(request).select_related("corpus").order_by("corpus__name", "name")
    lines = job_lines(request, _KINDS, leads=_leads)
    return render(
        request,
        "evaluation/qrels_list.html",
        evaluation_frame(
            "qrels",
            lines=lines_of(page.rows),
            page=page,
            sets=[(row, _title(row)) for row in sets[:MOST_SETS]],
            more_sets=max(0, sets.count() - MOST_SETS),
            jobs=lines,
            live=any(line.live for line in lines),
        ),
    )


@require_safe
@for_roles_on(QRELS_OF_ADDRESS, *RUNNING)
def qrels_detail(request: HttpRequest, newest_row: QrelsSnapshot) -> HttpResponse:
    """One version, by default the newest: what it was made of, who can be compared by it, and the others."""
    every = QrelsSnapshot.objects.filter(name=newest_row.name, published=True)
    versions = lines_of(every.select_related("corpus", "judgments").order_by("-version"))
    shown = newest_row
    with said(request, UnknownName):
        shown = version_of_qrels(newest_row, text_parameter(request.GET, "version"))
    line = next(one for one in versions if one.row == shown)
    runs = Run.objects.filter(corpus=line.row.corpus, published=True).order_by("name")
    if line.row.asks:
        runs = runs.filter(direction__in=[way for way, asks in ASKS.items() if asks == line.row.asks])
    found = [] if line.counts.keywords else list(runs[: _MOST_RUNS + 1])
    return render(
        request,
        "evaluation/qrels.html",
        evaluation_frame(
            "qrels",
            deeper=True,
            name=newest_row.name,
            line=line,
            remarks=[] if line.counts.keywords else query_remarks(shown),
            versions=versions,
            runs=found[:_MOST_RUNS],
            more_runs=len(found) > _MOST_RUNS,
            reports=line.row.reports.order_by("name"),
            formats=[(key, QRELS_FORMATS.get(key).title) for key in QRELS_FORMATS.keys()],
            sides=list(ASKS.values()),
        ),
    )


@require_safe
@for_roles_on(QRELS_OF_ADDRESS, *RUNNING)
def qrels_export(request: HttpRequest, row: QrelsSnapshot) -> HttpResponseBase:
    """A version as a file, in the format, by the ids and with the side first that the address asks for."""
    format = text_parameter(request.GET, "format") or "trec"
    try:
        version = version_of_qrels(row, text_parameter(request.GET, "version")).version
        return file_download(
            f"{row.name}-{version}.{QRELS_FORMATS.get(format).ending}",
            lambda file: export_qrels(
                name=f"{row.name}:{version}",
                out=file,
                format=format,
                asks=text_parameter(request.GET, "asks"),
                ids=text_parameter(request.GET, "ids") or ID_KINDS[0],
                only_relevant=text_parameter(request.GET, "only") == "1",
            ),
        )
    except (FormatError, ImportRefused, UnknownName) as error:
        told = f"{error.problem}; {error.expected}" if isinstance(error, FormatError) else str(error)
        messages.error(request, told)
        return redirect("evaluation:qrels", row.name)


@require_POST
@for_roles_on(QRELS_OF_ADDRESS, *RUNNING)
def qrels_delete(request: HttpRequest, row: QrelsSnapshot) -> HttpResponse:
    """Remove a version; refused while a report was made from it."""
    then = redirect("evaluation:qrels", row.name)
    with said(request, InUse, Busy, UnknownName) as tell:
        name = f"{row.name}:{version_of_qrels(row, text_parameter(request.POST, 'version')).version}"
        remove_qrels(name=name, actor=account_of(request))
        tell(_("Qrels “%(name)s” removed.") % {"name": name})
        if not QrelsSnapshot.objects.filter(name=row.name, published=True).exists():
            then = redirect("evaluation:qrels_list")
    return then


def lines_of(rows: Iterable[QrelsSnapshot]) -> list[_Line]:
    """Versions with what they hold; it is counted once, since a version never changes."""
    rows = list(rows)
    keys = {row.pk: f"evaluation.relevance.qrels.{row.pk}.{row.digest}" for row in rows}
    known = cache.get_many(list(keys.values()))
    counted = counts_of([row for row in rows if keys[row.pk] not in known])
    cache.set_many({keys[row]: counts for row, counts in counted.items()})
    return [
        _Line(
            row,
            counted[row.pk] if row.pk in counted else known[keys[row.pk]],
            "" if row.pool else rule_named(row.rule).described(),
        )
        for row in rows
    ]


def _leads(done: Sequence[Job]) -> dict[int, str]:
    """The pages of the qrels that finished jobs froze."""
    made = {job.pk: str(job.result.get("qrels", "")) for job in done}
    return pages_of_made("evaluation:qrels", made, QrelsSnapshot.objects.filter(published=True))


def version_of_qrels(row: QrelsSnapshot, text: str) -> QrelsSnapshot:
    """The version of that number beside `row`, which it is where nothing is said; raises UnknownName.

    No names are listed: those of other corpora are nobody's affair.
    """
    if not text:
        return row
    found = None
    if text.isascii() and text.isdigit() and len(text) < 9:
        found = QrelsSnapshot.objects.filter(name=row.name, version=int(text), published=True).first()
    if found is None:
        raise UnknownName(_("These qrels have no version “%(version)s”.") % {"version": text[:20]})
    return found


def _title(row: JudgmentSet) -> Any:
    """What the format of judgments is called; those of a batch have a format of their own."""
    return JUDGMENT_FORMATS.get(row.format).title if row.format in JUDGMENT_FORMATS else row.format
