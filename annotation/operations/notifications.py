"""Notifications: webhooks with their log, and alarms by e-mail."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import FormPage, Has, Rest, register
from annotation.common.roles import RESEARCHER
from annotation.notifications import alarms, events, hooks

_TAG = "notifications"
_RESEARCHERS, _ITS_RESEARCHERS = Has((RESEARCHER,)), Has((RESEARCHER,), on="webhook")
_PATH, _SUBSCRIPTIONS = "webhooks/<int:webhook>", "alarm-subscriptions"
_SECRET = _("Copy the secret now: it is not shown again. Your program checks signatures with it.")

register(
    title=_("List webhooks"),
    result=hooks.WebhookSummary,
    permission=_RESEARCHERS,
    run=hooks.list_webhooks,
    rest=Rest("GET", "webhooks", _TAG, route="webhooks"),
)
register(
    title=_("Make a webhook"),
    permission=_RESEARCHERS,
    run=hooks.make_webhook,
    secret="secret",
    rest=Rest(
        "POST",
        "webhooks",
        _TAG,
        route="webhooks",
        creates="webhooks/{number}",
        example={
            "name": "our bot",
            "address": "https://bot.example.org/phrasebox",
            "events": ["campaign.finished", "job.ended"],
            "campaign": "quay",
        },
    ),
    command=None,
    page=FormPage(done=_SECRET),
)
register(
    title=_("Show a webhook"),
    permission=_ITS_RESEARCHERS,
    run=hooks.show_webhook,
    rest=Rest("GET", _PATH, _TAG, route="webhook"),
)
register(
    title=_("Change a webhook"),
    permission=_ITS_RESEARCHERS,
    run=hooks.change_webhook,
    rest=Rest("PATCH", _PATH, _TAG, route="webhook", example={"active": False}),
    page=FormPage(done=_("Saved.")),
)
register(
    title=_("Remove a webhook"),
    permission=_ITS_RESEARCHERS,
    run=hooks.remove_webhook,
    rest=Rest("DELETE", _PATH, _TAG, route="webhook"),
    page=FormPage(done=_("Webhook removed.")),
)
register(
    name="renew_webhook_secret",
    title=_("Renew the secret of a webhook"),
    permission=_ITS_RESEARCHERS,
    run=hooks.renew_secret,
    secret="secret",
    rest=Rest("POST", f"{_PATH}/secret", _TAG),
    page=FormPage(done=_SECRET),
)
register(
    name="test_webhook",
    title=_("Send a webhook a test"),
    permission=_ITS_RESEARCHERS,
    run=events.send_test_event,
    rest=Rest("POST", f"{_PATH}/test", _TAG),
    page=FormPage(done=_("A test is on its way. It appears in the log.")),
)
register(
    title=_("List the log of a webhook"),
    result=events.Delivery,
    permission=_ITS_RESEARCHERS,
    run=events.list_deliveries,
    rest=Rest("GET", f"{_PATH}/deliveries", _TAG),
)
register(
    name="send_delivery_again",
    title=_("Send an event to a webhook again"),
    permission=_ITS_RESEARCHERS,
    run=events.send_again,
    rest=Rest("POST", f"{_PATH}/deliveries/<int:delivery>/send-again", _TAG),
    page=FormPage(done=_("It is sent again.")),
)
register(
    name="list_alarm_subscriptions",
    title=_("List your subscriptions to alarms"),
    result=alarms.Subscription,
    permission=_RESEARCHERS,
    run=alarms.list_subscriptions,
    rest=Rest("GET", _SUBSCRIPTIONS, _TAG, route="alarm_subscriptions"),
    command=None,
)
register(
    name="subscribe_to_alarms",
    title=_("Subscribe to alarms by e-mail"),
    permission=_RESEARCHERS,
    run=alarms.subscribe,
    rest=Rest(
        "POST",
        _SUBSCRIPTIONS,
        _TAG,
        route="alarm_subscriptions",
        creates="alarm-subscriptions",
        example={"campaign": "quay"},
    ),
    command=None,
    page=FormPage(done=_("You get these alarms by e-mail.")),
)
register(
    name="unsubscribe_from_alarms",
    title=_("End alarms by e-mail"),
    permission=_RESEARCHERS,
    run=alarms.unsubscribe,
    rest=Rest("DELETE", f"{_SUBSCRIPTIONS}/<int:subscription>", _TAG),
    command=None,
    page=FormPage(done=_("You get no more of these e-mails.")),
)
