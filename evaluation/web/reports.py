"""The pages of reports: the list, one report, its files, and the form that builds one."""

import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from annotation.common.operations import operation_named
from annotation.selectors.corpora import split_names
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles, for_roles_on
from annotation.web.common.lists import SortColumn, list_page
from evaluation.comparison.original_pairs import has_original_pairs
from evaluation.models import Batch, JudgmentSet, QrelsSnapshot, Report, Run, TagSet
from evaluation.services.reports import building
from evaluation.services.reports.request import ReportError
from evaluation.services.stored_kinds import QRELS
from evaluation.web import visible
from evaluation.web.job_lines import job_lines, pages_of_results
from evaluation.web.page_context import page_context, set_choices, text_parameter, text_parameters
from evaluation.web.submitted_forms import SubmittedForm, set_row_choices, submitted_form
from phrasebox.metrics.table import METRICS
from phrasebox.registry import UnknownName

_KINDS = ("build_report",)
#: Reports per page, and runs listed, by name.
REPORTS_PER_PAGE, _MOST_RUNS = 30, 200
_SORTS = {
    "new": SortColumn(gettext_lazy("newest"), "built_at", down=True),
    "name": SortColumn(gettext_lazy("name"), "name"),
}
_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".svg": "image/svg+xml",
    ".tex": "application/x-tex; charset=utf-8",
}


#: The report of an address.
REPORT = AddressedThing(
    lambda name: Report.objects.select_related("corpus", "qrels", "batch").filter(name=name).first(),
    gettext_lazy("There is no report “%(name)s” here."),
)


@require_safe
@for_roles(*RUNNING, corpora=True)
def report_list(request: HttpRequest) -> HttpResponse:
    """List reports, searched, sorted and paged by the address, and those that are being built."""
    reports = visible.visible_reports(request).select_related("corpus", "qrels", "batch__campaign")
    page = list_page(reports, request.GET, sorts=_SORTS, number=REPORTS_PER_PAGE, archive=True)
    outdated = building.outdated_reports(page.rows)
    lines = job_lines(request, _KINDS, leads=_leads)
    return render(
        request,
        "evaluation/reports.html",
        page_context(
            "reports",
            reports=[(row, len(row.inputs["runs"]), outdated[row.pk]) for row in page.rows],
            page=page,
            any=bool(page.rows) or reports.exists(),
            jobs=lines,
            live=any(line.live for line in lines),
        ),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def report_build(request: HttpRequest) -> HttpResponse:
    """Choose qrels, then runs of their corpus, and build the report."""
    form = submitted_form(request, operation := operation_named("build_report"))
    if form.result is not None:
        assert operation.page is not None
        messages.success(request, str(operation.page.started))
        return redirect("evaluation:reports")
    return render(request, "evaluation/report_new.html", _choices(request, form), status=form.status)


@require_safe
@for_roles_on(REPORT, *RUNNING)
def report_detail(request: HttpRequest, row: Report) -> HttpResponse:
    """Show a report as it was built: its tables and figures, and all of its inputs."""
    message, report, sections = "", {}, []
    try:
        report = json.loads(building.read_report_file(row, building.JSON))
        pictures = {
            figure["key"]: building.read_report_file(row, f"figures/{figure['key']}.svg").decode()
            for section in report["sections"]
            for figure in section["figures"]
        }
        sections = building.illustrated(report, pictures)
    except ReportError as error:
        message = str(error)
    return render(
        request,
        "evaluation/report.html",
        page_context(
            "reports",
            deeper=True,
            report=row,
            inputs=row.inputs,
            sections=sections,
            file=row.name,
            error=message,
            outdated=building.outdated(row),
            again=_again(row),
        ),
    )


@require_safe
@for_roles_on(REPORT, *RUNNING)
def report_file(request: HttpRequest, row: Report, path: str) -> HttpResponse:
    """Return a file of a report, as it was built."""
    try:
        content = building.read_report_file(row, path)
    except (UnknownName, ReportError) as error:
        raise Http404(str(error)) from error
    called = PurePosixPath(path)
    return _file_response(
        content, f"{row.name}-{called.name}", _TYPES.get(called.suffix, "text/plain; charset=utf-8")
    )


def _file_response(content: bytes, called: str, kind: str) -> HttpResponse:
    """Return a file as a download: displayed in place, its markup would run as ours."""
    return HttpResponse(
        content, headers={"Content-Type": kind, "Content-Disposition": f'attachment; filename="{called}"'}
    )


def _leads(done: Sequence[Job]) -> dict[int, str]:
    """Return the reports that finished jobs built, if they still exist."""
    report_names = {job.pk: str(job.result.get("report", "")) for job in done}
    return pages_of_results("evaluation:report", report_names, Report.objects.all())


def _again(row: Report) -> str:
    """Return the query string that fills the form with this report's request."""
    settings = row.inputs["settings"]
    values = {
        "qrels": row.qrels.name if row.qrels is not None else "",
        "name": row.name,
        "replace": "true",
        "runs": [run["run"] for run in row.inputs["runs"]],
        "tags": [tag_set["tags"] for tag_set in row.inputs.get("tags", ())],
        "baseline": list(settings["baseline"].values()),
        "measures": settings["measures"],
        "batch": row.batch.name if row.batch is not None else "",
        **{key: settings.get(key, "") for key in _SETTINGS},
    }
    return f"?{urlencode(values, doseq=True)}"


def _choices(request: HttpRequest, submitted_form: SubmittedForm) -> dict[str, Any]:
    """Return the choices of the form: qrels, and what matches the chosen ones."""
    account, form = account_of(request), submitted_form.form
    data = submitted_form.data
    snapshot = QRELS.find(text_parameter(data, "qrels"), account, RUNNING)
    # The page that compares runs links here with this parameter.
    chosen = text_parameters(data, "runs") or text_parameters(data, "run")
    corpora = {corpus.name: corpus for corpus in visible.visible_corpora(request)}
    first = visible.published_runs(request).filter(name__in=chosen[:1]).first()
    corpus = corpora.get(text_parameter(data, "corpus"))
    if isinstance(snapshot, QrelsSnapshot):
        corpus = snapshot.corpus
    elif first is not None:
        corpus = first.corpus
    elif corpus is None and len(corpora) == 1:
        (corpus,) = corpora.values()
    frame = page_context(
        "reports",
        deeper=True,
        form=form,
        corpora=list(corpora),
        corpus=corpus,
        snapshot=snapshot,
        error=submitted_form.error,
    )
    if corpus is None:
        return frame
    newest = QrelsSnapshot.objects.filter(corpus=corpus, published=True).order_by("name", "-version")
    titles = {row.versioned: str(row) for row in newest}
    pairs = _("original pairs") if has_original_pairs(corpus) else None
    set_choices(form, "qrels", titles, none=pairs)
    if isinstance(snapshot, QrelsSnapshot):
        form.initial["qrels"] = snapshot.versioned
    elif pairs is None:
        return frame | {"lacking": not titles}
    alike = Run.objects.filter(corpus=corpus, published=True).order_by("name")
    listed = list(alike.filter(archived_at=None)[: _MOST_RUNS + 1])
    there = {run.pk for run in listed[:_MOST_RUNS]}
    sets = JudgmentSet.objects.filter(corpus=corpus, published=True).order_by("name")
    set_row_choices(form, "batch", Batch.objects.filter(corpus=corpus).order_by("name"))
    judged = isinstance(snapshot, QrelsSnapshot) and snapshot.judgments is not None
    set_row_choices(form, "against", sets if judged else ())
    form.fields["split"].widget.attrs["list"] = "splits"
    set_row_choices(form, "tags", TagSet.objects.filter(corpus=corpus, published=True).order_by("name"))
    return frame | {
        "ready": True,
        "judged": judged,
        "snapshot_name": snapshot.versioned if isinstance(snapshot, QrelsSnapshot) else "",
        # Chosen runs are listed, however many there are.
        "runs": [run for run in alike.filter(name__in=chosen) if run.pk not in there] + listed[:_MOST_RUNS],
        "more_runs": len(listed) > _MOST_RUNS,
        "chosen": chosen,
        "baselines": text_parameters(data, "baseline"),
        "splits": [split for split in split_names(corpus) if split],
        "all_measures": ", ".join(METRICS.names("ranking")),
        "details": any(text_parameter(data, name) for name in ("measures", "replace")),
    }


_SETTINGS = ("against", "split", "missing", "seed", "rounds", "resamples", "level")
