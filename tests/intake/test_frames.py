"""Pictures rotated by EXIF: the frame of sizes and boxes at import, in layers, datasheets and exports."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from PIL import Image as Picture

from annotation.datasets.exporting import export_dataset
from annotation.datasets.importing import import_corpus
from annotation.datasets.intake import IntakeError
from annotation.formats.jsonl import layer_row
from annotation.images.pictures import picture_path
from annotation.models import Box as BoxRow
from annotation.models import Corpus, Image
from annotation.protocol.terms import Box, Chain, LayerObject, LayerRecord

pytestmark = pytest.mark.django_db

WIDTH, HEIGHT = 40, 24
#: The red area of the picture, before any rotation.
RED = Box(5, 3, 20, 9)


def picture(path: Path, orientation: int, size: tuple[int, int]) -> Path:
    """Write a picture as a camera stores it, black with a red spot."""
    image = Picture.new("RGB", size)
    image.paste((255, 0, 0), (RED.xmin - 1, RED.ymin - 1, RED.xmax, RED.ymax))
    exif = image.getexif()
    exif[0x0112] = orientation
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, exif=exif)
    return path


def source(
    folder: Path,
    orientation: int,
    size: tuple[int, ...],
    box: Box | None,
    of_file: tuple[int, int] = (WIDTH, HEIGHT),
) -> Path:
    """Write a corpus of a picture with the stated size, with a box if given."""
    picture(folder / "images" / "a.png", orientation, of_file)
    layer = LayerRecord((Chain("1", (), "spot"),), (LayerObject(("1",), box),)) if box else None
    row = {
        "id": "a",
        "filename": "a.png",
        **({"width": size[0], "height": size[1]} if size else {}),
        "captions": [{"text": "a dog"}],
        "layer": layer_row(layer) if layer else None,
    }
    file = folder / "corpus.jsonl"
    file.write_text(json.dumps(row), encoding="utf-8")
    return file


def red_box(image: Image) -> Box:
    """Return the red area of the stored picture."""
    with Picture.open(picture_path(image.picture)) as stored:
        edges = stored.convert("RGB").getchannel("R").point(lambda value: 255 * (value > 128)).getbbox()
    assert edges is not None
    return Box(edges[0] + 1, edges[1] + 1, edges[2], edges[3])


def brought(file: Path, name: str = "c"):
    return import_corpus(name=name, path=file, format="jsonl", images=file.parent / "images")


@pytest.mark.parametrize("orientation", [5, 6, 7, 8])
def test_boxes_of_the_lying_picture_are_turned_with_it(orientation: int, tmp_path: Path):
    file = source(tmp_path, orientation, (WIDTH, HEIGHT), RED)
    report = brought(file)
    image, row = Image.objects.get(), BoxRow.objects.get()
    assert (image.width, image.height, image.orientation) == (HEIGHT, WIDTH, orientation)
    assert Box(row.xmin, row.ymin, row.xmax, row.ymax) == red_box(image)
    notes = {note.note: note.count for note in report.sheet.notes}
    assert (notes["turned"], notes["raw_frame"]) == (1, 1)
    assert brought(file).unchanged
    # The same for boxes imported later, from another tool.
    instances = {
        "images": [{"id": 1, "file_name": "a.png", "width": WIDTH, "height": HEIGHT}],
        "categories": [],
        "annotations": [{"image_id": 1, "bbox": [RED.xmin - 1, RED.ymin - 1, RED.width, RED.height]}],
    }
    (later := tmp_path / "instances.json").write_text(json.dumps(instances), encoding="utf-8")
    out = StringIO()
    call_command("import_layer", "c", "later", str(later), "--format", "coco", stdout=out)
    assert "size and boxes of the picture before EXIF turned it" in out.getvalue()
    row = BoxRow.objects.get(layer__name="later")
    assert Box(row.xmin, row.ymin, row.xmax, row.ymax) == red_box(image)


@pytest.mark.parametrize("orientation", [1, 5, 6, 7, 8])
def test_boxes_of_the_upright_picture_stay(orientation: int, tmp_path: Path):
    size = (HEIGHT, WIDTH) if orientation > 4 else (WIDTH, HEIGHT)
    report = brought(source(tmp_path, orientation, size, Box(1, 2, 3, 4)))
    row = BoxRow.objects.get()
    assert (row.xmin, row.ymin, row.xmax, row.ymax) == (1, 2, 3, 4)
    assert {note.note for note in report.sheet.notes} >= ({"turned"} if orientation > 1 else set())
    assert "raw_frame" not in {note.note for note in report.sheet.notes}


#: Orientation, the picture before its rotation, and the size that a source states: it fits both frames.
EITHER = [
    *((orientation, (WIDTH, HEIGHT), (WIDTH, HEIGHT)) for orientation in (2, 3, 4)),
    *((orientation, (WIDTH, WIDTH), (WIDTH, WIDTH)) for orientation in range(2, 9)),
    *((orientation, (WIDTH, HEIGHT), ()) for orientation in range(2, 9)),
]


@pytest.mark.parametrize(("orientation", "size", "stated"), EITHER)
def test_where_no_size_tells_the_frame_of_boxes_somebody_has_to(
    orientation: int, size: tuple[int, int], stated: tuple[int, ...], tmp_path: Path
):
    with pytest.raises(
        IntakeError, match=f"EXIF orientation {orientation} turns it.*layer.*says their frame"
    ):
        brought(source(tmp_path / "boxes", orientation, stated, RED, size))
    brought(source(tmp_path / "none", orientation, stated, None, size))
    image = Image.objects.get()
    sizes = {"width": stated[0], "height": stated[1]} if stated else {}
    instances = {
        "images": [{"id": 1, "file_name": "a.png", **sizes}],
        "categories": [],
        "annotations": [{"image_id": 1, "bbox": [RED.xmin - 1, RED.ymin - 1, RED.width, RED.height]}],
    }
    (later := tmp_path / "instances.json").write_text(json.dumps(instances), encoding="utf-8")
    ask = ("import_layer", "c", "later", str(later), "--format", "coco")
    with pytest.raises(CommandError, match=r"--frame: EXIF turned 1 of the pictures .*\(a\.png\)"):
        call_command(*ask)
    assert not BoxRow.objects.exists()
    for frame in ("raw", "upright"):
        out = StringIO()
        call_command(*ask, "--frame", frame, "--replace", stdout=out)
        assert ("before EXIF turned it" in out.getvalue()) is (frame == "raw")
        row = BoxRow.objects.get(layer__published=True)
        box = Box(row.xmin, row.ymin, row.xmax, row.ymax)
        assert box == (red_box(image) if frame == "raw" else clipped(RED, image))


def clipped(box: Box, image: Image) -> Box:
    return Box(box.xmin, box.ymin, min(box.xmax, image.width), min(box.ymax, image.height))


@pytest.mark.parametrize(("size", "box"), [((), RED), ((WIDTH, HEIGHT + 1), None)])
def test_what_fits_neither_frame_is_refused_with_the_reason(
    size: tuple[int, int], box: Box | None, tmp_path: Path
):
    file = source(tmp_path, 6, size, Box(1, 1, WIDTH, HEIGHT) if box else None)
    with pytest.raises(CommandError, match="EXIF"):
        call_command(
            "import_corpus", "c", str(file), "--format", "jsonl", "--images", str(tmp_path / "images")
        )
    assert not Corpus.objects.exists()


def test_datasheet_and_export_say_that_pictures_were_turned(tmp_path: Path):
    brought(source(tmp_path / "c", 6, (HEIGHT, WIDTH), None))
    written = export_dataset(corpus="c", format="jsonl", out=tmp_path / "out")
    (note,) = written.notes
    assert note.startswith("Turned: 1 of 1 pictures were turned upright") and "EXIF" in note
    sheet = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "1 picture was turned upright, as the EXIF data" in sheet
