"""Jobs, listed, cancelled and resumed; and the server itself, for its admins."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import (
    CommandLine,
    FormPage,
    Has,
    Rest,
    register,
    table_layouts,
    tables_text,
)
from annotation.common.roles import ADMIN, RESEARCHER
from annotation.jobs import outdated_copies, server, status
from annotation.jobs.outdated_copies import COPY_KINDS, OutdatedCopies
from phrasebox.figure_basis import FigureBasis
from phrasebox.figure_tables import Cell, Table


def copies_tables(result: OutdatedCopies) -> dict[str, Table]:
    """Return the table of outdated copies."""
    head = [
        *map(str, (_("what"), _("corpus"), _("campaign"), _("job"), _("made"), _("by"))),
        *map(str, (_("withdrawn pictures"), _("erased people"), _("since"), _("on this server"), "SHA-256")),
    ]
    rows: list[list[Cell]] = [
        [
            *(str(COPY_KINDS[copy.kind]), copy.corpus, copy.campaign, copy.job),
            *(f"{copy.made_at:%Y-%m-%d}", copy.made_by, copy.pictures, copy.people),
            *(f"{copy.since:%Y-%m-%d}", str(_("yes") if copy.stored else _("no")), copy.sha256),
        ]
        for copy in result.copies
    ]
    return {"": Table(head, rows, basis=FigureBasis(notes=(str(_NOT_COUNTED),)))}


#: What the list cannot know.
_NOT_COUNTED = _("Folders that were written on the server, and copies of copies, are not known here.")

_TAG, _PATH = "jobs", "jobs/<int:job>"
_ITS_RESEARCHERS = Has((RESEARCHER,), on="job")

register(
    title=_("List jobs"),
    result=status.JobStatus,
    permission=Has((RESEARCHER,)),
    run=status.list_jobs,
    rest=Rest("GET", "jobs", _TAG, route="jobs"),
)
register(
    title=_("Show a job"),
    permission=_ITS_RESEARCHERS,
    run=status.show_job,
    rest=Rest("GET", _PATH, _TAG, route="job"),
)
register(
    name="cancel_job",
    title=_("Cancel a job"),
    permission=_ITS_RESEARCHERS,
    run=status.cancel,
    rest=Rest("POST", f"{_PATH}/cancel", _TAG),
    page=FormPage(done=_("Job cancelled. A running job stops at its next step.")),
)
register(
    name="resume_job",
    title=_("Resume a job"),
    permission=_ITS_RESEARCHERS,
    run=status.resume,
    rest=Rest("POST", f"{_PATH}/resume", _TAG),
    page=FormPage(done=_("Job resumed from where it stopped.")),
)
register(
    title=_("List copies of withdrawn pictures and of erased people's work"),
    permission=Has((RESEARCHER,)),
    run=outdated_copies.list_outdated_copies,
    rest=Rest("GET", "outdated-copies", _TAG),
    command=CommandLine(text=tables_text(copies_tables), layouts=table_layouts(copies_tables)),
    page=FormPage(tables=copies_tables),
)
register(
    name="sweep_jobs",
    title=_("Look for lost jobs"),
    permission=Has((ADMIN,), server=True),
    run=status.sweep_lost_jobs,
)


_ADMINS = Has((ADMIN,), server=True)

register(
    title=_("Show the state of the server"),
    permission=_ADMINS,
    run=server.show_server,
    rest=Rest("GET", "server", "server", route="server"),
)
register(
    name="send_test_mail",
    title=_("Send yourself a test e-mail"),
    permission=_ADMINS,
    run=server.mail_yourself,
    rest=Rest("POST", "server/test-mail", "server"),
    command=None,
    page=FormPage(done=_("The test e-mail is on its way.")),
)
