"""Common parts of arrivals from crowd platforms: identification, and signing in."""

import re

from django.contrib.auth import login, logout
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation import instructions
from annotation.models import Account, Campaign
from annotation.web.common import limits
from annotation.web.common.sign_in import BACKEND
from annotation.workers import confirmation, rate_limit, sessions
from annotation.workers.accounts.country import store_country_of_visitor
from annotation.workers.confirmation import Arrival
from annotation.workers.platform_visits import VisitError
from annotation.workers.rate_limit import Try

#: An id in the platforms' format.
ID = re.compile(r"[0-9A-Za-z_-]{4,64}")


def campaign_for_all(name: str) -> Campaign:
    """Return the campaign of that name, if it has begun."""
    campaign = Campaign.objects.filter(name=name).exclude(state=Campaign.DRAFT).first()
    if campaign is None:
        raise Http404(_("There is no campaign “%(name)s”.") % {"name": name})
    return campaign


def ids(request: HttpRequest, *names: str) -> list[str]:
    """Return the ids in the query parameters `names`. Raises VisitError for an invalid one."""
    values = [request.GET.get(name, "") for name in names]
    if not all(map(ID.fullmatch, values)):
        raise VisitError(_("This address is incomplete. Open the study again on your platform."))
    return values


def here(request: HttpRequest) -> Account | None:
    """Return the account that is signed in in this browser by such an address."""
    signed_in = isinstance(request.user, Account) and sessions.by_address(request.session)
    return request.user if signed_in else None  # type: ignore[return-value]


def let_in(request: HttpRequest, arrival: Arrival) -> HttpResponse:
    """Sign in the visitor, in place of any earlier user, and redirect to the work. The session may only
    work."""
    if confirmation.is_new(arrival) and (
        seconds := rate_limit.attempt(Try(limits.ENTRY_ADDRESS, limits.address_of(request)))
    ):
        return limits.too_often(request, "annotation/entry/arrival_refused.html", seconds)
    visit = confirmation.arrive(arrival)
    store_country_of_visitor(visit)
    account, campaign = visit.identity.account, visit.study.campaign
    assert account is not None
    if request.user.pk != account.pk or not sessions.by_address(request.session):
        logout(request)
        login(request, account, backend=BACKEND)
    request.session[sessions.VISIT] = visit.pk
    if instructions.needs_consent(worker=visit.identity.worker_id, campaign=campaign):
        return redirect("task_consent", campaign.name)
    return redirect("tasks")


def error_page(request: HttpRequest, why: VisitError, status: int = 403) -> HttpResponse:
    """Show why somebody is not admitted, and what to do."""
    return render(request, "annotation/entry/arrival_refused.html", {"why": str(why)}, status=status)
