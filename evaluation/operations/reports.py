"""Operations on reports: build from runs, list, show, archive, download, remove."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, File, FormPage, Has, Rest, StoredThing, register_stored
from annotation.common.roles import RESEARCHER
from evaluation.operations import register
from evaluation.services.reports import building, listing
from evaluation.services.reports.building import BuiltReport, remove_report, report_folder
from evaluation.services.stored import set_archived
from evaluation.services.stored_kinds import REPORTS


def _built_text(built: BuiltReport) -> str:
    state = "already exists, nothing changed" if built.unchanged else f"built, {len(built.files)} files"
    changes = [f"Replaced: {'; '.join(built.changes)}."] if built.changes else []
    page = report_folder(built.report) / building.HTML
    return "\n".join([f"report {built.report!r}: {state}", *changes, str(page)])


register_stored(
    StoredThing(
        kind=REPORTS,
        word="report",
        words="reports",
        titles=(
            _("List reports"),
            _("Show a report"),
            _("Archive a report, or bring it back"),
            _("Remove a report"),
        ),
        path="reports",
        roles=(RESEARCHER,),
        listing=listing.ReportsRequest,
        results=(listing.ReportSummary, listing.ReportDetail),
        summary=listing.report_summary,
        detail=listing.report_with_inputs,
        related=("corpus", "qrels", "batch"),
        archive=set_archived,
        remove=lambda row, actor: remove_report(row.name, actor=actor),
        removed=_("Report removed."),
    )
)
register(
    title=_("Build a report"),
    permission=Has((RESEARCHER,), on="runs", corpora=True),
    run=building.build_report,
    before_job=building.check_report,
    as_job=True,
    rest=Rest(
        "POST",
        "reports",
        "reports",
        route="reports",
        example={
            "name": "first-report",
            "qrels": "originals",
            "runs": ["first-annotation", "second-annotation"],
        },
    ),
    command=CommandLine(positional=("name",), text=_built_text),
    page=FormPage("evaluation:new_report", started=_("Building the report. It will appear here.")),
)
register(
    title=_("Download a report"),
    result=File("application/zip"),
    permission=Has((RESEARCHER,), on="report", corpora=True),
    run=listing.download_report,
    rest=Rest("GET", "reports/<str:report>/archive", "reports"),
    page=FormPage(),
)
