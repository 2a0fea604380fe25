"""API tokens: created and revoked by their owner, and looked up by the secret that a program sends.

A secret is displayed once, when it is created; its digest is stored. A secret has 256 random bits, so a
digest without salt and without delay is safe, and a lookup is one index access.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import Help, Listing, Named, OneOf, OperationContext, StoredKind, result_of
from annotation.common.roles import ADMIN, ANNOTATOR, WHOLE_SERVER, Granted, Scope
from annotation.models import Account, ApiToken, Campaign, Corpus, RoleGrant
from annotation.selectors.corpora import ScopeRequest
from phrasebox.errors import PhraseboxError

#: The prefix of every secret, so that code scanners find published ones.
TOKEN_PREFIX = "phrasebox_"
#: The maximum length of a secret.
LONGEST_SECRET = 128
#: The maximum validity of a token in days.
LONGEST_TOKEN_DAYS = 366
#: The maximum number of tokens of an account.
MOST_TOKENS = 50
#: The precision of a token's last use: one write per hour instead of one per call.
_USED_STEP = timedelta(hours=1)


def tokens_of(account: Account, *roles: str) -> QuerySet[ApiToken]:
    """Return an account's tokens, also expired ones; a call with a limited token sees only that token."""
    rows = ApiToken.objects.filter(account_id=account.pk).select_related("corpus", "campaign")
    return rows if account.limit == WHOLE_SERVER else rows.filter(pk__in=[account.token])


#: Tokens of the caller, by their numbers.
API_TOKENS = StoredKind(gettext_lazy("token"), tokens_of, column="pk")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensRequest:
    """Your tokens, the newest first; with a token for a corpus or a campaign, only that token."""


def _access() -> dict[str, Promise]:
    return {"read": gettext_lazy("read only"), "write": gettext_lazy("read and write")}


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeTokenRequest(ScopeRequest):
    """With a token, a program of yours can do what you can do: never more than your roles permit at that
    time."""

    name: Annotated[str, Field(min_length=1, max_length=100), Help(gettext_lazy("What it is for"))]
    access: Annotated[str, OneOf(_access), Help(gettext_lazy("It may"))] = "read"
    days: Annotated[
        int, Field(ge=1, le=LONGEST_TOKEN_DAYS), Help(gettext_lazy("Valid for"), gettext_lazy("days"))
    ] = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token's secret, which is not displayed again."""

    number: int
    name: str
    expires_at: datetime
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeTokenRequest:
    """A token of yours becomes invalid at once; with a token for a corpus or a campaign, only that token."""

    token: Annotated[int, Named(API_TOKENS), Help(gettext_lazy("Token"), gettext_lazy("Its number"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSummary:
    """A token without its secret, which is displayed once, when it is created. `hint` is how the secret
    begins, and `used_at` is to the hour."""

    number: int
    name: str
    hint: str
    writes: bool
    corpus: str | None
    campaign: str | None
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None


def list_tokens(request: TokensRequest, context: OperationContext) -> Listing:
    """Return the tokens of the caller."""
    return Listing(tokens_of(context.actor), "-pk", _summary)


def _summary(token: ApiToken) -> TokenSummary:
    return result_of(
        TokenSummary,
        token,
        number=token.pk,
        corpus=token.corpus.name if token.corpus is not None else None,
        campaign=token.campaign.name if token.campaign is not None else None,
    )


class CreatedToken(NamedTuple):
    """A new token, and its secret, which cannot be recovered later."""

    token: ApiToken
    secret: str


def make_api_token(
    *,
    account: Account,
    name: str,
    days: int,
    writes: bool,
    corpus: Corpus | None = None,
    campaign: Campaign | None = None,
) -> CreatedToken:
    """Create a token for `account`, valid for `days` days, read-only or for writing too.

    `corpus` or `campaign` limits it. Raises PhraseboxError for an account without a staff role.
    """
    name = name.strip()
    scope = Scope(corpus.pk if corpus else None, campaign.pk if campaign else None)
    if not 0 < len(name) <= 100 or not name.isprintable():
        raise PhraseboxError(_("Say what the token is for, in 1 to 100 characters."))
    if not 1 <= days <= LONGEST_TOKEN_DAYS:
        raise PhraseboxError(_("A token is good for 1 to %(most)d days.") % {"most": LONGEST_TOKEN_DAYS})
    if not account.has_staff_role:
        raise PhraseboxError(_("Only accounts with a staff role can make tokens: ask an admin for a role."))
    if not held_within(account, scope):
        raise PhraseboxError(_("None of your roles covers this: choose another limit."))
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    with database.writing():
        now = database.now()
        # Two requests at once must not exceed the limit together.
        Account.objects.select_for_update(no_key=True).get(pk=account.pk)
        if ApiToken.objects.filter(account=account, expires_at__gt=now).count() >= MOST_TOKENS:
            raise PhraseboxError(
                _("You have %(most)d tokens: revoke one that you no longer use.") % {"most": MOST_TOKENS}
            )
        api_token = ApiToken.objects.create(
            account=account,
            name=name,
            digest=digest_of_secret(secret),
            hint=secret[: len(TOKEN_PREFIX) + 2],
            writes=writes,
            corpus=corpus,
            campaign=campaign,
            expires_at=now + timedelta(days=days),
        )
        record(
            actor=account,
            act="make_token",
            campaign=campaign,
            token=api_token.pk,
            name=name,
            days=days,
            writes=writes,
            corpus=corpus.name if corpus else None,
        )
    return CreatedToken(api_token, secret)


def make_token(request: MakeTokenRequest, context: OperationContext) -> NewToken:
    """Create a token of the caller. Raises ApiTokenError."""
    limit = request.rows()
    row, secret = make_api_token(
        account=context.actor,
        name=request.name,
        days=request.days,
        writes=request.access == "write",
        corpus=limit.corpus,
        campaign=limit.campaign,
    )
    return NewToken(number=row.pk, name=row.name, expires_at=row.expires_at, secret=secret)


def revoke_token(request: RevokeTokenRequest, context: OperationContext) -> None:
    """Revoke a token at once."""
    with database.writing():
        row = tokens_of(context.actor).get(pk=request.token)
        record(actor=context.actor, act="revoke_token", campaign=row.campaign, token=row.pk, name=row.name)
        row.delete()


def token_of_secret(secret: str) -> ApiToken | None:
    """Return the token with that secret and its account; None if revoked, expired or unknown."""
    if not secret.startswith(TOKEN_PREFIX) or len(secret) > LONGEST_SECRET or not secret.isascii():
        return None
    now = database.now()
    row = (
        ApiToken.objects.select_related("account")
        .filter(digest=digest_of_secret(secret), expires_at__gt=now, account__is_active=True)
        .first()
    )
    if row is not None and (row.used_at is None or row.used_at < now - _USED_STEP):
        ApiToken.objects.filter(pk=row.pk).update(used_at=now)
    return row


def account_under(token: ApiToken) -> Account:
    """Return the account of a token with its permissions: current roles, within the token's limit.

    Read at every call, so that a revoked role is gone with the next one.
    """
    account = token.account
    # Restricted in memory only: code that acts for an account never saves it.
    account.token, account.limit = token.pk, token.scope
    account.granted = held_within(account, token.scope)
    account.is_superuser = False
    return account


def held_within(account: Account, limit: Scope) -> frozenset[Granted]:
    """Return the staff roles of `account` within `limit`."""
    staff = RoleGrant.objects.filter(account=account).exclude(role=ANNOTATOR)
    rows: list[tuple[str, int | None, int | None, int | None]] = list(
        staff.values_list("role", "corpus", "campaign", "campaign__corpus")
    )
    if account.is_superuser:
        rows.append((ADMIN, None, None, None))
    scopes = set()
    for role, corpus, campaign, its_corpus in rows:
        held = Scope(corpus, campaign)
        if limit.covers(Scope(corpus or its_corpus, campaign)):
            scopes.add(Granted(role, held))
        elif held.covers(_whole(limit)):
            scopes.add(Granted(role, limit))
    return frozenset(scopes)


def _whole(limit: Scope) -> Scope:
    """Return a limit with the corpus of its campaign, since roles for corpora cover campaigns."""
    if limit.campaign is None:
        return limit
    return Scope(Campaign.objects.values_list("corpus", flat=True).get(pk=limit.campaign), limit.campaign)


def prune_api_tokens() -> None:
    """Delete tokens that expired a month ago; until then their owner sees that they expired."""
    with database.writing():
        ApiToken.objects.filter(expires_at__lt=database.now() - timedelta(days=30)).delete()


def digest_of_secret(secret: str) -> str:
    """Return the SHA-256 of a secret, which is stored, in hexadecimal.

    Random secrets need neither salt nor delay; it is independent of the server's key.
    """
    return hashlib.sha256(secret.encode()).hexdigest()
