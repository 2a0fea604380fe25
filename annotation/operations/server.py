"""The server itself, for its admins."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import FormPage, Has, Rest, register
from annotation.common.roles import ADMIN
from annotation.jobs import server

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
    errors=(server.NoAddress,),
    rest=Rest("POST", "server/test-mail", "server"),
    command=None,
    page=FormPage(done=_("The test e-mail is on its way.")),
)
