"""Webhooks: made, changed, taken over and removed by researchers of what they tell of."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.roles import RESEARCHER, Granted, Scope
from annotation.models import Account, Campaign, Corpus, RoleGrant, Webhook, WebhookDelivery
from annotation.notifications.receivers import AddressRefused, receiver_of
from annotation.notifications.signing import secret_of
from annotation.selectors.scopes import within_scope

#: What a webhook can be told of.
CAMPAIGN_FINISHED, JOB_ENDED, ALARM_RAISED = "campaign.finished", "job.ended", "alarm.raised"
EVENTS = (CAMPAIGN_FINISHED, JOB_ENDED, ALARM_RAISED)
#: What is sent to try a webhook out, whatever it is told of.
TEST_EVENT = "webhook.test"
#: Webhooks that an account may own at a time.
MOST_WEBHOOKS = 20


class WebhookRefused(ValueError):
    """A webhook that cannot be; one line with the remedy."""


class MadeWebhook(NamedTuple):
    """A webhook, and its secret, which is shown this once."""

    webhook: Webhook
    secret: str


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """What a webhook is to be: `corpus` or `campaign` is what it tells of, with neither the whole server."""

    name: str
    address: str
    events: Iterable[str]
    corpus: Corpus | None = None
    campaign: Campaign | None = None


def webhooks_of(account: Account) -> QuerySet[Webhook]:
    """The webhooks that an account may see and change: those that tell of what it is a researcher for."""
    of_campaigns = within_scope(account, RESEARCHER, corpus="campaign__corpus", campaign="campaign")
    of_corpora = within_scope(account, RESEARCHER, corpus="corpus")
    rows = Webhook.objects.select_related("corpus", "campaign__corpus", "owner")
    return rows.filter(campaign__isnull=False).filter(of_campaigns) | rows.filter(campaign=None).filter(
        of_corpora
    )


def make_webhook(*, wanted: WebhookRequest, account: Account) -> MadeWebhook:
    """Make a webhook that `account` owns. Raises WebhookRefused."""
    scope = wanted.campaign.scope if wanted.campaign else Scope(wanted.corpus.pk if wanted.corpus else None)
    if not account.has_role(RESEARCHER, on=scope):
        raise WebhookRefused(_("This takes the role researcher for what the webhook tells of."))
    given = _checked(wanted.name, wanted.address, wanted.events)
    with database.writing():
        # Two requests at once must not get past the limit together.
        Account.objects.select_for_update(no_key=True).get(pk=account.pk)
        if Webhook.objects.filter(owner_id=account.pk).count() >= MOST_WEBHOOKS:
            raise WebhookRefused(
                _("You have %(most)d webhooks: remove one that you no longer use.") % {"most": MOST_WEBHOOKS}
            )
        made = Webhook.objects.create(
            **given,
            salt=secrets.token_hex(32),
            corpus=wanted.corpus,
            campaign=wanted.campaign,
            owner_id=account.pk,
        )
        _note(made, account, "make_webhook")
    return MadeWebhook(made, secret_of(made.salt))


def change_webhook(
    *,
    webhook: Webhook,
    actor: Account,
    name: str | None = None,
    address: str | None = None,
    events: Iterable[str] | None = None,
    active: bool | None = None,
) -> Webhook:
    """Change what is given; whoever changes a webhook owns it from then on. Raises WebhookRefused."""
    given = _checked(
        webhook.name if name is None else name,
        webhook.address if address is None else address,
        webhook.events if events is None else events,
    )
    with database.writing():
        row = Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
        for field, value in given.items():
            setattr(row, field, value)
        row.active = row.active if active is None else active
        row.owner_id = actor.pk
        row.save()
        _note(row, actor, "change_webhook", active=row.active)
    return row


def renew_secret(*, webhook: Webhook, actor: Account) -> MadeWebhook:
    """Give a webhook another secret; what is sent from now on is signed with that."""
    with database.writing():
        webhook.salt, webhook.owner_id = secrets.token_hex(32), actor.pk
        webhook.save(update_fields=["salt", "owner_id"])
        _note(webhook, actor, "renew_webhook_secret")
    return MadeWebhook(webhook, secret_of(webhook.salt))


def remove_webhook(*, webhook: Webhook, actor: Account) -> None:
    """Delete a webhook with its log; what waits is not sent any more."""
    with database.writing():
        _note(webhook, actor, "remove_webhook")
        webhook.delete()


def send_again(*, delivery: WebhookDelivery, actor: Account) -> None:
    """Have a delivery sent once more, at once, under the same id. Raises WebhookRefused for one of a webhook
    that is off."""
    if not may_send(delivery.webhook):
        raise WebhookRefused(_("This webhook is off: switch it on first."))
    with database.writing():
        now = database.now()
        WebhookDelivery.objects.filter(pk=delivery.pk).update(
            state=WebhookDelivery.WAITING, next_at=now, begun_at=now, ended_at=None
        )
        _note(delivery.webhook, actor, "send_webhook_again", message=delivery.message)


def those_that_send(webhooks: Iterable[Webhook]) -> set[int]:
    """Which of these webhooks, by number, are on and have an owner who is a researcher of what they tell of,
    now. Give them with `owner` and `campaign` selected; this asks once for all."""
    rows = [each for each in webhooks if each.active and each.owner is not None]
    held: dict[int, set[Granted]] = {}
    grants = RoleGrant.objects.filter(account__in={each.owner_id for each in rows})
    for account, role, corpus, campaign in grants.values_list("account", "role", "corpus", "campaign"):
        held.setdefault(account, set()).add(Granted(role, Scope(corpus, campaign)))
    found = set()
    for each in rows:
        assert each.owner is not None
        each.owner.granted = frozenset(held.get(each.owner.pk, ()))
        if each.owner.has_role(RESEARCHER, on=each.scope):
            found.add(each.pk)
    return found


def may_send(webhook: Webhook) -> bool:
    """Whether anything is sent to a webhook, now."""
    return bool(those_that_send([webhook]))


def _checked(name: str, address: str, events: Iterable[str]) -> dict[str, object]:
    name, address, asked = name.strip(), address.strip(), set(events)
    if not 0 < len(name) <= 100 or not name.isprintable():
        raise WebhookRefused(_("Say what the webhook is for, in 1 to 100 characters."))
    if not asked or asked - set(EVENTS):
        raise WebhookRefused(_("Choose at least one event: %(known)s.") % {"known": ", ".join(EVENTS)})
    try:
        receiver_of(address)
    except AddressRefused as error:
        raise WebhookRefused(str(error)) from error
    return {"name": name, "address": address, "events": [event for event in EVENTS if event in asked]}


def _note(webhook: Webhook, actor: Account, act: str, **about: object) -> None:
    record(
        actor=actor,
        act=act,
        campaign=webhook.campaign,
        webhook=webhook.pk,
        name=webhook.name,
        corpus=webhook.corpus.name if webhook.corpus else None,
        address=webhook.address,
        **about,
    )
