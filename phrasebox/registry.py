"""Registries: entries of one kind by name, such as formats, questions, metrics.

Each entry is one module; `discover` imports every module of a package, and each registers itself. Duplicate
names are an error at import time.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Generic, ParamSpec, TypeVar

_T = TypeVar("_T")
_P = ParamSpec("_P")


class UnknownName(LookupError):
    """An unregistered name; the message lists the known ones."""


class Registry(Generic[_T]):
    """Entries of one kind by key.

    `kind` is the word used in messages ("format", "question").
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, _T] = {}

    def register(self, key: str, entry: _T) -> _T:
        """Add `entry` under `key`; raises ValueError if the key is taken."""
        if key in self._entries:
            raise ValueError(
                f"{self.kind} {key!r} is registered twice: by {self._entries[key]!r} and {entry!r}"
            )
        self._entries[key] = entry
        return entry

    def get(self, key: str) -> _T:
        """Return the entry named `key`; raises UnknownName listing what exists."""
        try:
            return self._entries[key]
        except KeyError:
            known = ", ".join(sorted(self._entries)) or "none"
            raise UnknownName(f"unknown {self.kind} {key!r}; known: {known}") from None

    def keys(self) -> tuple[str, ...]:
        """Return all keys, sorted."""
        return tuple(sorted(self._entries))

    def __iter__(self) -> Iterator[_T]:
        return iter(self._entries[key] for key in sorted(self._entries))

    def __contains__(self, key: object) -> bool:
        return key in self._entries


def registering(register: Callable[[_T], _T], make: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return `make`, whose results are passed to `register` at once."""

    def made(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return register(make(*args, **kwargs))

    return made


def discover(package: ModuleType) -> None:
    """Import every module of `package`, so that each registers its entries."""
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
