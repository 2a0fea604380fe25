"""Jobs for pages and commands."""

from collections.abc import Sequence

from django.db.models import QuerySet

from annotation.models import Campaign, Job


def recent_jobs(*, campaign: Campaign | None = None, state: str | None = None, limit: int = 50) -> list[Job]:
    """Return the newest jobs first, of a campaign or of all, with their requesters."""
    jobs = Job.objects.select_related("campaign", "created_by").order_by("-pk")
    if campaign is not None:
        jobs = jobs.filter(campaign=campaign)
    if state is not None:
        jobs = jobs.filter(state=state)
    return list(jobs[:limit])


def jobs_of_kinds(kinds: Sequence[str], *, limit: int) -> list[Job]:
    """Return the newest jobs of these kinds, of any campaign."""
    return newest_of(Job.objects.filter(kind__in=kinds), limit=limit)


def newest_job(kind: str, campaign: Campaign, **arguments: str) -> Job | None:
    """Return the newest job of a kind about a campaign with these arguments."""
    named = {f"arguments__{name}": value for name, value in arguments.items()}
    return Job.objects.filter(kind=kind, campaign=campaign, **named).order_by("-pk").first()


def newest_of(jobs: QuerySet[Job], *, limit: int) -> list[Job]:
    """Return the newest of these jobs first, with their requesters."""
    return list(jobs.select_related("campaign", "created_by").order_by("-pk")[:limit])
