"""Every import reports what it found, imported and skipped, and why; unused data must be confirmed once."""

from __future__ import annotations

import csv
import io
import json
import random
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from PIL import Image as Picture

from annotation.common.operations import Invalid
from annotation.datasets.importing import import_corpus
from annotation.datasets.intake import ImportHow, ImportReport
from annotation.formats import FORMATS
from annotation.models import Caption, Corpus, Image
from annotation.protocol.terms import CaptionRecord, ImageRecord
from phrasebox.balance import BalanceSheet

pytestmark = pytest.mark.django_db


def png(colour: int = 0, size: tuple[int, int] = (8, 6)) -> bytes:
    out = io.BytesIO()
    Picture.new("RGB", size, (colour % 256, 90, 120)).save(out, "PNG")
    return out.getvalue()


def brought(path: Path, format: str = "csv", **how: Any) -> ImportReport:
    return import_corpus(name="c", path=path, format=format, how=ImportHow(**how))


def numbers(sheet: BalanceSheet) -> dict[str, tuple[int, int, dict[str, int]]]:
    """Return kind -> found, imported, and the number skipped for each reason."""
    return {
        line.kind: (line.found, line.taken, {rest.reason: rest.count for rest in line.left})
        for line in sheet.lines
    }


def packed(path: Path, files: dict[str, bytes | str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run readers in this process: other tests show that counts come from the reader processes."""

    def here(function: Callable[..., Iterator[Any]], *arguments: Any) -> Iterator[Any]:
        return function(*arguments)

    monkeypatch.setattr("annotation.datasets.importing.stream", here)
    monkeypatch.setattr("annotation.images.pictures.stream", here)


def as_csv(captions: list[tuple[str, str]]) -> dict[str, str]:
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerows([("image", "caption", "photographer"), *((*row, "Ann") for row in captions)])
    return {"captions.csv": out.getvalue()}


def as_lines(captions: list[tuple[str, str]]) -> dict[str, str]:
    lines = [f"{name}#{number}\t{text}" for number, (name, text) in enumerate(captions)]
    split = "\n".join(["sound.png", "elsewhere.png"])
    return {"Flickr8k.token.txt": "\n".join(lines), "Flickr_8k.trainImages.txt": split}


def as_coco(captions: list[tuple[str, str]]) -> dict[str, str]:
    names = list(dict.fromkeys(name for name, _ in captions))
    images: list[dict[str, Any]] = [{"id": number, "file_name": name} for number, name in enumerate(names)]
    annotations = [
        {"id": number, "image_id": names.index(name), "caption": text}
        for number, (name, text) in enumerate(captions)
    ]
    instances = {"images": images, "annotations": [{"bbox": [1, 1, 2, 2]}, {"bbox": [1, 1, 3, 3]}]}
    return {
        "captions.json": json.dumps({"images": images, "annotations": annotations}),
        "instances.json": json.dumps(instances),
    }


def as_sentences(captions: list[tuple[str, str]]) -> dict[str, str]:
    lines: dict[str, list[str]] = {}
    for name, text in captions:
        lines.setdefault(f"Sentences/{name.removesuffix('.png')}.txt", []).append(text)
    return {name: "\n".join(texts) for name, texts in lines.items()}


def by_image(captions: list[tuple[str, str]]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for name, text in captions:
        texts.setdefault(name, []).append(text)
    return texts


def as_karpathy(captions: list[tuple[str, str]]) -> dict[str, str]:
    images = [
        {"filename": name, "split": "train", "sentences": [{"raw": text} for text in texts]}
        for name, texts in by_image(captions).items()
    ]
    return {"dataset_small.json": json.dumps({"images": images, "dataset": "small"})}


def as_entries(captions: list[tuple[str, str]]) -> dict[str, str]:
    entries = {name: [*texts, f"pictures/{name}"] for name, texts in by_image(captions).items()}
    return {"flickr30k.json": json.dumps(entries)}


def as_json_lines(captions: list[tuple[str, str]]) -> dict[str, str]:
    rows = (
        {"id": name, "filename": name, "captions": [{"text": text} for text in texts]}
        for name, texts in by_image(captions).items()
    )
    return {"corpus.jsonl": "\n".join(map(json.dumps, rows))}


def as_metadata(captions: list[tuple[str, str]]) -> dict[str, str]:
    rows = ({"file_name": name, "text": text, "photographer": "Ann"} for name, text in captions)
    return {"metadata.jsonl": "\n".join(map(json.dumps, rows))}


def as_parquet(captions: list[tuple[str, str]]) -> dict[str, bytes]:
    records = (
        ImageRecord(name, name, tuple(CaptionRecord(text) for text in texts if text))
        for name, texts in by_image(captions).items()
    )
    with tempfile.TemporaryDirectory() as folder:
        FORMATS.get("parquet").write(records, Path(folder))
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


WRITERS: dict[str, Callable[[list[tuple[str, str]]], Mapping[str, bytes | str]]] = {
    "csv": as_csv,
    "flickr8k": as_lines,
    "coco": as_coco,
    "entities": as_sentences,
    "karpathy": as_karpathy,
    "flickr30k": as_entries,
    "jsonl": as_json_lines,
    "jsonl, metadata": as_metadata,
    "parquet": as_parquet,
}


def random_files(rng: random.Random, writer: str) -> dict[str, bytes | str]:
    """Return captions and pictures in several folders, some without the other, some bad, among other
    files."""
    captions, files = [("sound.png", "A first one .")], {"sound.png": png()}
    for number in range(rng.randint(1, 9)):
        name = f"p{number}.png"
        if rng.random() < 0.8:
            texts = ["A dog runs .", "A cat .", "", "A bird sings ."]
            captions += [(name, rng.choice(texts)) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.8:
            data = png(number, rng.choice([(8, 6), (8, 6), (1, 1), (300, 3)]))
            folder = rng.choice(["", "images/", "train2014/", "images/train/"])
            files[f"{folder}{name}"] = data[: rng.choice([20, len(data), len(data)])]
        if rng.random() < 0.1:
            files[f"other/{name}"] = png(number)
    for name in ("__MACOSX/._p1.png", ".DS_Store", "README.txt", "notes.txt", "more.zip", "thumbs/t.jpg"):
        if rng.random() < 0.4:
            files[name] = b"x"
    return {**files, **WRITERS[writer](captions)}


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize("writer", WRITERS)
def test_of_random_sources_everything_was_taken_or_has_a_reason(writer: str, tmp_path: Path):
    format = writer.partition(",")[0]
    for seed in range(4):
        files = random_files(random.Random(f"{writer}{seed}"), writer)
        path = packed(tmp_path / f"{seed}.zip", files)
        report = brought(path, format, skip_problems=True, leave_unused=True)
        assert report.sheet.balanced, (seed, report.sheet)
        sheet, corpus = numbers(report.sheet), Corpus.objects.get(name="c")
        nothing: tuple[int, int, dict[str, int]] = (0, 0, {})
        pictures = [
            name for name in files if name.endswith((".png", ".jpg")) and not name.startswith("__MACOSX")
        ]
        in_use = corpus.images.exclude(picture="").count()
        assert sheet.get("pictures", nothing)[:2] == (len(pictures), in_use), seed
        assert sheet["images"][1] == corpus.images.count() > 0
        assert sheet["captions"][1] == Caption.objects.filter(image__corpus=corpus).count()
        assert sheet["files"][0] == len(files) - len(pictures)
        assert brought(path, format, dry_run=True).sheet.balanced
        corpus.images.all().delete()
        corpus.delete()


def test_pictures_in_folders_are_taken_by_command_and_a_packed_archive_is_told(
    tmp_path: Path, data_dir: Path
):
    files: dict[str, bytes | str] = {"c.csv": "image,caption\na.png,a dog\nb.png,a cat\n"}
    files["train2014/a.png"] = png()
    path = packed(tmp_path / "c.zip", {**files, "images/train/b.png": png(1), "more.zip": b"PK"})
    with pytest.raises(CommandError, match=r"--leave-unused: Found and not used: files: 1 packed .*zip"):
        call_command("import_corpus", "c", str(path), "--format", "csv")
    assert not Corpus.objects.exists()
    out = io.StringIO()
    call_command("import_corpus", "c", str(path), "--format", "csv", "--leave-unused", stdout=out)
    assert "pictures: 2 found, 2 taken\n" in out.getvalue()
    assert "files: 2 found, 1 taken, left: 1 packed within the source" in out.getvalue()


def test_a_folder_of_pictures_beside_a_file_of_captions_is_taken(tmp_path: Path, data_dir: Path):
    (tmp_path / "c.csv").write_text("image,caption\na.png,a dog\n")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(png())
    assert numbers(brought(tmp_path / "c.csv").sheet)["pictures"] == (1, 1, {})


def test_a_source_that_contains_data_dir_has_none_of_its_files(tmp_path: Path, settings: Any):
    settings.DATA_DIR = tmp_path / "source" / "var"
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "c.csv").write_text("image,caption\na.png,a dog\n")
    (tmp_path / "source" / "a.png").write_bytes(png())
    for unchanged in (False, True):
        report = brought(tmp_path / "source")
        assert report.unchanged is unchanged
        assert numbers(report.sheet)["pictures"] == (1, 1, {})
        assert numbers(report.sheet)["files"] == (1, 1, {})
        (settings.DATA_DIR / "exports").mkdir(exist_ok=True)
        (settings.DATA_DIR / "exports" / "d.csv").write_text("image,caption\na.png,a cat\n")


def test_thumbnails_are_no_pictures_unless_their_folder_is_named(tmp_path: Path, data_dir: Path):
    for folder in ("thumbs", "photos"):
        (tmp_path / "c.csv").write_text("image,caption\na.png,a dog\n")
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.png").write_bytes(png())
        pictures = numbers(brought(tmp_path, dry_run=True).sheet)["pictures"]
        assert pictures == ((1, 0, {"not_read": 1}) if folder == "thumbs" else (2, 1, {"clutter": 1}))
    how = ImportHow(dry_run=True)
    named = import_corpus(name="c", path=tmp_path, format="csv", images=tmp_path / "thumbs", how=how)
    assert numbers(named.sheet)["pictures"] == (2, 1, {"no_caption": 1})


def test_known_clutter_is_one_line_and_needs_no_word(tmp_path: Path, data_dir: Path):
    clutter = dict.fromkeys(("README.md", ".DS_Store", "__MACOSX/._c.csv", "LICENSE"), "x")
    path = packed(tmp_path / "c.zip", {"c.csv": "image,caption\na.png,a dog\n", **clutter})
    assert numbers(brought(path).sheet)["files"] == (5, 1, {"clutter": 4})


def test_columns_lists_and_boxes_that_nobody_uses_are_told(tmp_path: Path, data_dir: Path):
    table = tmp_path / "c.csv"
    table.write_text("image,caption,photographer,img_id\na.png,a dog,Ann,1\n")
    with pytest.raises(Invalid, match=r"columns: 1 not read by this format \(photographer\)"):
        brought(table)
    assert numbers(brought(table, leave_unused=True).sheet)["columns"] == (
        4,
        2,
        {"not_read": 1, "clutter": 1},
    )
    folder = tmp_path / "coco"
    folder.mkdir()
    for name, text in as_coco([("a.png", "a dog")]).items():
        (folder / name).write_text(text)
    sheet = numbers(brought(folder, "coco", dry_run=True).sheet)
    assert sheet["boxes"] == (2, 0, {"not_read": 2})
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "Flickr8k.token.txt").write_text("a.jpg#0\tA dog")
    (lists / "Flickr_8k.trainImages.txt").write_text("a.jpg\nb.jpg\n")
    assert numbers(brought(lists, "flickr8k", dry_run=True).sheet)["names"] == (2, 1, {"unknown": 1})
    wrapped = packed(tmp_path / "c.zip", {f"c/{file.name}": file.read_text() for file in lists.iterdir()})
    assert numbers(brought(wrapped, "flickr8k", dry_run=True).sheet)["names"] == (2, 1, {"unknown": 1})


def test_turned_and_tiny_pictures_are_counted(tmp_path: Path, data_dir: Path):
    turned = Picture.new("RGB", (8, 6))
    exif = turned.getexif()
    exif[0x0112] = 6
    out = io.BytesIO()
    turned.save(out, "JPEG", exif=exif)
    files = {"a.jpg": out.getvalue(), "b.png": png(size=(3, 900)), "c.png": png()}
    rows = "".join(f"{name},a dog\n" for name in files)
    notes = brought(packed(tmp_path / "c.zip", {"c.csv": f"image,caption\n{rows}", **files})).sheet.notes
    assert {note.note: (note.count, note.examples) for note in notes} == {
        "turned": (1, ("a.jpg",)),
        "too_small": (1, ("b.png",)),
    }
    assert Image.objects.filter(corpus__name="c").count() == 3
