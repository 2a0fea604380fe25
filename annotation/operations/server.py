"""The server itself, for its admins."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import FormPage, Has, Operation, Rest, register
from annotation.common.roles import ADMIN
from annotation.jobs import server

_ADMINS = Has((ADMIN,), server=True)

register(
    Operation(
        name="show_server",
        title=_("Show the state of the server"),
        request=server.ServerRequest,
        result=server.ServerState,
        permission=_ADMINS,
        run=server.show_server,
        rest=Rest("GET", "server", "server", route="server"),
    )
)
register(
    Operation(
        name="send_test_mail",
        title=_("Send yourself a test e-mail"),
        request=server.MailYourselfRequest,
        result=server.JobStatus,
        permission=_ADMINS,
        run=server.mail_yourself,
        errors=(server.NoAddress,),
        rest=Rest("POST", "server/test-mail", "server"),
        command=None,
        page=FormPage(done=_("The test e-mail is on its way.")),
    )
)
