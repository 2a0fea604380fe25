"""Modules that are loaded when they are first used: SciPy's take longer than most processes run."""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any


class LazyModule(ModuleType):
    """Stands for the module of that name, which is imported when one of its attributes is first read.

    >>> LazyModule("math").isqrt(10)
    3
    """

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    from scipy import fft, linalg, sparse, special, stats
else:
    fft = LazyModule("scipy.fft")
    linalg = LazyModule("scipy.linalg")
    sparse = LazyModule("scipy.sparse")
    special = LazyModule("scipy.special")
    stats = LazyModule("scipy.stats")

__all__ = ["LazyModule", "fft", "linalg", "sparse", "special", "stats"]
