"""The pages of reports: all of them, one as it was built, its files, and the form that has one built."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import jobs
from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.selectors.corpora import split_names
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles, for_roles_on
from annotation.web.common.lists import SortColumn, list_page
from annotation.web.staff.frame import said
from evaluation.comparison.ranked_runs import NotComparable
from evaluation.metrics.table import METRICS, UnknownMeasure
from evaluation.models import Batch, JudgmentSet, Report, Run, TagSet
from evaluation.services.common import ImportRefused, check_name
from evaluation.services.reports import building
from evaluation.services.reports.findings import REPORT_MEASURES
from evaluation.services.reports.request import RESAMPLES, ReportRefused, ReportRequest
from evaluation.services.reports.request import report_rows as resolved
from evaluation.significance.randomisation import ROUNDS
from evaluation.web import offered
from evaluation.web.frame import evaluation_frame, text_parameter, text_parameters
from evaluation.web.job_lines import job_lines, pages_of_made
from evaluation.web.splits import NotOffered, missing_in, part_in, whole_in

_KINDS = ("build_report",)
#: Reports on a page, and runs that are offered at once, by name.
REPORTS_PER_PAGE, _MOST_RUNS = 30, 200
_SORTS = {
    "new": SortColumn(gettext_lazy("newest"), "built_at", down=True),
    "name": SortColumn(gettext_lazy("name"), "name"),
}
#: What a request can be wrong about.
REPORT_REFUSALS = (
    *(Busy, ImportRefused, NotComparable, NotOffered, ReportRefused, UnknownMeasure, UnknownName),
    jobs.JobError,
)
_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".svg": "image/svg+xml",
    ".tex": "application/x-tex; charset=utf-8",
}
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


#: The report of an address.
REPORT = AddressedThing(
    lambda name: Report.objects.select_related("corpus", "qrels", "batch").filter(name=name).first(),
    gettext_lazy("There is no report “%(name)s” here."),
)


@require_safe
@for_roles(*RUNNING, corpora=True)
def report_list(request: HttpRequest) -> HttpResponse:
    """Reports, searched, sorted and paged by the address, and those that are being built."""
    found = offered.offered_reports(request).select_related("corpus", "qrels", "batch__campaign")
    page = list_page(found, request.GET, sorts=_SORTS, number=REPORTS_PER_PAGE, archive=True)
    outdated = building.outdated_reports(page.rows)
    lines = job_lines(request, _KINDS, leads=_leads)
    return render(
        request,
        "evaluation/reports.html",
        evaluation_frame(
            "reports",
            reports=[(row, len(row.inputs["runs"]), outdated[row.pk]) for row in page.rows],
            page=page,
            any=bool(page.rows) or found.exists(),
            jobs=lines,
            live=any(line.live for line in lines),
        ),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def report_build(request: HttpRequest) -> HttpResponse:
    """Choose qrels, then runs of their corpus, and have the report built."""
    given = request.POST if request.method == "POST" else request.GET
    wrong, status = "", 200
    try:
        if request.method == "POST":
            return _started(request, given)
    except REPORT_REFUSALS as error:
        wrong, status = str(error), 409
    return render(request, "evaluation/report_new.html", _offered(request, given, wrong), status=status)


@require_safe
@for_roles_on(REPORT, *RUNNING)
def report_detail(request: HttpRequest, row: Report) -> HttpResponse:
    """A report as it was built: its tables and figures, and all that it was made from."""
    wrong, plain, sections = "", {}, []
    try:
        plain = json.loads(building.read_report_file(row, building.JSON))
        pictures = {
            figure["key"]: building.read_report_file(row, f"figures/{figure['key']}.svg").decode()
            for section in plain["sections"]
            for figure in section["figures"]
        }
        sections = building.illustrated(plain, pictures)
    except ReportRefused as error:
        wrong = str(error)
    return render(
        request,
        "evaluation/report.html",
        evaluation_frame(
            "reports",
            deeper=True,
            report=row,
            inputs=row.inputs,
            sections=sections,
            file=row.name,
            wrong=wrong,
            outdated=building.outdated(row),
            again=_again(row),
        ),
    )


@require_safe
@for_roles_on(REPORT, *RUNNING)
def report_file(request: HttpRequest, row: Report, path: str) -> HttpResponse:
    """A file of a report, as it was built."""
    try:
        content = building.read_report_file(row, path)
    except (UnknownName, ReportRefused) as error:
        raise Http404(str(error)) from error
    called = PurePosixPath(path)
    return _sent(content, f"{row.name}-{called.name}", _TYPES.get(called.suffix, "text/plain; charset=utf-8"))


@require_safe
@for_roles_on(REPORT, *RUNNING)
def report_archive(request: HttpRequest, row: Report) -> HttpResponse:
    """All files of a report in one archive, the same bytes for the same report."""
    try:
        return packed_report(row)
    except ReportRefused as error:
        raise Http404(str(error)) from error


@require_POST
@for_roles_on(REPORT, *RUNNING)
def report_delete(request: HttpRequest, row: Report) -> HttpResponse:
    """Remove a report; the runs and qrels that it was made of stay."""
    with said(request, Busy, UnknownName) as tell:
        building.remove_report(row.name, actor=account_of(request))
        tell(_("Report removed."))
    return redirect("evaluation:reports")


def packed_report(row: Report) -> HttpResponse:
    """All files of a report in one archive; raises ReportRefused where one is gone or damaged."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
        for path in row.files:
            held = building.read_report_file(row, path)
            out.writestr(zipfile.ZipInfo(f"{row.name}/{path}", _LONG_AGO), held)
    return _sent(packed.getvalue(), f"{row.name}.zip", "application/zip")


def _sent(content: bytes, called: str, kind: str) -> HttpResponse:
    """A file to keep: never shown in place, where its markup would be ours."""
    return HttpResponse(
        content, headers={"Content-Type": kind, "Content-Disposition": f'attachment; filename="{called}"'}
    )


def _leads(done: Sequence[Job]) -> dict[int, str]:
    """The reports that finished jobs built, where they still stand."""
    made = {job.pk: str(job.result.get("report", "")) for job in done}
    return pages_of_made("evaluation:report", made, Report.objects.all())


def _again(row: Report) -> str:
    """`?...` that fills the form as this report was asked for."""
    settings = row.inputs["settings"]
    given = QueryDict(mutable=True)
    given.update({"qrels": row.qrels.name, "name": row.name, "replace": "1"})
    given.setlist("runs", [run["run"] for run in row.inputs["runs"]])
    given.setlist("tags", [one["tags"] for one in row.inputs.get("tags", ())])
    given.setlist("baseline", list(settings["baseline"].values()))
    given["measures"] = ", ".join(settings["measures"])
    given["batch"] = row.batch.name if row.batch is not None else ""
    for key in ("against", "split", "missing", "seed", "rounds", "resamples"):
        given[key] = str(settings.get(key, ""))
    return f"?{given.urlencode()}"


def _started(request: HttpRequest, given: QueryDict) -> HttpResponse:
    """The report asked for as a job; raises one of REPORT_REFUSALS for what cannot be built."""
    enqueue_report(request, given)
    messages.success(request, _("Building the report. It will appear here."))
    return redirect("evaluation:reports")


def enqueue_report(request: HttpRequest, given: QueryDict) -> Job:
    """The job that builds the report which a form asks for; raises one of REPORT_REFUSALS."""
    wanted = ReportRequest(
        name=text_parameter(given, "name"),
        qrels=text_parameter(given, "qrels"),
        runs=text_parameters(given, "runs"),
        batch=text_parameter(given, "batch"),
        baseline=[name for name in text_parameters(given, "baseline") if name],
        measures=[name for part in text_parameter(given, "measures").split(",") if (name := part.strip())],
        against=text_parameter(given, "against"),
        missing=missing_in(given),
        seed=whole_in(given, "seed", default=0),
        rounds=whole_in(given, "rounds", default=ROUNDS),
        resamples=whole_in(given, "resamples", default=RESAMPLES),
        tags=[name for name in text_parameters(given, "tags") if name],
    )
    check_name(wanted.name, "report")
    again = text_parameter(given, "replace") == "1"
    standing = Report.objects.filter(name=wanted.name)
    if standing.exists() and not (
        again and offered.offered_reports(request).filter(name=wanted.name).exists()
    ):
        raise ReportRefused(
            _("Report “%(name)s” already exists: choose another name.") % {"name": wanted.name}
        )
    corpus = offered.offered_qrels(request, wanted.qrels).corpus
    wanted = replace(wanted, split=part_in(given, "split", corpus))
    offered.offered_runs(request, wanted.runs)
    offered.check_tag_sets(request, wanted.tags)
    # What a batch came to takes its time, and is the job's to find out.
    resolved(ReportRequest(**{**_fields(wanted), "batch": ""}))
    if wanted.batch and not offered.offered_batches(request).filter(name=wanted.batch).exists():
        raise NotOffered(_("There is no batch “%(name)s” here.") % {"name": wanted.batch})
    return jobs.enqueue(
        kind="build_report",
        arguments={**_fields(wanted), "replace": again},
        corpus=corpus,
        actor=account_of(request),
    )


def _fields(wanted: ReportRequest) -> dict[str, Any]:
    return {name: getattr(wanted, name) for name in ReportRequest.__dataclass_fields__}


def _offered(request: HttpRequest, given: QueryDict, wrong: str) -> dict[str, Any]:
    """What the form shows: qrels, and what goes with those that are chosen."""
    known = offered.published_qrels(request).select_related("corpus", "judgments")
    snapshot, name = None, text_parameter(given, "qrels")
    if name:
        try:
            snapshot = offered.offered_qrels(request, name)
        except UnknownName as error:
            wrong = wrong or str(error)
    # The page that compares runs calls them so, and leads here.
    chosen = text_parameters(given, "runs") or text_parameters(given, "run")
    runs: list[Run] = []
    more = False
    if snapshot is not None:
        alike = Run.objects.filter(corpus=snapshot.corpus, published=True).order_by("name")
        found = list(alike.filter(archived_at=None)[: _MOST_RUNS + 1])
        more, found = len(found) > _MOST_RUNS, found[:_MOST_RUNS]
        there = {run.pk for run in found}
        # What is chosen is in sight, however many there are.
        runs = [run for run in alike.filter(name__in=chosen) if run.pk not in there] + found
    return evaluation_frame(
        "reports",
        deeper=True,
        known=[f"{row.name}:{row.version}" for row in known.order_by("name", "-version")],
        snapshot=snapshot,
        snapshot_name=f"{snapshot.name}:{snapshot.version}" if snapshot is not None else "",
        runs=runs,
        more_runs=more,
        chosen=chosen,
        baselines=text_parameters(given, "baseline"),
        batches=list(Batch.objects.filter(corpus=snapshot.corpus).order_by("name")) if snapshot else [],
        sets=list(JudgmentSet.objects.filter(corpus=snapshot.corpus, published=True).order_by("name"))
        if snapshot is not None and snapshot.judgments is not None
        else [],
        tag_sets=list(TagSet.objects.filter(corpus=snapshot.corpus, published=True)) if snapshot else [],
        tags=text_parameters(given, "tags"),
        given={key: text_parameter(given, key) for key in _TEXTS},
        splits=[split for split in split_names(snapshot.corpus) if split] if snapshot is not None else [],
        measures=", ".join(REPORT_MEASURES),
        all_measures=", ".join(METRICS.names("ranking")),
        rounds=ROUNDS,
        resamples=RESAMPLES,
        wrong=wrong,
    )


_TEXTS = (
    "name",
    "batch",
    "against",
    "split",
    "missing",
    "measures",
    "seed",
    "rounds",
    "resamples",
    "replace",
)
