"""The page of one webhook: its events, its log, and its actions."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.common.database import LARGEST_ID
from annotation.common.operations import operation_named
from annotation.common.roles import RESEARCHER
from annotation.models import Webhook, WebhookDelivery
from annotation.notifications import hooks, sending
from annotation.notifications.delivering import OFF
from annotation.notifications.events import DELIVERY_STATES
from annotation.web.common.access import AddressedThing, account_of, for_roles_on
from annotation.web.common.filters import query_number
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.server.notifications import EVENTS_IN_WORDS

#: The webhook of an address, by its number.
WEBHOOK_OF_ADDRESS = AddressedThing(
    lambda number: hooks.webhooks_of(None).filter(pk=min(int(number), LARGEST_ID)).first(),
    gettext_lazy("There is no webhook %(name)s here."),
)
#: Labels of the reasons why an attempt failed.
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
    """Show one webhook, and the newest lines of its log."""
    before = query_number(request.GET, "before")
    deliveries = webhook.deliveries.order_by("-pk")
    rows = list((deliveries.filter(pk__lt=before) if before else deliveries)[: _LINES + 1])
    listed = rows[:_LINES]
    return render(
        request,
        "annotation/staff/webhook.html",
        {
            "webhook": webhook,
            "sends": hooks.may_send(webhook),
            "log": [
                (
                    row,
                    EVENTS_IN_WORDS.get(row.event, row.event),
                    DELIVERY_STATES[row.state],
                    failure_in_words(row.error),
                )
                for row in listed
            ],
            "later": listed[-1].pk if len(rows) > _LINES else None,
            "first": before is not None,
            "live": any(row.state == WebhookDelivery.WAITING and not row.attempts for row in listed),
            "form": RequestForm(
                operation_named("change_webhook"),
                account_of(request),
                initial={"name": webhook.name, "address": webhook.address, "events": webhook.events},
            ),
        },
    )


def failure_in_words(error: str) -> str:
    """Return why an attempt failed, from its stored form, in words."""
    why, _colon, detail = error.partition(": ")
    text = str(FAILURES_IN_WORDS.get(why, why))
    return f"{text} ({detail})" if detail else text


urlpatterns = [path("<int:name>/", webhook_detail, name="webhook")]
