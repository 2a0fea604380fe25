"""Whether writes are in a transaction."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.db import connection

_WRITES = re.compile(r"(?i)\s*(insert|update|delete|execute|with)\b|.*for no key update", re.S)


def may_write(statement: str) -> bool:
    """Return whether a statement writes or locks, or is prepared (EXECUTE), so that its text does not show
    it."""
    return _WRITES.match(statement) is not None


def written(act: Callable[[], object]) -> list[tuple[bool, str]]:
    """Return the statements that may write or lock during `act`: whether each was in a transaction, and its
    text.

    For tests with `django_db(transaction=True)`: inside a test's own transaction, all are.
    """
    result = []

    def watch(execute: Any, statement: str, *arguments: Any) -> Any:
        if may_write(statement):
            result.append((connection.in_atomic_block, statement))
        return execute(statement, *arguments)

    with connection.execute_wrapper(watch):
        act()
    return result
