"""The page of notifications: alarms by e-mail, and the webhooks of a researcher's scopes."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.common.operations import operation_named
from annotation.common.roles import RESEARCHER, WHOLE_SERVER
from annotation.models import Account
from annotation.notifications import alarms, hooks
from annotation.notifications.delivering import undelivered
from annotation.selectors.corpora import CAMPAIGNS, CORPORA
from annotation.web.common.access import account_of, for_roles
from annotation.web.common.filters import query_number
from annotation.web.common.request_forms import RequestForm

#: Labels of events.
EVENTS_IN_WORDS = {**hooks.EVENT_NAMES, hooks.TEST_EVENT: gettext_lazy("a test")}
#: Maximum number of webhooks on a page.
_MOST_HOOKS = 50


@require_safe
@never_cache
@for_roles(RESEARCHER)
def notification_list(request: HttpRequest) -> HttpResponse:
    """Show the account's webhooks and alarms, and the forms for more."""
    account = account_of(request)
    before = query_number(request.GET, "before")
    webhooks = hooks.webhooks_of(account, RESEARCHER).order_by("-pk")
    rows = list((webhooks.filter(pk__lt=before) if before else webhooks)[: _MOST_HOOKS + 1])
    listed = rows[:_MOST_HOOKS]
    failed, sending = undelivered(listed), hooks.those_that_send(listed)
    return render(
        request,
        "annotation/staff/notifications.html",
        {
            "subscriptions": alarms.subscriptions_of(account),
            "webhooks": [
                (row, events_in_words(row.events), failed.get(row.pk, 0), row.pk in sending) for row in listed
            ],
            "later": listed[-1].pk if len(rows) > _MOST_HOOKS else None,
            "first": before is not None,
            "making": _form("make_webhook", account),
            "subscribing": _form("subscribe_to_alarms", account),
        },
    )


def events_in_words(events: list[str]) -> list[str]:
    """Return the labels of a webhook's events."""
    return [str(EVENTS_IN_WORDS.get(event, event)) for event in events]


def _form(name: str, account: Account) -> RequestForm:
    """Return a form about the whole server, or about the first scope of a researcher's account."""
    initial = {}
    if not account.has_role(RESEARCHER, on=WHOLE_SERVER):
        for kind, rows in (("corpus", CORPORA.rows), ("campaign", CAMPAIGNS.rows)):
            first = rows(account, RESEARCHER).order_by("name").values_list("name", flat=True).first()
            if first is not None:
                initial = {kind: first}
                break
    return RequestForm(operation_named(name), account, initial=initial, ids=f"{name}_%s")


urlpatterns = [path("", notification_list, name="notifications")]
