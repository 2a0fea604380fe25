"""Pictures without captions: a folder of them, or a list of their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from PIL import Image as Pillow

from annotation.datasets.importing import import_corpus
from annotation.datasets.intake import ImportHow
from annotation.models import Corpus
from tests.formats.reading import error_of, put, read


def pictures(folder: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Pillow.new("RGB", (20 + number, 10)).save(folder / name)
    return folder


def splits(folder: Path) -> dict[str, str]:
    return {record.filename: record.split for record in read("pictures", folder)}


def test_the_split_is_that_of_a_list_or_of_a_folder(tmp_path: Path) -> None:
    folder = pictures(tmp_path / "mine", "Train/a.jpg", "dev/b.png", "others/c.jpg", "others/d.jpg")
    put(folder / "test.txt", "c.jpg\na\nlacking.jpg\n")
    assert splits(folder) == {
        "Train/a.jpg": "test",
        "dev/b.png": "val",
        "others/c.jpg": "test",
        "others/d.jpg": "",
    }
    assert splits(folder / "Train") == {"a.jpg": ""}


def test_folders_around_all_pictures_are_no_part_of_their_names(tmp_path: Path) -> None:
    folder = pictures(tmp_path, "mine/train/a.jpg", "mine/train/b.jpg", "mine/.DS_Store.jpg", "thumbs/a.jpg")
    assert splits(folder) == {"a.jpg": "train", "b.jpg": "train"}


def test_a_list_is_the_images_in_its_order(tmp_path: Path) -> None:
    pictures(tmp_path, "b.jpg", "a.jpg", "c.jpg")
    assert [record.id for record in read("pictures", put(tmp_path / "list", "c.jpg\n\nb.jpg\n"))] == [
        "c",
        "b",
    ]
    assert error_of("pictures", put(tmp_path / "list", "c.jpg\nd.jpg\n")).line == 2


def test_a_file_that_may_contain_captions_is_refused(tmp_path: Path) -> None:
    put(pictures(tmp_path, "a.jpg") / "captions.csv", "image;caption\n")
    assert error_of("pictures", tmp_path).file.endswith("captions.csv")
    error_of("pictures", tmp_path / "empty")


def test_no_picture_is_left_out_for_its_lack_of_captions(db: None, tmp_path: Path) -> None:
    folder = pictures(tmp_path / "mine", "train/a.jpg", "test/b.jpg")
    put(folder / "test" / "broken.jpg", "no picture")
    report = import_corpus(name="bare", path=folder, format="pictures", how=ImportHow(skip_problems=True))
    assert (report.images, report.pictures, report.captions) == (2, 2, 0)
    assert [problem.file for problem in report.problems] == [str(folder / "test" / "broken.jpg")]
    assert Corpus.objects.get(name="bare").image_count == 2
    with pytest.raises(CommandError, match="has no caption, and csv cannot store that"):
        call_command("export_dataset", "bare", out=tmp_path / "out", format="csv", verbosity=0)
