"""Threads for tiles: as many workers as there are cores, each with single-threaded BLAS.

BLAS's own threads busy-wait for each other at the end of every product; if something else runs on the
machine, small products then take many times as long. Independent tiles need no such waiting, and further work
on a tile runs in parallel as well.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

_T = TypeVar("_T")


class ThreadLimit:
    """A limit of one thread on a library, set by the first context that enters and lifted by the last that
    exits.

    It applies to the process: if each context restored the previous value, the last of two that overlap would
    restore the first one's limit for good. `begin` sets the limit, and returns a function that lifts it.
    """

    def __init__(self, begin: Callable[[], Callable[[], None]]) -> None:
        self.begin, self.lock = begin, Lock()
        self.inside = 0
        self.lift: Callable[[], None] = lambda: None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Context in which the limit applies; a setting of the whole process."""
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def enter(self) -> None:
        """Set the limit, unless it is set already."""
        with self.lock:
            if not self.inside:
                self.lift = self.begin()
            self.inside += 1

    def leave(self) -> None:
        """Lift the limit, unless another context is active."""
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.lift()


def _one_for_blas() -> Callable[[], None]:
    lift: Callable[[], None] = (
        _controller(len(sys.modules)).limit(limits=1, user_api="blas").restore_original_limits
    )
    return lift


_BLAS = ThreadLimit(_one_for_blas)


def one_blas_thread() -> AbstractContextManager[None]:
    """Context in which BLAS computes in the calling thread; a setting of the whole process."""
    return _BLAS.held()


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def for_each(work: Callable[[_T], None], items: Iterable[_T]) -> None:
    """Call `work` for every item, in any order, a few at a time; raises the first error in order of items.

    Call it inside `one_blas_thread` if the work multiplies matrices.
    """
    waiting = iter(items)
    workers = cores()
    first = list(islice(waiting, 2))
    if len(first) < 2 or workers < 2:
        for item in (*first, *waiting):
            work(item)
        return
    with ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(work, item) for item in first]
        try:
            for item in waiting:
                # Only a few wait, so an infinite iterable needs no infinite memory.
                if len(running) > 2 * workers:
                    running.pop(0).result()
                running.append(pool.submit(work, item))
            for task in running:
                task.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return left @ right, with the rows of `left` divided among threads; call it inside
    `one_blas_thread`."""
    result = np.empty((len(left), right.shape[1]), dtype=np.result_type(left, right))
    rows = max(1, -(-len(left) // cores()))

    def multiply(start: int) -> None:
        part = slice(start, start + rows)
        np.matmul(left[part], right, out=result[part])

    for_each(multiply, range(0, len(left), rows))
    return result


@lru_cache(maxsize=1)
def _controller(modules: int) -> ThreadpoolController:
    # Finding the libraries takes a millisecond; a later import may have loaded another.
    return ThreadpoolController()
