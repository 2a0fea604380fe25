"""Whether what is written is written in a transaction."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.db import connection

_WRITES = re.compile(r"(?i)\s*(insert|update|delete|execute|with)\b|.*for no key update", re.S)


def written(act: Callable[[], object]) -> list[tuple[bool, str]]:
    """The statements that write or lock during `act`: whether each was in a transaction, and its text.

    For tests with `django_db(transaction=True)`: within the transaction of a test, all are.
    """
    found = []

    def watch(execute: Any, statement: str, *given: Any) -> Any:
        if _WRITES.match(statement):
            found.append((connection.in_atomic_block, statement))
        return execute(statement, *given)

    with connection.execute_wrapper(watch):
        act()
    return found
