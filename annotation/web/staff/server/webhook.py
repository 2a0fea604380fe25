"""The page of one webhook: what it is told of, its log, and what can be done with it."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.common.database import LARGEST_ID
from annotation.common.roles import RESEARCHER
from annotation.models import Webhook, WebhookDelivery
from annotation.notifications import hooks, sending
from annotation.notifications.delivering import OFF
from annotation.notifications.events import announce_test
from annotation.notifications.hooks import WebhookRefused
from annotation.web.common.access import AddressedThing, account_of, for_roles_on
from annotation.web.common.filters import query_number
from annotation.web.staff.frame import said
from annotation.web.staff.server.notifications import EVENTS_IN_WORDS

#: The webhook of an address, by its number.
WEBHOOK_OF_ADDRESS = AddressedThing(
    lambda number: (
        Webhook.objects.select_related("corpus", "campaign__corpus", "owner")
        .filter(pk=min(int(number), LARGEST_ID))
        .first()
    ),
    gettext_lazy("There is no webhook %(name)s here."),
)
#: States of a delivery in words, and why an attempt failed.
DELIVERY_STATES = {
    WebhookDelivery.WAITING: gettext_lazy("waiting"),
    WebhookDelivery.DELIVERED: gettext_lazy("delivered"),
    WebhookDelivery.GIVEN_UP: gettext_lazy("given up"),
}
FAILURES_IN_WORDS = {
    OFF: gettext_lazy("not sent: the webhook was off, or its owner no longer a researcher"),
    sending.ADDRESS: gettext_lazy("not sent to this address"),
    sending.CERTIFICATE: gettext_lazy("the certificate is not valid"),
    sending.NO_ANSWER_IN_TIME: gettext_lazy("no answer in time"),
    sending.NO_ANSWER: gettext_lazy("no answer"),
    sending.REDIRECT: gettext_lazy("a redirect, which is not followed"),
    sending.STATUS: gettext_lazy("refused by the receiver"),
}
_LINES = 50


@require_safe
@never_cache
@for_roles_on(WEBHOOK_OF_ADDRESS, RESEARCHER)
def webhook_detail(request: HttpRequest, webhook: Webhook) -> HttpResponse:
    """One webhook, and the newest lines of its log."""
    return _page(request, webhook)


@require_POST
@never_cache
@for_roles_on(WEBHOOK_OF_ADDRESS, RESEARCHER)
def webhook_act(request: HttpRequest, webhook: Webhook) -> HttpResponse:
    """Change a webhook, switch it on or off, try it out, give it a new secret, or remove it."""
    account, sent = account_of(request), request.POST
    with said(request, WebhookRefused) as tell:
        match sent.get("act", ""):
            case "save":
                hooks.change_webhook(
                    webhook=webhook,
                    actor=account,
                    name=sent.get("name", ""),
                    address=sent.get("address", ""),
                    events=sent.getlist("events"),
                )
                tell(_("Saved."))
            case "on" | "off" as way:
                hooks.change_webhook(webhook=webhook, actor=account, active=way == "on")
                tell(_("The webhook is on.") if way == "on" else _("The webhook is off."))
            case "test":
                if not hooks.may_send(webhook):
                    raise WebhookRefused(_("This webhook is off: switch it on first."))
                announce_test(webhook)
                tell(_("A test is on its way. It appears in the log."))
            case "secret":
                return _page(request, webhook, made=hooks.renew_secret(webhook=webhook, actor=account))
            case "remove":
                hooks.remove_webhook(webhook=webhook, actor=account)
                tell(_("Webhook removed."))
                return redirect("notifications")
            case _other:
                raise WebhookRefused(_("Nothing was chosen: use one of the buttons."))
    return redirect("webhook", webhook.pk)


@require_POST
@for_roles_on(WEBHOOK_OF_ADDRESS, RESEARCHER)
def delivery_send_again(request: HttpRequest, webhook: Webhook, delivery: int) -> HttpResponse:
    """Have a line of the log sent once more."""
    found = webhook.deliveries.filter(pk=min(delivery, LARGEST_ID)).select_related("webhook").first()
    if found is None:
        raise Http404(_("There is no such line in the log of webhook %(webhook)d.") % {"webhook": webhook.pk})
    with said(request, WebhookRefused) as tell:
        hooks.send_again(delivery=found, actor=account_of(request))
        tell(_("It is sent again."))
    return redirect("webhook", webhook.pk)


def _page(request: HttpRequest, webhook: Webhook, **about: Any) -> HttpResponse:
    before = query_number(request.GET, "before")
    found = webhook.deliveries.order_by("-pk")
    rows = list((found.filter(pk__lt=before) if before else found)[: _LINES + 1])
    shown = rows[:_LINES]
    return render(
        request,
        "annotation/staff/webhook.html",
        {
            "webhook": webhook,
            "sends": hooks.may_send(webhook),
            "events": [(event, EVENTS_IN_WORDS[event]) for event in hooks.EVENTS],
            "log": [
                (
                    row,
                    EVENTS_IN_WORDS.get(row.event, row.event),
                    DELIVERY_STATES[row.state],
                    failure_in_words(row.error),
                )
                for row in shown
            ],
            "later": shown[-1].pk if len(rows) > _LINES else None,
            "first": before is not None,
            "live": any(row.state == WebhookDelivery.WAITING and not row.attempts for row in shown),
            **about,
        },
    )


def failure_in_words(error: str) -> str:
    """Why an attempt failed, as it is kept, in words."""
    why, _colon, detail = error.partition(": ")
    told = str(FAILURES_IN_WORDS.get(why, why))
    return f"{told} ({detail})" if detail else told


urlpatterns = [
    path("<int:name>/", webhook_detail, name="webhook"),
    path("<int:name>/act/", webhook_act, name="act_on_webhook"),
    path("<int:name>/log/<int:delivery>/send-again/", delivery_send_again, name="send_again"),
]
