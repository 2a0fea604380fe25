"""Events, written for each webhook that they concern, and the log of their deliveries."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.common import database
from annotation.common.database import LARGEST_ID
from annotation.common.operations import Help, Listing, OneOf, OperationContext, invalid, result_of
from annotation.models import Campaign, Corpus, Webhook, WebhookDelivery
from annotation.notifications.hooks import (
    TEST_EVENT,
    WebhookNumber,
    may_send,
    note_webhook,
    those_that_send,
    webhook_numbered,
)
from phrasebox.errors import PhraseboxError

#: States of a delivery.
DELIVERY_STATES: dict[str, str | Promise] = {
    WebhookDelivery.WAITING: gettext_lazy("waiting"),
    WebhookDelivery.DELIVERED: gettext_lazy("delivered"),
    WebhookDelivery.GIVEN_UP: gettext_lazy("given up"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookLogRequest:
    """The deliveries of a webhook, the newest first; lines are stored for 30 days."""

    webhook: WebhookNumber
    state: Annotated[
        Annotated[str, OneOf(DELIVERY_STATES.copy, gettext_lazy("all"))] | None, Help(gettext_lazy("State"))
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTestRequest:
    """Sends a webhook an event of the type webhook.test, independent of its events."""

    webhook: WebhookNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAgainRequest:
    """An event of a webhook's log is sent once more, at once, under the same id."""

    webhook: WebhookNumber
    delivery: Annotated[
        int, Field(ge=1), Help(gettext_lazy("Delivery"), gettext_lazy("The number of a line of the log"))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A line of a webhook's log: an event, its message (`body`: JSON, byte for byte), and the result. `id` is
    that of the header webhook-id, and `status` is HTTP's, of the last attempt. `error` begins with one of
    off, address, certificate, timeout, no_answer, redirect, status; "" if there is none."""

    number: int
    id: str
    event: str
    body: str
    state: str
    attempts: int
    status: int | None
    error: str
    created_at: datetime
    tried_at: datetime | None
    next_at: datetime | None
    ended_at: datetime | None


def announce(
    event: str, *, data: Mapping[str, Any], campaign: Campaign | None = None, corpus: Corpus | None = None
) -> int:
    """Write `event` for every webhook that it concerns, of a campaign, of a corpus or of the server; return
    their number.

    Call it within the transaction of the event, so that both are stored or neither.
    """
    about = Q(campaign=None, corpus=None)
    if campaign is not None:
        about |= Q(campaign=campaign) | Q(corpus=campaign.corpus_id)
    elif corpus is not None:
        about |= Q(corpus=corpus)
    rows = Webhook.objects.filter(about, active=True).select_related("owner", "campaign")
    subscribed = [row for row in rows if event in row.events]
    sending = those_that_send(subscribed) if subscribed else set()
    receiving = [row for row in subscribed if row.pk in sending]
    if not receiving:
        return 0
    scope = campaign.corpus if campaign is not None else corpus
    payload = {
        "corpus": scope.name if scope is not None else None,
        "campaign": campaign.name if campaign is not None else None,
        **data,
    }
    with database.writing():
        for row in receiving:
            _deliver(row, event, payload)
    return len(receiving)


def list_deliveries(request: WebhookLogRequest, context: OperationContext) -> Listing:
    """Return the lines of a webhook's log."""
    rows = WebhookDelivery.objects.filter(webhook=request.webhook)
    return Listing(rows.filter(state=request.state) if request.state else rows, "-pk", _delivery)


def send_test_event(request: WebhookTestRequest, context: OperationContext) -> Delivery:
    """Send one webhook a test event. Raises PhraseboxError if it is off."""
    webhook = _sending(request.webhook)
    with database.writing():
        return _delivery(_deliver(webhook, TEST_EVENT, {"webhook": webhook.pk, "name": webhook.name}))


def send_again(request: SendAgainRequest, context: OperationContext) -> Delivery:
    """Send a delivery once more. Raises Invalid, and PhraseboxError if its webhook is off."""
    rows = WebhookDelivery.objects.filter(webhook=request.webhook, pk=min(request.delivery, LARGEST_ID))
    row = rows.first()
    if row is None:
        raise invalid("delivery", "unknown", kind=_("delivery"), value=request.delivery)
    webhook = _sending(request.webhook)
    with database.writing():
        now = database.now()
        rows.update(state=WebhookDelivery.WAITING, next_at=now, begun_at=now, ended_at=None)
        note_webhook(webhook, context.actor, "send_webhook_again", message=row.message)
    return _delivery(rows.get())


def _sending(number: int) -> Webhook:
    """Return the webhook of that number. Raises PhraseboxError unless it is active."""
    webhook = webhook_numbered(number)
    if not may_send(webhook):
        raise PhraseboxError(_("This webhook is off: switch it on first."))
    return webhook


def _delivery(row: WebhookDelivery) -> Delivery:
    return result_of(Delivery, row, number=row.pk, id=row.message)


def _deliver(webhook: Webhook, event: str, data: Mapping[str, Any]) -> WebhookDelivery:
    now = database.now()
    body = {"type": event, "timestamp": now.isoformat(timespec="milliseconds"), "data": data}
    return WebhookDelivery.objects.create(
        webhook=webhook,
        message=f"msg_{secrets.token_urlsafe(18)}",
        event=event,
        body=json.dumps(body, ensure_ascii=False),
        created_at=now,
        begun_at=now,
        next_at=now,
    )
