"""Our JSON lines: all fields, and no others."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from annotation.protocol.terms import (
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from tests.formats.reading import error_of, put, read, refused_to_write, write

MENTION = {"caption": 0, "start": 0, "end": 2, "categories": ["animals"]}
ROW = {
    "id": "a",
    "filename": "pictures of a.jpg",
    "captions": [
        {"text": "A  dog runs", "id": "x", "unrelated": True},
        {"text": "dogs!", "tokens": ["dogs", "!"]},
    ],
    "layer": {
        "chains": [{"id": "c1", "mentions": [MENTION, {**MENTION, "end": 1}]}, {"id": "c2", "mentions": []}],
        "objects": [{"chains": ["c1", "c2"], "box": [1, 2, 3, 4]}, {"chains": ["c2"], "nobndbox": True}],
    },
}


def lines(*rows: object) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def test_a_row_holds_an_image_with_its_layer(tmp_path):
    put(tmp_path / "pictures of a.jpg", b"picture")
    (record,) = read("jsonl", put(tmp_path / "x.jsonl", lines(ROW)), tmp_path)
    assert record == ImageRecord(
        id="a",
        filename="pictures of a.jpg",
        captions=(CaptionRecord("A  dog runs", None, "x", True), CaptionRecord("dogs!", ("dogs", "!"))),
        picture=tmp_path / "pictures of a.jpg",
        layer=LayerRecord(
            (
                Chain(
                    "c1",
                    (Mention(0, 0, 2, ("A", "dog"), ("animals",)), Mention(0, 0, 1, ("A",), ("animals",))),
                ),
                Chain("c2", ()),
            ),
            (LayerObject(("c1", "c2"), Box(1, 2, 3, 4)), LayerObject(("c2",), None, nobndbox=True)),
        ),
    )


def test_an_empty_layer_is_not_the_same_as_none(tmp_path):
    bare = ImageRecord("a", "a.jpg", (CaptionRecord("A dog"),))
    both = [bare, replace(bare, id="b", layer=LayerRecord())]
    assert read("jsonl", write("jsonl", both, tmp_path / "out")) == both


def changed(path: str, value: object) -> dict[str, object]:
    """Return ROW with the entry at `path` ("layer.chains.0.id") replaced."""
    row = json.loads(json.dumps(ROW))
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    at = row
    for step in way:
        at = at[step]
    at[last] = value
    return row


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ([], "the image: is []"),
        ({"id": "a"}, "image 'a': 'filename' is missing"),
        (changed("colour", "red"), "'colour' is unknown"),
        (changed("width", "12"), "'width' is '12'"),
        (changed("width", True), "'width' is True"),
        (changed("width", 2**31), "the width 2147483648 is refused"),
        (changed("width", 2), "the box 1,2,3,4 reaches outside the picture of 2 x 0"),
        (changed("id", "../a"), "the id '../a' is refused"),
        (changed("id", ""), "the id '' is refused"),
        (changed("filename", "b/../a.jpg"), "the file name 'b/../a.jpg' is refused"),
        (changed("external_id", "x" * 101), "is longer than 100 characters"),
        (changed("captions", None), "'captions' is None"),
        (changed("captions.1.text", " "), "caption 2 is empty"),
        (changed("captions.0.text", "A \ud800"), "caption 1 holds U+D800"),
        (changed("captions.1.tokens", []), "caption 2 has no words"),
        (changed("captions.1.tokens", ["dogs !"]), "caption 2 has the word 'dogs !'"),
        (changed("captions.1.id", "x"), "two captions have the id 'x'"),
        (changed("layer.chains.0.id", "c2"), "chain c2 appears twice"),
        (changed("layer.chains.0.id", "a/b"), "the chain id 'a/b' is not valid"),
        (changed("layer.chains.0.id", "0"), "a chain 0, not visual, holds 2 mentions, not one"),
        (changed("layer.chains.0.mentions.0.start", 2), "words 2 to 2 of caption 0 do not exist"),
        (changed("layer.chains.0.mentions.0.end", 9), "words 0 to 9 of caption 0 do not exist"),
        (changed("layer.chains.0.mentions.0.caption", 2), "words 0 to 2 of caption 2 do not exist"),
        (changed("layer.chains.0.mentions.0.caption", -1), "of caption -1 do not exist"),
        (changed("layer.chains.0.mentions.0.end", 1), "mention 0:0-1 'A' appears twice"),
        (changed("layer.chains.0.mentions.0.categories", []), "mention 0:0-2 has no category"),
        (changed("layer.chains.0.mentions.0.categories", ["a/b"]), "has the category 'a/b'"),
        (changed("layer.chains.0.mentions.0.categories", ["x" * 121]), "more categories than fit"),
        (changed("layer.chains.0.mentions.0.categories", ["\ud800"]), "has the category"),
        (changed("layer.objects.0.box", [1, 2, 2**31, 4]), "reaches beyond 2147483647 pixels"),
        (changed("layer.objects.0.chains", []), "an object names no chain"),
        (changed("layer.objects.0.chains", ["c1", "c1"]), "an object names c1 c1; each chain once"),
        (changed("layer.objects.0.chains", ["c3"]), "an object names chain 'c3'"),
        (changed("layer.objects.0.box", [1, 2, 3]), "'box' is [1, 2, 3]"),
        (changed("layer.objects.0.box", [1, 2, 3.0, 4]), "'box' is [1, 2, 3.0, 4]"),
        (changed("layer.objects.0.box", [3, 2, 1, 4]), "box 3,2,1,4 is not valid"),
        (changed("layer.objects.0.scene", True), "an object of chain c1 has both a box and a flag"),
        (changed("layer.objects.1.chains", ["c1", "c2"]), "an object without box for c1 c2"),
    ],
)
def test_a_bad_row_is_named_with_its_line(tmp_path, row, problem):
    error = error_of("jsonl", put(tmp_path / "x.jsonl", lines({**ROW, "id": "first"}, row)))
    assert error.line == 2
    assert problem in error.problem


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (lines({"image": "a.jpg", "caption": "A dog ."}), 1, "'id' is missing"),
        (lines(ROW)[:-20], 1, "is not JSON at column"),
        (lines(ROW, ROW), 2, "image 'a' appears a second time"),
        ("", None, "holds no images"),
        ("[" * 100_000, 1, "nested too deeply"),
        ("9" * 5000, 1, "too many digits"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, text, line, problem):
    error = error_of("jsonl", put(tmp_path / "x.jsonl", text))
    assert error.line == line
    assert problem in error.problem


def test_words_that_a_caption_does_not_say_cannot_be_written(tmp_path):
    layer = LayerRecord((Chain("1", (Mention(0, 0, 1, ("cat",), ("animals",)),)),))
    record = ImageRecord("a", "a.jpg", (CaptionRecord("dog"),), layer=layer)
    assert (
        "is not what its caption says there" in refused_to_write("jsonl", [record], tmp_path / "out").problem
    )
