"""Second factors: an app that shows codes (TOTP, RFC 6238), and ten recovery codes in case it is lost.

A code is accepted once: its time step is stored by one conditional statement, which only one of two
simultaneous attempts can execute. django-allauth's module for this stores used codes in a cache, which is
separate in each process.

Secrets are encrypted with the server's key, so that a copy of the database alone is useless.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, NamedTuple

import pyotp
from cryptography.fernet import Fernet, InvalidToken
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import Help, OneOf, OperationContext
from annotation.common.roles import ADMIN, ANNOTATOR, WHOLE_SERVER
from annotation.models import Account, RecoveryCode, RoleGrant, SecondFactor, SignInRules
from annotation.selectors.people.accounts import AccountName
from annotation.workers import sessions
from annotation.workers.api_tokens import digest_of_secret
from annotation.workers.pseudonyms import draw_pseudonym
from phrasebox.errors import PhraseboxError

_SALT = "annotation.second_factor"


class CannotOpen(ValueError):
    """The secret was encrypted with another key, or is damaged."""


def seal(secret: str) -> str:
    """Encrypt and sign `secret` with the server's key."""
    return _lock().encrypt(secret.encode()).decode("ascii")


def unseal(sealed: str) -> str:
    """Decrypt a secret. Raises CannotOpen."""
    try:
        return _lock().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise CannotOpen("this was encrypted under another SECRET_KEY") from None


def _lock() -> Fernet:
    return Fernet(base64.urlsafe_b64encode(salted_hmac(_SALT, "", algorithm="sha256").digest()))


#: The seconds of a code's time step, and how many steps a clock may be wrong by, in either direction.
CODE_SECONDS = 30
_STEPS_ASIDE = 1
#: The number of recovery codes of an account, and the number of characters of each: about 79 random bits.
RECOVERY_CODES = 10
_RECOVERY_LENGTH = 16
#: How long a secret that is being set up is displayed again instead of a new one.
_BEGUN_FOR = timedelta(minutes=15)
_CODE = re.compile(r"[0-9]{6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetFactorRequest:
    """Delete the second factor and the recovery codes of an account: it is signed out everywhere, its tokens
    become invalid, and it signs in by its password."""

    account: AccountName


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorReset:
    """An account without a second factor now. `must_set_up`: it sets one up when it signs in next."""

    account: str
    must_set_up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorRuleRequest:
    """Require a second factor of all staff, of admins, or of nobody. Those who need one and have none are
    signed out, and their tokens become invalid: they set one up at their next sign-in."""

    who: Annotated[str, OneOf(FACTOR_RULES.copy), Help(gettext_lazy("Who must have a second factor"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorRule:
    """Who must have a second factor, and how many accounts were signed out."""

    who: str
    signed_out: int


class Accepted(NamedTuple):
    """An accepted code: whether it was a recovery code, and how many of these are left."""

    by_recovery_code: bool
    codes_left: int


# Setting up --------------------------------------------------------------------------------------


def begin_second_factor(account: Account, *, seen: str = "") -> str:
    """Return the secret for an app, in base 32, until a code confirms it; for a quarter of an hour the same
    one if `seen` is its `digest_of_secret`, so that reloading the page keeps it.

    Another session of the account gets another secret, so that somebody who knows only the password cannot
    copy the secret that the owner is setting up.

    Raises PhraseboxError if a second factor is active already: its secret is never displayed again.
    """
    with database.writing():
        now = database.now()
        Account.objects.select_for_update(no_key=True).get(pk=account.pk)
        factor = SecondFactor.objects.filter(account=account).first()
        if factor is not None and factor.confirmed_at is not None:
            raise PhraseboxError(_("Your second factor is already on. Turn it off first to use another app."))
        if factor is not None and factor.begun_at > now - _BEGUN_FOR:
            try:
                secret = unseal(factor.secret)
            except CannotOpen:
                pass  # the server's key has changed since: a new secret
            else:
                if constant_time_compare(digest_of_secret(secret), seen):
                    return secret
        secret = pyotp.random_base32()
        SecondFactor.objects.update_or_create(
            account=account, defaults={"secret": seal(secret), "begun_at": now, "last_step": 0}
        )
    return secret


def confirm_second_factor(*, account: Account, code: str) -> list[str]:
    """Activate the second factor with a code of the app; return ten recovery codes, displayed only once.

    Raises PhraseboxError for a wrong code, and if nothing is being set up.
    """
    with database.writing():
        factor = SecondFactor.objects.select_for_update().filter(account=account, confirmed_at=None).first()
        if factor is None:
            raise PhraseboxError(_("Nothing is being set up: begin again."))
        if not _uses_code(factor, code):
            raise PhraseboxError(
                _("This code is not right. Type the one that the app shows now, and check your clock.")
            )
        SecondFactor.objects.filter(pk=factor.pk).update(confirmed_at=database.now())
        codes = _new_recovery_codes(account)
        record(actor=account, act="add_second_factor", account=account.get_username())
    return codes


def renew_recovery_codes(*, account: Account) -> list[str]:
    """Return ten new recovery codes; the old ones become invalid. Raises PhraseboxError without a second
    factor."""
    with database.writing():
        if not has_second_factor(account):
            raise PhraseboxError(_("Set up a second factor first."))
        codes = _new_recovery_codes(account)
        record(actor=account, act="renew_recovery_codes", account=account.get_username())
    return codes


def address_for_app(account: Account, secret: str, *, server: str) -> str:
    """Return the `otpauth:` URI that an app reads from a QR code: the secret, the account and the server."""
    return pyotp.TOTP(secret).provisioning_uri(name=account.get_username(), issuer_name=f"Phrasebox {server}")


# Signing in --------------------------------------------------------------------------------------


def has_second_factor(account: Account) -> bool:
    """Whether signing in as `account` requires a code."""
    return SecondFactor.objects.filter(account=account, confirmed_at__isnull=False).exists()


def codes_left(account: Account) -> int:
    """Return the number of unused recovery codes."""
    return RecoveryCode.objects.filter(account=account, used_at=None).count()


def accept_code(*, account: Account, code: str) -> Accepted | None:
    """Use up a code of the account's app, or one of its recovery codes; return None if it is neither.

    A code is accepted once, even if it is sent twice at the same moment.
    """
    cleaned = "".join(letter for letter in code if letter.isalnum()).casefold()[:100]
    with database.writing():
        if _CODE.fullmatch(cleaned):
            factor = SecondFactor.objects.filter(account=account, confirmed_at__isnull=False).first()
            if factor is None or not _uses_code(factor, cleaned):
                return None
            return Accepted(False, codes_left(account))
        if not has_second_factor(account):
            return None
        unused = RecoveryCode.objects.filter(account=account, digest=digest_of_secret(cleaned), used_at=None)
        if not unused.update(used_at=database.now()):
            return None
        left = codes_left(account)
        record(actor=account, act="use_recovery_code", account=account.get_username(), left=left)
    return Accepted(True, left)


# Without one -------------------------------------------------------------------------------------


def remove_second_factor(*, account: Account) -> None:
    """Deactivate one's own second factor. Raises PhraseboxError if this server requires one."""
    with database.writing():
        if must_have_second_factor(account):
            raise PhraseboxError(
                _("This server asks your account for a second factor. An admin can reset it for another app.")
            )
        if not _forget(account):
            raise PhraseboxError(_("Your second factor is already off."))
        record(actor=account, act="remove_second_factor", account=account.get_username())


def reset_second_factor(request: ResetFactorRequest, context: OperationContext) -> FactorReset:
    """Delete the second factor of somebody who lost it.

    Raises PhraseboxError if there is none, and for one's own.
    """
    account, actor = Account.objects.get(username=request.account), context.actor
    if actor is not None and actor.pk == account.pk:
        raise PhraseboxError(_("This is your own second factor: ask another admin."))
    with database.writing():
        if not _forget(account):
            raise PhraseboxError(_("“%(name)s” has no second factor.") % {"name": account.get_username()})
        ended = sessions.end_access(account)
        record(
            actor=actor,
            act="reset_second_factor",
            account=account.get_username(),
            sessions=ended.sessions,
            tokens=ended.tokens,
        )
    return FactorReset(account=request.account, must_set_up=must_have_second_factor(account))


# Who must have one -------------------------------------------------------------------------------


def second_factor_rule() -> str:
    """Return who must have a second factor on this server: one of `SignInRules.WHO`."""
    rule = SignInRules.objects.values_list("second_factor", flat=True).first()
    return rule or SignInRules.NOBODY


def must_have_second_factor(account: Account) -> bool:
    """Whether this server requires a second factor of `account`."""
    asks = _RULES.get(second_factor_rule())
    return asks is not None and asks(account)


def lacks_second_factor(account: Account) -> bool:
    """Whether `account` must have a second factor and has none."""
    return must_have_second_factor(account) and not has_second_factor(account)


def set_second_factor_rule(request: FactorRuleRequest, context: OperationContext) -> FactorRule:
    """Set who must have a second factor. Raises PhraseboxError for an actor who would be signed out by it."""
    who, actor = request.who, context.actor
    if actor is not None and who != SignInRules.NOBODY and not has_second_factor(actor):
        raise PhraseboxError(_("Set up your own second factor first."))
    with database.writing():
        before = second_factor_rule()
        SignInRules.objects.update_or_create(pk=1, defaults={"second_factor": who})
        ended = 0
        if who != before:
            record(actor=actor, act="set_second_factor_rule", who=who, before=before)
        for account in _of_staff():
            if lacks_second_factor(account):
                sessions.end_access(account)
                ended += 1
    return FactorRule(who=who, signed_out=ended)


def is_admin_of_server(account: Account) -> bool:
    """Whether an account is an admin of the whole server."""
    return account.has_role(ADMIN, on=WHOLE_SERVER)


#: The possible rules of this server for second factors.
FACTOR_RULES = {
    SignInRules.NOBODY: gettext_lazy("nobody"),
    SignInRules.ADMINS: gettext_lazy("admins of the whole server"),
    SignInRules.STAFF: gettext_lazy("all staff"),
}
#: For each rule, whether it applies to an account.
_RULES: dict[str, Callable[[Account], bool]] = {
    SignInRules.ADMINS: is_admin_of_server,
    SignInRules.STAFF: lambda account: account.has_staff_role,
}


def _of_staff() -> list[Account]:
    roles = RoleGrant.objects.exclude(role=ANNOTATOR).values("account")
    accounts = Account.objects.filter(pk__in=roles) | Account.objects.filter(is_superuser=True)
    return list(accounts.filter(is_active=True))


def _uses_code(factor: SecondFactor, code: str) -> bool:
    """Whether `code` is a current code of the app that was not used yet; it is used then, with all earlier
    ones."""
    cleaned = "".join(letter for letter in code if letter.isalnum())
    if not _CODE.fullmatch(cleaned):
        return False
    try:
        app = pyotp.TOTP(unseal(factor.secret), interval=CODE_SECONDS)
    except CannotOpen:
        return False
    now = int(database.now().timestamp()) // CODE_SECONDS
    for step in range(now - _STEPS_ASIDE, now + _STEPS_ASIDE + 1):
        if pyotp.utils.strings_equal(app.generate_otp(step), cleaned):
            unused = SecondFactor.objects.filter(pk=factor.pk, secret=factor.secret, last_step__lt=step)
            if unused.update(last_step=step):
                return True
    return False


def _new_recovery_codes(account: Account) -> list[str]:
    RecoveryCode.objects.filter(account=account).delete()
    codes = [draw_pseudonym(_RECOVERY_LENGTH) for _code in range(RECOVERY_CODES)]
    RecoveryCode.objects.bulk_create(
        RecoveryCode(account=account, digest=digest_of_secret(code)) for code in codes
    )
    return ["-".join(code[at : at + 4] for at in range(0, _RECOVERY_LENGTH, 4)) for code in codes]


def _forget(account: Account) -> bool:
    """Delete a second factor and its recovery codes; return whether it was active."""
    RecoveryCode.objects.filter(account=account).delete()
    was_on = has_second_factor(account)
    SecondFactor.objects.filter(account=account).delete()
    return was_on
