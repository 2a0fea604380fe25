"""How much of its input a test uses: enough by default, all of it in a thorough run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

#: Whether this is a thorough run; see `--thorough` in tests/conftest.py.
THOROUGH = bool(os.environ.get("PHRASEBOX_THOROUGH"))


def sized(usual: int, whole: int) -> int:
    """Return `usual`, which finds common errors, or `whole` in a thorough run, which finds rare ones."""
    return whole if THOROUGH else usual


def by_default(number: int, values: Sequence[Any]) -> list[Any]:
    """Return values for `pytest.mark.parametrize`, of which the first `number` are used by default.

    The others run the same code, with the slow tests.
    """
    rest = (value if isinstance(value, tuple) else (value,) for value in values[number:])
    return [
        *values[:number],
        *(pytest.param(*values_of_case, marks=pytest.mark.slow) for values_of_case in rest),
    ]
