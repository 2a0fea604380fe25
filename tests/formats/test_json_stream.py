"""Invalid JSON is reported with its line and byte, however large the file is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.formats import FORMATS
from annotation.formats.files.json_stream import _Nesting, has_list
from tests.formats.reading import error_of, put, read

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
    error = error_of("flickr30k", tmp_path / "x.json")
    assert error.problem == f"the JSON ends in the middle, after byte {len(text)}"
    assert error.line == text.count("\n") + 1


@pytest.mark.parametrize("before", [0, 1, 4000])
def test_a_slip_in_the_middle_names_line_and_byte(tmp_path, before):
    start = document(before)[:-1] + (",\n" if before else "")
    good = start + '"x.jpg": ["A dog" '
    text = good + '"A cat"], ' + document(3000)[1:]
    error = error_of("flickr30k", put(tmp_path / "x.json", text))
    assert error.line == before * LINES_EACH + 1
    end_of_token = len(good + '"A cat')
    assert f"is not JSON at byte {end_of_token} (" in error.problem


def test_bytes_that_are_not_utf8_are_named(tmp_path):
    text = b'{"a.jpg": [\n"\xe9 ."]}'
    error = error_of("flickr30k", put(tmp_path / "x.json", text))
    assert (error.line, error.problem) == (2, "byte 13 is not UTF-8")


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_file_ends_in_the_middle(tmp_path, text):
    assert "ends in the middle" in error_of("flickr30k", put(tmp_path / "x.json", text)).problem


@pytest.mark.parametrize(
    "text", ['{"a.jpg": ["A dog ."]} {}', '{"a.jpg": [NaN]}', "{'a.jpg': []}", "a.jpg#0\tA dog ."]
)
def test_what_is_no_json_is_refused(tmp_path, text):
    assert "is not JSON at byte" in error_of("flickr30k", put(tmp_path / "x.json", text)).problem


def test_a_byte_order_mark_is_passed_over_and_counted(tmp_path):
    assert len(read("flickr30k", put(tmp_path / "x.json", b"\xef\xbb\xbf" + document(3).encode()))) == 3
    error = error_of("flickr30k", put(tmp_path / "y.json", b'\xef\xbb\xbf{"a.jpg" ["A dog ."]}'))
    assert "at byte 12" in error.problem


@pytest.mark.parametrize("value", ["9" * 400, "9" * 5000, "-" + "9" * 5000, "1e999", "0.5", "1e" + "9" * 50])
def test_a_number_of_any_size_is_refused_where_an_id_is_expected(tmp_path, value):
    text = f'{{"images": [{{"id": {value}, "file_name": "a.jpg"}}], "annotations": []}}'
    error_of("coco", put(tmp_path / "captions.json", text))


@pytest.mark.parametrize("opening", ["[", '{"a": ', '[{"a": '])
def test_a_deep_nest_is_refused_before_it_is_followed(tmp_path, opening):
    for text in (opening * 200_000, '{"a.jpg": ["A dog .", ' + opening * 200_000):
        assert "is nested more than 100 deep" in error_of("flickr30k", put(tmp_path / "x.json", text)).problem


@given(st.lists(st.text(alphabet='[]{}"\\a', max_size=30), min_size=1, max_size=40))
def test_brackets_in_strings_are_no_nest_wherever_a_chunk_ends(message):
    text = json.dumps({"a.jpg": ["[" * 300, *(f".{caption}" for caption in message)]}).encode()
    nesting = _Nesting()
    assert not any(nesting.too_deep(text[at : at + 3]) for at in range(0, len(text), 3))
    assert nesting.depth == 0
    whole = _Nesting()
    assert not whole.too_deep(text)
    assert whole.depth == 0


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('{"images": []}', True),
        ('{"info": {}, "images": [1]}', True),
        ('{"images": {}}', False),
        ('{"images": 1, "others": []}', False),
        ('{"info": {"images": []}}', False),
        ("[]", False),
    ],
)
def test_a_list_is_looked_for_under_its_key_alone(tmp_path: Path, text: str, result: bool) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    assert has_list(file, "images") is result
