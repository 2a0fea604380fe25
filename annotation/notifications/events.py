"""What happens, written down for each webhook that it concerns."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from django.db.models import Q

from annotation.common import database
from annotation.models import Campaign, Corpus, Webhook, WebhookDelivery
from annotation.notifications.hooks import TEST_EVENT, those_that_send


def announce(
    event: str, *, data: Mapping[str, Any], campaign: Campaign | None = None, corpus: Corpus | None = None
) -> int:
    """Have every webhook told that `event` happened, of a campaign, of a corpus or of the server; how many.

    Call it within the transaction in which it happens: then all are told, or nothing happened.
    """
    about = Q(campaign=None, corpus=None)
    if campaign is not None:
        about |= Q(campaign=campaign) | Q(corpus=campaign.corpus_id)
    elif corpus is not None:
        about |= Q(corpus=corpus)
    rows = Webhook.objects.filter(about, active=True).select_related("owner", "campaign")
    wanted = [row for row in rows if event in row.events]
    sending = those_that_send(wanted) if wanted else set()
    found = [row for row in wanted if row.pk in sending]
    if not found:
        return 0
    place = campaign.corpus if campaign is not None else corpus
    told = {
        "corpus": place.name if place is not None else None,
        "campaign": campaign.name if campaign is not None else None,
        **data,
    }
    with database.writing():
        for row in found:
            _deliver(row, event, told)
    return len(found)


def announce_test(webhook: Webhook) -> WebhookDelivery:
    """Have one webhook told that it works."""
    with database.writing():
        return _deliver(webhook, TEST_EVENT, {"webhook": webhook.pk, "name": webhook.name})


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
