"""Everybody who can sign in here, for admins: what they hold, and whether they have a second factor."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from annotation.common.roles import ANNOTATOR
from annotation.models import Account, RoleGrant, SecondFactor

#: Whom a list of people is of, and how their accounts stand.
STAFF, ANNOTATORS, EVERYBODY = "staff", "annotators", "everybody"
PEOPLE_KINDS = (STAFF, ANNOTATORS, EVERYBODY)
ACTIVE, DEACTIVATED, NO_SECOND_FACTOR = "active", "deactivated", "no_second_factor"
PEOPLE_STATES = (ACTIVE, DEACTIVATED, NO_SECOND_FACTOR)


def people_found(*, kind: str = EVERYBODY, state: str = "") -> QuerySet[Account]:
    """Accounts, each with `has_factor`, `is_staff_here` and its roles; three queries a page.

    Staff hold any role but annotator's, for anything. Without `state`, all of them.
    """
    staff = RoleGrant.objects.filter(account=OuterRef("pk")).exclude(role=ANNOTATOR)
    factor = SecondFactor.objects.filter(account=OuterRef("pk"), confirmed_at__isnull=False)
    roles = RoleGrant.objects.select_related("corpus", "campaign").order_by("pk")
    found = Account.objects.annotate(has_factor=Exists(factor), has_staff_grant=Exists(staff))
    found = found.prefetch_related(Prefetch("roles", queryset=roles))
    of_staff = Q(has_staff_grant=True) | Q(is_superuser=True)
    if kind == STAFF:
        found = found.filter(of_staff)
    elif kind == ANNOTATORS:
        found = found.exclude(of_staff)
    if state == ACTIVE:
        found = found.filter(is_active=True)
    elif state == DEACTIVATED:
        found = found.filter(is_active=False)
    elif state == NO_SECOND_FACTOR:
        found = found.filter(is_active=True, has_factor=False)
    return found
