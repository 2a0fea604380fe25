"""`manage.py jobs`: what runs beside the pages; stop it, take it up again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation import jobs
from annotation.common.registry import UnknownName
from annotation.management.base import ReportCommand, plain_table
from annotation.models import Job
from annotation.selectors.jobs import recent_jobs

STATES = (Job.QUEUED, Job.RUNNING, Job.DONE, Job.FAILED, Job.CANCELLED)
MINUTE, HOUR = 60, 3600


class Command(ReportCommand):
    help = "List the newest jobs, cancel or resume one, or look for lost ones."
    refusals = (jobs.JobError, UnknownName)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--state", choices=STATES, help="Only jobs in this state")
        parser.add_argument("--limit", type=int, default=20, help="How many to list (default 20)")
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--cancel", type=int, metavar="ID", help="Cancel a queued or running job")
        act.add_argument("--resume", type=int, metavar="ID", help="Resume a failed or cancelled job")
        act.add_argument(
            "--sweep",
            action="store_true",
            help="Queue the jobs again that dead workers or a lost broker left",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        if options["sweep"]:
            return {"swept": jobs.sweep_jobs()._asdict()}
        if options["cancel"] is not None:
            return {"jobs": [_line(jobs.cancel_job(job_id=options["cancel"]))]}
        if options["resume"] is not None:
            return {"jobs": [_line(jobs.resume_job(job_id=options["resume"]))]}
        found = recent_jobs(state=options["state"], limit=options["limit"])
        return {"jobs": [_line(job) for job in found]}

    def show(self, report: dict[str, Any]) -> str:
        if "swept" in report:
            return "{again} queued again, {failed} given up, {cancelled} cancelled, {sent} sent again".format(
                **report["swept"]
            )
        rows = [
            [
                job["id"],
                job["kind"],
                job["campaign"] or "",
                job["state"] + (", stopping" if job["cancel"] and job["state"] == Job.RUNNING else ""),
                f"{job['share']:.0%}",
                job["phase"],
                _time(job["remaining"]),
                job["error"],
            ]
            for job in report["jobs"]
        ]
        if not rows:
            return "no jobs"
        return plain_table(["id", "kind", "campaign", "state", "share", "phase", "left", "error"], rows)


def _line(job: Job) -> dict[str, Any]:
    """A job as plain data; times in ISO 8601."""
    times = {
        name: moment.isoformat(timespec="seconds") if moment else None
        for name, moment in (
            ("created_at", job.created_at),
            ("started_at", job.started_at),
            ("finished_at", job.finished_at),
        )
    }
    return {
        "id": job.pk,
        "kind": job.kind,
        "campaign": job.campaign.name if job.campaign else None,
        "arguments": job.arguments,
        "state": job.state,
        "cancel": job.cancel,
        "share": job.share,
        "phase": job.phase,
        "remaining": jobs.remaining(job),
        "attempts": job.attempts,
        "result": job.result,
        "error": job.error,
        "by": job.created_by.get_username() if job.created_by else None,
        **times,
    }


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < HOUR else f"{seconds / HOUR:.1f} h"
