"""Jobs by API: the list, one of them, cancelling and resuming it; exports and their download."""

from __future__ import annotations

from typing import Any

from django.db.models import F, Q, QuerySet
from django.db.models.fields.json import KT
from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation import jobs
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import Anywhere, missing
from annotation.api.rest.fields import CallFields, NameField
from annotation.api.rest.jobs_shown import job_plain
from annotation.api.rest.operations import GET, POST, ApiCall, ApiRoute, JobShown, serves
from annotation.api.v1.addressed import RUNS_CAMPAIGN
from annotation.common.roles import ADMIN, RESEARCHER, WHOLE_SERVER
from annotation.datasets import archives
from annotation.datasets.exporting import ExportError, check_export
from annotation.datasets.layers import update_layers
from annotation.models import Account, Campaign, Job
from annotation.selectors.corpora import AmbiguousLayer
from annotation.selectors.scopes import within_scope
from annotation.web.common.access import BROWSING
from annotation.web.staff.corpora.uploading import UPLOAD_JOBS
from annotation.web.staff.jobs import EXPORT, sent_archive

_TAG = "jobs"
_JOB = "jobs/<int:number>"


class OnJob:
    """Researchers of what a job is about: its campaign, its corpus, or, of one about neither, the server; of
    the server's own jobs, as its e-mails, its admins."""

    def admit(self, account: Account, place: dict[str, Any]) -> tuple[Any, ...]:
        """The job that the address names."""
        Anywhere((RESEARCHER,)).admit(account, place)
        return (_job(account, place.pop("number")),)


class JobFilter(CallFields):
    """Which jobs."""

    state = serializers.ChoiceField(["queued", "running", "done", "failed", "cancelled"], required=False)
    kind = NameField(required=False)
    campaign = NameField(required=False)
    corpus = NameField(required=False)


class ExportWanted(CallFields):
    """An export of the campaign's corpus with a layer, its own unless another is named. Of unfinished
    images, say whether they are left out or go along: without that, a layer that is not finished is
    refused; one whose answers are simulated is refused without `simulated`."""

    format = NameField()
    layer = NameField(required=False)
    unfinished = serializers.ChoiceField(["leave_out", "include"], required=False)
    pictures = serializers.BooleanField(required=False)
    simulated = serializers.BooleanField(required=False)


@serves(
    ApiRoute(
        route="jobs",
        method=GET,
        path="jobs",
        tag=_TAG,
        opens=Anywhere((RESEARCHER,)),
        asked=JobFilter,
        answers=JobShown,
        listed=True,
    )
)
def jobs_list_call(call: ApiCall) -> CursorPage:
    """List jobs, the newest first."""
    found = _open_jobs(call.account)
    asked = call.asked
    if "state" in asked:
        found = found.filter(state=asked["state"])
    if "kind" in asked:
        found = found.filter(kind=asked["kind"])
    if "campaign" in asked:
        found = found.filter(campaign__name=asked["campaign"])
    if "corpus" in asked:
        found = found.filter(Q(corpus__name=asked["corpus"]) | Q(campaign__corpus__name=asked["corpus"]))
    return call.rows.of_rows(found, "-pk", job_plain)


@serves(ApiRoute(route="job", method=GET, path=_JOB, tag=_TAG, opens=OnJob(), answers=JobShown))
def job_show_call(call: ApiCall, job: Job) -> dict[str, Any]:
    """Show a job: how far it is, and what it came to."""
    return job_plain(job)


@serves(
    ApiRoute(
        route="job_cancel", method=POST, path=f"{_JOB}/cancel", tag=_TAG, opens=OnJob(), answers=JobShown
    )
)
def job_cancel_call(call: ApiCall, job: Job) -> dict[str, Any]:
    """Cancel a job. One that runs stops at its next step."""
    jobs.cancel_job(job_id=job.pk, actor=call.account)
    return job_plain(_job(call.account, job.pk))


@serves(
    ApiRoute(
        route="job_resume", method=POST, path=f"{_JOB}/resume", tag=_TAG, opens=OnJob(), answers=JobShown
    )
)
def job_resume_call(call: ApiCall, job: Job) -> dict[str, Any]:
    """Resume a job that failed or was cancelled, from its last checkpoint."""
    jobs.resume_job(job_id=job.pk, actor=call.account)
    return job_plain(_job(call.account, job.pk))


@serves(
    ApiRoute(
        route="exports",
        method=POST,
        path="campaigns/<slug:name>/exports",
        tag="exports",
        opens=RUNS_CAMPAIGN,
        body=ExportWanted,
        job=True,
        refuses=(ExportError, AmbiguousLayer),
        example={"format": "entities", "unfinished": "leave_out"},
    )
)
def export_make_call(call: ApiCall, campaign: Campaign) -> Job:
    """Export a campaign's dataset, as a job; then download it by the job's number."""
    layer = call.data.get("layer", campaign.name)
    if not layer_is_open_to(call.account, campaign, layer):
        raise ExportError(
            _("Your role covers only this campaign: export its own layer, “%(name)s”.")
            % {"name": campaign.name}
        )
    arguments: dict[str, Any] = {
        "corpus": campaign.corpus.name,
        "format": call.data["format"],
        "layer": layer,
        "include_unfinished": call.data.get("unfinished") == "include",
        "only_finished": call.data.get("unfinished") == "leave_out",
        "with_pictures": call.data.get("pictures", False),
        "simulated": call.data.get("simulated", False),
    }
    update_layers(campaign.corpus, layer)
    check_export(**arguments)
    return jobs.enqueue(kind=EXPORT, arguments=arguments, campaign=campaign, actor=call.account)


@serves(
    ApiRoute(
        route="job_download",
        method=GET,
        path=f"{_JOB}/download",
        tag="exports",
        opens=OnJob(),
        file="application/zip",
        refuses=(archives.DownloadExpired,),
    )
)
def export_download_call(call: ApiCall, job: Job) -> HttpResponseBase:
    """Download what an export made, while it is kept."""
    if job.kind != EXPORT or job.state != Job.DONE:
        raise missing(_("Job %(job)d has no download.") % {"job": job.pk})
    return sent_archive(job)


def _open_jobs(account: Account) -> QuerySet[Job]:
    """The jobs that an account may see and steer: those of campaigns and corpora that it runs, and those of
    its own uploads.

    Of exports, those of other layers take a role for the corpus. Jobs about neither campaign nor corpus take
    a role for the whole server; those of the server itself, as its e-mails, are for its admins, unless one
    asked for them oneself.
    """
    of_campaigns = within_scope(account, RESEARCHER, corpus="campaign__corpus", campaign="campaign")
    of_corpora = within_scope(account, RESEARCHER, corpus="corpus")
    whole_corpus = within_scope(account, RESEARCHER, corpus="campaign__corpus")
    found = Job.objects.filter(
        (Q(campaign__isnull=False) & of_campaigns) | (Q(campaign__isnull=True) & of_corpora)
    )
    if whole_corpus:
        found = found.alias(layer=KT("arguments__layer")).filter(
            ~Q(kind=EXPORT) | whole_corpus | Q(layer=F("campaign__name"))
        )
    if not account.has_role(ADMIN, on=WHOLE_SERVER):
        ours = Q(kind__in=jobs.kinds_of_other_apps()) | Q(created_by_id=account.pk)
        found = found.filter(Q(campaign__isnull=False) | Q(corpus__isnull=False) | ours)
    # An upload is its account's alone.
    found = found.filter(~Q(kind__in=UPLOAD_JOBS) | Q(created_by_id=account.pk))
    return found.select_related("campaign__corpus", "corpus", "created_by")


def layer_is_open_to(account: Account, campaign: Campaign, layer: str) -> bool:
    """Whether an account may read the layer of that name: the campaign's own, or any with its corpus."""
    return layer == campaign.name or account.has_role(*BROWSING, on=campaign.corpus.scope)


def _job(account: Account, number: int) -> Job:
    found = _open_jobs(account).filter(pk=number).first()
    if found is None:
        raise missing(_("There is no job %(job)d here.") % {"job": number})
    return found
