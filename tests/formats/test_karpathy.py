"""Karpathy's dataset JSON: splits, raw and tokenized sentences."""

from __future__ import annotations

import json

import pytest

from annotation.protocol.terms import CaptionRecord, ImageRecord
from tests.formats.reading import error_of, put, read, refused_to_write, write

SENTENCE = {"tokens": ["a", "dog"], "raw": "A dog .", "imgid": 0, "sentid": 40}
IMAGE = {
    "filename": "COCO_val2014_000000391895.jpg",
    "filepath": "val2014",
    "imgid": 0,
    "cocoid": 391895,
    "split": "restval",
    "sentids": [40],
    "sentences": [SENTENCE],
}


def document(*images: object) -> str:
    return json.dumps({"dataset": "coco", "images": images})


def test_an_image_comes_with_split_ids_and_words(tmp_path):
    put(tmp_path / "pictures" / "val2014" / IMAGE["filename"], b"picture")
    file = put(tmp_path / "x" / "dataset_coco.json", document(IMAGE))
    assert read("karpathy", file, tmp_path / "pictures") == [
        ImageRecord(
            "COCO_val2014_000000391895",
            "COCO_val2014_000000391895.jpg",
            (CaptionRecord("A dog .", ("a", "dog"), "40"),),
            split="restval",
            picture=tmp_path / "pictures" / "val2014" / IMAGE["filename"],
            external_id="391895",
        )
    ]


def test_words_cut_at_white_space_are_not_kept_twice(tmp_path):
    same = {"tokens": ["A", "dog", "."], "raw": " A dog . ", "sentid": 1}
    file = put(tmp_path / "x.json", document({**IMAGE, "sentences": [same]}))
    assert read("karpathy", file)[0].captions == (CaptionRecord("A dog .", None, "1"),)


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        ({k: v for k, v in IMAGE.items() if k != "filename"}, "image 1: 'filename' is missing"),
        ({**IMAGE, "filename": 7}, "'filename' is 7"),
        ({**IMAGE, "sentences": {}}, "'sentences' is {}"),
        ({**IMAGE, "sentences": ["A dog"]}, "sentence 1: is 'A dog'"),
        ({**IMAGE, "sentences": [{**SENTENCE, "raw": None}]}, "'raw' is None"),
        ({**IMAGE, "sentences": [{**SENTENCE, "raw": " "}]}, "caption 1 is empty"),
        ({**IMAGE, "sentences": [{**SENTENCE, "tokens": ["a dog"]}]}, "the word 'a dog'"),
        ({**IMAGE, "sentences": [{**SENTENCE, "tokens": ["a", 1]}]}, "'tokens' holds 1"),
        ({**IMAGE, "sentences": [SENTENCE, SENTENCE]}, "two captions have the id '40'"),
        ({**IMAGE, "split": "../train"}, "the split '../train' is refused"),
        ({**IMAGE, "filename": "../a.jpg"}, "is refused"),
        ({**IMAGE, "cocoid": True}, "'cocoid' is True"),
        ("a.jpg", "image 1: is 'a.jpg'"),
    ],
)
def test_a_bad_entry_is_named(tmp_path, image, problem):
    assert problem in error_of("karpathy", put(tmp_path / "x.json", document(image))).problem


def test_an_image_that_stands_twice_is_named(tmp_path):
    assert "a second time" in error_of("karpathy", put(tmp_path / "x.json", document(IMAGE, IMAGE))).problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", 'has no list "images"'),
        ('{"images": {"item": 1}}', "image 1: is 1"),
        ('{"images": []}', "holds no images"),
        ("[]", 'has no list "images"'),
    ],
)
def test_a_document_without_images_says_what_is_missing(tmp_path, text, problem):
    assert problem in error_of("karpathy", put(tmp_path / "x.json", text)).problem


def test_ids_that_are_numbers_only_here_and_there_are_refused(tmp_path):
    record = ImageRecord("a", "a.jpg", (CaptionRecord("A dog .", id="3"), CaptionRecord("A cat .", id="x")))
    assert "has the id 'x'" in refused_to_write("karpathy", [record], tmp_path / "out").problem


def test_the_written_file_has_the_published_shape(tmp_path):
    record = ImageRecord("a", "a.jpg", (CaptionRecord("A dog."), CaptionRecord("A cat .")), split="val")
    out = write("karpathy", [record, ImageRecord("b", "b.jpg", ())], tmp_path / "out")
    assert json.loads((out / "dataset.json").read_text())["images"] == [
        {
            "filename": "a.jpg",
            "imgid": 0,
            "sentids": [0, 1],
            "split": "val",
            "sentences": [
                {"tokens": ["A", "dog."], "raw": "A dog.", "imgid": 0, "sentid": 0},
                {"tokens": ["A", "cat", "."], "raw": "A cat .", "imgid": 0, "sentid": 1},
            ],
        },
        {"filename": "b.jpg", "imgid": 1, "sentids": [], "split": "", "sentences": []},
    ]
