"""How much a test takes of what it could take: enough by default, all of it in a thorough run."""

from __future__ import annotations

import os

#: Whether this run takes everything; see `--thorough` in tests/conftest.py.
THOROUGH = bool(os.environ.get("PHRASEBOX_THOROUGH"))


def sized(usual: int, whole: int) -> int:
    """`usual`, which finds what is broken outright; `whole` in a thorough run, which finds what is rare."""
    return whole if THOROUGH else usual
