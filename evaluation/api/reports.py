"""Reports by API: the list, one with its inputs, building it, and its files."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import On
from annotation.api.rest.fields import CallFields, NameField, PlainField, TextField, WholeField
from annotation.api.rest.operations import DELETE, GET, PATCH, POST, ApiCall, ApiRoute, serves
from annotation.common.roles import RESEARCHER
from annotation.selectors.jobs import Job
from evaluation.api.given import ArchiveChange, ArchivedFilter, as_form
from evaluation.api.systems import RESEARCHES, OfCorpus
from evaluation.comparison.missing import MISSING_CHOICES
from evaluation.models import Report
from evaluation.services.archiving import set_archived
from evaluation.services.reports import building
from evaluation.services.reports.request import ReportRefused
from evaluation.web import offered
from evaluation.web.reports import REPORT, REPORT_REFUSALS, enqueue_report, packed_report

_TAG = "reports"
_ON_REPORT = On(REPORT, (RESEARCHER,))
_ONE = "reports/<slug:name>"


class ReportShown(serializers.Serializer[Any]):
    """A report that was built."""

    name = NameField()
    corpus = NameField()
    qrels = serializers.CharField()
    version = serializers.IntegerField()
    batch = serializers.CharField(allow_null=True)
    runs = serializers.ListField(child=serializers.CharField())
    digest = serializers.CharField()
    built_at = serializers.DateTimeField()
    archived = serializers.BooleanField(help_text="Whether lists leave it out.")


class ReportDetailShown(ReportShown):
    """A report with all that it was made from, and the SHA-256 of each of its files."""

    inputs = PlainField()
    files = serializers.DictField(child=serializers.CharField())


class ReportWanted(CallFields):
    """A report of runs under qrels, NAME or NAME:VERSION; `baseline` names the run of each direction that
    others are tested against. `replace` builds a report of this name again."""

    name = NameField()
    qrels = TextField()
    runs = serializers.ListField(child=NameField(), min_length=1, max_length=200)
    baseline = serializers.ListField(child=NameField(), required=False, max_length=2)
    measures = serializers.ListField(child=TextField(max_length=60), required=False, max_length=50)
    batch = NameField(required=False)
    against = TextField(required=False)
    split = TextField(required=False)
    missing = serializers.ChoiceField(MISSING_CHOICES, required=False)
    seed = WholeField(required=False, max_value=10**9 - 1)
    rounds = WholeField(required=False, min_value=1, max_value=10**6)
    resamples = WholeField(required=False, min_value=1, max_value=10**6)
    replace = serializers.BooleanField(required=False)


class ReportFilter(OfCorpus, ArchivedFilter):
    """Which reports."""


@serves(
    ApiRoute(
        route="reports",
        method=GET,
        path="reports",
        tag=_TAG,
        opens=RESEARCHES,
        asked=ReportFilter,
        answers=ReportShown,
        listed=True,
    )
)
def reports_list_call(call: ApiCall) -> CursorPage:
    """List reports, by name."""
    found = offered.offered_reports(call.request).select_related("corpus", "qrels", "batch")
    found = found.filter(archived_at__isnull=not call.asked.get("archived", False))
    if "corpus" in call.asked:
        found = found.filter(corpus__name=call.asked["corpus"])
    return call.rows.of_rows(found, "name", _report_plain)


@serves(
    ApiRoute(
        route="reports",
        method=POST,
        path="reports",
        tag=_TAG,
        opens=RESEARCHES,
        body=ReportWanted,
        job=True,
        refuses=REPORT_REFUSALS,
        example={
            "name": "first-report",
            "qrels": "originals",
            "runs": ["first-annotation", "second-annotation"],
        },
    )
)
def report_build_call(call: ApiCall) -> Job:
    """Build a report, as a job."""
    measures = {"measures": ", ".join(call.data["measures"])} if "measures" in call.data else {}
    return enqueue_report(call.request, as_form({**call.data, **measures}))


@serves(
    ApiRoute(route="report", method=GET, path=_ONE, tag=_TAG, opens=_ON_REPORT, answers=ReportDetailShown)
)
def report_show_call(call: ApiCall, report: Report) -> dict[str, Any]:
    """Show a report: what it was made from, and its files."""
    return {**_report_plain(report), "inputs": report.inputs, "files": report.files}


@serves(
    ApiRoute(
        route="report",
        method=PATCH,
        path=_ONE,
        tag=_TAG,
        opens=_ON_REPORT,
        body=ArchiveChange,
        answers=ReportShown,
        example={"archived": True},
    )
)
def report_change_call(call: ApiCall, report: Report) -> dict[str, Any]:
    """Archive a report, or bring it back: lists leave archived ones out, unless they are asked for."""
    set_archived(report, archived=call.data["archived"], actor=call.account)
    return _report_plain(report)


@serves(ApiRoute(route="report", method=DELETE, path=_ONE, tag=_TAG, opens=_ON_REPORT))
def report_delete_call(call: ApiCall, report: Report) -> None:
    """Remove a report; runs and qrels stay."""
    building.remove_report(report.name, actor=call.account)


@serves(
    ApiRoute(
        route="report_archive",
        method=GET,
        path=f"{_ONE}/archive",
        tag=_TAG,
        opens=_ON_REPORT,
        file="application/zip",
        refuses=(ReportRefused,),
    )
)
def report_download_call(call: ApiCall, report: Report) -> HttpResponse:
    """Download all files of a report in one archive: tables, figures, LaTeX, CSV and JSON."""
    return packed_report(report)


def _report_plain(row: Report) -> dict[str, Any]:
    return {
        "name": row.name,
        "corpus": row.corpus.name,
        "qrels": row.qrels.name,
        "version": row.qrels.version,
        "batch": row.batch.name if row.batch is not None else None,
        "runs": [one["run"] for one in row.inputs.get("runs", [])],
        "digest": row.digest,
        "built_at": json_time(row.built_at),
        "archived": row.archived_at is not None,
    }
