"""The page of a worker's earnings, amounts due, and payments."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.formats import number_format
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.common.roles import ANNOTATOR
from annotation.selectors.campaign.cost import cents, hourly
from annotation.selectors.workers.earnings import Earnings, earnings_of
from annotation.web.annotator.work_context import worker_at
from annotation.web.common.access import for_roles


@require_safe
@never_cache
@for_roles(ANNOTATOR)
def earnings_page(request: HttpRequest) -> HttpResponse:
    """Show the caller's earnings, amounts due, payments, and bonuses, by campaign."""
    accounts = [(earnings, _amounts(earnings)) for earnings in earnings_of(worker_at(request))]
    return render(request, "annotation/tasks/earnings.html", {"accounts": accounts})


def _amounts(earnings: Earnings) -> dict[str, Any]:
    """Return the amounts of an account as texts; none for time that was not measured."""
    currency, an_hour = earnings.currency, hourly(earnings.earned, earnings.seconds)
    return {
        "due": cents(earnings.due, currency),
        "earned": cents(earnings.earned, currency),
        "withheld": cents(earnings.withheld, currency),
        "bonuses_total": cents(earnings.bonus_total, currency),
        "paid": cents(earnings.paid, currency),
        "hours": number_format(earnings.seconds / 3600, 1) if earnings.seconds >= 360 else "",
        "hourly": cents(an_hour, currency) if an_hour else "",
        "bonuses": [(line, cents(line.amount, currency)) for line in earnings.bonuses],
        "payments": [(line, cents(line.amount, currency)) for line in earnings.payments],
    }
