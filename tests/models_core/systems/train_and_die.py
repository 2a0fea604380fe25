"""Train a system in a separate process, which is killed after a phase: PHASE FOLDER."""

import dataclasses
import os
import signal
import sys
from pathlib import Path

from models_core import storage
from models_core.phase_cache import PhaseCache
from models_core.systems.side_settings import PictureSettings
from models_core.systems.table11 import TABLE_11
from models_core.systems.training import fit
from tests.models_core.systems.worlds import material


def main(phase: str, folder: Path) -> None:
    def progress(now: str, done: int, of: int) -> None:
        print(now, done, flush=True)
        if (now, done) == (phase, 1):
            os.kill(os.getpid(), signal.SIGKILL)

    phase_cache = PhaseCache(folder / "kept", progress, kernels=folder / "kernels")
    world = material(60, cache=phase_cache)
    recipe = dataclasses.replace(TABLE_11["BoW5"], image=PictureSettings("linear", 1))
    system = fit(recipe, world.take(range(35)), world.take(range(35, 48)), cache=phase_cache)
    if phase == "storing":
        # The arrays are written, but the folder is not yet moved to its destination.
        setattr(storage, "_to_disk", lambda file: os.kill(os.getpid(), signal.SIGKILL))  # noqa: B010
    system.save(folder / "system")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
