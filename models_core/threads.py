"""Threads for tiles: as many workers as there are cores, each with a BLAS of one thread.

BLAS's own threads wait for each other at the end of every product, actively; where something else
runs on the machine, small products then take many times as long. Independent tiles need no such
waiting, and what is done with a tile afterwards runs in parallel as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """While inside, BLAS computes in the thread that calls it; a setting of the whole process."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def for_each(work: Callable[[T], None], items: Iterable[T]) -> None:
    """Do `work` on every item, in any order, a few at a time; the first error in order of items is raised.

    Call inside `one_blas_thread` where the work multiplies matrices.
    """
    waiting = iter(items)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    first = list(islice(waiting, 2))
    if len(first) < 2 or cores < 2:
        for item in (*first, *waiting):
            work(item)
        return
    with ThreadPoolExecutor(cores) as pool:
        running = [pool.submit(work, item) for item in first]
        try:
            for item in waiting:
                # No more than a few wait, so an endless grid needs no endless memory.
                if len(running) > 2 * cores:
                    running.pop(0).result()
                running.append(pool.submit(work, item))
            for task in running:
                task.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds.
    return ThreadpoolController()
