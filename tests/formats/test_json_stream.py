"""JSON that stops being JSON is told with its line and byte, however large the file is."""

from __future__ import annotations

import json

import pytest

from annotation.formats import FORMATS
from tests.formats.reading import put, read, refused

ENTRY = '"{n}.jpg": [\n"A dog runs over the field .",\n"A cat ."\n]'
LINES_EACH = 4


def document(count: int) -> str:
    return "{" + ",\n".join(ENTRY.replace("{n}", str(n)) for n in range(count)) + "}"


@pytest.mark.parametrize("count", [2, 5000])
def test_a_truncated_file_names_line_and_byte_after_giving_what_was_whole(tmp_path, count):
    text = document(count)[:-30]
    stream = FORMATS.get("flickr30k").read(put(tmp_path / "x.json", text))
    whole = [next(stream) for _ in range(count - 1)]
    assert whole[-1].id == str(count - 2)
    error = refused("flickr30k", tmp_path / "x.json")
    assert error.problem == f"the JSON ends in the middle, after byte {len(text)}"
    assert error.line == text.count("\n") + 1


@pytest.mark.parametrize("before", [0, 1, 4000])
def test_a_slip_in_the_middle_names_line_and_byte(tmp_path, before):
    start = document(before)[:-1] + (",\n" if before else "")
    good = start + '"x.jpg": ["A dog" '
    text = good + '"A cat"], ' + document(3000)[1:]
    error = refused("flickr30k", put(tmp_path / "x.json", text))
    assert error.line == before * LINES_EACH + 1
    end_of_token = len(good + '"A cat')
    assert f"is not JSON at byte {end_of_token} (" in error.problem


def test_bytes_that_are_not_utf8_are_named(tmp_path):
    text = b'{"a.jpg": [\n"\xe9 ."]}'
    error = refused("flickr30k", put(tmp_path / "x.json", text))
    assert (error.line, error.problem) == (2, "byte 13 is not UTF-8")


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_file_ends_in_the_middle(tmp_path, text):
    assert "ends in the middle" in refused("flickr30k", put(tmp_path / "x.json", text)).problem


@pytest.mark.parametrize(
    "text", ['{"a.jpg": ["A dog ."]} {}', '{"a.jpg": [NaN]}', "{'a.jpg': []}", "a.jpg#0\tA dog ."]
)
def test_what_is_no_json_is_refused(tmp_path, text):
    assert "is not JSON at byte" in refused("flickr30k", put(tmp_path / "x.json", text)).problem


def test_a_byte_order_mark_is_passed_over_and_counted(tmp_path):
    assert len(read("flickr30k", put(tmp_path / "x.json", b"\xef\xbb\xbf" + document(3).encode()))) == 3
    error = refused("flickr30k", put(tmp_path / "y.json", b'\xef\xbb\xbf{"a.jpg" ["A dog ."]}'))
    assert "at byte 12" in error.problem


def test_numbers_of_any_size_are_survived(tmp_path):
    huge = "9" * 400
    for value in (huge, f"-{huge}", "1e999", "0.5"):
        text = f'{{"images": [{{"id": {value}, "file_name": "a.jpg"}}], "annotations": []}}'
        assert refused("coco", put(tmp_path / "captions.json", text)).expected
    assert json.loads(huge) > 0
