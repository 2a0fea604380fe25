"""Hold a job in the phase named by the file `hold` in DATA_DIR, until that file is removed.

For tests that kill a worker during a very short phase. Every process that runs jobs of the tests imports
this.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation.jobs import JobProgress

_advance = JobProgress.advance


def hold(data_dir: Path) -> Path:
    """Return the file that names a phase."""
    return data_dir / "hold"


def held(data_dir: Path) -> Path:
    """Return the file that exists while a job is held."""
    return data_dir / "held"


def _requested(folder: Path) -> str | None:
    """Return the phase to hold, if any: the file may be removed at any moment."""
    try:
        return hold(folder).read_text()
    except FileNotFoundError:
        return None


def advance(self: JobProgress, *arguments: Any, **named: Any) -> None:
    _advance(self, *arguments, **named)
    folder = Path(settings.DATA_DIR)
    while _requested(folder) == self.phase:
        held(folder).touch()
        time.sleep(0.02)
        _advance(self)


JobProgress.advance = advance  # type: ignore[method-assign]
