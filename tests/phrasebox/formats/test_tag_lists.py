"""Files of tags: all forms, orders with and without scores, and errors with their line or entry."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phrasebox.formats.tag_lists import read_tag_lists
from phrasebox.names import ANY, FILE, SOURCE
from phrasebox.text_files import FormatError

TAGS = {"a.jpg": [("dog", 0.75), ("red ball", 0.5)], "b.jpg": [("cat", 1.0)]}
PAIRS = [(image, tag, score) for image, tags in TAGS.items() for tag, score in tags]


def read(path: Path) -> dict[str, list[tuple[str, float]]]:
    return {item.image: list(item.tags) for item in read_tag_lists(path)}


@pytest.mark.parametrize(
    "text",
    [
        "".join(json.dumps({"image": image, "tags": tags}) + "\n" for image, tags in TAGS.items()),
        json.dumps([{"image": image, "tags": tags} for image, tags in TAGS.items()], indent=1),
        json.dumps([{"image": image, "tag": tag, "score": score} for image, tag, score in PAIRS]),
        "image,tag,score\n" + "".join(f"{image},{tag},{score}\n" for image, tag, score in PAIRS),
        "Score\tTag\tFile Name\n" + "".join(f"{score}\t{tag}\t{image}\n" for image, tag, score in PAIRS),
    ],
)
def test_every_form_says_the_same(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tags"
    file.write_text(text, encoding="utf-8")
    assert read(file) == TAGS
    assert not any(item.reordered for item in read_tag_lists(file))


def test_scores_decide_the_order_and_without_them_the_file_does(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text('{"image_id": 3, "tags": [["low", 0.1], ["high", 2], ["first", 0.5], ["second", 0.5]]}')
    (item,) = read_tag_lists(file)
    assert [tag for tag, _ in item.tags] == ["high", "first", "second", "low"] and item.reordered
    assert (item.image, item.position, item.spaces) == ("3", "line 1", (SOURCE, FILE))
    file.write_text('{"image": "a", "tags": ["one", "two", "three", "four"]}\n{"image": "b", "tags": []}')
    first, second = read_tag_lists(file)
    assert first.tags == (("one", 1.0), ("two", 0.75), ("three", 0.5), ("four", 0.25))
    assert not first.reordered and second.tags == () and second.spaces == ANY


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x: holds no tags; expected"),
        ("image,tag\n", "x: holds no tags"),
        ("image,word\na,b\n", "x, line 2: has no tags"),
        ('{"image": "a", "tags": 3}', "x, line 1: has 3 for its tags"),
        ('{"image": "a", "tags": [["dog", "much"]]}', "x, line 1: has 'much' for a score"),
        ('{"image": "a", "tags": [["dog", 1e999]]}', "x, line 1: has inf for a score"),
        ('{"image": "a", "tags": [["dog"]]}', r"x, line 1: has \['dog'\] for a tag with its score"),
        ('{"image": "a", "tags": [["dog", 1], "cat"]}', "only some tags of image 'a' have scores"),
        ('{"image": "a", "tags": ["dog", " dog "]}', "has the tag 'dog' of image 'a' twice"),
        ('{"image": "a", "tags": [" "]}', "has ' ' for a tag"),
        ('{"tags": ["dog"]}', "x, line 1: names no image"),
        ("image,tag,score\na,dog,0.5\na,cat,\n", "x, line 3: only some tags of image 'a' have scores"),
        ("image,tag,score\na,dog,0,5\n", "x, line 2: holds 4 cells"),
        (
            '{"image": "a", "tags": ["dog"]}\n{"image": "a", "tags": ["cat"]}',
            "x, line 2: image 'a' has tags already, on line 1",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        list(read_tag_lists(tmp_path / "x"))
    assert "\n" not in str(caught.value)
