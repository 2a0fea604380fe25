"""The page of a campaign's jobs: their progress, exports and downloads."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.common.roles import RESEARCHER, WHOLE_SERVER
from annotation.datasets.contents.written_captions import collects_captions
from annotation.datasets.layers import update_layers
from annotation.jobs.kinds.open_images import NOT_CHOSEN, newest_opening
from annotation.models import Campaign
from annotation.selectors.browse import layers_of
from annotation.selectors.controls import unchecked_kinds
from annotation.selectors.jobs import recent_jobs
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, act_form, campaign_frame
from annotation.web.staff.job_lines import job_line
from annotation.web.staff.wording import kind_in_words

#: Number of jobs on the page, the newest.
_NEWEST = 30


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def campaign_job_list(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show the campaign's newest jobs, and the form for an export."""
    behind = update_layers(campaign.corpus, campaign.name)
    lines = [job_line(job) for job in recent_jobs(campaign=campaign, limit=_NEWEST)]
    opening = newest_opening(campaign)
    publishes = collects_captions(campaign) and account_of(request).has_role(RESEARCHER, on=WHOLE_SERVER)
    return render(
        request,
        "annotation/staff/jobs.html",
        campaign_frame(
            request,
            campaign,
            "jobs",
            jobs=lines,
            live=any(job.live for job in lines),
            not_chosen="" if opening else str(NOT_CHOSEN),
            resumable=any(line.job == opening and line.ended_badly for line in lines),
            form=act_form(request, "export_campaign"),
            publishing=act_form(request, "publish_captions") if publishes else None,
            layer=any(layer.name == campaign.name for layer in layers_of(campaign.corpus)),
            behind=behind.get(campaign.name, 0),
            unchecked_kinds=[kind_in_words(kind) for kind in unchecked_kinds(campaign)],
        ),
    )
