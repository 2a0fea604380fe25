"""Exports by API, and their download."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation import jobs
from annotation.api.rest.doors import Anywhere, missing
from annotation.api.rest.fields import CallFields, NameField
from annotation.api.rest.operations import GET, POST, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import RUNS_CAMPAIGN
from annotation.common.roles import RESEARCHER
from annotation.datasets import archives
from annotation.datasets.exporting import ExportError, check_export
from annotation.datasets.layers import update_layers
from annotation.jobs.status import visible_jobs
from annotation.models import Account, Campaign, Job
from annotation.selectors.corpora import AmbiguousLayer
from annotation.web.common.access import BROWSING
from annotation.web.staff.jobs import EXPORT, sent_archive


class OnJob:
    """Researchers of what a job is about: its campaign, its corpus, or, of one about neither, the server; of
    the server's own jobs, as its e-mails, its admins."""

    def admit(self, account: Account, place: dict[str, Any]) -> tuple[Any, ...]:
        """The job that the address names."""
        Anywhere((RESEARCHER,)).admit(account, place)
        number = place.pop("number")
        found = visible_jobs(account).filter(pk=number).first()
        if found is None:
            raise missing(_("There is no job %(job)d here.") % {"job": number})
        return (found,)


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
        path="jobs/<int:number>/download",
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


def layer_is_open_to(account: Account, campaign: Campaign, layer: str) -> bool:
    """Whether an account may read the layer of that name: the campaign's own, or any with its corpus."""
    return layer == campaign.name or account.has_role(*BROWSING, on=campaign.corpus.scope)
