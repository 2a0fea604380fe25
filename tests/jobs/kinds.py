"""Kinds of jobs for the tests; every process that runs one imports this."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from django.db import OperationalError

from annotation import jobs
from annotation.common import database
from annotation.common.locks import Busy
from annotation.jobs import JobProgress, job_kind
from annotation.models import AuditEntry, Job

STEP = "counted"


class Rejected(ValueError):
    """The error of the kind `refused`."""


class TooLong(Exception):
    """The exception that a delivery raises in a job that exceeds its time limit."""


@job_kind("count", title="Counting")
def count(progress: JobProgress, *, upto: int, pause: float = 0.0, held: str = "") -> dict[str, int]:
    """Write one row per step; step and checkpoint are one transaction. Halfway, wait until `held` is
    removed."""
    begin = progress.checkpoint.get("next", 0)
    for number in range(begin, upto):
        time.sleep(pause)
        while held and number == upto // 2 and Path(held).exists():
            time.sleep(0.05)
            progress.advance()
        with database.writing():
            about = {"job": progress.job_id, "number": number, "process": os.getpid()}
            AuditEntry.objects.create(act=STEP, about=about)
            progress.advance((number + 1) / upto, phase="counting", checkpoint={"next": number + 1})
    return {"counted": upto - begin}


def begun(held: Path) -> Path:
    """Return the file with one line per start of the job held by this one."""
    return held.with_suffix(".begun")


@job_kind("computes", title="Computing without a word to the database")
def computes(progress: JobProgress, *, held: str, then: str = "") -> dict[str, str]:
    """Write to a file at the start, wait until `held` is removed, then use the database as `then` says."""
    with begun(Path(held)).open("a") as file:
        file.write(f"{os.getpid()}\n")
    while Path(held).exists():
        time.sleep(0.02)
    if then == "share":
        progress.advance(0.9)
    elif then == "checkpoint":
        progress.advance(0.9, checkpoint={"next": 1})
    elif then == "write":
        with database.writing():
            AuditEntry.objects.create(act=STEP, about={})
    elif then == "statement":
        AuditEntry.objects.exists()
    return {"computed": then}


@job_kind("cancelled_on_the_way", title="Cancelled by somebody else after its first step")
def cancelled_on_the_way(progress: JobProgress) -> dict[str, bool]:
    if not progress.checkpoint:
        progress.advance(0.5, checkpoint={"half": True})
        jobs.cancel_job(job_id=progress.job_id)
    progress.advance(0.6, phase="after it")
    return {"went_on": True}


@job_kind("fails", title="Failing")
def fails(progress: JobProgress) -> None:
    raise RuntimeError("the roof fell in\nand the second line says more")


@job_kind("refused", title="Refusing", expected_errors=(Rejected,))
def rejected(progress: JobProgress) -> None:
    raise Rejected("there is no such thing; name another")


@job_kind("busy", title="Meeting somebody who writes", expected_errors=(ValueError,))
def busy(progress: JobProgress) -> None:
    raise Busy("run 'one': another process is writing under this name; wait until it is finished")


@job_kind("loses_database", title="Losing the database")
def loses_database(progress: JobProgress) -> None:
    raise OperationalError("server closed the connection unexpectedly")


@job_kind("tells_too_much", title="Telling what no row can hold")
def tells_too_much(progress: JobProgress) -> dict[str, Any]:
    return {"seen": {1, 2}}


@job_kind("takes_too_long", title="Taking too long")
def takes_too_long(progress: JobProgress, *, share: float) -> None:
    progress.advance(share, phase="slow")
    raise TooLong


@job_kind("swept_meanwhile", title="Queued again by a sweep while it runs")
def swept_meanwhile(progress: JobProgress, *, share: float | None) -> dict[str, Any]:
    """Act as after an outage without signs of life; then continue to `share`, or end."""
    Job.objects.filter(pk=progress.job_id).update(state=Job.QUEUED, heartbeat_at=database.now())
    if share is not None:
        progress.advance(share, phase="still here")
        assert Job.objects.get(pk=progress.job_id).state == Job.RUNNING
    return {"share": share}


@job_kind("lost_and_found", title="Taken for lost while it runs")
def lost_and_found(progress: JobProgress, *, share: float) -> dict[str, Any]:
    """Let the row be queued again and claimed by another worker, as after a long outage."""
    Job.objects.filter(pk=progress.job_id).update(started_at=database.now(), phase="with another")
    progress.advance(share, phase="back again")
    return {}
