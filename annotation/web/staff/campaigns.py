"""Pages of whole campaigns: the list, and the overview of one."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation import campaigns
from annotation.campaigns import monitoring
from annotation.campaigns.drafts.opening import images_after_pilot, pilot_estimate
from annotation.common.operations import operation_named
from annotation.common.roles import RESEARCHER, WHOLE_SERVER
from annotation.models import Campaign
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.protocol.kinds import is_page
from annotation.protocol.money import currency_digits
from annotation.selectors.campaign.cached import acts_on
from annotation.selectors.campaign.glance import overview
from annotation.selectors.campaigns import campaigns_listed
from annotation.selectors.controls import unchecked_kinds
from annotation.selectors.corpora import campaigns_of
from annotation.selectors.drawing_ways import drawing_ways
from annotation.web.common.access import BROWSING, account_of, for_roles, for_roles_on
from annotation.web.common.lists import SortColumn, list_page
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, campaign_frame
from annotation.web.staff.campaign_tables import (
    acts_next,
    agreement_rows,
    funnel_rows,
    key_figures,
    kind_rows,
    superseded_in_words,
    worded_acts,
)
from annotation.web.staff.wording import DRAWING_WAYS_IN_WORDS
from phrasebox.registry import UnknownName

#: Number of campaigns on a page of the list, and its sort orders.
CAMPAIGNS_PER_PAGE = 30
_SORTS = {
    "new": SortColumn(gettext_lazy("newest"), "id", down=True),
    "name": SortColumn(gettext_lazy("name"), "name"),
}
#: Number of acts of the audit log on the first page.
HISTORY = 12


@require_safe
@for_roles(*BROWSING)
def campaign_list(request: HttpRequest) -> HttpResponse:
    """List the campaigns that are open to the account; the newest first."""
    account = account_of(request)
    campaigns = campaigns_of(account, *BROWSING).select_related("corpus")
    state = request.GET.get("state", "")
    state = state if state in Campaign.STATES else ""
    page = list_page(
        campaigns.filter(state=state) if state else campaigns,
        request.GET,
        sorts=_SORTS,
        number=CAMPAIGNS_PER_PAGE,
        also={"state": state},
        archive=True,
    )
    about = {
        "rows": campaigns_listed(page.rows),
        "page": page,
        "state": state,
        "states": Campaign.STATES,
        "any": bool(page.rows) or campaigns.exists(),
        "runs": account.has_role_somewhere(RESEARCHER, corpora=True),
    }
    return render(request, "annotation/staff/campaigns.html", about)


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, *BROWSING)
def campaign_detail(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show one campaign: what to do next, its progress, its chains by stage, its questions, its acts."""
    settings = settings_of(campaign.settings)
    fresh = request.GET.get("fresh") == "1"
    seen = overview(campaign, settings.pay, fresh=fresh)
    history = acts_on(campaign).select_related("actor")
    return render(
        request,
        "annotation/staff/campaign.html",
        campaign_frame(
            request,
            campaign,
            "overview",
            acts=acts_next(
                campaign,
                monitoring.alarms(campaign),
                runs=account_of(request).has_role(RESEARCHER, on=campaign.scope),
                adds=account_of(request).has_role(RESEARCHER, on=WHOLE_SERVER),
            ),
            key_figures=key_figures(
                seen,
                basis=settings.pay.basis,
                paged=any(map(is_page, campaign.kinds)),
                unchecked_kinds=unchecked_kinds(campaign),
                timed=not campaign.simulated,
            ),
            stages=funnel_rows(seen.funnel) if campaign.tasks == campaigns.ENTITIES else [],
            kinds=kind_rows(seen),
            superseded=superseded_in_words(seen),
            agreement=agreement_rows(seen.agreement),
            ways=[
                (DRAWING_WAYS_IN_WORDS.get(way.way, way.way), way)
                for way in drawing_ways(campaign, fresh=fresh)
            ],
            counted_at=seen.counted_at,
            since=seen.since,
            history=worded_acts(history[:HISTORY]),
            pilot=_pilot(request, campaign, settings.pay.currency),
            planned=seen.funnel.planned if campaign.state != Campaign.CLOSED else 0,
            at_once=settings.model_annotator.images_at_once,
            deletable=not campaigns.why_not_deletable(campaign),
            pausing=RequestForm(operation_named("pause_campaign"), account_of(request)),
        ),
    )


def _pilot(request: HttpRequest, campaign: Campaign, currency: str) -> dict[str, Any] | None:
    """Return how many images a pilot skipped, and their cost; or why that is unknown."""
    if campaign.pilot is None or campaign.state not in (Campaign.OPEN, Campaign.PAUSED):
        return None
    try:
        left = images_after_pilot(campaign)
    except (CampaignError, UnknownName) as error:  # Tags may have been made again since.
        return {"unreadable": str(error)}
    if not left:  # opened by a command meanwhile
        return None
    return {
        "left": left,
        "estimate": pilot_estimate(campaign, reader=account_of(request)),
        "currency": currency,
        "digits": f"{currency_digits(currency)}g",
    }
