"""Jobs, listed, cancelled and resumed; and the server itself, for its admins."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import FormPage, Has, Rest, register
from annotation.common.roles import ADMIN, RESEARCHER
from annotation.jobs import server, status

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
