"""Where systems and finished phases are kept under DATA_DIR."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings

from models_core.phase_cache import PhaseCache, PhaseProgress, no_progress


def phase_cache(progress: PhaseProgress = no_progress) -> PhaseCache:
    """Phases of all corpora."""
    return PhaseCache(Path(settings.DATA_DIR) / "kept", progress)


def system_folder(name: str) -> Path:
    """Where what is kept of the system `name` is, or will be."""
    return Path(settings.DATA_DIR) / "systems" / name


def clear_leftovers(name: str) -> None:
    """Remove what a killed process was writing of the system `name` when it ended; call it alone."""
    for left in system_folder(name).parent.glob(f".{name}.*"):
        shutil.rmtree(left)
