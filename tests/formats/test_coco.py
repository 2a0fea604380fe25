"""COCO captions, and boxes as COCO detection."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from annotation.formats import FORMATS
from annotation.protocol.terms import (
    CATEGORIES,
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from tests.formats.reading import error_of, put, read, refused_to_write, write

IMAGE = {"id": 9, "file_name": "a.jpg", "width": 640, "height": 480}
CAPTION = {"id": 3, "image_id": 9, "caption": "A dog's ball.\n"}


def document(images: Sequence[object], annotations: Sequence[object]) -> str:
    return json.dumps({"annotations": annotations, "images": images})


def test_captions_find_their_image_whatever_the_order(tmp_path):
    images = [{"id": 7, "file_name": "b.png"}, IMAGE]
    message = [
        CAPTION,
        {"id": 1, "image_id": 7, "caption": "A cat"},
        {"id": 2, "image_id": 9, "caption": "A dog"},
    ]
    file = put(tmp_path / "captions_val2014.json", document(images, message))
    assert (
        read("coco", tmp_path)
        == read("coco", file)
        == [
            ImageRecord("b", "b.png", (CaptionRecord("A cat", id="1"),), external_id="7"),
            ImageRecord(
                "a",
                "a.jpg",
                (
                    CaptionRecord("A dog's ball.", ("A", "dog", "'s", "ball", "."), "3"),
                    CaptionRecord("A dog", id="2"),
                ),
                width=640,
                height=480,
                external_id="9",
            ),
        ]
    )


@pytest.mark.parametrize(
    ("images", "annotations", "problem"),
    [
        (
            [IMAGE],
            [{**CAPTION, "image_id": 8}],
            "annotation 3 is of the image 8, which is not among the images",
        ),
        ([IMAGE, IMAGE], [CAPTION], "the id 9 is taken"),
        ([IMAGE, {**IMAGE, "id": 10}], [CAPTION], "image 'a.jpg' appears a second time"),
        ([IMAGE], [CAPTION, CAPTION], "caption id '3' appears a second time"),
        ([IMAGE], [{"id": 3, "image_id": 9, "bbox": [1, 2, 3, 4]}], "annotation 1: 'caption' is missing"),
        ([IMAGE], [{**CAPTION, "caption": "\n"}], "annotation 1: the caption is empty"),
        ([IMAGE], [{**CAPTION, "caption": ["A dog"]}], "annotation 1: 'caption' is ['A dog']"),
        ([{"id": 9}], [CAPTION], "image 1: 'file_name' is missing"),
        ([{**IMAGE, "file_name": "../a.jpg"}], [CAPTION], "is refused"),
        ([{**IMAGE, "width": "640"}], [CAPTION], "image 1: 'width' is '640'"),
        ([{**IMAGE, "width": -1}], [CAPTION], "the width -1 is refused"),
        ([{**IMAGE, "id": 1.5}], [CAPTION], "image 1: 'id' is 1.5"),
        ([], [], "holds no images"),
    ],
)
def test_a_bad_entry_is_named(tmp_path, images, annotations, problem):
    file = put(tmp_path / "captions.json", document(images, annotations))
    assert problem in error_of("coco", file).problem


@pytest.mark.parametrize("missing", ["images", "annotations"])
def test_a_missing_list_is_named(tmp_path, missing):
    whole = {"images": [IMAGE], "annotations": [CAPTION]}
    text = json.dumps({key: value for key, value in whole.items() if key != missing})
    assert f'has no list "{missing}"' in error_of("coco", put(tmp_path / "captions.json", text)).problem


def test_boxes_are_written_as_detections_one_per_box_and_chain(tmp_path):
    caption_record = CaptionRecord("Two dogs near a red ball")
    dogs = Chain("5", (Mention(0, 0, 2, ("Two", "dogs"), ("animals",)),))
    ball = Chain("6", (Mention(0, 3, 6, ("a", "red", "ball"), ("other", "people")),))
    layer = LayerRecord(
        (dogs, ball, Chain("7", ())),
        (
            LayerObject(("5",), Box(1, 1, 10, 20)),
            LayerObject(("5", "6"), Box(3, 4, 3, 4)),
            LayerObject(("7",), Box(2, 2, 5, 5)),
            LayerObject(("6",), None, nobndbox=True),
        ),
    )
    record = ImageRecord("a", "a.jpg", (caption_record,), width=30, height=20, layer=layer)
    out = write("coco", [record], tmp_path / "out")
    payload = json.loads((out / "instances.json").read_text())
    assert [kind["name"] for kind in payload["categories"]] == list(CATEGORIES)
    assert payload["images"] == [{"id": 1, "file_name": "a.jpg", "width": 30, "height": 20}]
    names = {kind["id"]: kind["name"] for kind in payload["categories"]}
    assert [(names[a["category_id"]], a["bbox"], a["area"], a["chain"]) for a in payload["annotations"]] == [
        ("animals", [0, 0, 10, 20], 200, "5"),
        ("animals", [2, 3, 1, 1], 1, "5"),
        ("people", [2, 3, 1, 1], 1, "6"),
        ("other", [1, 1, 4, 4], 16, "7"),
    ]
    assert [a["id"] for a in payload["annotations"]] == [1, 2, 3, 4]
    assert {a["image_id"] for a in payload["annotations"]} == {1}


def test_detections_list_the_images_that_the_layer_covers_and_count_what_they_do_not_say(tmp_path):
    caption_record = CaptionRecord("Two dogs near a ball in the view")
    chains = (
        Chain("5", (Mention(0, 0, 2, ("Two", "dogs"), ("animals", "other")),)),
        Chain("6", (Mention(0, 3, 5, ("a", "ball"), ("other",)),)),
        Chain("0", (Mention(0, 6, 8, ("the", "view"), ("notvisual",)),)),
    )
    marked = LayerRecord(chains, (LayerObject(("5",), Box(1, 1, 9, 9)), LayerObject(("6",), scene=True)))
    records = [
        ImageRecord("a", "a.jpg", (caption_record,), layer=marked),
        ImageRecord("b", "b.jpg", (caption_record,)),
        ImageRecord("c", "c.jpg", (caption_record,), layer=LayerRecord()),
    ]
    (tmp_path / "out").mkdir()
    written = FORMATS.get("coco").write(records, tmp_path / "out")
    payload = json.loads((tmp_path / "out" / "instances.json").read_text())
    assert [image["file_name"] for image in payload["images"]] == ["a.jpg", "c.jpg"]
    assert len(read("coco", tmp_path / "out")) == 3
    assert written.excluded == {}


def test_a_corpus_without_layer_has_no_detections(tmp_path):
    out = write("coco", [ImageRecord("a", "a.jpg", (CaptionRecord("A dog"),))], tmp_path / "out")
    assert [file.name for file in out.iterdir()] == ["captions.json"]


def test_numbers_of_the_source_are_kept_and_others_replaced(tmp_path):
    stored = [ImageRecord("a", "a.jpg", (), external_id="12"), ImageRecord("b", "b.jpg", (), external_id="4")]
    out = write("coco", stored, tmp_path / "kept")
    assert [record.external_id for record in read("coco", out)] == ["12", "4"]
    out = write("coco", [ImageRecord("a", "a.jpg", (), external_id="x1"), stored[1]], tmp_path / "replaced")
    assert [record.external_id for record in read("coco", out)] == ["1", "2"]
    mixed = [stored[0], ImageRecord("b", "b.jpg", ())]
    assert "has the id ''" in refused_to_write("coco", mixed, tmp_path / "mixed").problem
    twice = [stored[0], ImageRecord("b", "b.jpg", (), external_id="12")]
    error = refused_to_write("coco", twice, tmp_path / "twice")
    assert "image 'b' (or a caption of it) has the id '12', as an earlier one has" in error.problem
    assert "jsonl" in error.expected
