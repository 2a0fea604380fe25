"""Jobs as pages and commands show them."""

from collections.abc import Sequence

from django.db.models import QuerySet

from annotation.models import Campaign, Job


def recent_jobs(*, campaign: Campaign | None = None, state: str | None = None, limit: int = 50) -> list[Job]:
    """The newest jobs first, of a campaign or of all; with who asked for them."""
    jobs = Job.objects.select_related("campaign", "created_by").order_by("-pk")
    if campaign is not None:
        jobs = jobs.filter(campaign=campaign)
    if state is not None:
        jobs = jobs.filter(state=state)
    return list(jobs[:limit])


def jobs_of_kinds(kinds: Sequence[str], *, limit: int) -> list[Job]:
    """The newest jobs of these kinds, of whatever campaign."""
    return newest_of(Job.objects.filter(kind__in=kinds), limit=limit)


def newest_job(kind: str, campaign: Campaign, **arguments: str) -> Job | None:
    """The newest job of a kind about a campaign that has these arguments."""
    named = {f"arguments__{name}": value for name, value in arguments.items()}
    return Job.objects.filter(kind=kind, campaign=campaign, **named).order_by("-pk").first()


def newest_of(jobs: QuerySet[Job], *, limit: int) -> list[Job]:
    """The newest of these jobs first; with who asked for them."""
    return list(jobs.select_related("campaign", "created_by").order_by("-pk")[:limit])
