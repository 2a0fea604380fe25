"""Hugging Face: how `datasets` and the hub read the shards and the card."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image

from annotation.formats import FORMATS
from annotation.formats.base import Written
from annotation.formats.hugging_face import shards
from annotation.protocol.terms import (
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)

LAYER = LayerRecord(
    (
        Chain("1", (Mention(0, 0, 2, ("A", "dog"), ("animals", "other")),)),
        Chain("2", (Mention(0, 3, 4, ("field",), ("scene",)),)),
    ),
    (LayerObject(("1",), Box(2, 3, 5, 7), by_model=True), LayerObject(("2",), None, scene=True)),
)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    file = tmp_path / "kept.jpg"
    Image.new("RGB", (9, 8), "teal").save(file)
    return file


def images(picture: Path | None) -> list[ImageRecord]:
    message = (CaptionRecord("A dog in field"), CaptionRecord("No dog's here", ("No", "dog", "'s"), id="7"))
    return [
        ImageRecord("a", "a.jpg", message, "train", 9, 8, picture, LAYER, "12"),
        ImageRecord("b", "b.jpg", message[:1], "val"),
        ImageRecord("c", "c.jpg", (), "train"),
        ImageRecord("d", "d.jpg", ()),
    ]


def write(records: Any, folder: Path) -> Written:
    folder.mkdir()
    written = FORMATS.get("huggingface").write(records, folder)
    add_front(folder, written)
    return written


def add_front(folder: Path, written: Written, licence: str = "CC BY-SA 4.0") -> None:
    matter = FORMATS.get("huggingface").front_matter("harbour", licence, written)
    (folder / "README.md").write_text(matter)


def front(folder: Path) -> Any:
    """Return the front matter of the card."""
    _, matter, text = (folder / "README.md").read_text().split("---\n", 2)
    assert text == "\n"
    return yaml.safe_load(matter)


def test_a_row_holds_the_record_and_the_bytes_of_its_picture(tmp_path: Path, picture: Path) -> None:
    written = write(images(picture), tmp_path / "out")
    assert written.excluded == {}
    assert written.counts == {
        "images": 4,
        "captions": 3,
        "mentions": 2,
        "chains": 2,
        "boxes": 1,
        "pictures": 1,
    }
    first, third = pq.read_table(tmp_path / "out/data/train-00000-of-00001.parquet").to_pylist()
    assert first["image"] == {"bytes": picture.read_bytes(), "path": "a.jpg"}
    assert Image.open(io.BytesIO(first["image"]["bytes"])).size == (9, 8)
    assert [first[key] for key in ("image_id", "split", "width", "external_id", "position", "covered")] == [
        *("a", "train", 9, "12", 0, True)
    ]
    assert first["captions"][1] == {
        "text": "No dog's here",
        "words": ["No", "dog", "'s"],
        "id": "7",
        "unrelated": False,
    }
    assert first["phrases"][0] == {
        "caption": 0,
        "start": 0,
        "end": 2,
        "text": "A dog",
        "chain": "1",
        "categories": ["animals", "other"],
    }
    assert first["boxes"] == [{"bbox": [1, 2, 4, 5], "chains": ["1"], "by_model": True}]
    assert [(chain["id"], chain["scene"], chain["nobndbox"]) for chain in first["chains"]] == [
        *(("1", None, None), ("2", True, False))
    ]
    assert (third["image"], third["position"], third["covered"]) == (None, 2, False)


def test_the_schema_the_card_and_the_files_say_the_same(tmp_path: Path, picture: Path) -> None:
    folder = tmp_path / "out"
    write(images(picture), folder)
    schema = pq.read_schema(folder / "data/train-00000-of-00001.parquet")
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    matter = front(folder)
    assert features["image"] == {"_type": "Image"}
    assert schema.field("image").type == pa.struct({"bytes": pa.binary(), "path": pa.string()})
    assert (
        list(features) == schema.names == [feature["name"] for feature in matter["dataset_info"]["features"]]
    )
    assert features["captions"][0]["words"] == [{"dtype": "string", "_type": "Value"}]
    (captions,) = [feature for feature in matter["dataset_info"]["features"] if feature["name"] == "captions"]
    assert captions["list"][:2] == [{"name": "text", "dtype": "string"}, {"name": "words", "list": "string"}]
    splits = {feature["split"]: feature["path"] for feature in matter["configs"][0]["data_files"]}
    assert splits == {
        "train": "data/train-*",
        "validation": "data/validation-*",
        "unsplit": "data/unsplit-*",
    }
    counted = [
        {**feature, "num_bytes": feature["num_bytes"] > 0} for feature in matter["dataset_info"]["splits"]
    ]
    assert counted == [
        {
            "num_bytes": True,
            "name": split,
            "num_examples": sum(pq.read_metadata(f).num_rows for f in folder.glob(path)),
        }
        for split, path in splits.items()
    ]
    assert matter["license"] == "cc-by-sa-4.0" and "object-detection" in matter["task_categories"]


@pytest.mark.parametrize(
    ("licence", "reported"),
    [
        ("", {"license": "unknown"}),
        ("CC0 1.0", {"license": "cc0-1.0"}),
        ('Ask "us": first', {"license": "other", "license_name": 'Ask "us": first'}),
    ],
)
def test_a_licence_is_told_as_the_hub_knows_it(
    licence: str, reported: dict[str, str], tmp_path: Path
) -> None:
    entry = FORMATS.get("huggingface")
    written = entry.write(images(None), tmp_path)
    add_front(tmp_path, written, licence)
    result = front(tmp_path)
    assert {key: value for key, value in result.items() if key.startswith("license")} == reported


def test_shards_are_numbered_and_hold_rows_in_their_order(
    tmp_path: Path, picture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "GROUP_ROWS", 2)
    monkeypatch.setattr(shards, "SHARD_BYTES", 4 * picture.stat().st_size)
    records = [ImageRecord(f"{n}", f"{n}.jpg", (), "train", picture=picture) for n in range(10)]
    written = write(records, tmp_path / "out")
    files = [file.name for file in written.files if file.suffix == ".parquet"]
    assert files == [f"train-0000{n}-of-00003.parquet" for n in range(3)]
    tables = [pq.read_table(tmp_path / "out/data" / file) for file in files]
    assert [id for table in tables for id in table["image_id"].to_pylist()] == [f"{n}" for n in range(10)]
    assert pq.read_metadata(tmp_path / "out/data" / files[0]).num_row_groups == 2


def test_memory_holds_a_group_of_pictures_and_never_a_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "GROUP_BYTES", 2**20)
    heavy = tmp_path / "heavy.jpg"
    heavy.write_bytes(bytes(range(256)) * 1024)

    def many() -> Iterator[ImageRecord]:
        for n in range(120):
            yield ImageRecord(f"{n}", f"{n}.jpg", (), "train", picture=heavy)

    FORMATS.get("huggingface").write(iter(images(None)), _new(tmp_path / "first"))  # loads pyarrow
    held = pa.total_allocated_bytes()
    tracemalloc.start()
    FORMATS.get("huggingface").write(many(), _new(tmp_path / "out"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 2**20 < 120 * 256 * 1024
    assert pa.total_allocated_bytes() - held < 2**20


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder
