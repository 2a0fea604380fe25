"""How much a test takes of what it could take: enough by default, all of it in a thorough run."""

from __future__ import annotations

import os

import pytest

#: Whether this run takes everything; see `--thorough` in tests/conftest.py.
THOROUGH = bool(os.environ.get("PHRASEBOX_THOROUGH"))


def sized(usual: int, whole: int) -> int:
    """`usual`, which finds what is broken outright; `whole` in a thorough run, which finds what is rare."""
    return whole if THOROUGH else usual


def usually_on(database: str) -> list[pytest.MarkDecorator]:
    """Marks of tests that the usual run makes on one database though their folder is of both; a thorough run
    makes them on either. What they go through is asked of both by the tests beside them."""
    return [] if THOROUGH else [pytest.mark.only_on(database)]
