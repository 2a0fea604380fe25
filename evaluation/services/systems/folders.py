"""Where systems are kept under DATA_DIR."""

import shutil
from pathlib import Path

from django.conf import settings

_TRAINING = ".training-"


def system_folder(name: str) -> Path:
    """Where what is kept of the system `name` is, or will be."""
    return Path(settings.DATA_DIR) / "systems" / name


def training_folder(name: str) -> Path:
    """Where the training of the system `name` keeps what is half done: kernels, sums, checkpoints."""
    return system_folder(name).parent / f"{_TRAINING}{name}"


def unfinished_trainings() -> list[tuple[Path, str]]:
    """Where trainings keep what is half done, each with the name of its system."""
    folders = sorted((Path(settings.DATA_DIR) / "systems").glob(f"{_TRAINING}*"))
    return [(folder, folder.name.removeprefix(_TRAINING)) for folder in folders]


def clear_leftovers(name: str) -> None:
    """Remove what a killed process was writing of the system `name` when it ended; call it alone."""
    for left in system_folder(name).parent.glob(f".{name}.*"):
        shutil.rmtree(left)
