"""Alarms, sent once each: to webhooks, and by e-mail to subscribers.

A check of a campaign, or of the server, returns the current problems. New ones are raised and sent. A problem
that disappears and returns within an hour is one alarm.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from django.db.models import Q, QuerySet
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import Forbidden, Help, Listing, Named, OperationContext, StoredKind
from annotation.common.roles import ADMIN, RESEARCHER, WHOLE_SERVER
from annotation.models import Account, AlarmSubscription, Campaign, RaisedAlarm
from annotation.notifications.events import announce
from annotation.notifications.hooks import ALARM_RAISED, CAMPAIGN_FINISHED
from annotation.selectors.corpora import ScopeRequest
from phrasebox.errors import PhraseboxError

#: The alarm of a campaign that has no open questions left.
COMPLETE_ALARM = "complete"
#: An alarm that was not seen for this time is over, and is sent again when it returns.
OVER_AFTER = timedelta(hours=1)
#: Precision of the time when an alarm was last seen, to avoid a write every minute.
_SEEN_STEP = timedelta(minutes=10)


#: An account's subscriptions to alarms, by number.
ALARM_SUBSCRIPTIONS = StoredKind(
    gettext_lazy("subscription"), lambda account, *roles: subscriptions_of(account), column="pk"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionsRequest:
    """Your subscriptions to alarms by e-mail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscribeRequest(ScopeRequest):
    """Alarms are sent by e-mail, to the address of your account: of a campaign, of a corpus's campaigns, or
    of all and of the server itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsubscribeRequest:
    """These alarms are no longer sent."""

    subscription: Annotated[
        int, Named(ALARM_SUBSCRIPTIONS), Help(gettext_lazy("Subscription"), gettext_lazy("Its number"))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """Alarms by e-mail: of a campaign, of a corpus's campaigns, or, if both are null, of all."""

    number: int
    corpus: str | None
    campaign: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class DetectedAlarm:
    """A problem that a check found: its kind, the kind of question (or ""), and a text."""

    code: str
    kind: str
    text: str


def note_alarms(alarms: Iterable[DetectedAlarm], *, campaign: Campaign | None = None) -> list[RaisedAlarm]:
    """Store the results of a check of a campaign, or of the server; return the new ones, which webhooks get.

    Checks of one campaign run one after another.
    """
    now = database.now()
    held = {(row.code, row.kind): row for row in RaisedAlarm.objects.filter(campaign=campaign)}
    seen = {(alarm.code, alarm.kind): alarm for alarm in alarms}
    over = [row.pk for key, row in held.items() if key not in seen and row.seen_at < now - OVER_AFTER]
    again = [row.pk for key, row in held.items() if key in seen and row.seen_at < now - _SEEN_STEP]
    fresh = [alarm for key, alarm in seen.items() if key not in held or held[key].seen_at < now - OVER_AFTER]
    if not (over or again or fresh):
        return []
    with database.writing():
        RaisedAlarm.objects.filter(pk__in=over).delete()
        RaisedAlarm.objects.filter(pk__in=again).update(seen_at=now)
        return [_raise(alarm, campaign) for alarm in fresh]


def _raise(alarm: DetectedAlarm, campaign: Campaign | None) -> RaisedAlarm:
    now = database.now()
    row, _created = RaisedAlarm.objects.update_or_create(
        campaign=campaign,
        code=alarm.code,
        kind=alarm.kind,
        defaults={"text": alarm.text, "raised_at": now, "seen_at": now},
    )
    if alarm.code == COMPLETE_ALARM:
        announce(CAMPAIGN_FINISHED, campaign=campaign, data={"why": COMPLETE_ALARM})
    else:
        data = {"code": alarm.code, "kind": alarm.kind, "text": alarm.text}
        announce(ALARM_RAISED, campaign=campaign, data=data)
    return row


def subscribers(alarm: RaisedAlarm, only: int | None = None) -> list[AlarmSubscription]:
    """Return an alarm's subscribers by e-mail, or only the account `only`, without duplicates, with an
    address: for a campaign only its researchers, for the server only its admins."""
    about, role, scope = Q(campaign=None, corpus=None), ADMIN, WHOLE_SERVER
    if alarm.campaign is not None:
        about |= Q(campaign=alarm.campaign) | Q(corpus=alarm.campaign.corpus_id)
        role, scope = RESEARCHER, alarm.campaign.scope
    rows = AlarmSubscription.objects.filter(about).exclude(account__email="").select_related("account")
    if only is not None:
        rows = rows.filter(account_id=only)
    by_account: dict[int, AlarmSubscription] = {}
    for row in rows.order_by("pk"):
        if row.account_id not in by_account and row.account.has_role(role, on=scope):
            by_account[row.account_id] = row
    return list(by_account.values())


def subscriptions_of(account: Account) -> QuerySet[AlarmSubscription]:
    """Return an account's subscriptions."""
    rows = AlarmSubscription.objects.filter(account_id=account.pk)
    return rows.select_related("corpus", "campaign").order_by("pk")


def list_subscriptions(request: SubscriptionsRequest, context: OperationContext) -> Listing:
    """Return the subscriptions of the caller."""
    return Listing(subscriptions_of(context.actor), "pk", _subscription)


def subscribe(request: SubscribeRequest, context: OperationContext) -> Subscription:
    """Subscribe the caller to alarms. Raises Forbidden, and PhraseboxError without an e-mail address."""
    account, about = context.actor, request.rows()
    if not account.has_role(RESEARCHER, on=about.scope):
        raise Forbidden(RESEARCHER)
    if not account.email:
        raise PhraseboxError(_("Your account has no e-mail address: add one first."))
    with database.writing():
        row, created = AlarmSubscription.objects.get_or_create(
            account_id=account.pk,
            corpus=about.corpus,
            campaign=about.campaign,
            defaults={"language": get_language() or "en"},
        )
        if created:
            _note(row, account, "subscribe_to_alarms")
    return _subscription(row)


def unsubscribe(request: UnsubscribeRequest, context: OperationContext) -> None:
    """Unsubscribe the caller from these alarms."""
    with database.writing():
        row = subscriptions_of(context.actor).get(pk=request.subscription)
        _note(row, context.actor, "unsubscribe_from_alarms")
        row.delete()


def _subscription(row: AlarmSubscription) -> Subscription:
    return Subscription(
        number=row.pk,
        corpus=row.corpus.name if row.corpus is not None else None,
        campaign=row.campaign.name if row.campaign is not None else None,
        created_at=row.created_at,
    )


def _note(row: AlarmSubscription, actor: Account, act: str) -> None:
    corpus = row.corpus.name if row.corpus else None
    record(actor=actor, act=act, campaign=row.campaign, corpus=corpus)
