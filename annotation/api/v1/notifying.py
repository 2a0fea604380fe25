"""Webhooks with their log, and alarms by e-mail, by API."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import Anywhere, On, missing
from annotation.api.rest.fields import CallFields, NameField, TextField
from annotation.api.rest.operations import (
    DELETE,
    GET,
    PATCH,
    POST,
    ApiCall,
    ApiRoute,
    Created,
    serves,
)
from annotation.common.roles import RESEARCHER
from annotation.models import AlarmSubscription, Webhook, WebhookDelivery
from annotation.notifications import alarms, hooks
from annotation.notifications.events import announce_test
from annotation.notifications.hooks import MadeWebhook, WebhookRefused
from annotation.notifications.receivers import LONGEST_ADDRESS
from annotation.selectors.scopes import campaigns_of, corpora_of
from annotation.web.staff.server.webhook import WEBHOOK_OF_ADDRESS

_TAG = "notifications"
_ALL, _ONE = "webhooks", "webhooks/<int:name>"
_RESEARCHERS = Anywhere((RESEARCHER,))
_ITS_RESEARCHERS = On(WEBHOOK_OF_ADDRESS, (RESEARCHER,))
_EXAMPLE = {
    "name": "our bot",
    "address": "https://bot.example.org/phrasebox",
    "events": ["campaign.finished", "job.ended"],
    "campaign": "quay",
}


class WebhookShown(serializers.Serializer[Any]):
    """An address that is called when something happens to a campaign, to a corpus and all that hangs on it,
    or, where both are null, anywhere on the server. `sends` says whether anything is sent now: it is on, and
    its owner is a researcher of what it tells of."""

    number = serializers.IntegerField()
    name = serializers.CharField()
    address = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    corpus = serializers.CharField(allow_null=True)
    campaign = serializers.CharField(allow_null=True)
    active = serializers.BooleanField()
    sends = serializers.BooleanField()
    owner = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class WebhookMadeShown(WebhookShown):
    """A webhook with the secret that signs what it sends: shown this once, and kept nowhere. The same call
    under the same key is answered with null in its place."""

    secret = serializers.CharField(allow_null=True)


class DeliveryShown(serializers.Serializer[Any]):
    """A line of a webhook's log: an event, what is sent, and what came of it. `error` begins with one of off,
    address, certificate, timeout, no_answer, redirect, status; "" where there is none."""

    number = serializers.IntegerField()
    id = serializers.CharField(help_text="As the header webhook-id has it.")
    event = serializers.CharField()
    body = serializers.CharField(help_text="JSON as it is sent, byte for byte.")
    state = serializers.ChoiceField(["waiting", "delivered", "given_up"])
    attempts = serializers.IntegerField()
    status = serializers.IntegerField(allow_null=True, help_text="HTTP, of the last attempt.")
    error = serializers.CharField()
    created_at = serializers.DateTimeField()
    tried_at = serializers.DateTimeField(allow_null=True)
    next_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class SubscriptionShown(serializers.Serializer[Any]):
    """Alarms of a campaign, of a corpus's campaigns, or, where both are null, of all, which you get by
    e-mail."""

    number = serializers.IntegerField()
    corpus = serializers.CharField(allow_null=True)
    campaign = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class WebhookWanted(CallFields):
    """A webhook: of one corpus, of one campaign, or of the whole server."""

    name = TextField(max_length=100, help_text="What it is for.")
    address = serializers.CharField(max_length=LONGEST_ADDRESS, help_text="https, on the internet.")
    events = serializers.ListField(child=serializers.ChoiceField(hooks.EVENTS), min_length=1, max_length=10)
    corpus = NameField(required=False)
    campaign = NameField(required=False)


class WebhookChange(CallFields):
    """What is to be different; whoever changes a webhook owns it from then on."""

    name = TextField(max_length=100, required=False)
    address = serializers.CharField(max_length=LONGEST_ADDRESS, required=False)
    events = serializers.ListField(
        child=serializers.ChoiceField(hooks.EVENTS), min_length=1, max_length=10, required=False
    )
    active = serializers.BooleanField(required=False)


class SubscriptionWanted(CallFields):
    """Of what the alarms are to be: one corpus, one campaign, or all."""

    corpus = NameField(required=False)
    campaign = NameField(required=False)


class DeliveryFilter(CallFields):
    """Which lines of the log."""

    state = serializers.ChoiceField(["waiting", "delivered", "given_up"], required=False)


@serves(
    ApiRoute(
        route="webhooks",
        method=GET,
        path=_ALL,
        tag=_TAG,
        opens=_RESEARCHERS,
        answers=WebhookShown,
        listed=True,
    )
)
def webhooks_list_call(call: ApiCall) -> CursorPage:
    """List the webhooks of what you are a researcher for, the newest first."""
    page = call.rows.of_rows(hooks.webhooks_of(call.account), "-pk", lambda row: row)
    sending = hooks.those_that_send(page.results)
    return page._replace(results=[_webhook_plain(row, row.pk in sending) for row in page.results])


@serves(
    ApiRoute(
        route="webhooks",
        method=POST,
        path=_ALL,
        tag=_TAG,
        opens=_RESEARCHERS,
        body=WebhookWanted,
        makes=True,
        answers=WebhookMadeShown,
        secret="secret",
        refuses=(WebhookRefused,),
        example=_EXAMPLE,
    )
)
def webhook_make_call(call: ApiCall) -> Created:
    """Make a webhook. The answer has its secret, this once."""
    wanted = hooks.WebhookRequest(
        name=call.data["name"],
        address=call.data["address"],
        events=call.data["events"],
        **_place(call),
    )
    made = hooks.make_webhook(wanted=wanted, account=call.account)
    return Created(_made_plain(made), reverse("v1_webhook", args=[made.webhook.pk]))


@serves(
    ApiRoute(route="webhook", method=GET, path=_ONE, tag=_TAG, opens=_ITS_RESEARCHERS, answers=WebhookShown)
)
def webhook_show_call(call: ApiCall, webhook: Webhook) -> dict[str, Any]:
    """Show a webhook."""
    return _webhook_plain(webhook, hooks.may_send(webhook))


@serves(
    ApiRoute(
        route="webhook",
        method=PATCH,
        path=_ONE,
        tag=_TAG,
        opens=_ITS_RESEARCHERS,
        body=WebhookChange,
        answers=WebhookShown,
        refuses=(WebhookRefused,),
        example={"active": False},
    )
)
def webhook_change_call(call: ApiCall, webhook: Webhook) -> dict[str, Any]:
    """Change a webhook, switch it on or off, or take it over from its owner."""
    hooks.change_webhook(
        webhook=webhook,
        actor=call.account,
        name=call.data.get("name"),
        address=call.data.get("address"),
        events=call.data.get("events"),
        active=call.data.get("active"),
    )
    row = WEBHOOK_OF_ADDRESS(str(webhook.pk))
    return _webhook_plain(row, hooks.may_send(row))


@serves(ApiRoute(route="webhook", method=DELETE, path=_ONE, tag=_TAG, opens=_ITS_RESEARCHERS))
def webhook_remove_call(call: ApiCall, webhook: Webhook) -> None:
    """Remove a webhook with its log; what waits is not sent any more."""
    hooks.remove_webhook(webhook=webhook, actor=call.account)


@serves(
    ApiRoute(
        route="webhook_secret",
        method=POST,
        path=f"{_ONE}/secret",
        tag=_TAG,
        opens=_ITS_RESEARCHERS,
        answers=WebhookMadeShown,
        secret="secret",
    )
)
def webhook_renew_secret_call(call: ApiCall, webhook: Webhook) -> dict[str, Any]:
    """Give a webhook another secret; what is sent from now on is signed with that."""
    return _made_plain(hooks.renew_secret(webhook=webhook, actor=call.account))


@serves(
    ApiRoute(
        route="webhook_test",
        method=POST,
        path=f"{_ONE}/test",
        tag=_TAG,
        opens=_ITS_RESEARCHERS,
        answers=DeliveryShown,
        refuses=(WebhookRefused,),
    )
)
def webhook_test_call(call: ApiCall, webhook: Webhook) -> dict[str, Any]:
    """Send a webhook an event of the type webhook.test."""
    if not hooks.may_send(webhook):
        raise WebhookRefused(_("This webhook is off: switch it on first."))
    return _delivery_plain(announce_test(webhook))


@serves(
    ApiRoute(
        route="webhook_log",
        method=GET,
        path=f"{_ONE}/deliveries",
        tag=_TAG,
        opens=_ITS_RESEARCHERS,
        asked=DeliveryFilter,
        answers=DeliveryShown,
        listed=True,
    )
)
def webhook_log_list_call(call: ApiCall, webhook: Webhook) -> CursorPage:
    """List what a webhook was or is to be told, the newest first; lines are kept for 30 days."""
    found = webhook.deliveries.all()
    if "state" in call.asked:
        found = found.filter(state=call.asked["state"])
    return call.rows.of_rows(found, "-pk", _delivery_plain)


@serves(
    ApiRoute(
        route="webhook_send_again",
        method=POST,
        path=f"{_ONE}/deliveries/<int:delivery>/send-again",
        tag=_TAG,
        opens=_ITS_RESEARCHERS,
        answers=DeliveryShown,
        refuses=(WebhookRefused,),
    )
)
def webhook_send_again_call(call: ApiCall, webhook: Webhook, delivery: int) -> dict[str, Any]:
    """Send an event of the log once more, at once, under the same id."""
    found = WebhookDelivery.objects.filter(webhook=webhook, pk=delivery)
    row = found.select_related("webhook__owner", "webhook__campaign").first()
    if row is None:
        raise missing(_("There is no such line in the log of webhook %(webhook)d.") % {"webhook": webhook.pk})
    hooks.send_again(delivery=row, actor=call.account)
    return _delivery_plain(found.get())


@serves(
    ApiRoute(
        route="alarm_subscriptions",
        method=GET,
        path="alarm-subscriptions",
        tag=_TAG,
        opens=_RESEARCHERS,
        answers=SubscriptionShown,
        listed=True,
    )
)
def alarm_subscriptions_list_call(call: ApiCall) -> CursorPage:
    """List of what you get alarms by e-mail."""
    return call.rows.of_rows(alarms.subscriptions_of(call.account), "pk", _subscription_plain)


@serves(
    ApiRoute(
        route="alarm_subscriptions",
        method=POST,
        path="alarm-subscriptions",
        tag=_TAG,
        opens=_RESEARCHERS,
        body=SubscriptionWanted,
        makes=True,
        answers=SubscriptionShown,
        refuses=(alarms.SubscriptionRefused, WebhookRefused),
        example={"campaign": "quay"},
    )
)
def alarms_subscribe_call(call: ApiCall) -> Created:
    """Get alarms by e-mail, at the address of your account."""
    row = alarms.subscribe(
        account=call.account,
        language=get_language() or "en",
        origin=call.request.build_absolute_uri("/").rstrip("/"),
        **_place(call),
    )
    return Created(_subscription_plain(row), reverse("v1_alarm_subscriptions"))


@serves(
    ApiRoute(
        route="alarm_subscription",
        method=DELETE,
        path="alarm-subscriptions/<int:number>",
        tag=_TAG,
        opens=_RESEARCHERS,
    )
)
def alarms_unsubscribe_call(call: ApiCall, number: int) -> None:
    """Get no more of these alarms."""
    if not alarms.unsubscribe(account=call.account, subscription=number):
        raise missing(_("You have no subscription %(number)d.") % {"number": number})


def _place(call: ApiCall) -> dict[str, Any]:
    """The corpus or the campaign that a call names; what is not open is not there."""
    if "corpus" in call.data and "campaign" in call.data:
        raise WebhookRefused(_("Name a corpus or a campaign, not both."))
    if "corpus" in call.data:
        corpus = corpora_of(call.account, RESEARCHER).filter(name=call.data["corpus"]).first()
        if corpus is None:
            raise missing(_("There is no corpus “%(name)s” here.") % {"name": call.data["corpus"]})
        return {"corpus": corpus}
    if "campaign" in call.data:
        found = campaigns_of(call.account, RESEARCHER).select_related("corpus")
        campaign = found.filter(name=call.data["campaign"]).first()
        if campaign is None:
            raise missing(_("There is no campaign “%(name)s” here.") % {"name": call.data["campaign"]})
        return {"campaign": campaign}
    return {}


def _webhook_plain(row: Webhook, sends: bool) -> dict[str, Any]:
    return {
        "number": row.pk,
        "name": row.name,
        "address": row.address,
        "events": row.events,
        "corpus": row.corpus.name if row.corpus is not None else None,
        "campaign": row.campaign.name if row.campaign is not None else None,
        "active": row.active,
        "sends": sends,
        "owner": row.owner.get_username() if row.owner is not None else None,
        "created_at": json_time(row.created_at),
    }


def _made_plain(made: MadeWebhook) -> dict[str, Any]:
    row = WEBHOOK_OF_ADDRESS(str(made.webhook.pk))
    return {**_webhook_plain(row, hooks.may_send(row)), "secret": made.secret}


def _delivery_plain(row: WebhookDelivery) -> dict[str, Any]:
    return {
        "number": row.pk,
        "id": row.message,
        "event": row.event,
        "body": row.body,
        "state": row.state,
        "attempts": row.attempts,
        "status": row.status,
        "error": row.error,
        "created_at": json_time(row.created_at),
        "tried_at": json_time(row.tried_at),
        "next_at": json_time(row.next_at),
        "ended_at": json_time(row.ended_at),
    }


def _subscription_plain(row: AlarmSubscription) -> dict[str, Any]:
    return {
        "number": row.pk,
        "corpus": row.corpus.name if row.corpus is not None else None,
        "campaign": row.campaign.name if row.campaign is not None else None,
        "created_at": json_time(row.created_at),
    }
