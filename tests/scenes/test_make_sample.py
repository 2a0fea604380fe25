"""`manage.py make_sample` writes a corpus that can be read again."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command
from PIL import Image

from annotation.formats import FORMATS
from config.sample import sample_records


def test_the_files_hold_what_was_generated(tmp_path):
    out = tmp_path / "sample"
    call_command("make_sample", str(out), images=4, seed=9)
    read = list(FORMATS.get("jsonl").read(out, images=out / "images"))
    created = list(sample_records(4, seed=9, out=tmp_path / "again"))
    assert [(r.id, r.split, r.captions, r.layer) for r in read] == [
        (r.id, r.split, r.captions, r.layer) for r in created
    ]
    assert [r.picture and r.picture.read_bytes() for r in read] == [
        r.picture and r.picture.read_bytes() for r in created
    ]


def test_the_entities_notation_holds_the_same_layers(tmp_path):
    out = tmp_path / "sample"
    call_command("make_sample", str(out), images=4, seed=9, format="entities")
    read = list(FORMATS.get("entities").read(out))
    assert {r.id: r.layer for r in read} == {r.id: r.layer for r in sample_records(4, seed=9)}


def test_the_report_counts_what_was_written(tmp_path, capsys):
    call_command("make_sample", str(tmp_path / "sample"), images=2, seed=9, json=True)
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["counts"]["images"] == 2
    assert report["counts"]["captions"] == 10
    assert report["images_per_second"] > 0


def test_a_sheet_shows_the_first_pictures(tmp_path):
    call_command("make_sample", str(tmp_path / "sample"), images=3, seed=9, sheet=tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width == 1280


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "kept.txt").write_text("mine")
    with pytest.raises(CommandError, match="already exists; expected a new or an empty folder"):
        call_command("make_sample", str(tmp_path), images=1)
    assert [file.name for file in tmp_path.iterdir()] == ["kept.txt"]


def test_no_images_are_no_corpus(tmp_path):
    with pytest.raises(CommandError, match="--images is 0; expected 1 or more"):
        call_command("make_sample", str(tmp_path / "new"), images=0)


def test_an_unknown_format_names_the_known_ones(tmp_path):
    with pytest.raises(CommandError, match="unknown format 'yaml'; known: .*jsonl"):
        call_command("make_sample", str(tmp_path / "new"), images=1, format="yaml")
    assert not (tmp_path / "new").exists()


def test_what_fails_half_way_leaves_nothing(tmp_path, monkeypatch):
    def broken(count, *, seed, out, parses):
        yield from sample_records(1, seed=seed, out=out, parses=parses)
        raise OSError("no space left")

    monkeypatch.setattr("config.management.commands.make_sample.sample_records", broken)
    with pytest.raises(CommandError, match="no space left"):
        call_command("make_sample", str(tmp_path / "new"), images=2, parses=tmp_path / "parses")
    assert list(tmp_path.iterdir()) == []
