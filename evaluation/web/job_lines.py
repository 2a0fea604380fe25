"""Jobs of evaluation as lines of its pages, and the address at which they are stopped or gone on with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation import jobs
from annotation.common.registry import UnknownName
from annotation.selectors.jobs import Job, newest_of
from annotation.web.common.access import RUNNING, account_of, for_roles
from annotation.web.staff.job_lines import ShownJob, job_line, steer_as_asked
from evaluation.web import offered

#: Jobs on a page, the newest.
NEWEST_JOBS = 10


def job_lines(
    request: HttpRequest,
    kinds: Sequence[str],
    *,
    leads: Callable[[Sequence[Job]], Mapping[int, str]] | None = None,
    limit: int = NEWEST_JOBS,
    of_server: bool = False,
) -> list[ShownJob]:
    """The newest jobs of these kinds that are open to whoever asks; steering them comes back to their page.

    `leads` says where the work of finished jobs is looked at, by their ids, without those of which there is
    nothing to look at: at once, so that it asks as many queries for any number. With `of_server`, jobs about
    no corpus alone.
    """
    open_to = offered.offered_jobs(request).filter(kind__in=kinds)
    found = open_to.filter(corpus=None) if of_server else open_to
    newest = newest_of(found, limit=limit)
    done = [job for job in newest if job.state == Job.DONE]
    led = leads(done) if leads is not None and done else {}
    return [
        job_line(
            job,
            f"{reverse('evaluation:steer_job', args=[job.pk])}?next={request.path}",
            leads=led.get(job.pk, ""),
        )
        for job in newest
    ]


def pages_of_made(route: str, made: Mapping[int, str], rows: QuerySet[Any]) -> dict[int, str]:
    """Job -> the page of what it made: of the names that jobs `made`, those that one of `rows` bears. One
    query."""
    there = set(rows.filter(name__in=set(made.values())).values_list("name", flat=True))
    return {job: reverse(route, args=[name]) for job, name in made.items() if name in there}


@require_POST
@for_roles(*RUNNING, corpora=True)
def job_steer(request: HttpRequest, job: int) -> HttpResponse:
    """Cancel a job of evaluation, or go on with one that was cancelled or failed."""
    steer_as_asked(request, _of_evaluation(request, job))
    back = request.GET.get("next", "")
    # What does not begin so is taken for the name of a route.
    here = back.startswith("/") and url_has_allowed_host_and_scheme(back, None)
    return redirect(back if here else "evaluation:systems")


def _of_evaluation(request: HttpRequest, number: int) -> Job:
    """The job, where its kind is one of evaluation's and it is open to whoever asks; others are none here."""
    try:
        job = jobs.job_numbered(number)
        known = jobs.job_kind_named(job.kind).app == "evaluation"
        if known and account_of(request).has_role(*RUNNING, on=job.scope):
            return job
    except (jobs.JobError, UnknownName):
        pass
    raise Http404(_("There is no job %(job)d here.") % {"job": number})
