"""Accounts that may not sign in for now, and links by which somebody chooses a new password."""

from __future__ import annotations

from typing import NamedTuple

from django.contrib.auth.tokens import default_token_generator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.roles import ADMIN, WHOLE_SERVER
from annotation.models import Account
from annotation.workers import sessions
from annotation.workers.accounts.granting import admins_of_server


class AccountRefused(ValueError):
    """What cannot be done to an account; one line with the remedy."""


class PasswordLink(NamedTuple):
    """What the address of a link to a new password ends with: whose it is, and a token that holds once."""

    uid: str
    token: str


def deactivate_account(*, account: Account, actor: Account | None = None) -> bool:
    """Let nobody sign in as `account` any more; what was open ends at once. False where it was so before.

    Roles, answers and pay stay. Raises AccountRefused for one's own account and for the last admin.
    """
    check_may_act(account=account, actor=actor)
    with database.writing():
        if admins_of_server() == {account.pk}:
            raise AccountRefused(
                _("“%(name)s” is the last admin of this server: grant somebody else the role first.")
                % {"name": account.get_username()}
            )
        changed = bool(Account.objects.filter(pk=account.pk, is_active=True).update(is_active=False))
        if changed:
            ended = sessions.end_access(account)
            record(
                actor=actor,
                act="deactivate_account",
                account=account.get_username(),
                sessions=ended.sessions,
                tokens=ended.tokens,
            )
    return changed


def reactivate_account(*, account: Account, actor: Account | None = None) -> bool:
    """Let somebody sign in again, with the roles they had. False where they could."""
    check_may_act(account=account, actor=actor)
    with database.writing():
        changed = bool(Account.objects.filter(pk=account.pk, is_active=False).update(is_active=True))
        if changed:
            record(actor=actor, act="reactivate_account", account=account.get_username())
    return changed


def make_password_link(*, account: Account, actor: Account | None = None) -> PasswordLink:
    """A link by which somebody chooses a new password, for an admin to hand over; good once, for three days.

    Raises AccountRefused where there is no password to forget.
    """
    check_may_act(account=account, actor=actor)
    check_has_password(account)
    with database.writing():
        record(actor=actor, act="make_password_link", account=account.get_username())
    return PasswordLink(
        urlsafe_base64_encode(force_bytes(account.pk)), default_token_generator.make_token(account)
    )


def note_password_link(*, account: Account, actor: Account | None = None) -> None:
    """Note that a link to a new password is sent to the e-mail address of `account`.

    Raises AccountRefused where there is no password to forget.
    """
    check_may_act(account=account, actor=actor)
    check_has_password(account)
    with database.writing():
        record(actor=actor, act="send_password_link", account=account.get_username())


def check_may_act(*, account: Account, actor: Account | None) -> None:
    """Raise AccountRefused unless `actor` (None: the command line) may do such things to `account`."""
    if actor is None:
        return
    if not actor.has_role(ADMIN, on=WHOLE_SERVER):
        raise AccountRefused(_("Only admins of the whole server can do this."))
    if actor.pk == account.pk:
        raise AccountRefused(_("This is your own account: ask another admin."))


def check_has_password(account: Account) -> None:
    """Raise AccountRefused where an account is inactive, or its owner signs in through a platform."""
    if not account.is_active:
        raise AccountRefused(_("The account “%(name)s” is not active.") % {"name": account.get_username()})
    if not account.has_usable_password():
        raise AccountRefused(
            _("“%(name)s” has no password: they sign in through a platform.")
            % {"name": account.get_username()}
        )
