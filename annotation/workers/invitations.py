"""Invitation links that make people workers: created, opened, accepted, revoked.

A link contains the number of its row, signed: no access data is stored, and forging a link requires the
server's key. A person who accepts gets an account, with a chosen name and password, or at once under the
pseudonym, with a code.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation import instructions
from annotation.audit import record
from annotation.common import database
from annotation.common.addresses import full_address
from annotation.common.operations import Help, Listing, OneOf, OperationContext, invalid, result_of
from annotation.models import Account, Campaign, Invitation
from annotation.selectors.corpora import CampaignRequest
from annotation.workers import pseudonyms
from phrasebox.errors import PhraseboxError

_PROVIDER = "invite"
MOST_USES = 100_000
#: The number of groups of a code, and letters of each: 80 bits.
_GROUPS, _LETTERS = 4, 4
_SIGNER = Signer(salt="annotation.invitation")


def _languages() -> Mapping[str, Any]:
    return dict(settings.LANGUAGES)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationsRequest(CampaignRequest):
    """A campaign's invitation links, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeInvitationRequest(CampaignRequest):
    """A link by which people become workers of a campaign: they agree to the consent text and get an
    account with a pseudonym."""

    label: Annotated[
        str, Field(max_length=100), Help(gettext_lazy("For whom (invited people do not see this)"))
    ] = ""
    uses: Annotated[
        Annotated[int, Field(ge=1, le=MOST_USES)] | None,
        Help(gettext_lazy("People at most"), gettext_lazy("By default any number")),
    ] = None
    until: Annotated[
        date | None, Help(gettext_lazy("Valid until the end of"), gettext_lazy("A day, as 2026-12-31"))
    ] = None
    language: Annotated[
        Annotated[str, OneOf(_languages, gettext_lazy("their browser's"))] | None,
        Help(gettext_lazy("Language"), gettext_lazy("Of the pages")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeInvitationRequest(CampaignRequest):
    """An invitation link admits nobody any more; people who came by it stay."""

    invitation: Annotated[
        int, Field(ge=1), Help(gettext_lazy("Invitation"), gettext_lazy("The number of a link"))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationLink:
    """A link that makes people workers of the campaign. `uses`: how many may accept it, null for any number;
    `over` is why it is no longer valid."""

    number: int
    campaign: str
    label: str
    address: str
    uses: int | None
    used: int
    expires_at: datetime | None
    language: str
    over: str
    created_at: datetime


def list_invitations(request: InvitationsRequest, context: OperationContext) -> Listing:
    """Return the links of a campaign."""
    rows = Invitation.objects.filter(campaign__name=request.campaign).select_related("campaign")
    return Listing(rows, "-pk", lambda row: _link(row, context))


def create_invitation(request: MakeInvitationRequest, context: OperationContext) -> InvitationLink:
    """Create a link. Raises InvitationError."""
    end = request.until
    row = make_invitation(
        campaign=request.row(),
        label=request.label,
        uses=request.uses,
        expires_at=datetime.combine(end, time.max, ZoneInfo(settings.TIME_ZONE)) if end else None,
        language=request.language or "",
        actor=context.actor,
    )
    return _link(row, context)


def end_invitation(request: RevokeInvitationRequest, context: OperationContext) -> None:
    """Revoke a link. Raises Invalid if the campaign has none with that number."""
    rows = Invitation.objects.select_related("campaign").filter(campaign__name=request.campaign)
    row = rows.filter(pk=min(request.invitation, database.LARGEST_ID)).first()
    if row is None:
        raise invalid("invitation", "unknown", kind=_("invitation"), value=request.invitation)
    revoke_invitation(invitation=row, actor=context.actor)


def _link(row: Invitation, context: OperationContext) -> InvitationLink:
    return result_of(
        InvitationLink,
        row,
        number=row.pk,
        campaign=row.campaign.name,
        address=full_address("invite", [invitation_token(row)]),
        over=why_over(row),
    )


def make_invitation(
    *,
    campaign: Campaign,
    label: str = "",
    uses: int | None = None,
    expires_at: datetime | None = None,
    language: str = "",
    actor: Account | None = None,
) -> Invitation:
    """Create a link to a campaign. `uses`: how many people may accept it, None for any number."""
    if campaign.state == Campaign.CLOSED:
        raise PhraseboxError(_("This campaign is closed: you can no longer invite anybody to it."))
    if expires_at is not None and expires_at <= database.now():
        raise PhraseboxError(_("The link would have expired already; choose a later day."))
    with database.writing():
        invitation = Invitation.objects.create(
            campaign=campaign,
            label=label[:100],
            uses=uses,
            expires_at=expires_at,
            language=language,
            created_by=actor,
        )
        record(actor=actor, act="invite", campaign=campaign, invitation=invitation.pk, uses=uses)
    return invitation


def revoke_invitation(*, invitation: Invitation, actor: Account | None = None) -> bool:
    """Revoke a link; people who came through it stay. Returns False if it was revoked before."""
    with database.writing():
        ended = Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=database.now())
        if ended:
            record(
                actor=actor, act="revoke_invitation", campaign=invitation.campaign, invitation=invitation.pk
            )
    return bool(ended)


def invitation_token(invitation: Invitation) -> str:
    """Return the last part of the link's address."""
    return _SIGNER.sign(str(invitation.pk))


def open_invitation(token: str) -> Invitation:
    """Return the invitation of a link. Raises PhraseboxError with the reason if it is not valid."""
    try:
        number = int(_SIGNER.unsign(token))
    except BadSignature:
        raise PhraseboxError(
            _("This link is incomplete. Copy all of it, or ask the sender for a new one.")
        ) from None
    invitation = Invitation.objects.select_related("campaign").filter(pk=number).first()
    if invitation is None:
        raise PhraseboxError(_("The campaign of this link was deleted. Ask the sender."))
    if why := why_over(invitation):
        raise PhraseboxError(why)
    return invitation


def why_over(invitation: Invitation) -> str:
    """Return why an invitation is no longer valid, and whom to ask; "" if it is."""
    if invitation.revoked_at is not None:
        return _("This invitation was revoked. Ask the sender for a new one.")
    if invitation.expires_at is not None and invitation.expires_at <= database.now():
        return _("This invitation has expired. Ask the sender for a new one.")
    if invitation.uses is not None and invitation.used >= invitation.uses:
        return _("This invitation has been used as often as it may be. Ask the sender for a new one.")
    if invitation.campaign.state == Campaign.CLOSED:
        return _("The campaign of this invitation is closed. Ask the sender for another one.")
    return ""


def accept_invitation(
    *, invitation: Invitation, version: int, username: str = "", password: str = ""
) -> tuple[Account, str]:
    """Create an account for a person who opened a link and agreed to the consent text of `version`.

    Returns it with its code, which is "" if they chose a name and password. Raises PhraseboxError if
    others used up the link first, StaleText if there is a newer text, IntegrityError if the name is
    taken; then nothing has changed.
    """
    code = "" if username else "-".join(pseudonyms.draw_pseudonym(_LETTERS) for _group in range(_GROUPS))
    with database.writing():
        locked = Invitation.objects.select_for_update().select_related(None).get(pk=invitation.pk)
        if why := why_over(locked):
            raise PhraseboxError(why)
        Invitation.objects.filter(pk=locked.pk).update(used=F("used") + 1)
        account = pseudonyms.create_annotator(
            campaign=locked.campaign, provider=_PROVIDER, username=username, password=password or code
        )
        worker = pseudonyms.worker_of(account)
        if instructions.needs_consent(worker=worker.pk, campaign=locked.campaign):
            instructions.record_consent(worker=worker.pk, campaign=locked.campaign, version=version)
    return account, code


def join_by_invitation(*, invitation: Invitation, account: Account) -> bool:
    """Make an existing account an annotator of the invitation's campaign, which is one use.

    Returns False if it is one already. Raises PhraseboxError if others used up the link first.
    """
    with database.writing():
        locked = Invitation.objects.select_for_update().select_related(None).get(pk=invitation.pk)
        if not pseudonyms.may_work_on(account=account, campaign=locked.campaign):
            return False
        if why := why_over(locked):
            raise PhraseboxError(why)
        Invitation.objects.filter(pk=locked.pk).update(used=F("used") + 1)
    return True
