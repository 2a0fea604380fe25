"""Import and export of real corpora. Skipped if the data are missing."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest
from PIL import Image as Picture

from annotation.datasets.exporting import export_dataset
from annotation.datasets.importing import import_corpus
from annotation.formats import FORMATS
from annotation.models import Corpus
from annotation.protocol.terms import ImageRecord
from annotation.selectors.corpora import layer_named
from annotation.selectors.records import stream_records
from tests.formats.vd_ref import VdRef
from tests.sizes import THOROUGH, sized

pytestmark = pytest.mark.django_db


def records(name: str) -> list[ImageRecord]:
    corpus = Corpus.objects.get(name=name)
    return list(stream_records(corpus=corpus, layer=layer_named(corpus)))


def test_the_entities_sample_comes_out_byte_for_byte(real_data: Path, tmp_path: Path):
    source = real_data / "entities_sample"
    report = import_corpus(name="sample", path=source, format="entities")
    assert (report.images, report.captions, report.pictures) == (5, 25, 5)
    assert (report.mentions, report.chains, report.not_visual) == (80, 33, 3)
    export_dataset(corpus="sample", format="entities", out=tmp_path / "out")
    sentences = sorted((source / "Sentences").iterdir())
    assert [f.name for f in sorted((tmp_path / "out" / "Sentences").iterdir())] == [f.name for f in sentences]
    for file in sentences:
        assert (tmp_path / "out" / "Sentences" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("format", ["entities", "flickr30k", "jsonl"])
def test_the_flickr30k_validation_captions_come_back(real_data: Path, tmp_path: Path, format: str):
    source = tmp_path / "validation.json"
    whole = json.loads((real_data / "flickr30k" / "validation.json").read_text("utf-8"))
    assert len(whole) == 1000
    source.write_text(json.dumps(dict(islice(whole.items(), sized(200, 1000)))), "utf-8")
    report = import_corpus(name="val", path=source, format="flickr30k")
    assert (report.images, report.captions, report.layer) == (sized(200, 1000), sized(1000, 5000), "")
    export_dataset(corpus="val", format=format, out=tmp_path / "out")
    import_corpus(name="again", path=tmp_path / "out", format=format)
    before = {r.id: [c.words for c in r.captions] for r in records("val")}
    assert {r.id: [c.words for c in r.captions] for r in records("again")} == before


def some_of_flickr8k(real: Path, out: Path, images: int) -> tuple[int, int]:
    """Copy the first `images` with a thumbnail, with captions, splits and thumbnails; return (images,
    captions)."""
    names = sorted(file.name for file in (real / "thumbnails").iterdir())[:images]
    (out / "thumbnails").mkdir(parents=True)
    for name in names:
        (out / "thumbnails" / name).symlink_to(real / "thumbnails" / name)
    for file in real.glob("Flickr*8k*.txt"):
        if "lemma" not in file.name:
            lines = file.read_text("utf-8").splitlines(keepends=True)
            stored = [line for line in lines if line.split("#")[0].strip() in names]
            (out / file.name).write_text("".join(stored), "utf-8")
    captions = (out / "Flickr8k.token.txt").read_text("utf-8").count("\n")
    return len(names), captions


def test_flickr8k_with_its_thumbnails(real_data: Path, tmp_path: Path):
    folder, size = real_data / "flickr8k", (8092, 40460, 1000)
    if not THOROUGH:
        images, captions = some_of_flickr8k(folder, tmp_path / "some", 100)
        folder, size = tmp_path / "some", (images, captions, images)
    report = import_corpus(name="f8k", path=folder, format="flickr8k", images=folder / "thumbnails")
    assert (report.images, report.captions, report.pictures) == size
    assert size[2] >= 100 and size[1] == 5 * size[0]
    for record in stream_records(corpus=Corpus.objects.get(name="f8k")):
        if record.picture:
            with (
                Picture.open(record.picture) as file,
                Picture.open(folder / "thumbnails" / record.filename) as source,
            ):
                assert (record.width, record.height) == file.size == source.size
                assert not file.getexif()


def test_visual_dialogues_import_with_nested_mentions_chains_and_boxes(real_data: Path, tmp_path: Path):
    expected = list(islice(VdRef(real_data / "vd_ref" / "val.jsonlines"), sized(200, 1063)))
    layers = [record.layer for record in expected if record.layer]
    mentions = sum(len(layer.mentions) for layer in layers)
    chains = sum(len(layer.chains) for layer in layers)
    boxes = sum(thing.box is not None for layer in layers for thing in layer.objects)
    (tmp_path / "table").mkdir()
    FORMATS.get("jsonl").write(expected, tmp_path / "table")
    report = import_corpus(name="vd-ref", path=tmp_path / "table", format="jsonl")
    reported = (report.images, report.mentions, report.chains, report.boxes)
    assert reported == (len(expected), mentions, chains, boxes)
    if THOROUGH:
        # 70 spans occur twice in their cluster, 42 in two clusters: a span is a mention of one chain.
        assert reported == (1063, 8995 - 70 - 42, 2503, 3074)
    assert records("vd-ref") == expected
