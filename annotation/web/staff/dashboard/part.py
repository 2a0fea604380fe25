"""The self-refreshing part of a campaign's page, and its ETag.

As long as the ETag is the same, a request for the part gets an empty response (304), after a few small
queries. The part is rendered again after an answer or an act, and every few minutes, since some alarms depend
on time alone; at most every ten seconds, however many readers and answers there are.
"""

import hashlib
import time
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response
from django.utils.safestring import mark_safe
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from annotation.campaigns import monitoring
from annotation.common.roles import RESEARCHER, WHOLE_SERVER
from annotation.models import Campaign
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import is_page
from annotation.protocol.work import UNPAID
from annotation.selectors.campaign.cached import newest_act
from annotation.selectors.campaign.glance import overview
from annotation.selectors.campaign.progress import newest_answer_at
from annotation.selectors.campaign.series import campaign_series
from annotation.selectors.controls import unchecked_kinds
from annotation.web.common.access import BROWSING, account_of, for_roles_on
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, campaign_frame
from annotation.web.staff.campaign_tables import acts_next, key_figures
from annotation.web.staff.dashboard.charts import campaign_charts

#: Minimum age in seconds before a part is rendered again, and maximum age.
HELD, OUTDATED_AFTER = 10, 300


@dataclass(frozen=True, slots=True)
class _CachedPart:
    """A rendered part: its ETag, the time of its newest answer, and its own time."""

    html: str
    tag: str
    newest: datetime | None
    created_at: float


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, *BROWSING)
def campaign_dashboard(request: HttpRequest, campaign: Campaign) -> HttpResponseBase:
    """Show a campaign's charts: as a page, or with `part=1` only the part, for an open page."""
    cached = _part(request, campaign)
    if request.GET.get("part") != "1":
        # Rendered by a template, which escapes all foreign text.
        about = campaign_frame(request, campaign, "overview", part=mark_safe(cached.html))
        return render(request, "annotation/staff/dashboard.html", about)
    answer = HttpResponse(cached.html)
    answer["ETag"] = cached.tag
    answer["Cache-Control"] = "private, no-cache"
    return get_conditional_response(request, etag=cached.tag, response=answer) or answer


def _part(request: HttpRequest, campaign: Campaign) -> _CachedPart:
    """Return the part for the caller, rendered now or cached."""
    account = account_of(request)
    sees = {
        "runs": account.has_role(RESEARCHER, on=campaign.scope),
        "adds": account.has_role(RESEARCHER, on=WHOLE_SERVER),
    }
    # Temporary databases reuse ids, so an id alone is not enough.
    version = f"{campaign.pk}-{campaign.created_at.timestamp()}-{campaign.revision}-{newest_act(campaign)}"
    key = f"dashboard-{version}-{get_language()}-{'-'.join(name for name, may in sees.items() if may)}"
    newest = newest_answer_at(campaign)
    cached: _CachedPart | None = cache.get(key)
    now = time.time()
    # It is rendered again after a clock was set back.
    if cached is not None and 0 <= now - cached.created_at < (
        OUTDATED_AFTER if cached.newest == newest else HELD
    ):
        return cached
    html = _render(campaign, **sees)
    tag = f'"{hashlib.sha256(html.encode()).hexdigest()[:32]}"'
    part = _CachedPart(html, tag, newest, now)
    cache.set(key, part, OUTDATED_AFTER)
    return part


def _render(campaign: Campaign, *, runs: bool, adds: bool) -> str:
    settings = settings_of(campaign.settings)
    seen = overview(campaign, settings.pay)
    charts = campaign_charts(
        campaign_series(campaign, settings, seen),
        paid=settings.pay.basis != UNPAID and not campaign.simulated,
        timed=not campaign.simulated,
    )
    about: dict[str, Any] = {
        "campaign": campaign,
        "acts": acts_next(campaign, monitoring.alarms(campaign), runs=runs, adds=adds),
        "key_figures": key_figures(
            seen,
            basis=settings.pay.basis,
            paged=any(map(is_page, campaign.kinds)),
            unchecked_kinds=unchecked_kinds(campaign),
            timed=not campaign.simulated,
        ),
        # Drawn here, and sanitized (`annotation.figures.svg`).
        "charts": [replace(chart, svg=mark_safe(chart.svg)) for chart in charts],
    }
    return render_to_string("annotation/staff/_dashboard.html", about)
