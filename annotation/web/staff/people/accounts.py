"""The list of everybody who can sign in, one account, and what an admin does about it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.common.database import LARGEST_ID
from annotation.common.roles import ROLES
from annotation.jobs import emails
from annotation.models import Account, ApiToken, Campaign, Corpus, SignInRules
from annotation.selectors.people.accounts import (
    ANNOTATORS,
    DEACTIVATED,
    EVERYBODY,
    NO_SECOND_FACTOR,
    PEOPLE_KINDS,
    PEOPLE_STATES,
    STAFF,
    people_found,
)
from annotation.web.common.access import account_of, for_admins
from annotation.web.common.confirm import confirmed
from annotation.web.common.lists import SortColumn, list_page
from annotation.web.staff.frame import said
from annotation.workers.accounts import activation, second_factor
from annotation.workers.accounts.activation import AccountRefused
from annotation.workers.accounts.second_factor import FactorRefused

#: Accounts on a page.
PEOPLE_PER_PAGE = 50
#: Roles of one account that the list shows, and corpora and campaigns that are offered for a role.
_ROLES_SHOWN, _MOST_OFFERED = 5, 500
_SORTS = {
    "name": SortColumn(gettext_lazy("User name"), "username"),
    "joined": SortColumn(gettext_lazy("Since"), "date_joined", down=True),
}
_KINDS = {
    STAFF: gettext_lazy("staff"),
    ANNOTATORS: gettext_lazy("annotators"),
    EVERYBODY: gettext_lazy("everybody"),
}
_STATES = {
    "active": gettext_lazy("active"),
    DEACTIVATED: gettext_lazy("deactivated"),
    NO_SECOND_FACTOR: gettext_lazy("without a second factor"),
}
_RULES = {
    SignInRules.NOBODY: gettext_lazy("nobody"),
    SignInRules.ADMINS: gettext_lazy("admins of the whole server"),
    SignInRules.STAFF: gettext_lazy("all staff"),
}


@require_safe
@never_cache
@for_admins
def people_list(request: HttpRequest) -> HttpResponse:
    """Accounts, searched, filtered, sorted and paged by the address; and who must have a second factor."""
    kind = request.GET.get("who", "")
    kind = kind if kind in PEOPLE_KINDS else STAFF
    state = request.GET.get("state", "")
    state = state if state in PEOPLE_STATES else ""
    page = list_page(
        people_found(kind=kind, state=state),
        request.GET,
        sorts=_SORTS,
        number=PEOPLE_PER_PAGE,
        also={"who": kind, "state": state},
        searched=("username", "email"),
    )
    about = {
        "page": page,
        "people": [(row, *_roles_shown(row)) for row in page.rows],
        "kinds": _KINDS.items(),
        "kind": kind,
        "states": _STATES.items(),
        "state": state,
        "rules": _RULES.items(),
        "rule": second_factor.second_factor_rule(),
    }
    return render(request, "annotation/staff/people.html", about)


@require_safe
@never_cache
@for_admins
def person_detail(request: HttpRequest, account: int) -> HttpResponse:
    """One account: how it stands, its roles, and what can be done about it."""
    return _person(request, _found(account))


@require_POST
@never_cache
@for_admins
@confirmed
def person_act(request: HttpRequest, account: int) -> HttpResponse:
    """Deactivate an account or let it in again, have a new password chosen, or reset the second factor."""
    found, actor = _found(account), account_of(request)
    with said(request, AccountRefused, FactorRefused) as tell:
        match request.POST.get("act", ""):
            case "deactivate":
                changed = activation.deactivate_account(account=found, actor=actor)
                tell(_("Account deactivated.") if changed else _("It is already deactivated."))
            case "reactivate":
                changed = activation.reactivate_account(account=found, actor=actor)
                tell(_("Account reactivated.") if changed else _("It is already active."))
            case "reset_second_factor":
                second_factor.reset_second_factor(account=found, actor=actor)
                tell(_("Second factor reset: they are signed out everywhere."))
            case "send_password_link":
                _send_password_link(request, found, actor)
                tell(_("An e-mail with a link to a new password is on its way."))
            case "make_password_link":
                link = activation.make_password_link(account=found, actor=actor)
                address = request.build_absolute_uri(reverse("password_reset_confirm", args=link))
                return _person(request, found, link=address)
            case _other:
                raise AccountRefused(_("Nothing was chosen: use one of the buttons."))
    return redirect("person", found.pk)


@require_POST
@for_admins
@confirmed
def sign_in_rules_change(request: HttpRequest) -> HttpResponse:
    """Say who must have a second factor."""
    with said(request, FactorRefused) as tell:
        ended = second_factor.set_second_factor_rule(
            who=request.POST.get("second_factor", ""), actor=account_of(request)
        )
        tell(_("Saved."))
        if ended:
            text = ngettext(
                "Signed out: %(n)d account without a second factor. It sets one up when it signs in next.",
                "Signed out: %(n)d accounts without a second factor. They set one up when they sign in next.",
                ended,
            )
            messages.warning(request, text % {"n": ended})
    return redirect("people")


def _send_password_link(request: HttpRequest, found: Account, actor: Account) -> None:
    """Have the e-mail of a forgotten password sent. Raises AccountRefused."""
    if not settings.SENDS_MAIL:
        raise AccountRefused(_("This server sends no e-mail: make a link and hand it over yourself."))
    if not found.email:
        raise AccountRefused(_("This account has no e-mail address: make a link and hand it over yourself."))
    activation.note_password_link(account=found, actor=actor)
    emails.request_email(
        address=found.email,
        domain=request.get_host(),
        secure=request.is_secure(),
        language=get_language() or settings.LANGUAGE_CODE,
    )


def _person(request: HttpRequest, found: Account, *, link: str = "") -> HttpResponse:
    about: dict[str, Any] = {
        "person": found,
        "own": found.pk == account_of(request).pk,
        "grants": list(found.roles.all()),
        "tokens": ApiToken.objects.filter(account=found).count(),
        "codes_left": second_factor.codes_left(found),
        "must": second_factor.must_have_second_factor(found),
        "sends": settings.SENDS_MAIL,
        "roles": ROLES,
        "corpora": Corpus.objects.filter(published=True).order_by("name")[:_MOST_OFFERED],
        "campaigns": Campaign.objects.order_by("name")[:_MOST_OFFERED],
        "link": link,
    }
    return render(request, "annotation/staff/person.html", about)


def _found(number: int) -> Account:
    row = people_found().filter(pk=min(number, LARGEST_ID)).first()
    if row is None:
        raise Http404(_("There is no account %(number)d here.") % {"number": number})
    return row


def _roles_shown(row: Account) -> tuple[list[Any], int]:
    """The first roles of an account, and how many more there are."""
    held = list(row.roles.all())
    return held[:_ROLES_SHOWN], max(0, len(held) - _ROLES_SHOWN)


urlpatterns = [
    path("", people_list, name="people"),
    path("rules/", sign_in_rules_change, name="change_sign_in_rules"),
    path("<int:account>/", person_detail, name="person"),
    path("<int:account>/act/", person_act, name="act_on_person"),
]
