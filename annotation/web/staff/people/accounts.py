"""The list of all accounts, one account, and an admin's acts on it."""

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.common.database import LARGEST_ID
from annotation.common.operations import operation_named
from annotation.common.roles import RESEARCHER
from annotation.models import Account, ApiToken
from annotation.selectors.people.accounts import PEOPLE_KINDS, PEOPLE_STATES, STAFF, matching_accounts
from annotation.web.common.access import account_of, for_admins
from annotation.web.common.lists import SortColumn, list_page
from annotation.web.common.request_forms import RequestForm
from annotation.workers.accounts import second_factor

#: Number of accounts on a page.
PEOPLE_PER_PAGE = 50
#: Maximum number of roles of one account in the list.
_MOST_ROLES = 5
_SORTS = {
    "name": SortColumn(gettext_lazy("User name"), "username"),
    "joined": SortColumn(gettext_lazy("Since"), "date_joined", down=True),
}


@require_safe
@never_cache
@for_admins
def people_list(request: HttpRequest) -> HttpResponse:
    """List accounts; and the rule for second factors."""
    kind = request.GET.get("who", "")
    kind = kind if kind in PEOPLE_KINDS else STAFF
    state = request.GET.get("state", "")
    state = state if state in PEOPLE_STATES else ""
    page = list_page(
        matching_accounts(kind=kind, state=state),
        request.GET,
        sorts=_SORTS,
        number=PEOPLE_PER_PAGE,
        also={"who": kind, "state": state},
        searched=("username", "email"),
    )
    about = {
        "page": page,
        "people": [(row, *_first_roles(row)) for row in page.rows],
        "kinds": PEOPLE_KINDS.items(),
        "kind": kind,
        "states": PEOPLE_STATES.items(),
        "state": state,
        "form": RequestForm(
            operation_named("set_second_factor_rule"),
            account_of(request),
            initial={"who": second_factor.second_factor_rule()},
        ),
    }
    return render(request, "annotation/staff/people.html", about)


@require_safe
@never_cache
@for_admins
def person_detail(request: HttpRequest, account: int) -> HttpResponse:
    """Show one account: its state, its roles, and what can be done about it."""
    person, caller = _account(account), account_of(request)
    about: dict[str, Any] = {
        "person": person,
        "is_self": person.pk == caller.pk,
        "grants": list(person.roles.all()),
        "tokens": ApiToken.objects.filter(account=person).count(),
        "codes_left": second_factor.codes_left(person),
        "must": second_factor.must_have_second_factor(person),
        "sends": settings.SENDS_MAIL,
        "form": RequestForm(operation_named("grant_role"), caller, initial={"role": RESEARCHER}),
    }
    return render(request, "annotation/staff/person.html", about)


def _account(number: int) -> Account:
    row = matching_accounts().filter(pk=min(number, LARGEST_ID)).first()
    if row is None:
        raise Http404(_("There is no account %(number)d here.") % {"number": number})
    return row


def _first_roles(row: Account) -> tuple[list[Any], int]:
    """Return the first roles of an account, and the number of others."""
    held = list(row.roles.all())
    return held[:_MOST_ROLES], max(0, len(held) - _MOST_ROLES)


urlpatterns = [
    path("", people_list, name="people"),
    path("<int:account>/", person_detail, name="person"),
]
