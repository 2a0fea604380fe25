"""The page of a campaign's payments: what is due, paying it, bonuses, history, lists for crowd platforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.common.database import LARGEST_ID
from annotation.common.roles import RESEARCHER
from annotation.models import Bonus, Campaign, Payout
from annotation.moderation.discarding import CannotDo
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.work import UNPAID
from annotation.selectors.campaign.cost import cents
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.common.confirm import confirmed
from annotation.web.staff.crowd.chosen import chosen_workers, page_of_worker, show_again
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS, campaign_frame, query_string, said
from annotation.workers import approvals, bonuses, payments
from annotation.workers.payments import Due, PaymentError

#: Workers on a page who are due something, and lines of a history.
_DUE, _HISTORY = 50, 30
_PLATFORMS = {approvals.PROLIFIC: "Prolific", approvals.MTURK: "Mechanical Turk"}


@dataclass(frozen=True, slots=True)
class _Owed:
    """A worker's line: their account, and its amounts as texts."""

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
    """What everybody is due, the payments and bonuses so far, and what can be done about them."""
    return _page(request, campaign)


def _page(request: HttpRequest, campaign: Campaign, *, refused: QueryDict | None = None) -> HttpResponse:
    """The page of payments; where its form was `refused`, with what was ticked and typed, as status 409."""
    pay = settings_of(campaign.settings).pay
    accounts = payments.due_accounts(campaign=campaign)
    owed = [account for account in accounts if account.due]
    form = refused if refused is not None else QueryDict()
    after = _number(form or request.GET, "after")
    page = [account for account in owed if account.worker > after]
    found = _newest(Payout.objects.filter(campaign=campaign), _number(request.GET, "payments_before"))
    given = _newest(Bonus.objects.filter(campaign=campaign), _number(request.GET, "bonuses_before"))
    held = [account for account in owed if account.held]
    about = {
        "rows": [_owed(account, pay.currency) for account in page[:_DUE]],
        "number": len(owed),
        "later": query_string(after=page[_DUE - 1].worker) if len(page) > _DUE else "",
        "first": "?" if after else "",
        "after": after,
        "given": form,
        "ticked": form.getlist("worker"),
        # What takes a form has another address than the page.
        "here": reverse("payments", args=[campaign.name]) if refused is not None else "",
        "total_due": cents(sum(each.due for each in owed if not each.held), pay.currency),
        "total_earned": cents(sum(each.earned for each in accounts), pay.currency),
        "total_bonuses": cents(sum(each.bonuses for each in accounts), pay.currency),
        "total_paid": cents(sum(each.paid for each in accounts), pay.currency),
        "held": len(held),
        "held_due": cents(sum(each.due for each in held), pay.currency),
        "payments": [(row, cents(row.amount, pay.currency)) for row in found[:_HISTORY]],
        "older_payments": query_string(payments_before=found[_HISTORY - 1].pk)
        if len(found) > _HISTORY
        else "",
        "bonuses": [(row, cents(row.amount, pay.currency)) for row in given[:_HISTORY]],
        "older_bonuses": query_string(bonuses_before=given[_HISTORY - 1].pk) if len(given) > _HISTORY else "",
        "platforms": [(name, _PLATFORMS[name]) for name in approvals.platforms_of(campaign)],
        "unpaid": pay.basis == UNPAID,
        "currency": pay.currency,
        "reference": f"{campaign.name}-{timezone.now():%Y-%m-%d}"[: payments.LONGEST_REFERENCE],
    }
    return render(
        request,
        "annotation/staff/payments.html",
        campaign_frame(request, campaign, "payments", **about),
        status=200 if refused is None else 409,
    )


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
@confirmed
def payments_record(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Record that workers were paid, or give them a bonus: the ticked ones, or all, as the button says.

    Where that is refused, the page on which the form stands is shown again with what was ticked and typed.
    """
    sent = request.POST
    try:
        told = _record(request, campaign)
    except (PaymentError, CannotDo) as error:
        if "query" in sent or page_of_worker(campaign, sent):
            return show_again(request, campaign, str(error))
        messages.error(request, str(error))
        return _page(request, campaign, refused=sent)
    messages.success(request, told)
    if name := page_of_worker(campaign, sent):
        return redirect("worker", campaign.name, name)
    return redirect("payments", campaign.name)


def _record(request: HttpRequest, campaign: Campaign) -> str:
    """Do what the button says, and return what came of it, in words."""
    sent, actor = request.POST, account_of(request)
    currency = payments.currency_of(campaign)
    reference = _text(sent, "reference")
    match sent.get("act", ""):
        case "pay_all":
            made = payments.pay_all_due(campaign=campaign, reference=reference, actor=actor)
            return amounts_paid(made, currency)
        case "pay":
            workers = chosen_workers(campaign, sent)
            made = payments.pay_all_due(campaign=campaign, reference=reference, workers=workers, actor=actor)
            return amounts_paid(made, currency)
        case "pay_one":
            (worker,) = chosen_workers(campaign, sent)[:1]
            amount = payments.micros_of(_text(sent, "amount"), currency)
            made_one = payments.pay(
                worker=worker, campaign=campaign, amount=amount, reference=reference, actor=actor
            )
            return amounts_paid([made_one], currency)
        case "bonus":
            workers = chosen_workers(campaign, sent)
            amount = payments.micros_of(_text(sent, "amount"), currency)
            given = bonuses.give_bonus(
                campaign=campaign, workers=workers, amount=amount, reason=_text(sent, "reason"), actor=actor
            )
            told = ngettext(
                "Bonus of %(amount)s given to %(n)d worker: it is due from now on.",
                "Bonus of %(amount)s given to each of %(n)d workers: it is due from now on.",
                len(given),
            )
            return told % {"amount": cents(amount, currency), "n": len(given)}
        case _other:
            raise PaymentError(_("Nothing was chosen: use one of the buttons."))


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
@confirmed
def payment_void(request: HttpRequest, campaign: Campaign, payout: int) -> HttpResponse:
    """Note that a payment was not made after all."""
    with said(request, PaymentError) as tell:
        _check_number(payout)
        reason, actor = _text(request.POST, "reason"), account_of(request)
        made = payments.void_payout(campaign=campaign, payout=payout, reason=reason, actor=actor)
        amount = cents(made.amount, payments.currency_of(campaign))
        tell(_("Payment of %(amount)s voided: it is due again.") % {"amount": amount})
    return redirect("payments", campaign.name)


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
@confirmed
def bonus_withdraw(request: HttpRequest, campaign: Campaign, bonus: int) -> HttpResponse:
    """Take back a bonus that has not been paid."""
    with said(request, PaymentError) as tell:
        _check_number(bonus)
        reason, actor = _text(request.POST, "reason"), account_of(request)
        bonuses.withdraw_bonus(campaign=campaign, bonus=bonus, reason=reason, actor=actor)
        tell(_("Bonus withdrawn."))
    return redirect("payments", campaign.name)


@require_safe
@never_cache
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def payments_ledger(request: HttpRequest, campaign: Campaign) -> StreamingHttpResponse:
    """Every answer, bonus and payment as CSV."""
    answer = StreamingHttpResponse(payments.ledger_csv(campaign), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{campaign.name}-ledger.csv"'
    return answer


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def approval_list(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """The ids that a platform takes to approve submissions, or to pay bonuses; the audit notes who had it."""
    provider, what = request.POST.get("platform", ""), request.POST.get("list", "")
    file = StringIO(newline="")
    answer: HttpResponse = redirect("payments", campaign.name)
    with said(request, PaymentError):
        approvals.write_approvals(
            campaign=campaign, provider=provider, what=what, file=file, actor=account_of(request)
        )
        answer = HttpResponse(file.getvalue(), content_type="text/csv; charset=utf-8")
        name = f"{campaign.name}-{provider}-{what}.csv"
        answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def amounts_paid(made: Sequence[Payout], currency: str) -> str:
    """What was recorded, in a sentence."""
    if not made:
        return _("Nothing was due to them, or it was recorded under this reference before.")
    told = ngettext(
        "Recorded: %(amount)s paid to %(n)d worker.", "Recorded: %(amount)s paid to %(n)d workers.", len(made)
    )
    return told % {"amount": cents(sum(each.amount for each in made), currency), "n": len(made)}


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
    """A page of a history and one more, the newest first; those before a number where it is given."""
    found = rows.filter(pk__lt=before) if before else rows
    return list(found.select_related("worker").order_by("-pk")[: _HISTORY + 1])


def _number(query: Mapping[str, str], name: str) -> int:
    text = query.get(name, "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
    return min(number, LARGEST_ID)


def _check_number(number: int) -> None:
    if number > LARGEST_ID:
        raise PaymentError(_("There is no such thing here."))


def _text(sent: QueryDict, name: str) -> str:
    return sent.get(name, "").replace("\0", "").strip()
