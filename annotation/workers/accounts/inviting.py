"""Links that invite staff: for one use and one e-mail address, valid for seven days."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from django.core.exceptions import ValidationError
from django.core.signing import BadSignature, Signer
from django.core.validators import validate_email
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import FieldError, Help, Named, OneOf, OperationContext, StoredKind
from annotation.common.roles import ADMIN, ANNOTATOR, ROLE_NAMES, WHOLE_SERVER
from annotation.models import Account, Campaign, Corpus, StaffInvitation
from annotation.selectors.corpora import ScopeRequest
from annotation.workers.accounts.granting import check_grants, grant
from phrasebox.errors import PhraseboxError

DAYS = 7
#: The maximum length of an e-mail address.
LONGEST_EMAIL = 254
STAFF_ROLES = {role: name for role, name in ROLE_NAMES.items() if role != ANNOTATOR}
_SIGNER = Signer(salt="annotation.staff_invitation")
#: Open invitations, by their numbers.
STAFF_INVITATIONS = StoredKind(
    gettext_lazy("invitation"), lambda account, *roles: open_staff_invitations(), column="pk"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InviteStaffRequest(ScopeRequest):
    """A link by which somebody without an account gets an account and a role. It can be used once, within
    seven days."""

    email: Annotated[str, Field(min_length=1, max_length=LONGEST_EMAIL), Help(gettext_lazy("Email"))]
    role: Annotated[str, OneOf(STAFF_ROLES.copy), Help(gettext_lazy("Role"))]

    def problems(self) -> Iterator[FieldError]:
        """Errors: an invalid e-mail address, or more than one scope."""
        try:
            validate_email(self.email)
        except ValidationError:
            yield FieldError("email", "email")
        yield from ScopeRequest.problems(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeStaffInvitationRequest:
    """The link becomes invalid."""

    invitation: Annotated[int, Named(STAFF_INVITATIONS), Help(gettext_lazy("Invitation"))]


def invite_staff(
    *,
    email: str,
    role: str,
    corpus: Corpus | None = None,
    campaign: Campaign | None = None,
    actor: Account | None = None,
) -> StaffInvitation:
    """Create a link for the person with the address `email`. Raises GrantError."""
    check_grants(actor)
    with database.writing():
        invitation = StaffInvitation.objects.create(
            email=email,
            role=role,
            corpus=corpus,
            campaign=campaign,
            expires_at=database.now() + timedelta(days=DAYS),
            created_by=actor,
        )
        record(actor=actor, act="invite_staff", campaign=campaign, invitation=invitation.pk, role=role)
    return invitation


def revoke_staff_invitation(request: RevokeStaffInvitationRequest, context: OperationContext) -> None:
    """Revoke a link. Raises PhraseboxError if it was used or revoked meanwhile."""
    with database.writing():
        waiting = StaffInvitation.objects.filter(pk=request.invitation, used_at=None, revoked_at=None)
        if not waiting.update(revoked_at=database.now()):
            raise PhraseboxError(_("This invitation is no longer valid."))
        record(actor=context.actor, act="revoke_staff_invitation", invitation=request.invitation)


def staff_invitation_token(invitation: StaffInvitation) -> str:
    """Return the last part of the link's address."""
    return _SIGNER.sign(str(invitation.pk))


def open_staff_invitation(token: str) -> StaffInvitation:
    """Return the invitation of a link. Raises PhraseboxError if it is not valid, with the reason and whom
    to ask."""
    try:
        number = int(_SIGNER.unsign(token))
    except BadSignature:
        raise PhraseboxError(
            _("This link is incomplete. Copy all of it, or ask the sender for a new one.")
        ) from None
    matching = StaffInvitation.objects.select_related("corpus", "campaign", "created_by").filter(pk=number)
    invitation = matching.first()
    if invitation is None or staff_invitation_over(invitation):
        raise PhraseboxError(
            _("This invitation was used or revoked, or is seven days old. Ask for a new one.")
        )
    return invitation


def staff_invitation_over(invitation: StaffInvitation) -> bool:
    """Whether an invitation is no longer valid; its sender must still be allowed to invite."""
    sender = invitation.created_by
    return (
        invitation.used_at is not None
        or invitation.revoked_at is not None
        or invitation.expires_at <= database.now()
        or (sender is not None and not sender.has_role(ADMIN, on=WHOLE_SERVER))
    )


def open_staff_invitations() -> QuerySet[StaffInvitation]:
    """Return the invitations that are still valid, as in `staff_invitation_over`."""
    invitations = StaffInvitation.objects.filter(used_at=None, revoked_at=None, expires_at__gt=database.now())
    whole = Q(roles__role=ADMIN, roles__corpus=None, roles__campaign=None)
    admins = Account.objects.filter(whole | Q(is_superuser=True), is_active=True)
    return invitations.filter(Q(created_by=None) | Q(created_by__in=admins.values("pk")))


def forget_invited_addresses() -> None:
    """Delete the addresses of invitations that are over: people who accepted have an account."""
    over = ~Q(used_at=None) | ~Q(revoked_at=None) | Q(expires_at__lte=database.now())
    StaffInvitation.objects.filter(over).exclude(email="").update(email="")


def accept_staff_invitation(*, invitation: StaffInvitation, username: str, password: str) -> Account:
    """Create the account of an invitation. Raises PhraseboxError, and IntegrityError for a taken name."""
    with database.writing():
        StaffInvitation.objects.select_for_update().get(pk=invitation.pk)
        open_invitation = open_staff_invitation(staff_invitation_token(invitation))
        account = Account.objects.create_user(username, email=open_invitation.email, password=password)
        StaffInvitation.objects.filter(pk=open_invitation.pk).update(used_at=database.now())
        # Checked again: the sender may have lost the right to grant.
        grant(
            account=account,
            role=open_invitation.role,
            corpus=open_invitation.corpus,
            campaign=open_invitation.campaign,
            actor=open_invitation.created_by,
        )
    return account
