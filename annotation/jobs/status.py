"""Jobs in lists: visibility, progress, cancelling and resuming."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.db.models import Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Listing, Named, OneOf, OperationContext, StoredKind, result_of
from annotation.common.roles import ADMIN, RESEARCHER, WHOLE_SERVER
from annotation.jobs.registry import job_kind_named, kinds_of_other_apps
from annotation.jobs.rows import SweptJobs, cancel_job, remaining, resume_job, sweep_jobs
from annotation.models import Account, Job
from annotation.selectors.corpora import within_scope
from phrasebox.registry import UnknownName

#: Titles of the states of jobs.
JOB_STATES: dict[str, str | Promise] = {
    Job.QUEUED: _("queued"),
    Job.RUNNING: _("running"),
    Job.DONE: _("done"),
    Job.FAILED: _("failed"),
    Job.CANCELLED: _("cancelled"),
}
_UPLOADS = ("check_upload", "import_upload")
#: Arguments that describe a job; others may be paths on the server.
_ABOUT = (
    *("name", "system", "batch", "corpus", "format", "layer", "kind", "split", "recipe", "direction"),
    *("qrels", "runs", "judgments", "protocol", "images", "train", "held_out", "tasks"),
)
#: Results that are paths on the server.
_PLACES = ("path", "folder", "file")


def visible_jobs(account: Account | None, *roles: str) -> QuerySet[Job]:
    """Return the jobs that an account may see, cancel and resume: those of campaigns and corpora for which it
    has a role, and those of its own uploads; None: all.

    Jobs without campaign and corpus require a role for the whole server; those of the server itself, such as
    its e-mails, are visible to its admins, and to the account that requested one. Admins of the whole server
    see all.
    """
    rows = Job.objects.select_related("campaign__corpus", "corpus", "created_by")
    if account is None or account.has_role(ADMIN, on=WHOLE_SERVER):
        return rows
    of_campaigns = within_scope(account, RESEARCHER, corpus="campaign__corpus", campaign="campaign")
    of_corpora = within_scope(account, RESEARCHER, corpus="corpus")
    rows = rows.filter((Q(campaign__isnull=False) & of_campaigns) | (Q(campaign__isnull=True) & of_corpora))
    mine = Q(created_by_id=account.pk)
    about_something = Q(campaign__isnull=False) | Q(corpus__isnull=False)
    rows = rows.filter(about_something | Q(kind__in=kinds_of_other_apps()) | mine)
    return rows.filter(~Q(kind__in=_UPLOADS) | mine)


#: Jobs by their numbers.
JOBS = StoredKind(_("job"), visible_jobs, within="campaign", column="pk")
_JobNumber = Annotated[int, Named(JOBS), Help(_("Job"), _("Its number"))]
_Name = Annotated[str, Field(max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsRequest:
    """Jobs, the newest first."""

    state: Annotated[Annotated[str, OneOf(JOB_STATES.copy, _("all"))] | None, Help(_("State"))] = None
    kind: Annotated[_Name | None, Help(_("Kind"), _("Its name, as jobs say it"))] = None
    campaign: Annotated[_Name | None, Help(_("Campaign"))] = None
    corpus: Annotated[_Name | None, Help(_("Corpus"), _("Jobs about its campaigns, too"))] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """The progress of a job, and its result."""

    job: _JobNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelJobRequest:
    """A queued job is cancelled at once, a running one at its next step. Completed steps stay."""

    job: _JobNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeJobRequest:
    """A failed or cancelled job continues from its last checkpoint."""

    job: _JobNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepJobsRequest:
    """Jobs that dead workers or a lost broker left are queued again; the periodic work does the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """Background work: its kind, its progress, its end. Poll it until `state` is done, failed or cancelled.
    `about`: the request, as far as names describe it; `result`: its outcome; `stopping`: it runs, and is
    cancelled at its next step."""

    number: int
    kind: str
    title: str
    state: Annotated[str, OneOf(JOB_STATES.copy)]
    stopping: bool
    phase: str
    share: float
    seconds_left: float | None
    error: str
    about: dict[str, Any]
    result: dict[str, Any]
    corpus: str | None
    campaign: str | None
    requested_by: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


def job_title(kind: str) -> str:
    """Return the title of a kind of job; the kind itself where it no longer exists."""
    try:
        return str(job_kind_named(kind).title)
    except UnknownName:
        return kind


def job_status(job: Job) -> JobStatus:
    """Return a job without any path of the server."""
    about = {key: job.arguments[key] for key in _ABOUT if job.arguments.get(key) not in (None, "", [])}
    return result_of(
        JobStatus,
        job,
        number=job.pk,
        title=job_title(job.kind),
        stopping=job.cancel and job.state == Job.RUNNING,
        seconds_left=remaining(job),
        about={key: value for key, value in about.items() if not _is_path(value)},
        result={key: value for key, value in job.result.items() if key not in _PLACES},
        corpus=job.corpus.name if job.corpus is not None else None,
        campaign=job.campaign.name if job.campaign is not None else None,
        requested_by=job.created_by.get_username() if job.created_by is not None else None,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
    )


def list_jobs(request: JobsRequest, context: OperationContext) -> Listing:
    """Return the requested jobs."""
    rows = visible_jobs(context.actor)
    if request.state is not None:
        rows = rows.filter(state=request.state)
    if request.kind is not None:
        rows = rows.filter(kind=request.kind)
    if request.campaign is not None:
        rows = rows.filter(campaign__name=request.campaign)
    if request.corpus is not None:
        rows = rows.filter(Q(corpus__name=request.corpus) | Q(campaign__corpus__name=request.corpus))
    return Listing(rows, "-pk", job_status)


def show_job(request: JobRequest, context: OperationContext) -> JobStatus:
    """Return one job."""
    return job_status(visible_jobs(None).get(pk=request.job))


def cancel(request: CancelJobRequest, context: OperationContext) -> JobStatus:
    """Cancel a job. Raises JobError if it has ended."""
    return job_status(cancel_job(job_id=request.job, actor=context.actor))


def resume(request: ResumeJobRequest, context: OperationContext) -> JobStatus:
    """Resume a job. Raises JobError if it has not failed or been cancelled."""
    return job_status(resume_job(job_id=request.job, actor=context.actor))


def sweep_lost_jobs(request: SweepJobsRequest, context: OperationContext) -> SweptJobs:
    """Recover lost jobs."""
    return sweep_jobs()


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("/")
