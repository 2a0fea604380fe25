"""Pages of a campaign's jobs: how far each is, stopping and resuming, exports and their downloads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotation import downloads, jobs
from annotation.formats import FORMATS
from annotation.models import Campaign, Job
from annotation.models.crowd import RESEARCHER
from annotation.registry import UnknownName
from annotation.selectors.browse import layers_of
from annotation.selectors.jobs import recent_jobs
from annotation.web.access import for_roles
from annotation.web.staff import account_of, campaign_at, framed, said

#: Jobs on the page, the newest.
NEWEST = 30
EXPORT = "export_dataset"
STATES = {
    Job.QUEUED: gettext_lazy("waits"),
    Job.RUNNING: gettext_lazy("runs"),
    Job.DONE: gettext_lazy("done"),
    Job.FAILED: gettext_lazy("failed"),
    Job.CANCELLED: gettext_lazy("cancelled"),
}


@dataclass(frozen=True, slots=True)
class ShownJob:
    """A job as a line: what it is, how it stands, how far it is, and what it came to."""

    job: Job
    title: str
    about: str
    state: str
    left: str
    download: str

    @property
    def percent(self) -> int:
        return int(100 * self.job.share)

    @property
    def live(self) -> bool:
        return self.job.state in (Job.QUEUED, Job.RUNNING)

    @property
    def ended_badly(self) -> bool:
        return self.job.state in (Job.FAILED, Job.CANCELLED)


@require_safe
@for_roles(RESEARCHER)
def listing(request: HttpRequest, name: str) -> HttpResponse:
    """The campaign's newest jobs, and the form for an export."""
    campaign = campaign_at(name)
    shown = [_shown(job) for job in recent_jobs(campaign=campaign, limit=NEWEST)]
    layers = layers_of(campaign.corpus)
    return render(
        request,
        "annotation/staff/jobs.html",
        framed(
            request,
            campaign,
            "jobs",
            jobs=shown,
            live=any(job.live for job in shown),
            layers=layers,
            own=any(layer.name == campaign.name for layer in layers),
            formats=[entry.key for entry in FORMATS if entry.writes],
        ),
    )


@require_POST
@for_roles(RESEARCHER)
def start(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for a job: an export, the layer brought up to date, or the opening of a draft."""
    campaign, actor = campaign_at(name), account_of(request)
    with said(request, jobs.JobError, UnknownName) as tell:
        match request.POST.get("act", ""):
            case "export":
                arguments = {
                    "corpus": campaign.corpus.name,
                    "format": request.POST.get("format", ""),
                    "layer": request.POST.get("layer", "") or None,
                    "include_unfinished": request.POST.get("unfinished") == "1",
                    "with_pictures": request.POST.get("pictures") == "1",
                }
                jobs.enqueue(kind=EXPORT, arguments=arguments, campaign=campaign, actor=actor)
                tell(_("The export is being made."))
            case "refresh":
                jobs.enqueue(kind="refresh_layer", campaign=campaign, actor=actor)
                tell(_("The layer is being brought up to the answers."))
            case "open":
                jobs.enqueue(kind="open_images", campaign=campaign, actor=actor)
                tell(_("Its images are being opened."))
            case _other:
                raise jobs.JobError(_("Nothing was chosen: use one of the buttons."))
    return redirect("jobs", name)


@require_POST
@for_roles(RESEARCHER)
def steer(request: HttpRequest, name: str, job: int) -> HttpResponse:
    """Cancel a job, or go on with one that was cancelled or failed."""
    found, actor = _job(campaign_at(name), job), account_of(request)
    with said(request, jobs.JobError, UnknownName) as tell:
        if request.POST.get("act") == "resume":
            jobs.resume(job_id=found.pk, actor=actor)
            tell(_("The job goes on from where it was."))
        else:
            jobs.cancel(job_id=found.pk, actor=actor)
            tell(_("The job is cancelled, at its next step if it runs."))
    return redirect("jobs", name)


@require_safe
@for_roles(RESEARCHER)
def download(request: HttpRequest, name: str, job: int) -> HttpResponseBase:
    """The archive that an export made, while it is kept."""
    found = _job(campaign_at(name), job)
    if found.kind != EXPORT or found.state != Job.DONE:
        raise Http404(_("Job %(job)d made no download.") % {"job": job})
    try:
        file = downloads.file_of(found.result["path"])
    except downloads.Gone as error:
        raise Http404(str(error)) from error
    prefix = settings.PICTURE_PROXY_PREFIX
    if not prefix:
        return FileResponse(file.open("rb"), as_attachment=True, filename=file.name)
    response = HttpResponse(headers={"X-Accel-Redirect": f"{prefix.rstrip('/')}/{found.result['path']}"})
    response["Content-Type"] = "application/zip"
    response["Content-Disposition"] = f'attachment; filename="{file.name}"'
    return response


def _job(campaign: Campaign, number: int) -> Job:
    """A job of this campaign; those of others are none here."""
    found = Job.objects.filter(pk=number, campaign=campaign).first()
    if found is None:
        raise Http404(_("Campaign “%(name)s” has no job %(job)d.") % {"name": campaign.name, "job": number})
    return found


def _shown(job: Job) -> ShownJob:
    try:
        title = jobs.kind_named(job.kind).title
    except UnknownName:
        title = job.kind
    left = jobs.remaining(job)
    return ShownJob(
        job=job,
        title=title,
        about=_about(job),
        state=str(STATES.get(job.state, job.state)),
        left=timesince(timezone.now() - timedelta(seconds=left)) if left is not None else "",
        download=_download(job),
    )


def _about(job: Job) -> str:
    """What sets a job apart from others of its kind."""
    given: dict[str, Any] = job.arguments
    return ", ".join(str(given[name]) for name in ("format", "layer", "kind", "split") if given.get(name))


def _download(job: Job) -> str:
    """How large the archive is, where there is one that is kept."""
    if job.kind != EXPORT or job.state != Job.DONE:
        return ""
    try:
        downloads.file_of(job.result["path"])
    except downloads.Gone:
        return ""
    return filesizeformat(job.result["size"])
