"""Jobs of evaluation for display on its pages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from annotation.selectors.jobs import Job, newest_of
from annotation.web.staff.job_lines import JobView, job_line
from evaluation.web import visible

#: The number of newest jobs on a page.
NEWEST_JOBS = 10


def job_lines(
    request: HttpRequest,
    kinds: Sequence[str],
    *,
    leads: Callable[[Sequence[Job]], Mapping[int, str]] | None = None,
    limit: int = NEWEST_JOBS,
    of_server: bool = False,
) -> list[JobView]:
    """Return the newest jobs of these kinds that the caller may see.

    `leads` returns the addresses of what finished jobs made, by job id, without those that have none; it gets
    all jobs at once, so that it needs the same number of queries for any number. With `of_server`, only jobs
    that belong to no corpus.
    """
    open_to = visible.visible_evaluation_jobs(request).filter(kind__in=kinds)
    jobs_of_scope = open_to.filter(corpus=None) if of_server else open_to
    newest = newest_of(jobs_of_scope, limit=limit)
    done = [job for job in newest if job.state == Job.DONE]
    led = leads(done) if leads is not None and done else {}
    return [job_line(job, leads=led.get(job.pk, "")) for job in newest]


def pages_of_results(route: str, names: Mapping[int, str], rows: QuerySet[Any]) -> dict[int, str]:
    """Return the pages of jobs' results: of the names that jobs made, those that one of `rows` has. One
    query."""
    there = set(rows.filter(name__in=set(names.values())).values_list("name", flat=True))
    return {job: reverse(route, args=[name]) for job, name in names.items() if name in there}
