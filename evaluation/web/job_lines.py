"""Jobs of evaluation as lines of its pages, and the address at which they are stopped or gone on with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation import jobs
from annotation.registry import UnknownName
from annotation.selectors.jobs import Job, jobs_of_kinds
from annotation.web.access import RUNNING, for_roles
from annotation.web.job_lines import ShownJob, shown, steer_as_asked

#: Jobs on a page, the newest.
NEWEST = 10


def job_lines(
    kinds: Sequence[str], *, here: str, leads: Callable[[Job], str] | None = None, limit: int = NEWEST
) -> list[ShownJob]:
    """The newest jobs of these kinds; `here` is the page that shows them, which steering comes back to.

    `leads` says where the work of a finished job is looked at, "" for nowhere.
    """
    return [
        shown(
            job,
            f"{reverse('evaluation:steer_job', args=[job.pk])}?next={here}",
            leads=leads(job) if leads is not None and job.state == Job.DONE else "",
        )
        for job in jobs_of_kinds(kinds, limit=limit)
    ]


@require_POST
@for_roles(*RUNNING)
def steer(request: HttpRequest, job: int) -> HttpResponse:
    """Cancel a job of evaluation, or go on with one that was cancelled or failed."""
    steer_as_asked(request, _of_evaluation(job))
    back = request.GET.get("next", "")
    return redirect(back if url_has_allowed_host_and_scheme(back, None) else "evaluation:systems")


def _of_evaluation(number: int) -> Job:
    """The job, where its kind is one of evaluation's; others are none here."""
    try:
        job = jobs.job_numbered(number)
        if jobs.kind_named(job.kind).work.__module__.startswith("evaluation."):
            return job
    except (jobs.JobError, UnknownName):
        pass
    raise Http404(_("There is no job %(job)d here.") % {"job": number})
