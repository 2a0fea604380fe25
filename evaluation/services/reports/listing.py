"""Reports for lists and their own pages."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, Named, NewFile, OperationContext
from evaluation.comparison.original_pairs import ORIGINAL_PAIRS
from evaluation.models import Report
from evaluation.services.reports.building import packed_report, report_named
from evaluation.services.stored_kinds import REPORTS, ArchivableRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsRequest(ArchivableRequest):
    """Reports, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSummary:
    """A report that was built, of a version of qrels, or of the original pairs without one. `archived`: lists
    leave it out."""

    name: str
    corpus: str
    qrels: str
    version: int | None
    batch: str | None
    runs: tuple[str, ...]
    digest: str
    built_at: datetime
    archived: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDetail(ReportSummary):
    """A report with all its inputs, and the SHA-256 of each of its files."""

    inputs: dict[str, Any]
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadReportRequest:
    """All files of a report in one archive: tables, figures, LaTeX, CSV and JSON."""

    report: Annotated[str, Named(REPORTS), Help(_("Report"))]


def report_summary(row: Report) -> ReportSummary:
    """Return the summary of a report, for lists."""
    return ReportSummary(
        name=row.name,
        corpus=row.corpus.name,
        qrels=row.qrels.name if row.qrels is not None else ORIGINAL_PAIRS,
        version=row.qrels.version if row.qrels is not None else None,
        batch=row.batch.name if row.batch is not None else None,
        runs=tuple(run["run"] for run in row.inputs.get("runs", [])),
        digest=row.digest,
        built_at=row.built_at,
        archived=row.archived_at is not None,
    )


def report_with_inputs(row: Report) -> ReportDetail:
    """Return all that is stored of a report."""
    return ReportDetail(**asdict(report_summary(row)), inputs=row.inputs, files=row.files)


def download_report(request: DownloadReportRequest, context: OperationContext) -> NewFile:
    """Return all files of a report in one archive; raises as `packed_report`."""
    return packed_report(report_named(request.report))
