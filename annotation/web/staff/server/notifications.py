"""The page of notifications: alarms by e-mail, and the webhooks of what one is a researcher for."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.common.roles import RESEARCHER, WHOLE_SERVER
from annotation.models import Account, Campaign, Corpus
from annotation.notifications import alarms, hooks
from annotation.notifications.delivering import undelivered
from annotation.notifications.hooks import WebhookRefused, WebhookRequest
from annotation.selectors.scopes import campaigns_of, corpora_of
from annotation.web.common.access import account_of, for_roles
from annotation.web.common.filters import query_number
from annotation.web.staff.frame import said

#: Events in words.
EVENTS_IN_WORDS = {
    hooks.CAMPAIGN_FINISHED: gettext_lazy("a campaign is finished"),
    hooks.JOB_ENDED: gettext_lazy("a job ended"),
    hooks.ALARM_RAISED: gettext_lazy("something needs attention"),
    hooks.TEST_EVENT: gettext_lazy("a test"),
}
#: Webhooks on a page; corpora and campaigns that are offered to choose from.
_MOST_HOOKS, _MOST_OFFERED = 50, 200


@require_safe
@never_cache
@for_roles(RESEARCHER)
def notification_list(request: HttpRequest) -> HttpResponse:
    """What one is told of, and how; the forms for more."""
    return _page(request)


@require_POST
@for_roles(RESEARCHER)
def alarms_change(request: HttpRequest) -> HttpResponse:
    """Begin or end alarms by e-mail, as the button says."""
    account, sent = account_of(request), request.POST
    with said(request, alarms.SubscriptionRefused, WebhookRefused) as tell:
        if sent.get("act") == "unsubscribe":
            if not alarms.unsubscribe(account=account, subscription=query_number(sent, "subscription") or 0):
                raise alarms.SubscriptionRefused(_("These e-mails have ended already."))
            tell(_("You get no more of these e-mails."))
        else:
            alarms.subscribe(
                account=account,
                language=get_language() or "en",
                origin=request.build_absolute_uri("/").rstrip("/"),
                **_scope(account, sent),
            )
            tell(_("You get these alarms by e-mail, at %(address)s.") % {"address": account.email})
    return redirect("server" if sent.get("from") == "server" else "notifications")


@require_POST
@never_cache
@for_roles(RESEARCHER)
def webhook_make(request: HttpRequest) -> HttpResponse:
    """Make a webhook. Its secret is shown once, as the answer to the form."""
    account, sent = account_of(request), request.POST
    try:
        wanted = WebhookRequest(
            name=sent.get("name", ""),
            address=sent.get("address", ""),
            events=sent.getlist("events"),
            **_scope(account, sent),
        )
        made = hooks.make_webhook(wanted=wanted, account=account)
    except WebhookRefused as error:
        return _page(request, wrong=str(error), status=409)
    return _page(request, made=made)


def _page(request: HttpRequest, *, status: int = 200, **about: Any) -> HttpResponse:
    account = account_of(request)
    before = query_number(request.GET, "before")
    found = hooks.webhooks_of(account).order_by("-pk")
    rows = list((found.filter(pk__lt=before) if before else found)[: _MOST_HOOKS + 1])
    shown = rows[:_MOST_HOOKS]
    failed, sending = undelivered(shown), hooks.those_that_send(shown)
    given = request.POST if "wrong" in about else QueryDict()
    return render(
        request,
        "annotation/staff/notifications.html",
        {
            "subscriptions": alarms.subscriptions_of(account),
            "webhooks": [
                (row, events_in_words(row.events), failed.get(row.pk, 0), row.pk in sending) for row in shown
            ],
            "later": shown[-1].pk if len(rows) > _MOST_HOOKS else None,
            "first": before is not None,
            "events": [(event, EVENTS_IN_WORDS[event]) for event in hooks.EVENTS],
            "chosen": given.getlist("events") or list(hooks.EVENTS),
            "given": given,
            "everything": account.has_role(RESEARCHER, on=WHOLE_SERVER),
            "corpora": corpora_of(account, RESEARCHER)
            .filter(published=True)
            .order_by("name")[:_MOST_OFFERED],
            "campaigns": campaigns_of(account, RESEARCHER).order_by("name")[:_MOST_OFFERED],
            **about,
        },
        status=status,
    )


def events_in_words(events: list[str]) -> list[str]:
    """Of what a webhook is told, in words."""
    return [str(EVENTS_IN_WORDS.get(event, event)) for event in events]


def _scope(account: Account, sent: QueryDict) -> dict[str, Any]:
    """What a form names as `corpus:NAME` or `campaign:NAME`; nothing is the whole server. What is not open
    is not there."""
    kind, _colon, name = sent.get("scope", "").replace("\0", "").partition(":")
    if not kind:
        return {}
    offered: dict[str, Any] = {
        "corpus": corpora_of(account, RESEARCHER),
        "campaign": campaigns_of(account, RESEARCHER),
    }
    found: Corpus | Campaign | None = offered[kind].filter(name=name).first() if kind in offered else None
    if found is None:
        raise WebhookRefused(_("There is no corpus or campaign “%(name)s” here.") % {"name": name[:100]})
    return {kind: found}


urlpatterns = [
    path("", notification_list, name="notifications"),
    path("alarms/change/", alarms_change, name="change_alarms"),
    path("webhooks/make/", webhook_make, name="make_webhook"),
]
