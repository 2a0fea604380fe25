"""Score matrices and embeddings in files: npy, npz, safetensors; mapped, never unpickled."""

from __future__ import annotations

import json
import pickle
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy
from safetensors.numpy import save_file

from phrasebox.formats.arrays import open_arrays
from phrasebox.formats.embeddings import read_embeddings, scores_of
from phrasebox.formats.scores import read_scores
from phrasebox.metrics.judgments import originals_of
from phrasebox.metrics.ranked import from_tiles
from phrasebox.metrics.scoring import evaluate
from phrasebox.text_files import FormatError

IMAGES, CAPTIONS = ["i0", "i1"], ["c0", "c1", "c2"]
SCORES = np.arange(6, dtype=np.float32).reshape(2, 3)


def save(folder: Path, kind: str, arrays: dict[str, Any], **ids: list[str]) -> Path:
    """Write a file of `kind`, with ids if that kind has them; "npy" contains the first array only."""
    path = folder / f"held.{kind.removesuffix(' packed')}"
    if kind == "npy":
        np.save(path, next(iter(arrays.values())))
        for name, own_id in ids.items():
            (folder / f"held.{name}.txt").write_text("".join(f"{n}\n" for n in own_id))
    elif kind == "safetensors":
        save_file(arrays, path, metadata={name: json.dumps(own_id) for name, own_id in ids.items()})
    else:
        write: Any = np.savez_compressed if "packed" in kind else np.savez
        write(path, **arrays, **{name: np.array(own_id) for name, own_id in ids.items()})
    return path


KINDS = ["npy", "npz", "npz packed", "safetensors"]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_mapped_and_their_ids_are_known(tmp_path, kind):
    scores = read_scores(save(tmp_path, kind, {"scores": SCORES}, images=IMAGES, captions=CAPTIONS))
    assert (scores.images, scores.captions) == (tuple(IMAGES), tuple(CAPTIONS))
    assert isinstance(scores.scores.array, np.memmap)  # type: ignore[attr-defined]
    assert np.array_equal(scores.scores.tile(slice(0, 2), slice(0, 3)), SCORES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i1", "u1", "?"])
def test_every_type_that_numpy_has_comes_back(tmp_path, kind, dtype):
    values = (np.arange(6).reshape(2, 3) % 3).astype(dtype)
    path = save(tmp_path, kind, {"scores": values}, images=IMAGES, captions=CAPTIONS)
    array = next(iter(open_arrays(path).arrays.values()))
    assert (array.dtype, array.tolist()) == (values.dtype, values.tolist())


def test_arrays_stored_by_columns_and_without_entries_come_back(tmp_path):
    np.savez(tmp_path / "a.npz", columns=np.asfortranarray(SCORES), none=np.zeros((0, 3)))
    arrays = open_arrays(tmp_path / "a.npz").arrays
    assert np.array_equal(arrays["columns"], SCORES)
    assert arrays["none"].shape == (0, 3)


@pytest.mark.parametrize("kind", ["<U0", "|S0", "|V0"])
def test_entries_of_no_bytes_are_refused_before_room_is_made_for_them(tmp_path, kind):
    head = BytesIO()
    npy.write_array_header_1_0(head, {"descr": kind, "fortran_order": False, "shape": (10**15,)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("images.npy", head.getvalue())
    with pytest.raises(FormatError, match="'images' is of .*, whose entries are empty"):
        open_arrays(tmp_path / "a.npz")


def test_ids_beside_a_file_serve_where_it_has_none(tmp_path):
    path = save(tmp_path, "npz", {"scores": SCORES})
    (tmp_path / "held.images.txt").write_text("i0\ni1\n")
    (tmp_path / "held.captions.txt").write_text("c0\r\nc1\r\nc2")
    assert read_scores(path).captions == ("c0", "c1", "c2")


def test_scores_are_put_in_the_order_asked_for(tmp_path):
    scores = read_scores(save(tmp_path, "npz", {"scores": SCORES}, images=IMAGES, captions=CAPTIONS))
    chosen = scores.ordered(["i1", "i0"], ["c2", "c0"])
    assert chosen.scores.tile(slice(0, 2), slice(0, 2)).tolist() == [[5, 3], [2, 0]]
    with pytest.raises(FormatError, match=r"has no scores of image 'i9' \(1 of 2 are missing\)"):
        scores.ordered(["i0", "i9"], ["c0"])


@pytest.mark.parametrize("kind", KINDS)
def test_each_side_may_have_a_file_of_its_own(tmp_path, kind):
    (tmp_path / "images").mkdir()
    (tmp_path / "captions").mkdir()
    images = save(tmp_path / "images", kind, {"vectors": np.eye(2, 4)}, ids=IMAGES)
    captions = save(tmp_path / "captions", kind, {"vectors": np.eye(3, 4)}, ids=CAPTIONS)
    matrix = scores_of(read_embeddings(images, "images"), read_embeddings(captions, "captions"))
    assert matrix.scores.tile(slice(0, 2), slice(0, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert (matrix.images, matrix.captions) == (tuple(IMAGES), tuple(CAPTIONS))


@pytest.mark.parametrize("kind", KINDS[1:])
def test_both_sides_may_share_a_file(tmp_path, kind):
    path = save(
        tmp_path,
        kind,
        {"images": np.eye(2, 3), "captions": 2 * np.eye(3)},
        image_ids=IMAGES,
        caption_ids=CAPTIONS,
    )
    matrix = scores_of(read_embeddings(path, "images"), read_embeddings(path, "captions"), cosine=False)
    assert matrix.scores.tile(slice(0, 2), slice(0, 3)).tolist() == [[2, 0, 0], [0, 2, 0]]


def test_a_nan_among_scores_is_named_by_its_ids(tmp_path):
    values = SCORES.copy()
    values[1, 2] = np.nan
    scores = read_scores(save(tmp_path, "npz", {"scores": values}, images=IMAGES, captions=CAPTIONS))
    with pytest.raises(FormatError, match="the score of 'i1' with 'c2' is NaN"), scores.naming():
        from_tiles(scores.scores, originals_of([0, 0, 1], 2), None)


def test_vectors_of_zeros_and_overflowing_ones_are_counted_and_named(tmp_path):
    images = np.ones((5, 3), dtype=np.float32)
    images[[0, 1, 2, 4]] = 0
    captions = np.ones((3, 3), dtype=np.float32)
    captions[1] = 1e30
    path = save(
        tmp_path,
        "safetensors",
        {"images": images, "captions": captions},
        image_ids=[f"i{n}" for n in range(5)],
        caption_ids=CAPTIONS,
    )
    sides = read_embeddings(path, "images"), read_embeddings(path, "captions")
    zeros = "4 images have a vector of zeros, which scores 0 for everything ('i0', 'i1', 'i2', ...)"
    assert scores_of(*sides).remarks == (zeros,)
    assert scores_of(*sides, cosine=False).remarks == (
        zeros,
        "1 caption has a vector that is too long for the precision of scores ('c1')",
    )
    assert scores_of(*sides).ordered(["i3"], ["c0"]).remarks == ()
    assert (
        read_scores(save(tmp_path, "npz", {"scores": SCORES}, images=IMAGES, captions=CAPTIONS)).remarks == ()
    )


def test_embeddings_with_ids_are_scored_without_reading_them_whole(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.standard_normal((30, 16)).astype(np.float16)
    path = save(
        tmp_path,
        "safetensors",
        {"images": images, "captions": np.repeat(images, 5, axis=0)},
        image_ids=[f"i{n}" for n in range(30)],
        caption_ids=[f"c{n}" for n in range(150)],
    )
    matrix = scores_of(read_embeddings(path, "images"), read_embeddings(path, "captions"))
    owner = np.repeat(np.arange(30), 5)
    rows, columns = from_tiles(matrix.scores, originals_of(owner, 30), originals_of(owner, 30).swapped())
    assert evaluate(rows, ["R@1"])["R@1"].value == evaluate(columns, ["R@1"])["R@1"].value == 1


def test_real_features_are_embeddings(real_data, tmp_path):
    source = real_data / "features" / "flickr8k_1000_squeezenet_fire9_512.npy"
    (tmp_path / "fire9.npy").symlink_to(source)
    (tmp_path / "fire9.ids.txt").symlink_to(real_data / "features" / "flickr8k_1000_names.txt")
    embeddings = read_embeddings(tmp_path / "fire9.npy", "images")
    assert embeddings.vectors.shape == (1000, 512)
    assert embeddings.ids[0] == "1000268201_693b08cb0e.jpg"
    itself = scores_of(embeddings, embeddings)
    rows, _ = from_tiles(itself.scores, originals_of(np.arange(1000), 1000), None)
    assert evaluate(rows, ["R@1"])["R@1"].value > 0.99


@pytest.mark.parametrize("kind", ["npy", "npz", "npz packed"])
def test_pickled_objects_are_refused_unread(tmp_path, kind):
    objects = np.empty((1, 1), dtype=object)
    objects[0, 0] = {"would": "run"}
    path = save(tmp_path, kind, {"scores": objects})
    with pytest.raises(FormatError, match="contains pickled objects, which could run code") as caught:
        read_scores(path)
    assert "\n" not in str(caught.value)


def test_a_pickle_by_another_name_is_refused(tmp_path):
    path = tmp_path / "held.npy"
    path.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(FormatError, match="the array has no readable npy header"):
        read_scores(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_file_is_refused(tmp_path, kind):
    path = save(tmp_path, kind, {"scores": np.zeros((50, 60))}, images=IMAGES, captions=CAPTIONS)
    whole = path.read_bytes()
    for share in (0, 5, 60, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:share])
        with pytest.raises(FormatError) as caught:
            read_scores(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(60))
def test_no_flipped_byte_gives_anything_but_numbers_or_one_clear_line(tmp_path, kind, seed):
    path = save(tmp_path, kind, {"scores": SCORES}, images=IMAGES, captions=CAPTIONS)
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    for _ in range(3):
        data[rng.integers(len(data))] = rng.integers(256)
    path.write_bytes(data)
    try:
        scores = read_scores(path)
    except FormatError as error:
        assert "\n" not in str(error)
    else:
        assert scores.scores.shape == (len(scores.images), len(scores.captions))


@pytest.mark.parametrize(
    ("arrays", "ids", "message"),
    [
        ({"score": SCORES}, {}, r"contains no array 'scores' \(it contains: score\); expected 'scores'"),
        ({"scores": SCORES[0]}, {}, r"scores have shape \(3,\) of float32; expected numbers of shape"),
        ({"scores": SCORES.astype("U")}, {}, "of <U32; expected numbers"),
        ({"scores": SCORES}, {}, "has no ids 'images'; expected the ids in the file, or in held.images.txt"),
        ({"scores": SCORES}, {"images": ["a"]}, "1 ids 'images' for 2 rows or columns; expected one for"),
        (
            {"scores": SCORES},
            {"images": ["a", "a"]},
            "images: id 'a' occurs at 0 and 1 .*; expected each id once",
        ),
        ({"scores": SCORES}, {"images": ["a", ""]}, "images: id 1 is empty"),
        ({"scores": SCORES}, {"images": [[1.5], [2]]}, r"ids 'images' have shape \(2, 1\) of float64"),
    ],
)
def test_scores_that_do_not_fit_their_ids_are_refused_in_one_line(tmp_path, arrays, ids, message):
    with pytest.raises(FormatError, match=message) as caught:
        read_scores(save(tmp_path, "npz", arrays, **ids))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (
            np.zeros(3),
            r"vectors have shape \(3,\) of float64; expected numbers of shape \(images, dimensions\)",
        ),
        (np.zeros((2, 0)), "vectors have shape"),
        (np.array([[0, 1], [np.inf, 0]]), "the embedding of 'i1' is not finite at dimension 0"),
        (np.array([[np.nan, 1], [np.inf, 0]]), "the embedding of 'i0' is not finite at dimension 0"),
    ],
)
def test_embeddings_that_are_none_are_refused_in_one_line(tmp_path, vectors, message):
    with pytest.raises(FormatError, match=message) as caught:
        read_embeddings(save(tmp_path, "npz", {"vectors": vectors}, ids=IMAGES), "images")
    assert "\n" not in str(caught.value)


def test_two_spaces_are_refused(tmp_path):
    path = save(
        tmp_path, "npz", {"images": np.eye(2), "captions": np.eye(3)}, image_ids=IMAGES, caption_ids=CAPTIONS
    )
    with pytest.raises(
        FormatError, match="captions have 3 dimensions, images 2; expected the same number for both"
    ):
        scores_of(read_embeddings(path, "images"), read_embeddings(path, "captions"))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            {"scores": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}},
            "'scores' is of type BF16; expected F64",
        ),
        ({"scores": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, "8 bytes, but 4 are there"),
        ({"scores": {"dtype": "F32", "shape": [9], "data_offsets": [0, 36]}}, "36 bytes, but 8 are there"),
        ({"scores": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}, "cannot be read"),
        ({"scores": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, "cannot be read"),
        ({"scores": {"dtype": "F32"}}, "has a header that cannot be read"),
        ({"scores": 3}, "has a header that cannot be read"),
        ([1], "has a header that cannot be read"),
    ],
)
def test_a_safetensors_header_that_lies_is_refused(tmp_path, header, message):
    path = tmp_path / "held.safetensors"
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    with pytest.raises(FormatError, match=message):
        open_arrays(path)


@pytest.mark.parametrize("data", [b"", b"\2\0\0", b"\3" + bytes(7) + b"{}"])
def test_a_safetensors_file_that_is_shorter_than_its_header_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "held.safetensors"
    path.write_bytes(data)
    with pytest.raises(FormatError, match="has no readable header"):
        open_arrays(path)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(FormatError, match="cannot be opened"):
        open_arrays(tmp_path / "absent.npy")
    another = tmp_path / "scores.mat"
    another.write_bytes(b"x")
    with pytest.raises(FormatError, match="ends in '.mat'; expected .npy or .npz or .safetensors"):
        open_arrays(another)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "x")
    with pytest.raises(FormatError, match=r"contains 'readme.txt'; expected arrays \(.npy\) only"):
        open_arrays(tmp_path / "a.npz")


def test_ids_that_are_bytes_are_read_as_text(tmp_path):
    path = tmp_path / "held.npz"
    np.savez(path, scores=SCORES, images=np.array([b"i0", b"i1"]), captions=np.array(CAPTIONS))
    assert read_scores(path).images == tuple(IMAGES)


def test_ids_that_are_no_list_of_texts_are_refused(tmp_path):
    path = tmp_path / "held.npz"
    np.savez(path, scores=SCORES, images=np.array([IMAGES]), captions=np.array(CAPTIONS))
    with pytest.raises(FormatError, match=r"ids 'images' have shape \(1, 2\) of <U2"):
        read_scores(path)


@pytest.mark.parametrize("reported", ["i0 i1", '{"i0": 0}', "[0.5, 1.5]", "[" * 100_000])
def test_metadata_that_is_no_list_of_ids_is_refused(tmp_path, reported):
    path = tmp_path / "held.safetensors"
    save_file({"scores": SCORES}, path, metadata={"images": reported, "captions": json.dumps(CAPTIONS)})
    with pytest.raises(FormatError, match="metadata 'images' is .*a JSON list of ids"):
        read_scores(path)
