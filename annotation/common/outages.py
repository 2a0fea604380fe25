"""Database outages: detecting them, and retrying writes of jobs."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

_log = logging.getLogger(__name__)

#: The driver's exceptions where the database disappeared, or was too busy.
DATABASE_LOST = (OperationalError, InterfaceError)
#: Seconds before the first retries of a required write; the last value repeats.
WAITS = (0.0, 1.0, 2.0, 4.0, 5.0)
#: Seconds after which a write is given up.
OUTAGE_PATIENCE = 300.0
#: Longest wait in seconds before a job that lost its database, or cannot reach it, runs again.
LONGEST_WAIT = 60.0
#: Seconds between two checks for a stop signal.
LOOK = 0.2
ERROR_LENGTH = 500

_T = TypeVar("_T")


def never() -> bool:
    """Return False: for calls that nothing stops."""
    return False


def mend_connection() -> None:
    """Drop this thread's connection if it is unusable; the next statement opens a new one."""
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()


def insist(write: Callable[[], _T], *, what: str, stopping: Callable[[], bool] = never) -> _T:
    """Call `write`, a transaction that may be repeated, and retry while the database is unavailable.

    The first retry is immediate, since mostly only the connection is dead. Raises DATABASE_LOST after
    OUTAGE_PATIENCE seconds, if `stopping` returns True, and inside another transaction, which is lost as a
    whole.
    """
    began, tries = time.monotonic(), 0
    while True:
        try:
            return write()
        except DATABASE_LOST as error:
            if connection.in_atomic_block or stopping() or time.monotonic() - began > OUTAGE_PATIENCE:
                raise
            if tries == 1:  # a dead connection alone is replaced without a message
                _log.warning("%s waits for the database: %s", what, one_line(error))
            mend_connection()
            _pause(WAITS[min(tries, len(WAITS) - 1)], stopping)
            tries += 1


def _pause(seconds: float, stopping: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and not stopping():
        time.sleep(min(LOOK, left))


def one_line(message: object) -> str:
    """Return the first line of a message, in the length that a row stores."""
    return (str(message).strip().splitlines() or ["no message"])[0][:ERROR_LENGTH]
