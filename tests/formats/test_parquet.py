"""Parquet: how another tool reads the tables."""

from __future__ import annotations

import pyarrow as pa
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
        (r["chain"], r["categories"], r["mentions"], r["boxes"], r["object"], r["scene"], r["nobndbox"])
        for r in rows(tmp_path, "chains")
    ] == [("1", ["animals", "other"], 1, 1, None, None, None), ("2", ["other"], 1, 1, 0, True, False)]
    assert rows(tmp_path, "boxes") == [
        {"image": "a", "object": 1, "chains": ["1", "2"], "by_model": False}
        | {"xmin": 1, "ymin": 2, "xmax": 3, "ymax": 4}
    ]


def test_rows_are_written_in_groups_and_none_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr("annotation.formats.parquet.ROW_GROUP", 4)
    corpus = (ImageRecord(str(n), f"{n}.jpg", (CaptionRecord("A dog"),)) for n in range(10))
    FORMATS.get("parquet").write(corpus, tmp_path)
    assert [row["image"] for row in rows(tmp_path, "captions")] == [str(n) for n in range(10)]
    assert pq.ParquetFile(tmp_path / "captions.parquet").num_row_groups == 3


def rewrite(folder, table, change):
    rows_of_table = rows(folder, table)
    change(rows_of_table)
    pq.write_table(pa.Table.from_pylist(rows_of_table), folder / f"{table}.parquet")


@pytest.mark.parametrize(
    ("table", "change", "problem"),
    [
        ("mentions", lambda rows: rows[0].update(end=9), "words 0 to 9 of caption 0 do not exist"),
        ("mentions", lambda rows: rows[0].update(chain="7"), "image 'a', mention 0:0-2: its chain is"),
        ("mentions", lambda rows: rows[0].update(image="b"), "the rows of image 'b' do not stand where"),
        ("boxes", lambda rows: rows[0].update(xmin=9), "row 1: box 9,2,3,4 is not valid"),
        ("boxes", lambda rows: rows[0].pop("by_model"), "has no column by_model"),
        ("images", lambda rows: rows[0].update(width=None), "row 1: 'width' is None"),
        ("captions", lambda rows: rows[0].update(text=""), "image 'a': caption 1 is empty"),
    ],
)
def test_tables_that_contradict_each_other_are_refused(tmp_path, table, change, problem):
    FORMATS.get("parquet").write([IMAGE], tmp_path)
    rewrite(tmp_path, table, change)
    with pytest.raises(FormatError) as error:
        list(FORMATS.get("parquet").read(tmp_path))
    assert problem in error.value.problem


def test_a_table_that_is_missing_or_none_is_named(tmp_path):
    FORMATS.get("parquet").write([IMAGE], tmp_path)
    (tmp_path / "boxes.parquet").write_bytes(b"PAR1")
    with pytest.raises(FormatError, match="boxes.parquet"):
        list(FORMATS.get("parquet").read(tmp_path))
    (tmp_path / "boxes.parquet").unlink()
    with pytest.raises(FormatError, match="boxes.parquet: does not exist"):
        list(FORMATS.get("parquet").read(tmp_path))
