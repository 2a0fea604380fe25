"""The pages of qrels: the list beside the judgments from which qrels can be made, and one version."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.core.cache import cache
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.common.operations import operation_named
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles, for_roles_on
from annotation.web.common.request_forms import RequestForm
from evaluation.comparison.query_sets import ASKS, query_remarks
from evaluation.models import JudgmentSet, QrelsSnapshot, Run
from evaluation.selectors import QrelsCounts, counts_of
from evaluation.services.stored_kinds import QRELS
from evaluation.web import visible
from evaluation.web.job_lines import job_lines, pages_of_results
from evaluation.web.page_context import newest_page, page_context
from phrasebox.formats import JUDGMENT_FORMATS
from phrasebox.relevance.qrels import rule_named

_KINDS = ("freeze_qrels",)
#: Qrels per page, judgments listed below them, and runs listed beside one version.
QRELS_PER_PAGE, MOST_SETS, _MOST_RUNS = 30, 100, 200


@dataclass(frozen=True, slots=True)
class _Line:
    """A version of qrels: its counts, and its rule in words, "" for a protocol."""

    row: QrelsSnapshot
    counts: QrelsCounts
    rule: str


#: The version of qrels of an address: NAME:VERSION, or NAME for the newest.
QRELS_OF_ADDRESS = AddressedThing(
    lambda name: cast(QrelsSnapshot | None, QRELS.find(name, None, ())),
    gettext_lazy("There are no qrels “%(name)s” here."),
)


@require_safe
@for_roles(*RUNNING, corpora=True)
def qrels_list(request: HttpRequest) -> HttpResponse:
    """List all qrels in their newest version, the newest first, and the judgments of the same corpora."""
    open_here = visible.published_qrels(request)
    last = open_here.order_by().values("name").annotate(last=Max("pk")).values("last")
    page = newest_page(
        open_here.filter(pk__in=last).select_related("corpus", "judgments"),
        request.GET,
        number=QRELS_PER_PAGE,
    )
    sets = visible.judgment_sets(request).select_related("corpus").order_by("corpus__name", "name")
    lines = job_lines(request, _KINDS, leads=_leads)
    return render(
        request,
        "evaluation/qrels_list.html",
        page_context(
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
def qrels_detail(request: HttpRequest, row: QrelsSnapshot) -> HttpResponse:
    """Show one version: its origin, the runs that it can compare, and the other versions."""
    every = QrelsSnapshot.objects.filter(name=row.name, published=True)
    versions = lines_of(every.select_related("corpus", "judgments").order_by("-version"))
    line = next(version for version in versions if version.row == row)
    runs = Run.objects.filter(corpus=row.corpus, published=True).order_by("name")
    if row.asks:
        runs = runs.filter(direction__in=[way for way, asks in ASKS.items() if asks == row.asks])
    listed = [] if line.counts.keywords else list(runs[: _MOST_RUNS + 1])
    initial = {"asks": row.asks}
    return render(
        request,
        "evaluation/qrels.html",
        page_context(
            "qrels",
            deeper=True,
            name=row.name,
            line=line,
            remarks=[] if line.counts.keywords else query_remarks(row),
            versions=versions,
            runs=listed[:_MOST_RUNS],
            more_runs=len(listed) > _MOST_RUNS,
            reports=row.reports.order_by("name"),
            export=RequestForm(operation_named("export_qrels"), account_of(request), initial=initial),
        ),
    )


def lines_of(rows: Iterable[QrelsSnapshot]) -> list[_Line]:
    """Return versions with their counts, which are cached, since a version never changes."""
    rows = list(rows)
    keys = {row.pk: f"phrasebox.relevance.qrels.{row.pk}.{row.digest}" for row in rows}
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
    """Return the pages of the qrels that finished jobs froze."""
    qrels_names = {job.pk: str(job.result.get("qrels", "")) for job in done}
    return pages_of_results("evaluation:qrels", qrels_names, QrelsSnapshot.objects.filter(published=True))


def _title(row: JudgmentSet) -> Any:
    """Return the title of the judgments' format; those of a batch have their own format."""
    return JUDGMENT_FORMATS.get(row.format).title if row.format in JUDGMENT_FORMATS else row.format
