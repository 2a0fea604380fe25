"""The page of a campaign's jobs: how far each is, exports and their downloads."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotation import jobs
from annotation.common.roles import RESEARCHER
from annotation.datasets.layers import update_layers
from annotation.models import Account, Campaign, Job
from annotation.selectors.browse import layers_of
from annotation.selectors.controls import unchecked_kinds
from annotation.selectors.jobs import recent_jobs
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS, act_form, campaign_frame, said
from annotation.web.staff.job_lines import job_line
from annotation.web.staff.wording import kind_in_words

#: Jobs on the page, the newest.
_NEWEST = 30
_OPENING = "open_images"
_NOT_CHOSEN = gettext_lazy(
    "Nobody has chosen the images of this campaign. Run the command open_campaign with its name and your "
    "choice, or delete the campaign and open it again by page."
)


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def campaign_job_list(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """The campaign's newest jobs, and the form for an export."""
    behind = update_layers(campaign.corpus, campaign.name)
    shown = [job_line(job) for job in recent_jobs(campaign=campaign, limit=_NEWEST)]
    opening = _newest_opening(campaign)
    return render(
        request,
        "annotation/staff/jobs.html",
        campaign_frame(
            request,
            campaign,
            "jobs",
            jobs=shown,
            live=any(job.live for job in shown),
            not_chosen="" if opening else _NOT_CHOSEN,
            resumable=any(line.job == opening and line.ended_badly for line in shown),
            form=act_form(request, "export_campaign"),
            layer=any(layer.name == campaign.name for layer in layers_of(campaign.corpus)),
            behind=behind.get(campaign.name, 0),
            unchecked=[kind_in_words(kind) for kind in unchecked_kinds(campaign)],
        ),
    )


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def campaign_job_start(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Ask for the job that opens a draft."""
    actor = account_of(request)
    with said(request, jobs.JobError) as tell:
        match request.POST.get("act", ""):
            case "open":
                _open_as_asked(campaign, actor)
                tell(_("Opening the images."))
            case _other:
                raise jobs.JobError(_("Nothing was chosen: use one of the buttons."))
    return redirect("jobs", campaign.name)


def _newest_opening(campaign: Campaign) -> Job | None:
    """The job that was last asked to open the campaign's images."""
    return Job.objects.filter(campaign=campaign, kind=_OPENING).order_by("pk").last()


def _open_as_asked(campaign: Campaign, actor: Account) -> None:
    """Open a draft's images as they were last asked for: which, how many, and what its test is made from.

    The page asks for no choice, so none is made up. Raises JobError where there is none to go by, and where
    the campaign is no draft.
    """
    if campaign.state != Campaign.DRAFT:
        raise jobs.JobError(_("The images of this campaign are open already."))
    asked = _newest_opening(campaign)
    if asked is None:
        raise jobs.JobError(str(_NOT_CHOSEN))
    if asked.state in (Job.FAILED, Job.CANCELLED):
        jobs.resume_job(job_id=asked.pk, actor=actor)
        return
    arguments = {name: value for name, value in asked.arguments.items() if name != "begin"}
    jobs.enqueue(kind=_OPENING, arguments=arguments, campaign=campaign, actor=actor)
