"""A table of captions."""

from __future__ import annotations

import pytest

from annotation.protocol.terms import CaptionRecord, ImageRecord
from tests.formats.reading import error_of, put, read, refused_to_write, write


def test_columns_are_known_by_name_and_rows_may_stand_apart(tmp_path):
    file = put(
        tmp_path / "x.csv",
        "colour,split,caption,image,unrelated\n"
        'red,train,"A dog, running",a.jpg,0\n'
        ",,A cat,b.jpg,\n"
        "\n"
        'blue,train,"Two ""dogs""",a.jpg,1\n',
    )
    assert read("csv", file) == [
        ImageRecord(
            "a",
            "a.jpg",
            (CaptionRecord("A dog, running"), CaptionRecord('Two "dogs"', unrelated=True)),
            split="train",
        ),
        ImageRecord("b", "b.jpg", (CaptionRecord("A cat"),)),
    ]


def test_bom_crlf_and_captions_of_several_lines_are_read(tmp_path):
    file = put(tmp_path / "x.csv", b'\xef\xbb\xbfimage,caption\r\na.jpg,"A dog\r\nruns"\r\n')
    assert read("csv", file)[0].captions == (CaptionRecord("A dog\r\nruns"),)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a.jpg,A dog\n", 1, "the header has no column image"),
        ("picture| comment_number| comment\n", 1, "the header has no column image"),
        ("image,caption,image\n", 1, "has the column 'image' more than once"),
        ("image,caption\na.jpg\n", 2, "holds 1 cells"),
        ("image,caption\na.jpg,A dog, running\n", 2, "holds 3 cells"),
        ("image,caption\na.jpg,A dog\nb.jpg, \n", 3, "the caption is empty"),
        ("image,caption\n,A dog\n", 2, "the image is empty"),
        ("image,caption\n../a.jpg,A dog\n", 2, "is refused"),
        ('image,caption\na.jpg,"A dog\n', 2, "is not CSV"),
        ('image,caption\na.jpg,"A dog"x\n', 2, "is not CSV"),
        (
            "image,caption,split\na.jpg,A dog,train\na.jpg,A cat,test\n",
            3,
            "appeared before in the split 'train'",
        ),
        ("image,caption,caption_id\na.jpg,A dog,1\na.jpg,A cat,1\n", 3, "a second time (first in line 2)"),
        ("image,caption,unrelated\na.jpg,A dog,maybe\n", 2, "unrelated is 'maybe'"),
    ],
)
def test_a_bad_row_is_named(tmp_path, text, line, problem):
    error = error_of("csv", put(tmp_path / "x.csv", text))
    assert error.line == line
    assert problem in error.problem


def test_more_captions_than_an_image_can_have_are_refused(tmp_path):
    text = "image,caption\n" + "a.jpg,A dog\n" * 40_000
    assert "image 'a': has 32768 captions" in error_of("csv", put(tmp_path / "x.csv", text)).problem


def test_an_id_of_a_caption_is_of_its_image(tmp_path):
    records = [ImageRecord(id, f"{id}.jpg", (CaptionRecord("A dog", id="1"),)) for id in "ab"]
    assert read("csv", write("csv", records, tmp_path / "out")) == records


@pytest.mark.parametrize("text", ["", "\n", "image,caption\n", "image,caption\n\n"])
def test_a_table_without_rows_holds_no_images(tmp_path, text):
    assert error_of("csv", put(tmp_path / "x.csv", text)).problem == "holds no images"


def test_an_image_without_captions_cannot_be_written(tmp_path):
    assert "no caption" in refused_to_write("csv", [ImageRecord("a", "a.jpg", ())], tmp_path / "out").problem
