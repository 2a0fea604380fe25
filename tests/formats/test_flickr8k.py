"""`name.jpg#k<TAB>caption`, and common variants of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from annotation.protocol.terms import CaptionRecord, ImageRecord
from tests.formats.reading import error_of, put, read, refused_to_write, write


def texts(record: ImageRecord) -> list[str]:
    return [caption.text for caption in record.captions]


def test_the_real_folder_gives_every_image_its_captions_and_split(real_data):
    records = read("flickr8k", real_data / "flickr8k", real_data / "flickr8k" / "thumbnails")
    assert len(records) == 8092
    assert sum(len(record.captions) for record in records) == 40460
    assert Counter(record.split for record in records) == {"train": 6000, "val": 1000, "test": 1000, "": 92}
    assert sum(record.picture is not None for record in records) == 1000
    odd = next(record for record in records if record.filename.endswith(".1"))
    assert odd.id == odd.filename == "2258277193_586949ec62.jpg.1"


@pytest.fixture(scope="module")
def captions_alone(real_data: Path) -> list[ImageRecord]:
    """The real captions, without splits and pictures."""
    return read("flickr8k", real_data / "flickr8k" / "Flickr8k.token.txt")


def test_the_real_lemmas_are_the_same_images_in_another_order(real_data, captions_alone):
    lemmas = read("flickr8k", real_data / "flickr8k" / "Flickr8k.lemma.token.txt")
    assert [r.id for r in captions_alone] != [r.id for r in lemmas]
    assert {r.id for r in captions_alone} == {r.id for r in lemmas}
    assert sum(len(record.captions) for record in lemmas) == 40460


def test_the_real_file_is_written_as_it_was_read(real_data, captions_alone, tmp_path):
    source = real_data / "flickr8k" / "Flickr8k.token.txt"
    out = write("flickr8k", captions_alone, tmp_path / "out")
    assert (out / "Flickr8k.token.txt").read_bytes() == source.read_bytes()


def test_captions_that_stand_apart_come_together_in_the_order_of_their_numbers(tmp_path):
    file = put(tmp_path / "x.txt", "a.jpg#1\tsecond\nb.jpg#0\tother\na.jpg#0\tfirst\n")
    first, second = read("flickr8k", file)
    assert (first.id, texts(first)) == ("a", ["first", "second"])
    assert (second.id, texts(second)) == ("b", ["other"])


def test_a_space_stands_for_the_tab_where_it_can_mean_nothing_else(tmp_path):
    file = put(tmp_path / "x.txt", "a.jpg#0 A dog runs .\nb.jpg#12 A cat\tsits .\n")
    assert [texts(record) for record in read("flickr8k", file)] == [["A dog runs ."], ["A cat\tsits ."]]


def test_bom_crlf_and_blank_lines_change_nothing(tmp_path):
    file = put(tmp_path / "x.txt", b"\xef\xbb\xbfa.jpg#0\tA dog .\r\n\r\n\r\n")
    assert read("flickr8k", file) == [ImageRecord("a", "a.jpg", (CaptionRecord("A dog ."),))]


def test_captions_keep_their_printed_key_where_numbers_are_skipped(tmp_path):
    file = put(tmp_path / "x.txt", "a.jpg#0\tone\na.jpg#2\tthree\nb.jpg#0\tone\n")
    first, second = read("flickr8k", file)
    assert [caption.id for caption in first.captions] == ["a.jpg#0", "a.jpg#2"]
    assert [caption.id for caption in second.captions] == [""]
    out = write("flickr8k", [first, second], tmp_path / "out")
    assert (out / "Flickr8k.token.txt").read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a.jpg#0\tA dog .\nb.jpg A cat .\n", 2, "holds no tab"),
        ("a.jpg\tA dog .\n", 1, "no image#number before its tab"),
        ("a.jpg#0\tA dog .\na.jpg#1\t \n", 2, "caption 1 of 'a.jpg' is empty"),
        ("a.jpg#0\tA dog .\n\na.jpg#0\tA cat .\n", 3, "a second time (first in line 1)"),
        ("a.jpg#0\tA dog .\na.JPG#0\tA cat .\n", 2, "caption 0 of image 'a.jpg' appears a second time"),
        ("../a.jpg#0\tA dog .\n", 1, "is refused"),
        ("..#0\tA dog .\n", 1, "is refused"),
        ("/etc/../a.jpg#0\tA dog .\n", 1, "is refused"),
        ("a.jpg#0\tA dog\0 .\n", 1, "holds U+0000"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, line, problem):
    error = error_of("flickr8k", put(tmp_path / "x.txt", text))
    assert error.line == line
    assert problem in error.problem


def test_a_file_of_another_encoding_names_line_and_byte(tmp_path):
    error = error_of(
        "flickr8k", put(tmp_path / "x.txt", "a.jpg#0\tA dog .\na.jpg#1\tA caf\xe9 .\n".encode("latin-1"))
    )
    assert (error.line, error.problem) == (2, "byte 29 (0xe9) is not UTF-8")


def test_an_image_in_two_splits_is_named(tmp_path):
    put(tmp_path / "Flickr8k.token.txt", "a.jpg#0\tA dog .\n")
    put(tmp_path / "Flickr_8k.trainImages.txt", "a.jpg\n")
    put(tmp_path / "Flickr_8k.testImages.txt", "b.jpg\na.jpg\n")
    error = error_of("flickr8k", tmp_path)
    assert error.file.endswith("Flickr_8k.trainImages.txt")
    assert (error.line, error.problem) == (1, "'a.jpg' is in the split test already")


def test_a_folder_with_two_caption_files_asks_for_one(tmp_path):
    put(tmp_path / "a.token.txt", "a.jpg#0\tA dog .\n")
    put(tmp_path / "b.token.txt", "a.jpg#0\tA dog .\n")
    assert "holds 2 such files (a.token.txt, b.token.txt)" in error_of("flickr8k", tmp_path).problem


def test_a_caption_of_two_lines_cannot_be_written(tmp_path):
    record = ImageRecord("a", "a.jpg", (CaptionRecord("A dog .\nIt runs ."),))
    assert "line break" in refused_to_write("flickr8k", [record], tmp_path / "out").problem


def test_the_split_dev_would_be_read_as_val_and_cannot_be_written(tmp_path):
    record = ImageRecord("a", "a.jpg", (CaptionRecord("A dog"),), split="dev")
    error = refused_to_write("flickr8k", [record], tmp_path / "out")
    assert "image 'a' is of the split 'dev', which is read as 'val'" in error.problem


def test_an_image_without_captions_cannot_be_written(tmp_path):
    assert (
        "no caption"
        in refused_to_write("flickr8k", [ImageRecord("a", "a.jpg", ())], tmp_path / "out").problem
    )
