"""Webhooks: created, changed, taken over and deleted by researchers of their scope."""

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet, prefetch_related_objects
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import (
    FieldError,
    Forbidden,
    Help,
    Listing,
    Named,
    OneOf,
    OperationContext,
    StoredKind,
)
from annotation.common.roles import RESEARCHER, Granted
from annotation.models import Account, Webhook
from annotation.notifications.receivers import LONGEST_ADDRESS, AddressError, receiver_of, secret_of
from annotation.selectors.corpora import ScopeRequest, within_scope
from phrasebox.errors import PhraseboxError

#: The possible events of a webhook.
CAMPAIGN_FINISHED, JOB_ENDED, ALARM_RAISED = "campaign.finished", "job.ended", "alarm.raised"
EVENT_NAMES = {
    CAMPAIGN_FINISHED: gettext_lazy("a campaign is finished"),
    JOB_ENDED: gettext_lazy("a job ended"),
    ALARM_RAISED: gettext_lazy("something needs attention"),
}
EVENTS = tuple(EVENT_NAMES)
#: The event that tests a webhook, independent of its events.
TEST_EVENT = "webhook.test"
#: Maximum number of webhooks of an account.
MOST_WEBHOOKS = 20
_NameText = Annotated[str, Field(min_length=1, max_length=100)]
_AddressText = Annotated[str, Field(min_length=1, max_length=LONGEST_ADDRESS)]
_Events = Annotated[tuple[Annotated[str, OneOf(EVENT_NAMES.copy)], ...], Field(min_length=1, max_length=10)]
_NAME, _EVENTS = Help(gettext_lazy("What it is for")), Help(gettext_lazy("When"))
_ADDRESS = Help(gettext_lazy("Address"), gettext_lazy("It begins with https:// and is on the internet"))


def webhooks_of(account: Account | None, *roles: str) -> QuerySet[Webhook]:
    """Return the webhooks in the scopes of an account's `roles`; None: all."""
    rows = Webhook.objects.select_related("corpus", "campaign__corpus", "owner")
    if account is None:
        return rows
    of_campaigns = within_scope(account, *roles, corpus="campaign__corpus", campaign="campaign")
    of_corpora = within_scope(account, *roles, corpus="corpus")
    return rows.filter(campaign__isnull=False).filter(of_campaigns) | rows.filter(campaign=None).filter(
        of_corpora
    )


#: Webhooks by their numbers.
WEBHOOKS = StoredKind(gettext_lazy("webhook"), webhooks_of, within="campaign", column="pk")
WebhookNumber = Annotated[int, Named(WEBHOOKS), Help(gettext_lazy("Webhook"), gettext_lazy("Its number"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhooksRequest:
    """The webhooks in your scopes as a researcher, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeWebhookRequest(ScopeRequest):
    """An address that is called for events of a campaign, of a corpus and everything in it, or of the whole
    server. Its secret is returned only once."""

    name: Annotated[_NameText, _NAME]
    address: Annotated[_AddressText, _ADDRESS]
    events: Annotated[_Events, _EVENTS] = EVENTS

    def problems(self) -> Iterator[FieldError]:
        """Yield errors: its name is a line, its address is on the internet, and it has at most one scope."""
        yield from ScopeRequest.problems(self)
        yield from _problems(self.name, self.address)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """All fields of a webhook except its secret."""

    webhook: WebhookNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeWebhookRequest:
    """Only the given fields change. The account that changes a webhook becomes its owner."""

    webhook: WebhookNumber
    name: Annotated[_NameText | None, _NAME] = None
    address: Annotated[_AddressText | None, _ADDRESS] = None
    events: Annotated[_Events | None, _EVENTS] = None
    active: Annotated[bool | None, Help(gettext_lazy("On"))] = None

    def problems(self) -> Iterator[FieldError]:
        """Yield errors, as for a new one."""
        yield from _problems(self.name, self.address)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveWebhookRequest:
    """A webhook is deleted with its log; waiting events are not sent."""

    webhook: WebhookNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewSecretRequest:
    """A webhook gets another secret, which signs all later messages."""

    webhook: WebhookNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSummary:
    """An address that is called for events of a campaign, of a corpus and everything in it, or, if both are
    null, of the whole server. `sends`: it is on, and its owner is a researcher of its scope."""

    number: int
    name: str
    address: str
    events: tuple[str, ...]
    corpus: str | None
    campaign: str | None
    active: bool
    sends: bool
    owner: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookWithSecret(WebhookSummary):
    """A webhook with the secret that signs its messages: shown only once, and not stored. A repetition of the
    call under the same key returns null instead."""

    secret: str | None


def list_webhooks(request: WebhooksRequest, context: OperationContext) -> Listing:
    """Return the webhooks that the caller may change."""
    rows = webhooks_of(context.actor, RESEARCHER).prefetch_related("owner__roles")
    return Listing(rows, "-pk", lambda row: WebhookSummary(**_summary_fields(row)))


def show_webhook(request: WebhookRequest, context: OperationContext) -> WebhookSummary:
    """Return one webhook."""
    return WebhookSummary(**_summary_fields(webhook_numbered(request.webhook)))


def webhook_numbered(number: int) -> Webhook:
    """Return the webhook of that number, with its scope."""
    return webhooks_of(None).get(pk=number)


def make_webhook(request: MakeWebhookRequest, context: OperationContext) -> WebhookWithSecret:
    """Create a webhook of the caller. Raises Forbidden, and PhraseboxError if they have too many."""
    account, about = context.actor, request.rows()
    if not account.has_role(RESEARCHER, on=about.scope):
        raise Forbidden(RESEARCHER)
    with database.writing():
        # Two concurrent requests must not exceed the limit together.
        Account.objects.select_for_update(no_key=True).get(pk=account.pk)
        if Webhook.objects.filter(owner_id=account.pk).count() >= MOST_WEBHOOKS:
            raise PhraseboxError(
                _("You have %(most)d webhooks: remove one that you no longer use.") % {"most": MOST_WEBHOOKS}
            )
        row = Webhook.objects.create(
            name=request.name.strip(),
            address=request.address.strip(),
            events=_in_order(request.events),
            salt=secrets.token_hex(32),
            corpus=about.corpus,
            campaign=about.campaign,
            owner_id=account.pk,
        )
        note_webhook(row, account, "make_webhook")
    return _with_secret(row)


def change_webhook(request: ChangeWebhookRequest, context: OperationContext) -> WebhookSummary:
    """Change a webhook, switch it on or off, or take over its ownership."""
    with database.writing():
        row = Webhook.objects.select_for_update(no_key=True).get(pk=request.webhook)
        row.name = row.name if request.name is None else request.name.strip()
        row.address = row.address if request.address is None else request.address.strip()
        row.events = row.events if request.events is None else _in_order(request.events)
        row.active = row.active if request.active is None else request.active
        _with_new_owner(row, context).save()
        note_webhook(row, context.actor, "change_webhook", active=row.active)
    return WebhookSummary(**_summary_fields(webhook_numbered(row.pk)))


def renew_secret(request: RenewSecretRequest, context: OperationContext) -> WebhookWithSecret:
    """Give a webhook another secret."""
    row = webhook_numbered(request.webhook)
    with database.writing():
        row.salt = secrets.token_hex(32)
        _with_new_owner(row, context).save(update_fields=["salt", "owner_id"])
        note_webhook(row, context.actor, "renew_webhook_secret")
    return _with_secret(row)


def remove_webhook(request: RemoveWebhookRequest, context: OperationContext) -> None:
    """Delete a webhook with its log."""
    row = webhook_numbered(request.webhook)
    with database.writing():
        note_webhook(row, context.actor, "remove_webhook")
        row.delete()


def those_that_send(webhooks: Iterable[Webhook]) -> set[int]:
    """Return which of these webhooks, by number, are active now, in one query. `owner` and `campaign` must be
    selected."""
    rows = list(webhooks)
    prefetch_related_objects(rows, "owner__roles")
    return {row.pk for row in rows if may_send(row)}


def may_send(webhook: Webhook) -> bool:
    """Whether a webhook is on and its owner is currently a researcher of its scope."""
    owner = webhook.owner
    if not webhook.active or owner is None:
        return False
    owner.granted = frozenset(Granted(row.role, row.scope) for row in owner.roles.all())
    return owner.has_role(RESEARCHER, on=webhook.scope)


def _problems(name: str | None, address: str | None) -> Iterator[FieldError]:
    if name is not None and not (name.strip() and name.isprintable()):
        yield FieldError("name", "unprintable")
    try:
        if address is not None:
            receiver_of(address.strip())
    except AddressError as error:
        yield FieldError("address", "webhook_address", {"message": str(error)})


def _in_order(events: Iterable[str]) -> list[str]:
    return [event for event in EVENTS if event in events]


def _with_new_owner(row: Webhook, context: OperationContext) -> Webhook:
    """Return the webhook, now owned by the account that changes it; commands do not change the owner."""
    if context.actor is not None:
        row.owner_id = context.actor.pk
    return row


def _with_secret(row: Webhook) -> WebhookWithSecret:
    return WebhookWithSecret(**_summary_fields(webhook_numbered(row.pk)), secret=secret_of(row.salt))


def _summary_fields(row: Webhook) -> dict[str, Any]:
    """Return the fields of a summary."""
    return {
        "number": row.pk,
        "name": row.name,
        "address": row.address,
        "events": tuple(row.events),
        "corpus": row.corpus.name if row.corpus is not None else None,
        "campaign": row.campaign.name if row.campaign is not None else None,
        "active": row.active,
        "sends": may_send(row),
        "owner": row.owner.get_username() if row.owner is not None else None,
        "created_at": row.created_at,
    }


def note_webhook(webhook: Webhook, actor: Account | None, act: str, **about: object) -> None:
    """Record an act on a webhook in the audit log."""
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
