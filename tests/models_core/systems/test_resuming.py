"""Finished phases are not repeated; a killed training leaves no system, and the next one resumes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from models_core import storage
from models_core.estimators.kcca.method import KCCARetriever
from models_core.phase_cache import PhaseCache
from models_core.systems.trained_system import TrainedSystem
from tests.conftest import REPOSITORY
from tests.models_core.systems.train_and_die import main


def killed(phase: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.models_core.systems.train_and_die", phase, str(folder)]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory) -> TrainedSystem:
    folder = tmp_path_factory.mktemp("unbroken")
    main("never", folder)
    return TrainedSystem.load(folder / "system")


@pytest.mark.parametrize("phase", ["image kernel", "storing"])
def test_a_killed_training_leaves_no_system_and_goes_on(phase, tmp_path, unbroken):
    dead = killed(phase, tmp_path)
    assert dead.returncode == -9, dead.stderr
    assert not (tmp_path / "system").exists()
    done = {entry.name: entry.stat().st_mtime_ns for entry in (tmp_path / "kernels").iterdir()}
    assert any(name.startswith("text-kernel") for name in done)
    main("never", tmp_path)
    after = {entry.name: entry.stat().st_mtime_ns for entry in (tmp_path / "kernels").iterdir()}
    assert {name: after[name] for name in done} == done
    whole = TrainedSystem.load(tmp_path / "system")
    assert isinstance(whole.model, KCCARetriever) and isinstance(unbroken.model, KCCARetriever)
    ours, theirs = whole.model.kcca_, unbroken.model.kcca_
    assert ours.chosen_ == theirs.chosen_
    for model, another in zip(ours.models_.values(), theirs.models_.values(), strict=True):
        np.testing.assert_array_equal(model.x_.weights, another.x_.weights)


def test_work_is_done_once_for_the_same_facts(tmp_path):
    created = []

    def make():
        created.append(1)
        return {"a": np.arange(3.0)}

    phase_cache = PhaseCache(tmp_path)
    for metadata in ({"n": 1}, {"n": 1}, {"n": 2}):
        np.testing.assert_array_equal(phase_cache.arrays("some phase", metadata, make)["a"], np.arange(3.0))
    assert len(created) == 2


def test_damaged_work_is_done_again(tmp_path):
    phase_cache = PhaseCache(tmp_path)
    phase_cache.arrays("some phase", {}, lambda: {"a": np.zeros(2)})
    (folder,) = tmp_path.iterdir()
    (folder / storage.ARRAYS).write_bytes(b"damaged")
    assert phase_cache.arrays("some phase", {}, lambda: {"a": np.ones(2)})["a"].tolist() == [1, 1]
    assert phase_cache.arrays("some phase", {}, lambda: {"a": np.zeros(2)})["a"].tolist() == [1, 1]


def test_what_progress_raises_ends_the_work_and_keeps_what_ended(tmp_path):
    class Enough(Exception):
        pass

    def progress(phase: str, done: int, of: int) -> None:
        if (phase, done) == ("second", 0):
            raise Enough

    phase_cache = PhaseCache(tmp_path, progress)
    phase_cache.arrays("first", {}, lambda: {"a": np.zeros(1)})
    with pytest.raises(Enough):
        phase_cache.arrays("second", {}, lambda: {"a": np.zeros(1)})
    assert [entry.name.split("-")[0] for entry in tmp_path.iterdir()] == ["first"]
