"""Pages of a campaign's jobs: how far each is, stopping and resuming, exports and their downloads."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotation import jobs
from annotation.common.registry import UnknownName
from annotation.common.roles import RESEARCHER
from annotation.datasets import archives
from annotation.datasets.exporting import ExportError, check_export, simulated_layers
from annotation.datasets.layers import update_layers
from annotation.formats import FORMATS
from annotation.models import Account, Campaign, Job
from annotation.selectors.controls import unchecked_kinds
from annotation.selectors.corpora import AmbiguousLayer
from annotation.selectors.jobs import recent_jobs
from annotation.selectors.left_out import missing_from_export
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS, campaign_frame, layer_is_open, layers_open, said
from annotation.web.staff.job_lines import ShownJob, job_line
from annotation.web.staff.wording import kind_in_words

#: Jobs on the page, the newest.
_NEWEST = 30
EXPORT = "export_dataset"
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
    layers = layers_open(request, campaign)
    found = recent_jobs(campaign=campaign, limit=_NEWEST)
    shown = [_shown(job) for job in found if _is_open(request, campaign, job)]
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
            layers=layers,
            simulated=simulated_layers(layers),
            own=any(layer.name == campaign.name for layer in layers),
            behind=behind.get(campaign.name, 0),
            formats=[entry.key for entry in FORMATS if entry.writes],
            unchecked=[kind_in_words(kind) for kind in unchecked_kinds(campaign)],
        ),
    )


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def campaign_job_start(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Ask for a job: an export, the layer brought up to date, or the opening of a draft."""
    actor = account_of(request)
    with said(request, jobs.JobError, UnknownName, AmbiguousLayer, ExportError) as tell:
        match request.POST.get("act", ""):
            case "export":
                layer = request.POST.get("layer", "") or None
                if not layer_is_open(request, campaign, layer):
                    raise jobs.JobError(
                        _("Your role covers only this campaign: export its own layer, “%(name)s”.")
                        % {"name": campaign.name}
                    )
                arguments: dict[str, Any] = {
                    "corpus": campaign.corpus.name,
                    "format": request.POST.get("format", ""),
                    "layer": layer,
                    "include_unfinished": request.POST.get("unfinished") == "include",
                    "only_finished": request.POST.get("unfinished") == "leave",
                    "with_pictures": request.POST.get("pictures") == "1",
                    "simulated": request.POST.get("simulated") == "1",
                }
                check_export(**arguments)
                jobs.enqueue(kind=EXPORT, arguments=arguments, campaign=campaign, actor=actor)
                tell(_("Building the export. It will appear here."))
            case "refresh":
                jobs.enqueue(kind="refresh_layer", campaign=campaign, actor=actor)
                tell(_("Updating the annotations."))
            case "open":
                _open_as_asked(campaign, actor)
                tell(_("Opening the images."))
            case _other:
                raise jobs.JobError(_("Nothing was chosen: use one of the buttons."))
    return redirect("jobs", campaign.name)


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def campaign_job_download(request: HttpRequest, campaign: Campaign, job: int) -> HttpResponseBase:
    """The archive that an export made, while it is kept."""
    found = _job(request, campaign, job)
    if found.kind != EXPORT or found.state != Job.DONE:
        raise Http404(_("Job %(job)d has no download.") % {"job": job})
    try:
        return sent_archive(found)
    except archives.DownloadExpired as error:
        raise Http404(str(error)) from error


def sent_archive(job: Job) -> HttpResponseBase:
    """The archive of an export that is done, or, behind a proxy that serves files, the header that makes
    it send that. Raises DownloadExpired."""
    file = archives.file_of(job.result["path"])
    prefix = settings.PICTURE_PROXY_PREFIX
    if not prefix:
        return FileResponse(
            file.open("rb"), as_attachment=True, filename=file.name, content_type="application/zip"
        )
    response = HttpResponse(headers={"X-Accel-Redirect": f"{prefix.rstrip('/')}/{job.result['path']}"})
    response["Content-Type"] = "application/zip"
    response["Content-Disposition"] = f'attachment; filename="{file.name}"'
    return response


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


def _is_open(request: HttpRequest, campaign: Campaign, job: Job) -> bool:
    """Whether the caller may see a job of the campaign: an export only where its layer is open to them."""
    return job.kind != EXPORT or layer_is_open(request, campaign, job.arguments.get("layer"))


def _job(request: HttpRequest, campaign: Campaign, number: int) -> Job:
    """A job of this campaign; those of others, and exports of layers that are not open, are none here."""
    found = Job.objects.filter(pk=number, campaign=campaign).first()
    if found is None or not _is_open(request, campaign, found):
        raise Http404(_("Campaign “%(name)s” has no job %(job)d.") % {"name": campaign.name, "job": number})
    return found


def _shown(job: Job) -> ShownJob:
    """A line; of an export with its download, where there is one that is kept."""
    assert job.campaign is not None  # the listing is of one campaign's
    if job.kind != EXPORT or job.state != Job.DONE:
        return job_line(job)
    try:
        archives.file_of(job.result["path"])
    except archives.DownloadExpired:
        return job_line(job, gone=True)
    fetched = reverse("download", args=[job.campaign.name, job.pk])
    # Exports made before anything was counted have no such entry.
    lacking = tuple(missing_from_export(job.result.get("left_out", {})))
    return job_line(job, download=fetched, size=filesizeformat(job.result["size"]), lacks=lacking)
