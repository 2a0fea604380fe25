"""Jobs as lines of a page: what each is, how far it is, what it came to; stopping it and going on.

A page includes `annotation/staff/_jobs.html` with `jobs`, which are `ShownJob`s.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation import jobs
from annotation.common.registry import UnknownName
from annotation.models import Job
from annotation.web.staff.frame import account_of, said

#: States of jobs in words.
JOB_STATES = {
    Job.QUEUED: gettext_lazy("queued"),
    Job.RUNNING: gettext_lazy("running"),
    Job.DONE: gettext_lazy("done"),
    Job.FAILED: gettext_lazy("failed"),
    Job.CANCELLED: gettext_lazy("cancelled"),
}
#: Arguments that set a job apart from others of its kind.
_TELLING = ("name", "system", "batch", "format", "layer", "kind", "split", "machine")


@dataclass(frozen=True, slots=True)
class ShownJob:
    """A job as a line. `steer` is where it is stopped or gone on with; `download` and `size` are of what
    it left to be fetched, `lacks` says what that does not hold, `gone` that it is kept no longer, and `leads`
    is the page of what it made."""

    job: Job
    title: str
    about: str
    state: str
    left: str
    steer: str
    download: str = ""
    size: str = ""
    lacks: tuple[str, ...] = ()
    gone: bool = False
    leads: str = ""

    @property
    def percent(self) -> int:
        """How far the job is, in whole per cent."""
        return int(100 * self.job.share)

    @property
    def live(self) -> bool:
        """Whether the job waits or runs."""
        return self.job.state in (Job.QUEUED, Job.RUNNING)

    @property
    def ended_badly(self) -> bool:
        """Whether the job failed or was cancelled."""
        return self.job.state in (Job.FAILED, Job.CANCELLED)


def job_line(
    job: Job,
    steer: str,
    *,
    download: str = "",
    size: str = "",
    lacks: tuple[str, ...] = (),
    gone: bool = False,
    leads: str = "",
) -> ShownJob:
    """`job` as a line, with what its page knows of it."""
    try:
        title = str(jobs.job_kind_named(job.kind).title)
    except UnknownName:
        title = job.kind
    left = jobs.remaining(job)
    return ShownJob(
        job=job,
        title=title,
        about=_about(job),
        state=str(JOB_STATES.get(job.state, job.state)),
        left=timesince(timezone.now() - timedelta(seconds=left)) if left is not None else "",
        steer=steer,
        download=download,
        size=size,
        lacks=lacks,
        gone=gone,
        leads=leads,
    )


def steer_as_asked(request: HttpRequest, job: Job) -> None:
    """Cancel a job, or go on with one that was cancelled or failed, as the pressed button says."""
    actor = account_of(request)
    with said(request, jobs.JobError, UnknownName) as tell:
        if request.POST.get("act") == "resume":
            jobs.resume_job(job_id=job.pk, actor=actor)
            tell(_("Job resumed from where it stopped."))
        else:
            jobs.cancel_job(job_id=job.pk, actor=actor)
            tell(_("Job cancelled. A running job stops at its next step."))


def _about(job: Job) -> str:
    given: dict[str, Any] = job.arguments
    told = ", ".join(str(given[name]) for name in _TELLING if given.get(name))
    return told or str(given.get("corpus", ""))
