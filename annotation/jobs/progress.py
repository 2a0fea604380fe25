"""What a job's work has of its row: how far it came last time, saying how far it is, being stopped."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from django.db import connection
from django.db.models import QuerySet

from annotation.common import database
from annotation.common.outages import DATABASE_LOST, insist, mend_connection, never, one_line
from annotation.models import Account, Campaign, Corpus, Job

_log = logging.getLogger(__name__)

#: Seconds between two writes of a share that says nothing else.
_PAUSE = 0.5
#: Seconds until the next try where the database is away.
LONG_PAUSE = 5.0
#: States of a row that is still with the run that claimed it last. The sweep queues again what was silent
#: for long, as in an outage; until another worker claims it, the run may go on or end.
_OURS = (Job.RUNNING, Job.QUEUED)

_T = TypeVar("_T")


class Interrupted(Exception):
    """The work must end here. Not to be caught by it, save to tidy up."""


class Cancelled(Interrupted):
    """Somebody cancelled the job."""


class Stopping(Interrupted):
    """The worker has to stop; another one resumes from the last checkpoint."""


class Superseded(Interrupted):
    """The row was given to another worker, as this one showed no life for too long."""


class JobProgress:
    """The handle of one run of a job.

    `checkpoint` is what the last run left, {} at first. `campaign`, `corpus` and `actor` are the job's.
    """

    def __init__(self, job: Job, *, stopping: Callable[[], bool] = never) -> None:
        self.job_id: int = job.pk
        self.campaign: Campaign | None = job.campaign
        self.corpus: Corpus | None = job.corpus
        self.actor: Account | None = job.created_by
        self.checkpoint: Mapping[str, Any] = dict(job.checkpoint)
        self.share: float = job.share
        self.phase: str = job.phase
        self._claimed = job.started_at
        self._stopping = stopping
        self._written = -_PAUSE

    def advance(
        self,
        share: float | None = None,
        *,
        phase: str | None = None,
        checkpoint: Mapping[str, Any] | None = None,
    ) -> None:
        """Say how far the work is: `share` of the whole (0 to 1), what is being done, where to go on.

        A checkpoint is kept when this returns, so that giving it in the transaction that does
        the work it stands for makes both happen or neither. Shares alone are written twice a
        second at most: call as often as you like. Raises Cancelled, Stopping or Superseded where
        the work must end. While the database is away a share is passed over, and a checkpoint waits
        for its return; inside a transaction either raises DATABASE_LOST.
        """
        if share is not None:
            self.share = min(max(share, 0.0), 1.0)
        new_phase = phase is not None and phase != self.phase
        if phase is not None:
            self.phase = phase
        if checkpoint is not None or new_phase or time.monotonic() - self._written >= _PAUSE:
            self._save(checkpoint)
        if self._stopping():
            raise Stopping(f"job {self.job_id} continues elsewhere")

    def over(
        self,
        things: Iterable[_T],
        *,
        total: int,
        phase: str | None = None,
        start: float = 0.0,
        end: float = 1.0,
    ) -> Iterator[_T]:
        """`things`, `total` in number, while the share goes from `start` to `end`."""
        self.advance(start, phase=phase)
        for number, thing in enumerate(things, start=1):
            yield thing
            self.advance(start + (end - start) * min(1.0, number / max(1, total)))

    def _save(self, checkpoint: Mapping[str, Any] | None) -> None:
        """Write how far we are; what is computed meanwhile need not be lost with the database."""
        wait = 0.0
        if checkpoint is not None:
            insist(partial(self._write, checkpoint), what=f"job {self.job_id}", stopping=self._stopping)
            self.checkpoint = dict(checkpoint)
        else:
            try:
                self._write(None)
            except DATABASE_LOST as error:
                if connection.in_atomic_block:
                    raise
                _log.warning("job %d lost its database, and goes on: %s", self.job_id, one_line(error))
                mend_connection()
                wait = LONG_PAUSE
        self._written = time.monotonic() + wait

    def _write(self, checkpoint: Mapping[str, Any] | None) -> None:
        values: dict[str, Any] = {"state": Job.RUNNING, "heartbeat_at": database.now()}
        values |= {"share": self.share, "phase": self.phase[:80]}
        if checkpoint is not None:
            values["checkpoint"] = dict(checkpoint)
        with database.writing():
            if not self.row().filter(cancel=False).update(**values):
                if self.row().exists():
                    raise Cancelled(f"job {self.job_id} was cancelled")
                raise Superseded(f"job {self.job_id} was given to another worker")

    def row(self) -> QuerySet[Job]:
        """The job's row as long as it is this run's: claims differ in when they were made."""
        return Job.objects.filter(pk=self.job_id, state__in=_OURS, started_at=self._claimed)
