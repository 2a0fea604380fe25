"""What everybody who is signed in may have done about themselves."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import FormPage, Has, Rest, register
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.selectors.people import accounts
from annotation.selectors.workers import earnings
from annotation.workers import api_tokens, messages
from annotation.workers.accounts import country

_TAG, _SIGNED_IN = "account", Has(())

register(
    title=_("Show your account and its roles"),
    permission=_SIGNED_IN,
    run=accounts.show_me,
    rest=Rest("GET", "me", _TAG, route="me"),
    command=None,
)
register(
    title=_("List your tokens"),
    result=api_tokens.TokenSummary,
    permission=_SIGNED_IN,
    run=api_tokens.list_tokens,
    rest=Rest("GET", "tokens", _TAG, route="tokens"),
    command=None,
)
register(
    title=_("Make a token"),
    permission=Has((REVIEWER, RESEARCHER)),
    run=api_tokens.make_token,
    confirms=True,
    secret="secret",
    command=None,
    page=FormPage(
        done=_("The token “%(name)s” is made. Copy it now: it is not shown again."),
    ),
)
register(
    title=_("Revoke a token of yours"),
    permission=_SIGNED_IN,
    run=api_tokens.revoke_token,
    rest=Rest("DELETE", "tokens/<int:token>", _TAG, route="token"),
    command=None,
    page=FormPage(done=_("Token revoked.")),
)
register(
    title=_("List your earnings"),
    result=earnings.CampaignEarnings,
    permission=_SIGNED_IN,
    run=earnings.list_earnings,
    rest=Rest("GET", "me/earnings", _TAG),
    command=None,
)
register(
    name="say_country",
    title=_("Say your country"),
    permission=_SIGNED_IN,
    run=country.say_country,
    rest=Rest("POST", "me/country", _TAG, example={"country": "US"}),
    command=None,
    page=FormPage(done=_("Your country is stored.")),
)
register(
    title=_("List messages from researchers"),
    result=messages.ReceivedMessage,
    permission=_SIGNED_IN,
    run=messages.list_received_messages,
    rest=Rest("GET", "me/messages", _TAG),
    command=None,
)
register(
    title=_("Mark a message as read"),
    permission=_SIGNED_IN,
    run=messages.read_message,
    rest=Rest("POST", "me/messages/<int:message>/read", _TAG, example={"reply": "I have changed it."}),
    command=None,
    page=FormPage(done=lambda nothing: ""),
)
