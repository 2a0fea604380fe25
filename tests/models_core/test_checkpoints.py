"""Checkpoints: the last complete one of the same training is used, and the previous one stays until then."""

import numpy as np
import pytest

from models_core import storage
from models_core.checkpoints import SECONDS_BETWEEN, Checkpoints

METADATA = {"recipe": "mine", "seed": 3}


def test_the_last_one_is_given_back_and_alone(tmp_path):
    checkpoints = Checkpoints(tmp_path / "new", METADATA)
    assert checkpoints.latest() is None and Checkpoints.last_settings(tmp_path / "new") is None
    for epoch in range(3):
        checkpoints.save({"weights": np.full(2, epoch)}, {"epoch": epoch})
    arrays, message = Checkpoints(tmp_path / "new", METADATA).latest() or ({}, {})
    assert message == {"epoch": 2} == Checkpoints.last_settings(tmp_path / "new")
    np.testing.assert_array_equal(arrays["weights"], [2, 2])
    assert len(list((tmp_path / "new").iterdir())) == 1


def test_one_of_another_training_is_not_taken(tmp_path):
    Checkpoints(tmp_path, METADATA).save({}, {"epoch": 1})
    assert Checkpoints(tmp_path, {**METADATA, "seed": 4}).latest() is None
    assert Checkpoints(tmp_path, {**METADATA, "recipe": "other"}).latest() is None


def test_a_damaged_one_is_passed_over(tmp_path):
    checkpoints = Checkpoints(tmp_path, METADATA)
    checkpoints.save({"weights": np.ones(4)}, {"epoch": 1})
    (tmp_path / "checkpoint-7").mkdir()
    (tmp_path / "checkpoint-7" / "manifest.json").write_text("{")
    (tmp_path / "notes").mkdir()
    assert (checkpoints.latest() or ({}, {}))[1] == {"epoch": 1} == Checkpoints.last_settings(tmp_path)


@pytest.mark.parametrize("error", [OSError("No space left on device"), storage.SafetensorError("I/O error")])
def test_one_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch, error):
    checkpoints = Checkpoints(tmp_path, METADATA)
    checkpoints.save({"weights": np.ones(4)}, {"epoch": 1})

    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr(storage, "save_file", full)
    with pytest.raises(OSError, match=r"No space left|no checkpoint could be written \(I/O error\)"):
        checkpoints.save({"weights": np.ones(4)}, {"epoch": 2})
    assert (checkpoints.latest() or ({}, {}))[1] == {"epoch": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint-1"]


def test_another_is_due_after_a_while_and_none_without_a_folder(tmp_path):
    now = [0.0]
    checkpoints = Checkpoints(tmp_path, METADATA, clock=lambda: now[0])
    nowhere = Checkpoints(clock=lambda: now[0])
    requested = [checkpoints.due]
    now[0] = SECONDS_BETWEEN
    requested += [checkpoints.due, nowhere.due]
    checkpoints.save({}, {})
    nowhere.save({}, {})
    assert [*requested, checkpoints.due] == [False, True, False, False] and nowhere.latest() is None
