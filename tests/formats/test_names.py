"""Ids are derived from file names, and no name can leave the folder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.formats.names import Pictures, is_safe_name, only_file
from phrasebox.names import image_id
from tests.formats.reading import put


@pytest.mark.parametrize(
    ("filename", "id"),
    [
        ("1000268201_693b08cb0e.jpg", "1000268201_693b08cb0e"),
        ("2258277193_586949ec62.jpg.1", "2258277193_586949ec62.jpg.1"),
        ("A.JPEG", "A"),
        ("a.b.png", "a.b"),
        ("a", "a"),
        ("a.txt", "a.txt"),
    ],
)
def test_an_id_is_the_name_without_a_pictures_extension(filename, id):
    assert image_id(filename) == id


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        ".hidden",
        "a/b",
        "/a",
        "a\\b",
        " a",
        "a ",
        "a\n",
        "a\0b",
        "a\u2028b",
        "x" * 241,
        "é" * 121,
    ],
)
def test_a_name_that_could_do_harm_is_not_plain(name):
    assert not is_safe_name(name)


@given(st.text(alphabet="./\\ ab\n", max_size=8))
def test_a_plain_name_stays_in_its_folder(tmp_path_factory, name):
    folder = tmp_path_factory.getbasetemp()
    if is_safe_name(name):
        assert (folder / name).resolve().parent == folder.resolve()


def test_a_picture_is_found_only_as_a_file_of_its_folder(tmp_path):
    put(tmp_path / "in" / "b.jpg", b"picture")
    put(tmp_path / "c.jpg", b"picture")
    assert Pictures(tmp_path / "in").find("a.jpg", "b.jpg") == tmp_path / "in" / "b.jpg"
    assert Pictures(tmp_path / "in").find("../c.jpg") is None
    assert Pictures(tmp_path).find("in") is None
    assert Pictures(None).find("b.jpg") is None


def test_one_file_of_a_kind_is_found_in_its_folder(tmp_path):
    put(tmp_path / "__MACOSX" / "x.json", "{}")
    put(tmp_path / "sub" / "._x.json", "{}")
    file = put(tmp_path / "sub" / "x.json", "{}")
    assert only_file(tmp_path, "*.json") == only_file(file, "*.json") == file
