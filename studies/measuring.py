"""What the benchmarks of kernels and solvers share: a clock, the machine's peak, and growth."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

T = TypeVar("T")


def seconds(work: Callable[[], T]) -> tuple[float, T]:
    """Return the time of `work` by the clock, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def product_seconds(size: int, dtype: DTypeLike = np.float64) -> float:
    """One product of two matrices of that size, the best of three; it is 2 size^3 operations."""
    matrix: NDArray[Any] = np.random.default_rng(0).standard_normal((size, size)).astype(dtype)
    return min(seconds(lambda: matrix @ matrix)[0] for _ in range(3))


def peak(dtype: DTypeLike = np.float64, size: int = 2048) -> float:
    """Operations a second of a product of two matrices."""
    return 2 * size**3 / product_seconds(size, dtype)


def slope(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Return the exponent of size in the growth of time, fitted on logarithmic axes."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
