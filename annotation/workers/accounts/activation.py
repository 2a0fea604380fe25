"""Deactivating accounts, and links with which somebody chooses a new password."""

from dataclasses import dataclass

from django.contrib.auth.tokens import default_token_generator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.addresses import full_address
from annotation.common.operations import OperationContext
from annotation.models import Account
from annotation.selectors.people.accounts import AccountName
from annotation.workers import sessions
from annotation.workers.accounts.granting import admins_of_server
from phrasebox.errors import PhraseboxError


@dataclass(frozen=True, slots=True, kw_only=True)
class DeactivateAccountRequest:
    """Disable signing in with an account: its sessions end at once and its tokens become invalid; roles,
    answers and pay stay."""

    account: AccountName


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactivateAccountRequest:
    """Enable signing in with an account again, with its earlier roles."""

    account: AccountName


@dataclass(frozen=True, slots=True, kw_only=True)
class MakePasswordLinkRequest:
    """A link for choosing a new password, for an admin to pass on; valid once, for three days."""

    account: AccountName


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountChange:
    """Whether an account was changed; false if it already had that state."""

    account: str
    active: bool
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordLink:
    """A link to choose a new password, displayed only once."""

    account: str
    link: str


def deactivate_account(request: DeactivateAccountRequest, context: OperationContext) -> AccountChange:
    """Deactivate an account. Raises PhraseboxError for one's own and for the last admin."""
    account = account_to_change(request.account, context)
    with database.writing():
        if admins_of_server() == {account.pk}:
            raise PhraseboxError(
                _("“%(name)s” is the last admin of this server: grant somebody else the role first.")
                % {"name": request.account}
            )
        changed = bool(Account.objects.filter(pk=account.pk, is_active=True).update(is_active=False))
        if changed:
            ended = sessions.end_access(account)
            record(
                actor=context.actor,
                act="deactivate_account",
                account=request.account,
                sessions=ended.sessions,
                tokens=ended.tokens,
            )
    return AccountChange(account=request.account, active=False, changed=changed)


def reactivate_account(request: ReactivateAccountRequest, context: OperationContext) -> AccountChange:
    """Reactivate an account. Raises PhraseboxError for one's own account."""
    account = account_to_change(request.account, context)
    with database.writing():
        changed = bool(Account.objects.filter(pk=account.pk, is_active=False).update(is_active=True))
        if changed:
            record(actor=context.actor, act="reactivate_account", account=request.account)
    return AccountChange(account=request.account, active=True, changed=changed)


def make_password_link(request: MakePasswordLinkRequest, context: OperationContext) -> PasswordLink:
    """Create a link to choose a new password. Raises PhraseboxError for an account without a password."""
    account = account_to_change(request.account, context)
    check_has_password(account)
    with database.writing():
        record(actor=context.actor, act="make_password_link", account=request.account)
    parts = [urlsafe_base64_encode(force_bytes(account.pk)), default_token_generator.make_token(account)]
    link = full_address("password_reset_confirm", parts)
    return PasswordLink(account=request.account, link=link)


def account_to_change(name: str, context: OperationContext) -> Account:
    """Return the account of that name. Raises PhraseboxError for one's own."""
    if context.actor is not None and context.actor.get_username() == name:
        raise PhraseboxError(_("This is your own account: ask another admin."))
    return Account.objects.get(username=name)


def check_has_password(account: Account) -> None:
    """Raise PhraseboxError if an account is inactive, or its owner signs in through a platform."""
    if not account.is_active:
        raise PhraseboxError(_("The account “%(name)s” is not active.") % {"name": account.get_username()})
    if not account.has_usable_password():
        raise PhraseboxError(
            _("“%(name)s” has no password: they sign in through a platform.")
            % {"name": account.get_username()}
        )
