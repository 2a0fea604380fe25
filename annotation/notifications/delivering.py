"""Send waiting events to webhooks: in short runs of the periodic work."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Count, F, Window
from django.db.models.functions import RowNumber

from annotation.common import database
from annotation.models import Webhook, WebhookDelivery
from annotation.notifications.hooks import those_that_send
from annotation.notifications.receivers import (
    ID_HEADER,
    SIGNATURE_HEADER,
    TIME_HEADER,
    secret_of,
    webhook_signature,
)
from annotation.notifications.sending import ALL_SECONDS, SendOutcome, send

#: Seconds until a second attempt; each next one waits twice as long, at most an hour.
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 30, 3600
#: For how long a delivery is tried, and how long its line is stored after its end.
RETRY_PERIOD, LOG_STORED_FOR = timedelta(days=3), timedelta(days=30)
#: Maximum deliveries per run, all sent at the same time, and per webhook in it: a slow receiver must delay
#: neither the others nor the rest of the periodic work.
_MOST, _MOST_OF_ONE = 64, 4
#: A claimed delivery is not claimed again before this time, in case its process dies.
_CLAIM_SECONDS = 60
#: Why nothing was sent at all.
OFF = "off"


class ClaimedDelivery(NamedTuple):
    """A delivery of this run, and whether it may be sent: to an active webhook, whose owner still is a
    researcher."""

    row: WebhookDelivery
    allowed: bool


def deliver_webhooks() -> int:
    """Send due events; return the number of attempts. Failed ones are retried at growing intervals."""
    taken = _take()
    if not taken:
        return 0
    with ThreadPoolExecutor(len(taken)) as pool:
        outcomes = list(pool.map(_attempt, taken))
    with database.writing():
        for message, outcome in zip(taken, outcomes, strict=True):
            _save_outcome(message.row, outcome)
    return len(taken)


def _take() -> list[ClaimedDelivery]:
    """Claim the deliveries of this run."""
    now = database.now()
    waiting = WebhookDelivery.objects.filter(state=WebhookDelivery.WAITING, next_at__lte=now)
    # Numbered per webhook: thousands of waiting events of one do not hide those of the others.
    rank = Window(RowNumber(), partition_by=F("webhook"), order_by=[F("next_at"), F("pk")])
    first = (
        waiting.annotate(rank_of_hook=rank).filter(rank_of_hook__lte=_MOST_OF_ONE).order_by("next_at", "pk")
    )
    keys = list(first.values_list("pk", flat=True)[:_MOST])
    if not keys:
        return []
    later = now + timedelta(seconds=ALL_SECONDS + _CLAIM_SECONDS)
    taken = []
    with database.writing():
        for key in keys:
            if waiting.filter(pk=key).update(next_at=later):
                taken.append(key)
    rows = WebhookDelivery.objects.filter(pk__in=taken).order_by("pk")
    rows = rows.select_related("webhook__owner", "webhook__campaign")
    sending = those_that_send(row.webhook for row in rows)
    return [ClaimedDelivery(row, row.webhook_id in sending) for row in rows]


def _attempt(taken: ClaimedDelivery) -> SendOutcome:
    """Send one delivery; runs in a separate thread, so it makes no database query."""
    if not taken.allowed:
        return SendOutcome(None, OFF)
    row = taken.row
    body = row.body.encode()
    at = int(database.now().timestamp())
    signature = webhook_signature(secret=secret_of(row.webhook.salt), message=row.message, at=at, body=body)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Phrasebox-Webhooks/1",
        ID_HEADER: row.message,
        TIME_HEADER: str(at),
        SIGNATURE_HEADER: signature,
    }
    return send(row.webhook.address, headers, body)


def _save_outcome(row: WebhookDelivery, outcome: SendOutcome) -> None:
    """Store the result of an attempt, and when the next is due, if any."""
    now = database.now()
    attempts = row.attempts + 1
    values = {
        "attempts": attempts,
        "status": outcome.status,
        "error": ": ".join(filter(None, (outcome.why, outcome.detail)))[:300],
        "tried_at": now,
    }
    if not outcome.why:
        values |= {"state": WebhookDelivery.DELIVERED, "next_at": None, "ended_at": now}
    elif outcome.why == OFF or (due := next_attempt(row, now)) is None:
        values |= {"state": WebhookDelivery.GIVEN_UP, "next_at": None, "ended_at": now}
    else:
        values |= {"next_at": due}
    # A delivery that was sent again meanwhile, or whose webhook was deleted, is not updated.
    WebhookDelivery.objects.filter(pk=row.pk, begun_at=row.begun_at).update(**values)


def next_attempt(row: WebhookDelivery, now: datetime) -> datetime | None:
    """Return the time of the next attempt after a failure; None if it is given up."""
    wait = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** min(row.attempts, 20))
    due = now + timedelta(seconds=wait)
    return due if due <= row.begun_at + RETRY_PERIOD else None


def undelivered(webhooks: Iterable[Webhook]) -> dict[int, int]:
    """Return the number of deliveries of each webhook that wait after a failure or were given up, within its
    log."""
    rows = WebhookDelivery.objects.filter(webhook__in=list(webhooks)).exclude(error="")
    rows = rows.exclude(state=WebhookDelivery.DELIVERED)
    return dict(rows.values_list("webhook").annotate(Count("pk")).order_by())


def prune_webhook_log() -> None:
    """Delete the lines of deliveries that ended a month ago, in batches."""
    old = WebhookDelivery.objects.filter(ended_at__lt=database.now() - LOG_STORED_FOR)
    database.delete_in_steps(old)
