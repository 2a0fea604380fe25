"""Files of captions written by a system: both forms, and errors with their line or entry."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from phrasebox.balance import Tally, counted_by, current_tally
from phrasebox.formats.candidate_captions import Candidate, read_candidates
from phrasebox.names import FILE, SOURCE
from phrasebox.text_files import FormatError

ROWS = [{"image": "a.jpg", "caption": "a dog runs"}, {"image_id": 42, "caption": "", "score": 0.5}]
EXPECTED = [("a.jpg", "a dog runs"), ("42", "")]


def read(path: Path) -> list[tuple[str, str]]:
    return [(candidate.image, candidate.caption) for candidate in read_candidates(path)]


def test_json_lines_and_the_results_of_coco_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "captions.json"
    for text in (
        "".join(json.dumps(row) + "\r\n\n" for row in ROWS),
        json.dumps(ROWS),
        "\ufeff\n " + json.dumps(ROWS, indent=2) + "\n",
    ):
        file.write_text(text, encoding="utf-8")
        assert read(file) == EXPECTED
    packed = tmp_path / "captions.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(ROWS).encode()))
    assert read(packed) == EXPECTED


def test_a_table_says_the_same_under_the_usual_names_of_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "captions.csv"
    file.write_text('Caption,image_id,log_probability\n"a dog, running",42,-1.5\n,43,\n', encoding="utf-8")
    assert list(read_candidates(file)) == [
        Candidate("42", "a dog, running", "line 2", (SOURCE, FILE), -1.5),
        Candidate("43", "", "line 3", (SOURCE, FILE)),
    ]
    file.write_text("file name\tcaption\nb.jpg\ta cat\n", encoding="utf-8")
    assert read(file) == [("b.jpg", "a cat")]


def test_what_nobody_reads_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text('{"image": "a", "caption": "b", "id": 1}\n{"image": "b", "caption": "c", "grade": 2}')
    with counted_by(Tally()):
        list(read_candidates(file))
        (line,) = current_tally().sheet().lines
    assert (line.found, line.taken) == (4, 2)
    assert {rest.reason: rest.examples for rest in line.left} == {"clutter": ("id",), "not_read": ("grade",)}


def test_where_a_caption_stands_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text('\n{"image": " a ", "caption": "b"}')
    assert list(read_candidates(file)) == [Candidate("a", "b", "line 2")]
    file.write_text('[{"image": "a", "caption": "b"}]')
    assert list(read_candidates(file)) == [Candidate("a", "b", "entry 1")]


GOOD = '{"image": "a", "caption": "b"}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x: holds no captions; expected one caption for each image, as in {"),
        ("[]", "x: holds no captions"),
        ("image,text\na,b", "x, line 2: has no caption"),
        ("image,caption,log_probability\na,b,high", "x, line 2: has 'high' for its log_probability"),
        ('{"image": "a", "caption": "b", "log_probability": "-1"}', "has '-1' for its log_probability"),
        (
            f"{GOOD}\nnothing",
            r"x, line 2: is not JSON \(Expecting value\); expected one caption for each image",
        ),
        (f"[{GOOD},\n", r"x, line 1: is not JSON"),
        ("[" * 20_000, "x, line 1: is not JSON"),
        (f"{GOOD}\n3", "x, line 2: is 3"),
        (f"[{GOOD}, []]", r"x: entry 2 is \[\]"),
        ('{"caption": "b"}', "x, line 1: names no image"),
        ('{"image": "a", "image_id": 1, "caption": "b"}', "x, line 1: names more than one image"),
        ('{"image": 1.5, "caption": "b"}', "x, line 1: has 1.5 for its image"),
        ('{"image": true, "caption": "b"}', "x, line 1: has True for its image"),
        ('{"image": " ", "caption": "b"}', "x, line 1: has ' ' for its image"),
        ('{"image": "a"}', "x, line 1: has no caption"),
        ('[{"image": "a", "caption": null}]', "x: entry 1 has None for its caption"),
        (f"{GOOD}\n{GOOD}", "x, line 2: image 'a' has a caption already, on line 1"),
        (
            '[{"image": 1, "caption": "b"}, {"image_id": "1", "caption": "c"}]',
            "entry 2 image '1' has a caption",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_place_with_what_would_be_right(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        list(read_candidates(tmp_path / "x"))
    assert "expected" in str(caught.value) and "\n" not in str(caught.value)
