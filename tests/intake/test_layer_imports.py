"""Layers from other tools by command, page and API: what is imported, counted, and exported again."""

from __future__ import annotations

import json
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.datasets.exporting import export_dataset
from annotation.models import Box, Chain, Corpus, Layer
from annotation.protocol.terms import Box as BoxRecord
from annotation.protocol.terms import ImageRecord, LayerRecord
from annotation.selectors.corpora import layer_named
from annotation.selectors.datasheet.figures import datasheet_figures
from annotation.selectors.records import stream_records
from tests.api.v1.conftest import Caller
from tests.factories import a_corpus, an_image
from tests.formats.test_layers import CVAT, LABEL_STUDIO
from tests.web import world

pytestmark = pytest.mark.django_db


def image(id: str, filename: str, width: int, height: int) -> ImageRecord:
    caption = an_image(id, "A dog runs .", layered=False).captions
    return ImageRecord(id, filename, caption, width=width, height=height)


@pytest.fixture
def reader(db: None) -> Client:
    """A signed-in researcher."""
    return world.signed_in("ada", "researcher")


@pytest.fixture
def corpus(tmp_path: Path, settings) -> Corpus:
    settings.DATA_DIR = tmp_path / "data"
    records = [
        image("a", "beach/a.jpg", 640, 480),
        image("a_b", "a_b.jpg", 200, 100),
        image("c d", "c d.jpg", 200, 100),
        image("other", "b.jpg", 48, 64),
    ]
    return a_corpus("quay", records)


def cvat_zip(folder: Path) -> Path:
    """Write a zip like a CVAT download: the pictures may lie beside the file."""
    path = folder / "job_7_cvat.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("annotations.xml", CVAT)
    return path


def by_command(*arguments: object) -> str:
    out = StringIO()
    call_command("import_layer", *map(str, arguments), stdout=out)
    return out.getvalue()


def layers_of(corpus: Corpus, name: str) -> dict[str, LayerRecord]:
    layer = layer_named(corpus, name)
    records = stream_records(corpus=corpus, layer=layer)
    return {record.id: record.layer for record in records if record.layer is not None}


def test_nothing_is_imported_before_what_is_left_is_confirmed(corpus: Corpus, tmp_path: Path):
    file = cvat_zip(tmp_path)
    with pytest.raises(
        CommandError, match="--leave-unused: .*images: 1 that the corpus has in another size.*b.jpg"
    ):
        by_command("quay", "cvat", file, "--format", "cvat")
    assert not Layer.objects.exists() and not Chain.objects.exists() and not Box.objects.exists()
    said = by_command("quay", "cvat", file, "--format", "cvat", "--leave-unused")
    assert "boxes: 3 found, 3 taken" in said and "outlines: 1 found, 0 taken, left: 1 not supported" in said
    assert layers_of(corpus, "cvat")["a"].chains[0].phrases == ("a brown dog",)
    with pytest.raises(CommandError, match="exists already"):
        by_command("quay", "cvat", file, "--format", "cvat", "--leave-unused")
    by_command("quay", "cvat", file, "--format", "cvat", "--leave-unused", "--replace")
    assert Layer.objects.count() == 1 and Box.objects.count() == 3


@pytest.mark.parametrize("key", ["cvat", "label_studio", "coco", "jsonl", "parquet"])
def test_a_layer_of_labels_goes_out_and_comes_in_as_the_same(key: str, corpus: Corpus, tmp_path: Path):
    by_command("quay", "first", cvat_zip(tmp_path), "--format", "cvat", "--leave-unused")
    studio = tmp_path / "export.json"
    studio.write_text(json.dumps(LABEL_STUDIO), encoding="utf-8")
    by_command("quay", "second", studio, "--format", "label_studio", "--leave-unused")
    for name in ("first", "second"):
        out = tmp_path / f"{name}-{key}"
        export_dataset(corpus="quay", format=key, out=out, layer=name)
        source = out / "label_studio.json" if key == "label_studio" else out
        by_command("quay", f"{name}-again", source, "--format", key)
        assert layers_of(corpus, f"{name}-again") == layers_of(corpus, name)
        assert layers_of(corpus, name)


def test_a_layer_of_labels_is_on_pages_and_in_the_datasheet(corpus: Corpus, tmp_path: Path, reader: Client):
    by_command("quay", "cvat", cvat_zip(tmp_path), "--format", "cvat", "--leave-unused")
    page = reader.get(reverse("image", args=["quay", "a"])).content.decode()
    assert "a brown dog" in page and "dog" in page and "no mention" not in page
    assert "<option>kite</option>" in reader.get(reverse("corpus", args=["quay"])).content.decode()
    shown = reader.get(reverse("corpus", args=["quay"]), {"category": "kite"}).content.decode()
    assert (
        reverse("image", args=["quay", "a"]) in shown
        and reverse("image", args=["quay", "other"]) not in shown
    )
    figures = datasheet_figures(corpus, layer_named(corpus), corpus.images.all(), None)
    assert figures["layer"]["labels"] == {"dog": 1, "kite": 1, "man": 1}
    out = tmp_path / "out"
    export_dataset(corpus="quay", format="entities", out=out)
    sheet = (out / "README.md").read_text(encoding="utf-8")
    assert "3 labels from another tool, of so many chains: dog (1), kite (1), man (1)" in sheet
    assert "imported from “job\\_7\\_cvat.zip” (cvat)" in sheet
    assert "Not in the files: the labels and phrases that came with 3 chains" in sheet


def test_the_page_says_what_is_left_and_then_what_came(corpus: Corpus, tmp_path: Path, reader: Client):
    assert (
        reverse("operation", args=["import_layer"])
        in reader.get(reverse("manage_corpus", args=["quay"])).content.decode()
    )
    fields = {"corpus": "quay", "layer": "cvat", "format": "cvat"}

    def sent(**more: str) -> str:
        file = SimpleUploadedFile("job.zip", cvat_zip(tmp_path).read_bytes())
        return reader.post("/operations/import_layer/", {**fields, "file": file, **more}).content.decode()

    assert "outlines: 1 not supported by layers" in sent() and not Layer.objects.exists()
    page = sent(leave_unused="on")
    assert "outlines: 1 found, 0 taken" in page and layers_of(corpus, "cvat").keys() == {"a"}


def test_the_api_says_the_same(corpus: Corpus, tmp_path: Path):
    caller = Caller(world.account("ruth", "researcher"))

    def sent(**more: str):
        file = SimpleUploadedFile("annotations.xml", CVAT.encode())
        body = {"layer": "cvat", "format": "cvat", "file": file, **more}
        return caller.client.post("/api/v1/corpora/quay/layers", body)

    answer = sent()
    assert answer.status_code == 400 and "outlines: 1" in answer.json()["errors"][0]["detail"]
    result = sent(leave_unused="true").json()
    assert (result["images"], result["boxes"], result["labels"]) == (1, 3, 3)
    lines = {line["kind"]: (line["found"], line["taken"]) for line in result["sheet"]["lines"]}
    assert lines["images"] == (2, 1) and lines["boxes"] == (3, 3) and lines["masks"] == (1, 0)


def test_command_page_and_api_ask_for_the_frame_of_boxes_that_no_size_tells(
    corpus: Corpus, tmp_path: Path, reader: Client
):
    corpus.images.filter(key="a").update(orientation=3)
    file = cvat_zip(tmp_path)
    caller = Caller(world.account("ruth", "researcher"))

    def request(layer: str, **frame: str) -> dict[str, Any]:
        upload = SimpleUploadedFile("job.zip", file.read_bytes())
        return {"layer": layer, "format": "cvat", "file": upload, "leave_unused": "true", **frame}

    ask = ("quay", "command", file, "--format", "cvat", "--leave-unused")
    with pytest.raises(CommandError, match=r"--frame: EXIF turned 1 of the pictures .*beach/a\.jpg"):
        by_command(*ask)
    page = reader.post("/operations/import_layer/", {"corpus": "quay", **request("page")}).content.decode()
    assert "EXIF turned 1 of the pictures" in page
    (error,) = caller.client.post("/api/v1/corpora/quay/layers", request("api")).json()["errors"]
    assert error["field"] == "frame" and "EXIF turned 1 of the pictures" in error["detail"]
    assert not Layer.objects.exists()
    by_command(*ask, "--frame", "raw")
    reader.post("/operations/import_layer/", {"corpus": "quay", **request("page", frame="raw")})
    caller.client.post("/api/v1/corpora/quay/layers", request("api", frame="raw"))
    turned = layers_of(corpus, "command")
    assert turned["a"].objects[0].box == BoxRecord(531, 261, 630, 460)
    assert turned == layers_of(corpus, "page") == layers_of(corpus, "api")


def test_names_that_campaigns_or_others_have_are_refused(corpus: Corpus, tmp_path: Path):
    file = cvat_zip(tmp_path)
    with pytest.raises(CommandError, match="Campaigns take the phrases"):
        by_command("quay", "import", file, "--format", "cvat")
    corpus.layers.create(name="run", source="campaign", published=True)
    with pytest.raises(CommandError, match="exists already"):
        by_command("quay", "run", file, "--format", "cvat", "--leave-unused", "--replace")
    with pytest.raises(CommandError, match="No such|does not exist|no such"):
        by_command("quay", "new", tmp_path / "none.xml", "--format", "cvat")


def test_a_file_of_other_images_says_so(corpus: Corpus, tmp_path: Path):
    file = tmp_path / "annotations.xml"
    file.write_text(CVAT.replace("a.jpg", "x.jpg").replace("b.jpg", "y.jpg"), encoding="utf-8")
    with pytest.raises(
        CommandError, match="Nothing is imported.*images: 2 found, 0 taken, left: 2 without a match.*x.jpg"
    ):
        by_command("quay", "new", file, "--format", "cvat", "--leave-unused")
