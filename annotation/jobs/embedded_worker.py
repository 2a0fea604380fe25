"""The worker without a broker: one process that polls for queued jobs and runs the periodic work.

It has two threads, so that a long job does not delay the expiry of leases. If several processes share
DATA_DIR, one works and the others wait for it to end.
"""

import logging
import os
import signal
import threading
import time
from types import FrameType

from django.db import DatabaseError, InterfaceError, connections

from annotation import jobs
from annotation.common.locks import Busy, locked_folder
from annotation.jobs import schedule

_log = logging.getLogger(__name__)

#: Seconds between two polls for a queued job.
POLL = 1.0
#: Seconds before retrying where another process works, or the database is unavailable.
LOOK_AGAIN_SECONDS = 5.0
#: Seconds that a job has to reach its next step after the stop signal.
GRACE = 15.0


def work(*, parent: int | None = None) -> None:
    """Work until SIGTERM or SIGINT, or until the process `parent` is no longer our parent.

    A running job is queued again at its next step. Call it in the main thread.
    """
    stop = threading.Event()

    def stop_on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    # The main thread never waits for the event itself: a signal handler would find it holding the event's
    # lock.
    before = {number: signal.signal(number, stop_on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    worker = threading.Thread(target=_work_alone, args=[stop], name="embedded worker", daemon=True)
    worker.start()
    try:
        while worker.is_alive() and not stop.is_set():
            if parent is not None and os.getppid() != parent:
                stop.set()
            worker.join(0.5)
        worker.join(GRACE)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _work_alone(stop: threading.Event) -> None:
    """Wait until no other process works, then work."""
    waiting = False
    while not stop.is_set():
        try:
            with locked_folder("embedded", busy="another process of this DATA_DIR does the jobs"):
                clock = threading.Thread(target=_run_schedule, args=[stop], name="periodic work", daemon=True)
                clock.start()
                _do_jobs(stop)
                clock.join()
        except Busy as busy:
            if not waiting:
                _log.info("jobs wait: %s", busy)
            waiting = True
            stop.wait(LOOK_AGAIN_SECONDS)


def _do_jobs(stop: threading.Event) -> None:
    """Run queued jobs one after another."""
    usable = True
    left: jobs.LeftRunning | None = None
    while not stop.is_set():
        try:
            job_id = left.job_id if left else jobs.due_job()
            if job_id is not None:
                jobs.run_queued_job(job_id, claimed=left.claimed if left else None, stopping=stop.is_set)
            elif usable:
                stop.wait(POLL)
            left = None
            if not usable:
                _log.warning("the database can be used again; jobs go on")
                usable = True
        except (DatabaseError, InterfaceError, jobs.LeftRunning) as error:
            if isinstance(error, jobs.LeftRunning):
                left = error
            if usable:
                _log.warning("jobs wait, as the database cannot be used: %s", str(error).strip())
            usable = False
            jobs.mend_connection()
            stop.wait(LOOK_AGAIN_SECONDS)
        except Exception:
            _log.exception("a job could not be run")
            left = None
            stop.wait(LOOK_AGAIN_SECONDS)
    connections.close_all()


def _run_schedule(stop: threading.Event) -> None:
    """Run each entry of the periodic work when it is due."""
    start = time.monotonic()
    turns = {name: start + min(entry.every, LOOK_AGAIN_SECONDS) for name, entry in schedule.PERIODIC.items()}
    while not stop.wait(max(0.0, min(turns.values()) - time.monotonic())):
        for name, due_at in turns.items():
            if time.monotonic() >= due_at and not stop.is_set():
                schedule.do(name)
                turns[name] = max(due_at, time.monotonic()) + schedule.PERIODIC[name].every
    connections.close_all()
