"""Modules that are loaded when they are first used: SciPy's take longer than most processes run."""

import importlib
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """Stands for the module of that name, which is imported when one of its attributes is first read.

    >>> LazyModule("math").isqrt(10)
    3
    """

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)
        return value
