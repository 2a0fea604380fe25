"""Roles granted and revoked.

Only admins of the whole server grant; the command line counts as one. Nobody grants to themselves, and the
last admin of the whole server cannot be removed.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.roles import ADMIN, ANNOTATOR, ROLES, WHOLE_SERVER
from annotation.models import Account, Campaign, Corpus, RoleGrant
from annotation.workers import sessions
from annotation.workers.accounts import second_factor


class GrantError(ValueError):
    """A role that cannot be granted or revoked; one line with the remedy."""


def grant(
    *,
    account: Account,
    role: str,
    corpus: Corpus | None = None,
    campaign: Campaign | None = None,
    actor: Account | None = None,
) -> bool:
    """Grant `account` a role, for a corpus, a campaign, or the whole server. False where it has it already.

    Raises GrantError.
    """
    check_grant(role=role, corpus=corpus, campaign=campaign, actor=actor)
    if actor is not None and account.pk == actor.pk:
        raise GrantError(_("You cannot grant a role to yourself: ask another admin."))
    if not account.is_active:
        raise GrantError(_("The account “%(name)s” is not active.") % {"name": account.get_username()})
    with database.writing():
        made = RoleGrant.objects.get_or_create(
            account=account, role=role, corpus=corpus, campaign=campaign, defaults={"granted_by": actor}
        )[1]
        if made:
            _tell(actor, "grant_role", account, role, corpus, campaign)
            fresh = Account.objects.get(pk=account.pk)  # with the role
            if role != ANNOTATOR and second_factor.lacks_second_factor(fresh):
                # They set one up when they sign in next.
                sessions.end_access(account)
    return made


def revoke_role(
    *,
    account: Account,
    role: str,
    corpus: Corpus | None = None,
    campaign: Campaign | None = None,
    actor: Account | None = None,
) -> bool:
    """Revoke a role, for just what it was granted for. False where the account does not have it.

    They are signed out everywhere, and their tokens are void: what they had open under the role ends at once.

    Raises GrantError, also where nobody could grant roles any more.
    """
    check_grant(role=role, corpus=corpus, campaign=campaign, actor=actor)
    with database.writing():
        admins = admins_of_server()
        if role == ADMIN and corpus is None and campaign is None and admins == {account.pk}:
            raise GrantError(
                _("“%(name)s” is the last admin of this server: grant somebody else the role first.")
                % {"name": account.get_username()}
            )
        found = RoleGrant.objects.filter(account=account, role=role, corpus=corpus, campaign=campaign)
        gone = bool(found.delete()[0])
        if gone:
            sessions.end_access(account)
            _tell(actor, "revoke_role", account, role, corpus, campaign)
    return gone


def check_grant(
    *, role: str, corpus: Corpus | None, campaign: Campaign | None, actor: Account | None
) -> None:
    """Raise GrantError unless there is such a role, and `actor` (None: the command line) may grant it."""
    if actor is not None and not actor.has_role(ADMIN, on=WHOLE_SERVER):
        raise GrantError(_("Only admins of the whole server can grant roles."))
    if role not in ROLES:
        raise GrantError(
            _("There is no role “%(name)s”; known: %(known)s.")
            % {"name": role[:60], "known": ", ".join(ROLES)}
        )
    if corpus is not None and campaign is not None:
        raise GrantError(_("A role covers a corpus or a campaign: name one of the two."))


def account_named(name: str) -> Account:
    """The account of that name. Raises GrantError."""
    found = Account.objects.filter(username=name).first()
    if found is None:
        raise GrantError(
            _("There is no account “%(name)s”. If the person has none yet, invite them on the page “Roles”.")
            % {"name": name[:150]}
        )
    return found


def admins_of_server() -> set[int]:
    """The accounts that are admins of the whole server, locked: two must not remove each other at once."""
    rows = RoleGrant.objects.select_for_update().filter(
        role=ADMIN, corpus=None, campaign=None, account__is_active=True
    )
    found = set(rows.order_by("pk").values_list("account", flat=True))
    superusers = Account.objects.filter(is_superuser=True, is_active=True)
    return found | set(superusers.values_list("pk", flat=True))


def _tell(
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
