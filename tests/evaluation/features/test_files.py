"""Files of features: every format gives the same ids and rows, from any row on; damage is reported."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from evaluation.formats import feature_files
from evaluation.formats.feature_files import open_features
from phrasebox.text_files import FormatError

IDS = [f"{number}.jpg" for number in range(11)]
ROWS = np.random.default_rng(0).standard_normal((11, 3)).astype(np.float32)


def npz(folder: Path) -> Path:
    np.savez(folder / "f.npz", vectors=ROWS, ids=np.array(IDS))
    return folder / "f.npz"


def safetensors(folder: Path) -> Path:
    save_file({"vectors": ROWS}, folder / "f.safetensors", {"ids": json.dumps(IDS)})
    return folder / "f.safetensors"


def parquet(folder: Path) -> Path:
    table = pa.table({"id": IDS, "vector": [list(map(float, row)) for row in ROWS]})
    pq.write_table(table, folder / "f.parquet", row_group_size=4)
    return folder / "f.parquet"


def fixed_parquet(folder: Path) -> Path:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 3)
    pq.write_table(pa.table({"id": IDS, "vector": vectors}), folder / "f.parquet")
    return folder / "f.parquet"


def hdf5(folder: Path) -> Path:
    with h5py.File(folder / "f.h5", "w") as file:
        file["vectors"], file["ids"] = ROWS, IDS
    return folder / "f.h5"


@pytest.mark.parametrize("write", [npz, safetensors, parquet, fixed_parquet, hdf5])
@pytest.mark.parametrize("start", [0, 4, 10, 11])
def test_every_format_gives_the_same_ids_and_rows(write, start, tmp_path, monkeypatch):
    monkeypatch.setattr(feature_files, "FEATURE_BLOCK_ROWS", 3)
    features = open_features(write(tmp_path), "images")
    assert (list(features.ids), features.shape) == (IDS, (11, 3))
    blocks = list(features.blocks(start))
    assert all(1 <= len(block) <= 3 for block in blocks)
    rows = np.concatenate(blocks) if blocks else np.empty((0, 3))
    np.testing.assert_allclose(rows, ROWS[start:], rtol=1e-6)


def test_other_columns_and_datasets_are_not_guessed(tmp_path):
    pq.write_table(pa.table({"name": IDS, "x": IDS}), tmp_path / "f.parquet")
    with pytest.raises(FormatError, match="has the columns 'name, x'; expected id and vector"):
        open_features(tmp_path / "f.parquet", "images")
    with h5py.File(tmp_path / "f.hdf5", "w") as file:
        file["features"] = ROWS
    with pytest.raises(FormatError, match="has the datasets 'features'; expected ids and vectors"):
        open_features(tmp_path / "f.hdf5", "images")


def test_vectors_of_different_lengths_are_refused(tmp_path):
    pq.write_table(pa.table({"id": ["a", "b"], "vector": [[1.0, 2.0], [3.0]]}), tmp_path / "f.parquet")
    with pytest.raises(FormatError, match="vectors of other lengths"):
        open_features(tmp_path / "f.parquet", "images")


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"id": ["a", None], "vector": [[1.0], [2.0]]}, r"has the id None in row 1 \(counted from 0\)"),
        ({"id": ["a", "b"], "vector": [1.0, 2.0]}, "has vectors of type double; expected lists of numbers"),
        (
            {"id": ["a", "b"], "vector": [["x"], ["y"]]},
            "has vectors of type list.*; expected lists",
        ),
        (
            {"id": ["a", "b"], "vector": [[1.0], [2.0]], "box": [["x"] * 4, ["y"] * 4]},
            "has boxes of other than four numbers",
        ),
    ],
)
def test_a_column_of_another_type_is_refused_in_one_line(
    columns: dict[str, list[object]], says: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "f.parquet")
    with pytest.raises(FormatError, match=says) as error:
        open_features(tmp_path / "f.parquet", "regions")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("ids", "vectors", "says"),
    [
        ([1.5, 2.5], [[1.0], [2.0]], r"has ids of shape \(2,\) of float64"),
        (b"a", [[1.0], [2.0]], r"has ids of shape \(\)"),
        ([b"a", b"b"], [[b"x"], [b"y"]], "has vectors of object; expected numbers"),
    ],
)
def test_a_dataset_of_another_type_is_refused_in_one_line(
    ids: object, vectors: object, says: str, tmp_path: Path
) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["ids"], file["vectors"] = ids, vectors
    with pytest.raises(FormatError, match=says) as error:
        open_features(tmp_path / "f.h5", "images")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", [pa.list_(pa.float32(), 2), pa.list_(pa.float32())])
def test_a_row_without_a_vector_is_refused(kind: pa.DataType, tmp_path: Path) -> None:
    """Of lists of one length empty rows are left out: the numbers would be those of other ids."""
    vectors = pa.array([[1.0, 2.0], None, [2.0, 3.0], None], kind)
    pq.write_table(pa.table({"id": ["a", "b", "c", "d"], "vector": vectors}), tmp_path / "f.parquet")
    with pytest.raises(FormatError, match="has no vector in row 1"):
        list(open_features(tmp_path / "f.parquet", "images").blocks())


def test_ids_of_an_hdf5_file_are_utf8(tmp_path: Path) -> None:
    for ids, expected in (("für.jpg".encode(), ("für.jpg",)), (b"f\xffr.jpg", None)):
        with h5py.File(tmp_path / "f.h5", "w") as file:
            file["ids"], file["vectors"] = np.array([ids]), np.zeros((1, 2), np.float32)
        if expected:
            assert open_features(tmp_path / "f.h5", "images").ids == expected
        else:
            with pytest.raises(FormatError, match=r"f.h5: has ids that are no text .* expected UTF-8"):
                open_features(tmp_path / "f.h5", "images")


def test_whole_numbers_are_ids_of_an_hdf5_file(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["ids"], file["vectors"] = [7, 8], [[1.0], [2.0]]
    assert open_features(tmp_path / "f.h5", "images").ids == ("7", "8")


@pytest.mark.parametrize("write", [parquet, hdf5, npz, safetensors])
def test_a_file_that_is_cut_short_is_named(write, tmp_path):
    file = write(tmp_path)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(FormatError, match=file.name):
        list(open_features(file, "images").blocks())


def test_another_ending_lists_those_there_are(tmp_path):
    with pytest.raises(FormatError, match=r"ends in '.csv'; expected .npy or .npz"):
        open_features(tmp_path / "f.csv", "images")


def test_a_file_of_hdf5_cannot_name_other_files_of_the_server(tmp_path):
    (tmp_path / "secret.raw").write_bytes(np.arange(6, dtype=np.float32).tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["vectors"] = ROWS

    def outside(file):
        file.create_dataset("vectors", (2, 3), "f4", external=[(str(tmp_path / "secret.raw"), 0, 24)])

    def linked(file):
        file["vectors"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "vectors")

    def virtual(file):
        layout = h5py.VirtualLayout((11, 3), "f4")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "vectors", (11, 3))
        file.create_virtual_dataset("vectors", layout)

    for number, make in enumerate((outside, linked, virtual)):
        path = tmp_path / f"f{number}.h5"
        with h5py.File(path, "w") as file:
            file["ids"] = ["a.jpg", "b.jpg"]
            make(file)
        with pytest.raises(FormatError, match="vectors is no dataset of this file; expected numbers within"):
            open_features(path, "images")


def test_vectors_that_are_far_too_long_are_refused(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["ids"] = ["a.jpg"]
        file.create_dataset("vectors", (1, 2**20), "f4", chunks=(1, 2**16))
    with pytest.raises(FormatError, match="has vectors of 1048576 numbers; expected 131072 at most"):
        open_features(tmp_path / "f.h5", "images")


def test_long_vectors_are_read_in_smaller_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(feature_files, "_BLOCK_NUMBERS", 6)
    for write in (npz, hdf5):
        assert [len(block) for block in open_features(write(tmp_path), "images").blocks()] == [2] * 5 + [1]
