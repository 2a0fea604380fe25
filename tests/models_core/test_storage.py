"""Models on disk: complete or missing, checked when they are read."""

import json

import numpy as np
import pytest
import torch

from models_core import storage

ARRAYS = {"weights": np.arange(6.0).reshape(2, 3), "columns": np.array([4, 2])}


def saved(folder):
    storage.save_model(folder, "kcca", ARRAYS, {"kappa": 0.1}, {"seed": 7})
    return folder


def test_a_model_comes_back_as_it_was(tmp_path):
    stored = storage.load_model(saved(tmp_path / "a" / "model"), "kcca")
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(stored.arrays[name], array)
        assert stored.arrays[name].dtype == array.dtype
    assert stored.settings == {"kappa": 0.1}
    assert stored.manifest["metadata"] == {"seed": 7}
    assert stored.manifest["made_with"]["numpy"] == np.__version__
    assert stored.manifest["made_with"]["torch"] == torch.__version__


def test_who_may_read_the_manifest_may_read_the_arrays(tmp_path):
    folder = saved(tmp_path / "model")
    assert (folder / storage.ARRAYS).stat().st_mode == (folder / storage.MANIFEST).stat().st_mode


def test_a_transposed_array_keeps_its_entries(tmp_path):
    storage.save_model(tmp_path / "m", "kcca", {"w": ARRAYS["weights"].T}, {})
    np.testing.assert_array_equal(storage.load_model(tmp_path / "m").arrays["w"], ARRAYS["weights"].T)


def test_nothing_is_overwritten(tmp_path):
    with pytest.raises(FileExistsError, match="choose another name"):
        saved(saved(tmp_path / "model"))


def test_a_failed_save_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        storage.save_model(tmp_path / "model", "kcca", ARRAYS, {"kappa": object()})
    assert list(tmp_path.iterdir()) == []


def change(folder, **entries):
    file = folder / storage.MANIFEST
    file.write_text(json.dumps(json.loads(file.read_text()) | entries))


def test_what_is_wrong_with_a_folder_is_said(tmp_path):
    folder = saved(tmp_path / "model")
    with pytest.raises(storage.BadModel, match="kind 'kcca'; expected 'cca'"):
        storage.load_model(folder, "cca")
    with pytest.raises(storage.BadModel, match="nowhere contains no model"):
        storage.load_model(tmp_path / "nowhere")
    change(folder, version=9)
    with pytest.raises(storage.BadModel, match="has version 9; this program reads 1"):
        storage.load_model(folder)
    change(folder, version=1, arrays={"weights": {"dtype": "float32", "shape": [2, 3]}})
    with pytest.raises(storage.BadModel, match="does not contain the array 'weights'"):
        storage.load_model(folder)
    (folder / storage.MANIFEST).write_text("{")
    with pytest.raises(storage.BadModel, match="is not valid JSON"):
        storage.load_model(folder)


def test_a_damaged_file_is_noticed(tmp_path):
    file = saved(tmp_path / "model") / storage.ARRAYS
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    with pytest.raises(storage.BadModel, match="is damaged"):
        storage.load_model(tmp_path / "model")
    file.unlink()
    with pytest.raises(storage.BadModel, match="is missing"):
        storage.load_model(tmp_path / "model")
