"""All accounts of the server, for admins: their roles, and whether they have a second factor."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, Listing, Named, OneOf, OperationContext, StoredKind
from annotation.common.roles import ANNOTATOR
from annotation.models import Account, Campaign, Corpus, RoleGrant, SecondFactor

#: Whose accounts a list contains, and the states of accounts.
STAFF, ANNOTATORS, EVERYBODY = "staff", "annotators", "everybody"
PEOPLE_KINDS: dict[str, str | Promise] = {
    STAFF: _("staff"),
    ANNOTATORS: _("annotators"),
    EVERYBODY: _("everybody"),
}
ACTIVE, DEACTIVATED, NO_SECOND_FACTOR = "active", "deactivated", "no_second_factor"
PEOPLE_STATES: dict[str, str | Promise] = {
    ACTIVE: _("active"),
    DEACTIVATED: _("deactivated"),
    NO_SECOND_FACTOR: _("without a second factor"),
}
#: Maximum number of characters of a user name.
LONGEST_USERNAME = 150


def matching_accounts(*, kind: str = EVERYBODY, state: str = "") -> QuerySet[Account]:
    """Return accounts, each with `has_factor`, `is_staff_here` and its roles; three queries a page.

    Staff have any role but annotator's, for any scope. Without `state`, all of them.
    """
    staff = RoleGrant.objects.filter(account=OuterRef("pk")).exclude(role=ANNOTATOR)
    factor = SecondFactor.objects.filter(account=OuterRef("pk"), confirmed_at__isnull=False)
    roles = RoleGrant.objects.select_related("corpus", "campaign").order_by("pk")
    accounts = Account.objects.annotate(has_factor=Exists(factor), has_staff_grant=Exists(staff))
    accounts = accounts.prefetch_related(Prefetch("roles", queryset=roles))
    of_staff = Q(has_staff_grant=True) | Q(is_superuser=True)
    if kind == STAFF:
        accounts = accounts.filter(of_staff)
    elif kind == ANNOTATORS:
        accounts = accounts.exclude(of_staff)
    if state == ACTIVE:
        accounts = accounts.filter(is_active=True)
    elif state == DEACTIVATED:
        accounts = accounts.filter(is_active=False)
    elif state == NO_SECOND_FACTOR:
        accounts = accounts.filter(is_active=True, has_factor=False)
    return accounts


#: Accounts by their user names, for admins of the whole server.
ACCOUNTS = StoredKind(
    _("account"), lambda account, *roles: matching_accounts(), r"^[\w.@+-]+$", column="username"
)
AccountName = Annotated[str, Named(ACCOUNTS, LONGEST_USERNAME), Help(_("Account"), _("Its user name"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountsRequest:
    """Accounts, in order of creation."""

    who: Annotated[str, OneOf(PEOPLE_KINDS.copy), Help(_("Who"))] = EVERYBODY
    state: Annotated[
        Annotated[str, OneOf(PEOPLE_STATES.copy, _("all"))] | None, Help(_("State of the account"))
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRequest:
    """An account and its roles."""

    account: AccountName


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRole:
    """A role and its scope; for the whole server if both are null."""

    role: str
    corpus: str | None
    campaign: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSummary:
    """An account of this server. It does not show who works under which pseudonym."""

    username: str
    email: str
    active: bool
    superuser: bool
    second_factor: bool
    roles: tuple[HeldRole, ...]
    created_at: datetime
    signed_in_at: datetime | None


def list_accounts(request: AccountsRequest, context: OperationContext) -> Listing:
    """Return the requested accounts."""
    return Listing(matching_accounts(kind=request.who, state=request.state or ""), "pk", _summary)


def show_account(request: AccountRequest, context: OperationContext) -> AccountSummary:
    """Return one account."""
    return _summary(matching_accounts().get(username=request.account))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeRequest:
    """Who calls, and what this token or session permits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """The caller and their roles."""

    username: str
    roles: tuple[HeldRole, ...]


def show_me(request: MeRequest, context: OperationContext) -> Me:
    """Return the caller; a token may permit less than its account."""
    held = sorted(context.actor.granted, key=str)
    corpora = _names(Corpus, {grant.scope.corpus for grant in held})
    campaigns = _names(Campaign, {grant.scope.campaign for grant in held})
    return Me(
        username=context.actor.get_username(),
        roles=tuple(
            HeldRole(
                role=grant.role,
                corpus=corpora.get(grant.scope.corpus),
                campaign=campaigns.get(grant.scope.campaign),
            )
            for grant in held
        ),
    )


def _names(model: Any, ids: set[int | None]) -> dict[int | None, str]:
    return dict(model.objects.filter(pk__in=ids - {None}).values_list("pk", "name")) if ids - {None} else {}


def _summary(account: Any) -> AccountSummary:
    return AccountSummary(
        username=account.get_username(),
        email=account.email,
        active=account.is_active,
        superuser=account.is_superuser,
        second_factor=account.has_factor,
        roles=tuple(
            HeldRole(
                role=row.role,
                corpus=row.corpus.name if row.corpus is not None else None,
                campaign=row.campaign.name if row.campaign is not None else None,
            )
            for row in account.roles.all()
        ),
        created_at=account.date_joined,
        signed_in_at=account.last_login,
    )
