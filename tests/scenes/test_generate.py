"""The corpus grows from its seed, image by image."""

from __future__ import annotations

import gc
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from PIL import Image

from config.sample import sample_records
from scenes.art.canvas import Canvas
from scenes.generate import generate, split_of
from tests.sizes import sized

REPOSITORY = Path(__file__).resolve().parents[2]


def test_a_small_corpus_is_the_beginning_of_a_larger_one():
    small = list(generate(4, seed=5))
    assert small == list(islice(generate(1000, seed=5), 4))


def test_another_seed_makes_another_corpus():
    assert list(generate(3, seed=5)) != list(generate(3, seed=6))


def test_the_same_pictures_come_out_byte_for_byte_in_another_process(tmp_path):
    here = [
        (tmp_path / "here" / image["filename"]).read_bytes()
        for image in generate(3, seed=8, out=tmp_path / "here")
    ]
    code = (
        "from pathlib import Path; from scenes.generate import generate\n"
        f"print([image['captions'] for image in generate(3, seed=8, out=Path({str(tmp_path / 'there')!r}))])"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": salt},
            cwd=REPOSITORY,
            capture_output=True,
            check=True,
        ).stdout
        for salt in ("1", "2")
    ]
    there = [(tmp_path / "there" / f"scene-{k:06d}.jpg").read_bytes() for k in (1, 2, 3)]
    assert runs[0] == runs[1]
    assert here == there


def test_pictures_lie_where_the_records_say_in_the_size_they_say(tmp_path):
    for record in sample_records(5, seed=3, out=tmp_path / "new" / "pictures"):
        assert record.picture == tmp_path / "new" / "pictures" / record.filename
        with Image.open(str(record.picture)) as picture:
            assert picture.format == "JPEG"
            assert picture.size == (record.width, record.height)
            assert max(picture.size) == 500


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(list(generate(1, seed=1))) == 1
    assert list(tmp_path.iterdir()) == []


def test_ids_are_numbered_and_name_the_file():
    assert [(image["id"], image["filename"]) for image in generate(2, seed=1)] == [
        ("scene-000001", "scene-000001.jpg"),
        ("scene-000002", "scene-000002.jpg"),
    ]


def test_the_splits_are_about_80_10_and_10_in_a_hundred():
    splits = [split_of(index, 1) for index in range(5000)]
    shares = {name: splits.count(name) / len(splits) for name in ("train", "val", "test")}
    assert shares == pytest.approx({"train": 0.8, "val": 0.1, "test": 0.1}, abs=0.02)


def test_both_orientations_and_all_settings_occur(scenes):
    assert {scene.width > scene.height for scene in scenes} == {True, False}
    heads = {
        mention.head
        for scene in scenes
        for mention in scene.layer.mentions
        if mention.categories == ("scene",)
    }
    assert {"park", "beach", "street", "hill", "stage", "field", "lake", "kitchen", "room"} <= heads


def test_a_canvas_is_let_go_as_soon_as_its_picture_is_made():
    gc.collect()
    gc.disable()
    gc.freeze()  # earlier objects need not be scanned
    try:
        for _ in generate(sized(4, 12), seed=4):
            assert not [thing for thing in gc.get_objects() if isinstance(thing, Canvas)]
    finally:
        gc.unfreeze()
        gc.enable()


def test_a_negative_number_of_images_is_refused():
    with pytest.raises(ValueError, match="cannot generate -1 images"):
        next(generate(-1, seed=1))
