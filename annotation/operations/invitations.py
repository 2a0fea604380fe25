"""Links that invite people to work on a campaign."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import FormPage, Has, Rest, register
from annotation.common.roles import RESEARCHER
from annotation.workers import invitations

_TAG, _ALL = "preparing", "campaigns/<slug:campaign>/invitations"
_ON_CAMPAIGN = Has((RESEARCHER,), on="campaign")

register(
    title=_("List the invitation links of a campaign"),
    result=invitations.InvitationLink,
    permission=_ON_CAMPAIGN,
    run=invitations.list_invitations,
    rest=Rest("GET", _ALL, _TAG, route="invitations"),
)
register(
    name="make_invitation",
    title=_("Make an invitation link"),
    permission=_ON_CAMPAIGN,
    run=invitations.create_invitation,
    rest=Rest(
        "POST",
        _ALL,
        _TAG,
        route="invitations",
        creates="campaigns/{campaign}/invitations",
        example={"label": "class of 2026", "uses": 30},
    ),
    page=FormPage(done=_("Link created. Copy it from the list and send it to the people whom you invite.")),
)
register(
    name="revoke_invitation",
    title=_("Revoke an invitation link"),
    permission=_ON_CAMPAIGN,
    run=invitations.end_invitation,
    rest=Rest("DELETE", f"{_ALL}/<int:invitation>", _TAG),
    page=FormPage(done=_("Link revoked.")),
)
