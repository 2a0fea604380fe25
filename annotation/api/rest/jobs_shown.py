"""Jobs as the API tells them, and the address of each."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from annotation import jobs
from annotation.api.contents import json_time
from annotation.api.rest.operations import ROUTE_PREFIX
from annotation.common.registry import UnknownName
from annotation.models import Job

#: Arguments that tell what a job is about; others may be places on the server's disk.
_ABOUT = (
    *("name", "system", "batch", "corpus", "format", "layer", "kind", "split", "recipe", "direction"),
    *("qrels", "runs", "judgments", "protocol", "images", "train", "held_out", "tasks"),
)
#: Results that are places on the server's disk.
_PLACES = ("path", "folder", "file")


def job_plain(job: Job) -> dict[str, Any]:
    """A job as the API tells it; it holds no path of the server."""
    try:
        title = str(jobs.job_kind_named(job.kind).title)
    except UnknownName:
        title = job.kind
    told = {key: job.arguments[key] for key in _ABOUT if job.arguments.get(key) not in (None, "", [])}
    return {
        "number": job.pk,
        "kind": job.kind,
        "title": title,
        "state": job.state,
        "phase": job.phase,
        "share": job.share,
        "seconds_left": jobs.remaining(job),
        "error": job.error,
        "about": {key: value for key, value in told.items() if not _is_place(value)},
        "result": {key: value for key, value in job.result.items() if key not in _PLACES},
        "corpus": job.corpus.name if job.corpus is not None else None,
        "campaign": job.campaign.name if job.campaign is not None else None,
        "asked_by": job.created_by.get_username() if job.created_by is not None else None,
        "created_at": json_time(job.created_at),
        "started_at": json_time(job.started_at),
        "finished_at": json_time(job.finished_at),
    }


def job_address(job: Job) -> str:
    """Where the job is asked for again."""
    return reverse(f"{ROUTE_PREFIX}job", args=[job.pk])


def _is_place(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("/")
