"""The interface of a job's work to its row: the last checkpoint, progress reports, and interruption."""

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

#: Seconds between two writes of a share without other changes.
_PAUSE = 0.5
#: Seconds until the next try while the database is unavailable.
LONG_PAUSE = 5.0
#: States of a row that still belongs to the run that claimed it last. The sweep queues a run again that was
#: silent for long, as in an outage; until another worker claims the row, the run may continue or end.
_OURS = (Job.RUNNING, Job.QUEUED)

_T = TypeVar("_T")


class Interrupted(Exception):
    """The work must end here. It must not catch this, except to clean up."""


class Cancelled(Interrupted):
    """Somebody cancelled the job."""


class Stopping(Interrupted):
    """The worker has to stop; another one resumes from the last checkpoint."""


class Superseded(Interrupted):
    """Another worker has the row, since this one gave no sign of life for too long."""


class JobProgress:
    """The handle of one run of a job.

    `checkpoint` is the last run's, {} at first. `campaign`, `corpus` and `actor` are the job's.
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
        """Report the progress of the work: the `share` of the whole (0 to 1), the current phase, and a
        checkpoint to resume from.

        A checkpoint is stored when this returns, so that calling it in the transaction of the work that it
        covers makes both happen or neither. Shares alone are written at most twice a second: call as often as
        you like. Raises Cancelled, Stopping or Superseded if the work must end. While the database is
        unavailable a share is skipped, and a checkpoint waits; inside a transaction either raises
        DATABASE_LOST.
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
        """Yield `things`, `total` in number, and report a share from `start` to `end`."""
        self.advance(start, phase=phase)
        for number, thing in enumerate(things, start=1):
            yield thing
            self.advance(start + (end - start) * min(1.0, number / max(1, total)))

    def _save(self, checkpoint: Mapping[str, Any] | None) -> None:
        """Write the progress; results computed meanwhile need not be lost with the database."""
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
        """The job's row while it belongs to this run: claims differ in their times."""
        return Job.objects.filter(pk=self.job_id, state__in=_OURS, started_at=self._claimed)
