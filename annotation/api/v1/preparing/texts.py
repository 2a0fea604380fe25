"""A campaign's layer, by API."""

from __future__ import annotations

from annotation import jobs
from annotation.api.rest.operations import POST, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import CAMPAIGN_PATH, PREPARING_TAG, RUNS_CAMPAIGN
from annotation.models import Campaign, Job


@serves(
    ApiRoute(
        route="layer_refresh",
        method=POST,
        path=f"{CAMPAIGN_PATH}/layer/refresh",
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
        job=True,
    )
)
def layer_refresh_call(call: ApiCall, campaign: Campaign) -> Job:
    """Bring a campaign's layer up to its answers, as a job."""
    return jobs.enqueue(kind="refresh_layer", campaign=campaign, actor=call.account)
