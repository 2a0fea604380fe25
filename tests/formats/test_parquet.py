"""Parquet: what another tool finds in the tables."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from annotation.formats import FORMATS
from annotation.formats.parquet import PARQUET_TABLES
from annotation.protocol.terms import (
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from phrasebox.text_files import FormatError

IMAGE = ImageRecord(
    "a",
    "a.jpg",
    (CaptionRecord("A dog's ball", ("A", "dog", "'s", "ball")), CaptionRecord("no", id="7", unrelated=True)),
    split="val",
    width=9,
    height=8,
    layer=LayerRecord(
        (
            Chain("1", (Mention(0, 0, 2, ("A", "dog"), ("animals", "other")),)),
            Chain("2", (Mention(0, 3, 4, ("ball",), ("other",)),)),
        ),
        (LayerObject(("2",), None, scene=True), LayerObject(("1", "2"), Box(1, 2, 3, 4))),
    ),
    external_id="12",
)


def rows(folder, table):
    return pq.read_table(folder / f"{table}.parquet").to_pylist()


def test_the_tables_hold_the_record(tmp_path):
    written = FORMATS.get("parquet").write([IMAGE, ImageRecord("b", "b.jpg", ())], tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {f"{name}.parquet" for name in PARQUET_TABLES}
    assert written.counts == {"images": 2, "captions": 2, "mentions": 2, "chains": 2, "boxes": 1}
    assert [row["covered"] for row in rows(tmp_path, "images")] == [True, False]
    assert written.excluded == {}
    assert rows(tmp_path, "images")[0] == {
        "image": "a",
        "filename": "a.jpg",
        "split": "val",
        "width": 9,
        "height": 8,
        "external_id": "12",
        "covered": True,
    }
    assert rows(tmp_path, "captions") == [
        {
            "image": "a",
            "caption": 0,
            "text": "A dog's ball",
            "words": ["A", "dog", "'s", "ball"],
            "caption_id": "",
            "unrelated": False,
        },
        {"image": "a", "caption": 1, "text": "no", "words": ["no"], "caption_id": "7", "unrelated": True},
    ]
    assert rows(tmp_path, "mentions")[0] == {
        "image": "a",
        "caption": 0,
        "start": 0,
        "end": 2,
        "text": "A dog",
        "categories": ["animals", "other"],
        "chain": "1",
    }
    assert [
        (r["chain"], r["categories"], r["mentions"], r["boxes"], r["scene"], r["nobndbox"])
        for r in rows(tmp_path, "chains")
    ] == [("1", ["animals", "other"], 1, 1, None, None), ("2", ["other"], 1, 1, True, False)]
    assert rows(tmp_path, "boxes") == [
        {"image": "a", "box": 0, "chains": ["1", "2"], "by_model": False}
        | {"xmin": 1, "ymin": 2, "xmax": 3, "ymax": 4}
    ]


def test_rows_are_written_in_groups_and_none_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr("annotation.formats.parquet.ROW_GROUP", 4)
    corpus = (ImageRecord(str(n), f"{n}.jpg", (CaptionRecord("A dog"),)) for n in range(10))
    FORMATS.get("parquet").write(corpus, tmp_path)
    assert [row["image"] for row in rows(tmp_path, "captions")] == [str(n) for n in range(10)]
    assert pq.ParquetFile(tmp_path / "captions.parquet").num_row_groups == 3


def test_it_cannot_be_read(tmp_path):
    with pytest.raises(FormatError, match="format 'parquet' cannot be read"):
        list(FORMATS.get("parquet").read(tmp_path))
