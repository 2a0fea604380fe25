"""The folders of systems under DATA_DIR."""

import shutil
from pathlib import Path

from django.conf import settings

_TRAINING = ".training-"


def system_folder(name: str) -> Path:
    """Return the folder of the system `name`, whether it exists or not."""
    return Path(settings.DATA_DIR) / "systems" / name


def training_folder(name: str) -> Path:
    """Return the folder in which the training of the system `name` keeps intermediate results: kernels, sums,
    checkpoints."""
    return system_folder(name).parent / f"{_TRAINING}{name}"


def unfinished_trainings() -> list[tuple[Path, str]]:
    """Return the folders of unfinished trainings, each with the name of its system."""
    folders = sorted((Path(settings.DATA_DIR) / "systems").glob(f"{_TRAINING}*"))
    return [(folder, folder.name.removeprefix(_TRAINING)) for folder in folders]


def clear_leftovers(name: str) -> None:
    """Remove the files that a killed process was writing for the system `name`; call it while holding the
    lock."""
    for left in system_folder(name).parent.glob(f".{name}.*"):
        shutil.rmtree(left)
