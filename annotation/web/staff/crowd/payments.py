"""The page of a campaign's payments: amounts due, payments, bonuses, history, lists for crowd platforms.

Its forms are those of operations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.common.database import LARGEST_ID
from annotation.common.roles import RESEARCHER
from annotation.models import Bonus, Campaign, Payout
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.work import UNPAID
from annotation.selectors.campaign.cost import cents
from annotation.web.common.access import for_roles_on
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, act_form, campaign_frame, query_string
from annotation.workers import approvals, payments
from annotation.workers.payments import Due
from annotation.workers.platform_visits import PROVIDERS

#: Number of workers with an amount due on a page, and of lines of a history.
_DUE, _HISTORY = 50, 30


@dataclass(frozen=True, slots=True)
class _Owed:
    """A worker's line: the account, and its amounts as texts."""

    account: Due
    earned: str
    bonuses: str
    paid: str
    due: str
    hourly: str


@require_safe
@never_cache
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def payments_page(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show all amounts due, the payments and bonuses so far, and their forms."""
    pay = settings_of(campaign.settings).pay
    accounts = payments.due_accounts(campaign=campaign)
    owed = [account for account in accounts if account.due]
    after = _number(request.GET, "after")
    page = [account for account in owed if account.worker > after]
    payouts = _newest(Payout.objects.filter(campaign=campaign), _number(request.GET, "payments_before"))
    bonuses = _newest(Bonus.objects.filter(campaign=campaign), _number(request.GET, "bonuses_before"))
    held = [account for account in owed if account.held]
    about = {
        "rows": [_owed(account, pay.currency) for account in page[:_DUE]],
        "number": len(owed),
        "later": query_string(after=page[_DUE - 1].worker) if len(page) > _DUE else "",
        "first": "?" if after else "",
        "pay": act_form(request, "pay_workers", reference=payments.usual_reference(campaign)),
        "bonus": act_form(request, "give_bonus", ids="bonus-%s"),
        "total_due": cents(sum(due.due for due in owed if not due.held), pay.currency),
        "total_earned": cents(sum(due.earned for due in accounts), pay.currency),
        "total_bonuses": cents(sum(due.bonuses for due in accounts), pay.currency),
        "total_paid": cents(sum(due.paid for due in accounts), pay.currency),
        "held": len(held),
        "held_due": cents(sum(due.due for due in held), pay.currency),
        "payments": [(row, cents(row.amount, pay.currency)) for row in payouts[:_HISTORY]],
        "older_payments": query_string(payments_before=payouts[_HISTORY - 1].pk)
        if len(payouts) > _HISTORY
        else "",
        "bonuses": [(row, cents(row.amount, pay.currency)) for row in bonuses[:_HISTORY]],
        "older_bonuses": query_string(bonuses_before=bonuses[_HISTORY - 1].pk)
        if len(bonuses) > _HISTORY
        else "",
        "platforms": [(name, PROVIDERS[name]) for name in approvals.platforms_of(campaign)],
        "unpaid": pay.basis == UNPAID,
        "currency": pay.currency,
    }
    return render(
        request,
        "annotation/staff/payments.html",
        campaign_frame(request, campaign, "payments", **about),
    )


def _owed(account: Due, currency: str) -> _Owed:
    hourly = account.hourly
    return _Owed(
        account,
        earned=cents(account.earned, currency),
        bonuses=cents(account.bonuses, currency) if account.bonuses else "",
        paid=cents(account.paid, currency),
        due=cents(account.due, currency),
        hourly=cents(hourly, currency) if hourly is not None else "",
    )


def _newest(rows: Any, before: int) -> list[Any]:
    """Return a page of a history and one more row, the newest first; those before a number if it is set."""
    older = rows.filter(pk__lt=before) if before else rows
    return list(older.select_related("worker").order_by("-pk")[: _HISTORY + 1])


def _number(query: Mapping[str, str], name: str) -> int:
    text = query.get(name, "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
    return min(number, LARGEST_ID)
