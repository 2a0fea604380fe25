"""How much a test takes of what it could take: enough by default, all of it in a thorough run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

#: Whether this run takes everything; see `--thorough` in tests/conftest.py.
THOROUGH = bool(os.environ.get("PHRASEBOX_THOROUGH"))


def sized(usual: int, whole: int) -> int:
    """`usual`, which finds what is broken outright; `whole` in a thorough run, which finds what is rare."""
    return whole if THOROUGH else usual


def by_default(number: int, values: Sequence[Any]) -> list[Any]:
    """Values for `pytest.mark.parametrize`, of which the first `number` are tried by default: they go through
    the same code as the others, which run with the slow tests."""
    rest = (value if isinstance(value, tuple) else (value,) for value in values[number:])
    return [
        *values[:number],
        *(pytest.param(*values_of_case, marks=pytest.mark.slow) for values_of_case in rest),
    ]
