"""Granting and revoking roles.

Only admins of the whole server may grant; commands count as admins. Nobody can grant to themselves, and the
last admin of the whole server cannot be removed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import Help, OneOf, OperationContext, result_of
from annotation.common.roles import ADMIN, ANNOTATOR, ROLE_NAMES, WHOLE_SERVER
from annotation.models import Account, Campaign, Corpus, RoleGrant
from annotation.selectors.corpora import ScopeRequest
from annotation.selectors.people.accounts import AccountName
from annotation.workers import sessions
from annotation.workers.accounts import second_factor
from phrasebox.errors import PhraseboxError


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRoleRequest(ScopeRequest):
    """Grant a role to an account, for a corpus and everything in it, for one campaign, or, with neither, for
    the whole server."""

    account: AccountName
    role: Annotated[str, OneOf(ROLE_NAMES.copy), Help(gettext_lazy("Role"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeRoleRequest(GrantRoleRequest):
    """Revoke a role, with exactly its scope. The account is signed out everywhere, and its tokens become
    invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleChange:
    """Whether a role was granted, or revoked; false if nothing had to change."""

    account: str
    role: str
    corpus: str | None
    campaign: str | None
    changed: bool


def grant_role(request: GrantRoleRequest, context: OperationContext) -> RoleChange:
    """Grant a role; raises GrantError."""
    return _change(grant, request, context)


def revoke_granted_role(request: RevokeRoleRequest, context: OperationContext) -> RoleChange:
    """Revoke a role; raises GrantError."""
    return _change(revoke_role, request, context)


def _change(act: Callable[..., bool], request: GrantRoleRequest, context: OperationContext) -> RoleChange:
    account, (corpus, campaign) = Account.objects.get(username=request.account), request.rows()
    changed = act(account=account, role=request.role, corpus=corpus, campaign=campaign, actor=context.actor)
    return result_of(RoleChange, request, changed=changed)


def grant(
    *,
    account: Account,
    role: str,
    corpus: Corpus | None = None,
    campaign: Campaign | None = None,
    actor: Account | None = None,
) -> bool:
    """Grant `account` a role, for a corpus, a campaign, or the whole server. Returns False if it has it
    already.

    Raises GrantError.
    """
    check_grants(actor)
    if actor is not None and account.pk == actor.pk:
        raise PhraseboxError(_("You cannot grant a role to yourself: ask another admin."))
    if not account.is_active:
        raise PhraseboxError(_("The account “%(name)s” is not active.") % {"name": account.get_username()})
    with database.writing():
        role_grant = RoleGrant.objects.get_or_create(
            account=account, role=role, corpus=corpus, campaign=campaign, defaults={"granted_by": actor}
        )[1]
        if role_grant:
            _notify(actor, "grant_role", account, role, corpus, campaign)
            fresh = Account.objects.get(pk=account.pk)  # with the role
            if role != ANNOTATOR and second_factor.lacks_second_factor(fresh):
                # They set up a second factor when they sign in next.
                sessions.end_access(account)
    return role_grant


def revoke_role(
    *,
    account: Account,
    role: str,
    corpus: Corpus | None = None,
    campaign: Campaign | None = None,
    actor: Account | None = None,
) -> bool:
    """Revoke a role, with exactly its scope. Returns False if the account does not have it.

    The account is signed out everywhere, and its tokens become invalid: everything opened under the role ends
    at once.

    Raises PhraseboxError, also if nobody could grant roles any more.
    """
    check_grants(actor)
    with database.writing():
        admins = admins_of_server()
        if role == ADMIN and corpus is None and campaign is None and admins == {account.pk}:
            raise PhraseboxError(
                _("“%(name)s” is the last admin of this server: grant somebody else the role first.")
                % {"name": account.get_username()}
            )
        grants = RoleGrant.objects.filter(account=account, role=role, corpus=corpus, campaign=campaign)
        gone = bool(grants.delete()[0])
        if gone:
            sessions.end_access(account)
            _notify(actor, "revoke_role", account, role, corpus, campaign)
    return gone


def check_grants(actor: Account | None) -> None:
    """Raise PhraseboxError unless `actor` (None: a command) may grant roles."""
    if actor is not None and not actor.has_role(ADMIN, on=WHOLE_SERVER):
        raise PhraseboxError(_("Only admins of the whole server can grant roles."))


def admins_of_server() -> set[int]:
    """Return the accounts that are admins of the whole server, locked: two must not remove each other at
    once."""
    rows = RoleGrant.objects.select_for_update().filter(
        role=ADMIN, corpus=None, campaign=None, account__is_active=True
    )
    admins = set(rows.order_by("pk").values_list("account", flat=True))
    superusers = Account.objects.filter(is_superuser=True, is_active=True)
    return admins | set(superusers.values_list("pk", flat=True))


def _notify(
    actor: Account | None,
    act: str,
    account: Account,
    role: str,
    corpus: Corpus | None,
    campaign: Campaign | None,
) -> None:
    record(
        actor=actor,
        act=act,
        campaign=campaign,
        account=account.get_username(),
        role=role,
        corpus=corpus.name if corpus is not None else None,
    )
