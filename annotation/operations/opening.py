"""Campaigns that are to be opened: planned, opened, gone on with after a pilot, duplicated."""

from dataclasses import asdict

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from annotation.campaigns.drafts import fields, requests
from annotation.common.operations import CommandLine, FormPage, Has, Rest, register
from annotation.common.plain_text import pages_text, text_table
from annotation.common.roles import RESEARCHER
from annotation.jobs.kinds import open_images
from annotation.jobs.status import JobStatus
from annotation.models import Campaign
from annotation.operations.campaigns import MAY_RUN, ONE_CAMPAIGN, alarm_lines

_RESEARCHERS = Has((RESEARCHER,), corpora=True)
_PLAN = {
    "name": "quay",
    "corpus": "harbour",
    "tasks": "entities",
    "campaign_settings": {"link_votes": 3, "pay": {"basis": "hour", "hourly": 12.5, "currency": "EUR"}},
    "images": 200,
}
#: The remedy for pages that lack captions.
_REMEDY = "they can be judged as they are; further pairs of these images, of the role filler, fill them up"


def _plan_text(plan: requests.PlannedCampaign) -> str:
    rows = [[check.state, check.title, check.text] for check in plan.readiness]
    lines = [text_table(["", "", ""], rows)]
    if (estimate := plan.estimate) is not None:
        lines.append(
            f"{estimate.images} images: {estimate.hours.value:.1f} hours ({estimate.hours.low:.1f} to "
            f"{estimate.hours.high:.1f}), {estimate.cost.value} {estimate.currency} ({estimate.cost.low} to "
            f"{estimate.cost.high}), {plan.workers.least} workers or more"
        )
    return "\n".join(lines)


def _opened_text(opened: open_images.OpenedCampaign) -> str:
    lines = [f"campaign {opened.campaign!r} over corpus {opened.corpus!r} ({opened.tasks})"]
    lines += [f"  {name} = {value}" for name, value in opened.settings.items()]
    if opened.state == Campaign.DRAFT:
        lines.append("it is a draft: nothing is open")
    else:
        planned = f", {opened.planned} to be opened as others are finished" if opened.planned else ""
        lines.append(
            f"it is {opened.state}: {opened.images_opened} images opened now, "
            f"{opened.images_there} before{planned}"
        )
    lines += pages_text(asdict(opened.filling) if opened.filling else {}, _REMEDY)
    if opened.unpaid:
        lines.append(f"no pay is set for {', '.join(opened.unpaid)}")
    if opened.images_without_gold:
        lines.append(
            f"images left out because the gold layer does not cover them: {opened.images_without_gold}"
        )
    lines.append(
        f"at least {opened.workers.least} workers are needed: nobody answers a question twice; with "
        f"{opened.workers.enough} none is missing, also where a question is reported or comes back"
    )
    return "\n".join([*lines, *alarm_lines(alarm for alarm in opened.alarms if alarm.code != "draft")])


def _jobs_page(result: open_images.OpenedCampaign | JobStatus) -> str:
    return reverse("jobs", args=[result.campaign])


register(
    title=_("Plan a campaign"),
    permission=_RESEARCHERS,
    run=requests.plan_campaign,
    rest=Rest(
        "POST",
        "campaign-plans",
        "campaigns",
        route="campaign_plans",
        own_transactions=True,
        example=_PLAN,
    ),
    command=CommandLine(positional=("name",), text=_plan_text),
)
register(
    name="open_campaign",
    title=_("Open a campaign"),
    permission=_RESEARCHERS,
    run=open_images.open_named_campaign,
    rest=Rest(
        "POST", "campaigns", "campaigns", route="campaigns", creates="campaigns/{campaign}", example=_PLAN
    ),
    command=CommandLine(positional=("name",), text=_opened_text),
    page=FormPage(done=_("Opening the images. The campaign opens after that."), leads=_jobs_page),
)
register(
    name="go_on_with_all",
    title=_("Continue with all images after a pilot"),
    permission=MAY_RUN,
    run=open_images.go_on,
    rest=Rest("POST", f"{ONE_CAMPAIGN}/go-on", "campaigns", route="campaign_go_on"),
    page=FormPage(done=_("Opening the other images."), leads=_jobs_page),
)
register(
    name="open_draft",
    title=_("Open the images of a draft"),
    permission=MAY_RUN,
    run=open_images.open_named_draft,
    rest=Rest("POST", f"{ONE_CAMPAIGN}/open", "campaigns", route="campaign_open"),
    page=FormPage(done=_("Opening the images."), leads=_jobs_page),
)
register(
    name="duplicate_campaign",
    title=_("Duplicate a campaign as a draft"),
    permission=MAY_RUN,
    run=open_images.duplicate,
    command=None,
    page=FormPage(
        done=_("A draft with the settings of “%(campaign)s”: change what differs."),
        leads=lambda opened: reverse("draft_step", args=[opened.draft, fields.OPEN_STEP]),
    ),
)
