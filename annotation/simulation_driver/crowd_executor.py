"""Run a crowd of visits: in one thread in random order, or in several threads and processes.

A worker who gets nothing waits until others have done something, or until the time that the queue named. When
nobody gets anything any more the crowd is quiet, and others have a turn.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection as Pipe

from django.db import connections

from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.rng import SeededRng
from annotation.simulation.visits import SimulatedVisit, VisitTally
from annotation.simulation_driver.people import SimulatedPerson

_log = logging.getLogger(__name__)

#: Creates the visits of some people, in the thread in which they run.
Visits = Callable[[Sequence[SimulatedPerson]], list[SimulatedVisit]]

#: Threads of one process, if there is more than one part.
THREADS = 8
#: Seconds between two requests of a part that waits for others.
_PAUSE = 0.1
#: Seconds between two sweeps.
SWEEP = 1.0
#: Minimum seconds before a worker who was told to retry does so.
_SOON = 0.3
#: Answers of each worker between two turns of a model annotator: one answer takes people about eight seconds,
#: and the periodic job runs every fifteen.
_ANSWERS = 2
_FORK = multiprocessing.get_context("fork")


class _Board:
    """Shared state of the parts of a crowd: number of steps in all, who is idle, whether to stop."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self._done = _FORK.Value("q", 0)
        self._idle = _FORK.Array("b", parts)
        self._stop = _FORK.Event()
        self._owner = os.getpid()

    @property
    def done(self) -> int:
        """Number of steps in all parts."""
        return int(self._done.value)

    def count(self) -> None:
        """Count a step."""
        with self._done.get_lock():
            self._done.value += 1

    def idles(self, part: int, idle: bool) -> None:
        """Set whether a part is idle at present."""
        self._idle[part] = idle

    @property
    def all_idle(self) -> bool:
        """Return whether all parts are idle."""
        return all(self._idle[:])

    @property
    def stopped(self) -> bool:
        """Return whether to stop: it was requested, or the parent process has died."""
        return bool(self._stop.is_set()) or self._owner not in (os.getpid(), os.getppid())

    def stop(self) -> None:
        """Make all parts stop."""
        self._stop.set()


@dataclass(slots=True)
class _Waiting:
    """A visit that got nothing: the count of steps then, and when it may retry by itself."""

    visit: SimulatedVisit
    seen: int
    due: float


@dataclass(frozen=True, slots=True)
class VisitScheduling:
    """How visits take turns.

    `seed` determines their order. Times within `patience` seconds by `clock` are waited for, by `sleep`.
    `sweep` is called about every second, to end expired leases. `model_annotators` lets model annotators
    answer, as often between answers as the periodic job would if people took their real time.
    """

    seed: int
    clock: Callable[[], float]
    patience: float
    sweep: Callable[[], object]
    sleep: Callable[[float], object] = time.sleep
    model_annotators: Callable[[], object] = lambda: None


def run_visits(visits: Sequence[SimulatedVisit], board: _Board, turns: VisitScheduling) -> None:
    """Let the visits take turns until none of them gets anything."""
    awake = [visit for visit in visits if not visit.left]
    waiting: list[_Waiting] = []
    step, swept, answered = 0, turns.clock(), 0
    while not board.stopped:
        now, done = turns.clock(), board.done
        if now >= swept + SWEEP:
            turns.sweep()
            swept = now
        if not awake and board.parts > 1:
            turns.sleep(_PAUSE)
        enough = max(20, len(visits)) if awake else 1
        ready = [w for w in waiting if w.due <= now or done - w.seen >= enough]
        for entry in ready:
            waiting.remove(entry)
            awake.append(entry.visit)
        if not awake:
            due = min((w.due for w in waiting), default=float("inf"))
            if due > now + turns.patience:
                return
            turns.sleep(min(max(due - now, 0.01), 0.5))
            continue
        step += 1
        visit = awake[SeededRng(turns.seed, "turn", step).below(len(awake))]
        if visit.step():
            board.count()
            answered += 1
            if answered % (_ANSWERS * len(visits)) == 0:
                turns.model_annotators()
            continue
        awake.remove(visit)
        if not visit.left:
            again = float("inf") if visit.again is None else max(visit.again, now + _SOON)
            wakes = float("inf") if visit.wakes is None else visit.wakes
            waiting.append(_Waiting(visit, board.done, min(again, wakes)))


def run_crowd(
    people: Sequence[SimulatedPerson],
    visits: Visits,
    turns: VisitScheduling,
    *,
    processes: int,
    threads: int,
    quiet: Callable[[], bool],
) -> VisitTally:
    """Run the visits that `visits` creates for `people`, until nothing is left to do.

    `quiet` is called whenever nobody gets anything; it returns whether it changed that. With one process of
    one thread everything runs here, and the order follows from the seed; else the parts are threads of forked
    processes. Raises CampaignError if one of those dies.
    """
    if processes == threads == 1:
        board = _Board(1)
        crowd = visits(people)
        while True:
            run_visits(crowd, board, turns)
            if not quiet():
                return total(visit.account() for visit in crowd)

    parts = [list(people[i :: processes * threads]) for i in range(min(processes * threads, len(people)))]
    board = _Board(len(parts))

    def part(number: int) -> VisitTally:
        crowd = visits(parts[number])
        while not board.stopped:
            board.idles(number, False)
            run_visits(crowd, board, replace(turns, seed=turns.seed + number))
            seen = board.done
            board.idles(number, True)
            while not board.stopped and board.done == seen:
                turns.sleep(_PAUSE)
        return total(visit.account() for visit in crowd)

    # Forked processes must not share a connection.
    connections.close_all()
    children = [
        _Child(board, part, [number for number in range(len(parts)) if number % processes == process])
        for process in range(min(processes, len(parts)))
    ]
    try:
        while _going_on(board, children, quiet):
            turns.sleep(_PAUSE)
    finally:
        board.stop()
        tallies = [child.end() for child in children]
    return total(tallies)


def _going_on(board: _Board, children: Sequence[_Child], quiet: Callable[[], bool]) -> bool:
    """Return whether the parts of the children have anything left to do."""
    if any(child.died for child in children):
        return False
    done = board.done
    if not board.all_idle:
        return True
    time.sleep(3 * _PAUSE)
    if not board.all_idle or board.done != done:
        return True
    if quiet():
        board.count()
        return True
    return False


class _Child:
    """A forked process that runs some parts of a crowd, each in a thread."""

    def __init__(self, board: _Board, part: Callable[[int], VisitTally], numbers: Sequence[int]) -> None:
        self._ours, theirs = _FORK.Pipe(duplex=False)
        self._process = _FORK.Process(target=_run_parts, args=(board, part, numbers, theirs), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def died(self) -> bool:
        return self._process.exitcode not in (None, 0) or self._ours.poll()

    def end(self) -> VisitTally:
        """Return the counts of its visits after its end. Raises CampaignError if it failed."""
        try:
            result = self._ours.recv()
        except EOFError:
            self._process.join()
            raise CampaignError(f"a process of the crowd died ({self._process.exitcode})") from None
        self._process.join()
        if isinstance(result, VisitTally):
            return result
        raise CampaignError(result)


def _run_parts(board: _Board, part: Callable[[int], VisitTally], numbers: Sequence[int], pipe: Pipe) -> None:
    """Run the parts in the child; send their counts, or the last line of an error."""
    results: list[VisitTally | str] = []

    def run(number: int) -> None:
        try:
            results.append(part(number))
        except CampaignError as error:
            results.append(str(error))
            board.stop()
        except Exception as error:
            _log.exception("part %d of a simulated crowd", number)
            results.append(f"{type(error).__name__}: {error}")
            board.stop()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=[number]) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first_error = next((result for result in results if isinstance(result, str)), None)
    pipe.send(first_error or total(result for result in results if isinstance(result, VisitTally)))


def total(tallies: Iterable[VisitTally]) -> VisitTally:
    """Return the sum of some counts."""
    totals = VisitTally()
    for tally in tallies:
        totals.add(tally)
    return totals
