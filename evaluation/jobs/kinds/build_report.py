"""Building a report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.metrics.table import UnknownMeasure
from evaluation.services.reports.building import build_report
from evaluation.services.reports.request import ReportRequest

#: The share of the work that is done when all is computed, and is yet to be drawn.
COMPUTED = 0.8


@dataclass(frozen=True, slots=True)
class ReportJobRequest(ReportRequest):
    """A report to be built, perhaps in place of one that there is."""

    replace: bool = False


@job_kind(
    "build_report",
    title=gettext_lazy("Building a report"),
    refusals=(UnknownName, UnknownMeasure, OSError, ValueError),
    request=ReportJobRequest,
)
def build_report_job(progress: JobProgress, request: ReportJobRequest) -> dict[str, Any]:
    """Build it and keep it; the result is `reports.Built`. A killed one starts anew, and leaves nothing."""

    def told(phase: str, done: int, of: int) -> None:
        drawing = phase.startswith(("drawing", "putting"))
        start, end = (COMPUTED, 1.0) if drawing else (0.0, COMPUTED)
        progress.advance(max(progress.share, start + (end - start) * done / of), phase=phase)

    wanted = ReportRequest(**{field.name: getattr(request, field.name) for field in fields(ReportRequest)})
    made = asdict(build_report(wanted, replace=request.replace, progress=told, actor=progress.actor))
    return {**made, "folder": f"reports/{request.name}"}
