"""Campaigns by API: opening them."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from annotation import campaigns, jobs
from annotation.api.rest.doors import Anywhere
from annotation.api.rest.operations import POST, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import CAMPAIGN_PATH, CAMPAIGNS_TAG, RUNS_CAMPAIGN
from annotation.api.v1.preparing.plans import CampaignPlanned, campaign_plan, check_plan, settings_planned
from annotation.campaigns.drafts.opening import check_no_running_pilot, go_on_with_all, pilot_of
from annotation.common.roles import RESEARCHER
from annotation.datasets.layer_rows import LayerError
from annotation.models import Campaign, Job
from annotation.protocol.campaign_settings import CampaignError, settings_of

_EXAMPLE = {
    "name": "quay",
    "corpus": "harbour",
    "tasks": "entities",
    "settings": {"link_votes": 3, "pay": {"basis": "hour", "hourly": 12.5, "currency": "EUR"}},
    "images": 20,
}


@serves(
    ApiRoute(
        route="campaigns",
        method=POST,
        path="campaigns",
        tag=CAMPAIGNS_TAG,
        opens=Anywhere((RESEARCHER,), corpora=True),
        body=CampaignPlanned,
        job=True,
        refuses=(CampaignError, LayerError),
        example=_EXAMPLE,
    )
)
def campaign_open_call(call: ApiCall) -> Job:
    """Open a campaign.

    The draft is written at once, and a job opens its images and lets workers in. A `pilot` opens 20 of them
    first; `go-on` opens the others. What it would come to, `campaign-plans` tells.
    """
    asked = call.data
    plan = campaign_plan(call.account, asked)
    check_plan(plan)
    settings = settings_planned(asked)
    check_pay(settings, plan.kinds, meant=plan.unpaid)
    draft = {
        "name": asked["name"],
        "corpus": asked["corpus"],
        "tasks": plan.tasks,
        "settings": settings,
        "open_to_all": plan.open_to_all,
    }
    if plan.draft.like is not None:
        made = campaigns.duplicate_campaign(campaign=plan.draft.like, actor=call.account, **draft)
    else:
        made = campaigns.create_campaign(actor=call.account, **draft)
    check_no_running_pilot(made)
    which = {"split": plan.split, "images": plan.images, "tags": list(plan.tags)}
    if plan.pilot:
        which = pilot_of(campaign=made, whole=which)
    if "known" in asked:
        which["known"] = plan.known
    return jobs.enqueue(kind="open_images", arguments=which, campaign=made, actor=call.account)


@serves(
    ApiRoute(
        route="campaign_go_on",
        method=POST,
        path=f"{CAMPAIGN_PATH}/go-on",
        tag=CAMPAIGNS_TAG,
        opens=RUNS_CAMPAIGN,
        job=True,
        refuses=(CampaignError,),
    )
)
def campaign_go_on_call(call: ApiCall, campaign: Campaign) -> Job:
    """Go on with all images after a pilot.

    A job opens those that the pilot left out; refused where there is no pilot.
    """
    return go_on_with_all(
        campaign=campaign,
        actor=call.account,
        enqueue=lambda row, arguments: jobs.enqueue(
            kind="open_images", arguments=arguments, campaign=row, actor=call.account
        ),
    )


def check_pay(settings: dict[str, Any], kinds: tuple[str, ...], *, meant: bool) -> None:
    """Raise CampaignError where some kind would earn nothing and nobody said that this is meant."""
    unpaid = settings_of(settings).pay.unpaid(kinds)
    if unpaid and not meant:
        raise CampaignError(
            _("No pay is set for %(kinds)s: set it in the settings, under “pay”, or send “unpaid”: true.")
            % {"kinds": ", ".join(unpaid)}
        )
