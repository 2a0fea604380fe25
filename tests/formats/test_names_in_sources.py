"""One image has one name, however a source, its lists and the disk spell it; two images remain two."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.formats import FORMATS
from annotation.formats.base import problems_reported_to
from annotation.protocol.terms import CaptionRecord, ImageRecord
from phrasebox.text_files import FormatError

STEMS = st.sampled_from(["a", "café 1", "b.c", "1"])
ENDINGS = st.sampled_from([".jpg", ".JPG", ".png"])
NAMES = st.builds(lambda *parts: "".join(parts), st.sampled_from(["", "", "x/"]), STEMS, ENDINGS)
SPELLINGS = [
    str,
    lambda name: unicodedata.normalize("NFD", name),
    lambda name: name.replace(" ", "\u00a0"),
    lambda name: name.replace(".jpg", ".JPG"),
]
FILES = {
    "csv": ("captions.csv", lambda names: "image;Caption\n" + "".join(f"{name};A dog\n" for name in names)),
    "flickr8k": ("Flickr8k.token.txt", lambda names: "".join(f"{name}#0\tA dog\n" for name in names)),
    "flickr30k": ("captions.json", lambda names: json.dumps({name: ["A dog"] for name in names})),
    "karpathy": (
        "dataset.json",
        lambda names: json.dumps(
            {"images": [{"filename": name, "sentences": [{"raw": "A dog"}]} for name in names]}
        ),
    ),
    "coco": (
        "captions.json",
        lambda names: json.dumps(
            {
                "images": [{"id": n, "file_name": name, "width": 10.0} for n, name in enumerate(names)],
                "annotations": [
                    {"id": n, "image_id": float(n), "caption": "A dog"} for n, _ in enumerate(names)
                ],
            }
        ),
    ),
}


def as_rows(names: list[str]) -> str:
    rows = (
        {"id": f"id {n}", "filename": name, "captions": [{"text": "A dog"}]} for n, name in enumerate(names)
    )
    return "\n".join(map(json.dumps, rows))


#: Formats whose images have an id of their own, or lie in a folder with their captions.
MORE_FILES = {
    "jsonl": ("corpus.jsonl", as_rows),
    "jsonl, metadata": (
        "metadata.jsonl",
        lambda names: "\n".join(json.dumps({"file_name": name, "text": "A dog"}) for name in names),
    ),
}


def write_parquet(names: list[str], folder: Path) -> None:
    captions = (CaptionRecord("A dog"),)
    rows = [ImageRecord(f"id {n}", f"{n}", captions) for n, _ in enumerate(names)]
    FORMATS.get("parquet").write(rows, folder)
    table = pq.read_table(folder / "images.parquet")
    column = table.schema.get_field_index("filename")
    pq.write_table(table.set_column(column, "filename", pa.array(names)), folder / "images.parquet")


def read(format: str, folder: Path, images: Path | None = None) -> tuple[list[ImageRecord], list[str]]:
    problems: list[str] = []
    with problems_reported_to(lambda error: problems.append(str(error))):
        records: Iterator[ImageRecord] = FORMATS.get(format).read(folder, images=images)
        images_read: list[ImageRecord] = []
        try:
            images_read.extend(records)
        except FormatError as error:
            assert error.no_valid_image
    return images_read, problems


@pytest.mark.parametrize("format", [*FILES, *MORE_FILES, "parquet"])
@settings(max_examples=40)
@given(names=st.lists(NAMES, min_size=1, max_size=4, unique=True), spelling=st.data())
def test_every_image_has_its_own_picture_or_is_refused(tmp_path_factory, format, names, spelling):
    """No picture is another image's, and no image is left out without a word, whatever the spelling."""
    folder = tmp_path_factory.mktemp("source")
    images = folder / "pictures"
    images.mkdir()
    on_disk = {}
    for name in names:
        path = images / spelling.draw(st.sampled_from(SPELLINGS))(name)
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            path.write_text(name)
            on_disk[name] = path
    if format == "parquet":
        write_parquet(names, folder)
    else:
        file, text = {**FILES, **MORE_FILES}[format]
        (folder / file).write_text(text(names))
    records, problems = read(format.partition(",")[0], folder, images)
    assert len({record.id for record in records}) == len(records)
    pictures = [record.picture for record in records if record.picture]
    assert len(set(pictures)) == len(pictures)
    for record in records:
        if record.picture is not None:
            look = unicodedata.normalize("NFC", record.picture.read_text()).casefold()
            assert (
                look.rpartition("/")[2]
                == unicodedata.normalize("NFC", record.filename).casefold().rpartition("/")[2]
            )
    merged = {unicodedata.normalize("NFC", name).casefold() for name in names}
    assert len(records) + len(problems) >= len(merged)


@pytest.mark.parametrize("format", FILES)
def test_two_extensions_are_two_images_and_a_path_is_a_path(format, tmp_path):
    file, text = FILES[format]
    (tmp_path / file).write_text(text(["a.png", "a.jpg", "x/a.jpg", "y/b.jpg"]))
    for name in ("a.png", "a.jpg", "x/a.jpg", "b.jpg"):
        path = tmp_path / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    records, problems = read(format, tmp_path, tmp_path / "pictures")
    assert not problems
    assert [(r.id, r.filename) for r in records] == [
        ("a", "a.png"),
        ("a.jpg", "a.jpg"),
        ("x_a.jpg", "x/a.jpg"),
        ("b", "y/b.jpg"),
    ]
    assert [r.picture.read_text() for r in records if r.picture] == ["a.png", "a.jpg", "x/a.jpg", "b.jpg"]
    out = tmp_path / "out"
    out.mkdir()
    FORMATS.get(format).write(records, out)
    again, problems = read(format, out)
    assert not problems and [(r.id, r.filename) for r in again] == [(r.id, r.filename) for r in records]


def test_a_name_on_disk_that_looks_the_same_is_found_and_two_are_refused(tmp_path):
    (tmp_path / "captions.csv").write_text("image,caption\ncafé 1.jpg,A dog\n")
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "cafe\u0301\u202f1.JPG").write_text("one")
    ((record,), problems) = read("csv", tmp_path, tmp_path / "pictures")
    assert record.picture is not None and not problems
    (tmp_path / "pictures" / "café\u00a01.jpg").write_text("two")
    records, problems = read("csv", tmp_path, tmp_path / "pictures")
    assert (
        not records
        and len(problems) == 1
        and "\\u202f1.JPG" in ascii(problems[0])
        and "\\xa01" in ascii(problems[0])
    )


def test_lists_of_splits_name_images_with_folders_and_say_what_matches_nothing(tmp_path):
    (tmp_path / "Flickr8k.token.txt").write_text("a.jpg#enc#0\tA dog\na.jpg#zhm#1\tEine\nb.jpg#0\tA cat\n")
    (tmp_path / "Flickr_8k.valImages.txt").write_text("Flicker8k_Dataset/a.jpg\n")
    (tmp_path / "Flickr8k.testImages.txt").write_text("B.jpg\nb.JPG\n")
    (tmp_path / "Flickr_8k.trainImages.txt").write_text("c.jpg\n")
    records, problems = read("flickr8k", tmp_path)
    assert [(r.id, r.split, [c.id for c in r.captions]) for r in records] == [
        ("a", "val", ["a.jpg#enc#0", "a.jpg#zhm#1"]),
        ("b", "test", [""]),
    ]
    (problem,) = problems
    assert "Flickr_8k.trainImages.txt: names none of the images" in problem


def test_one_cause_is_one_problem(tmp_path):
    images = [
        {"id": 1, "file_name": "a.jpg", "width": None},
        {"id": 2**63, "file_name": "b.jpg"},
        {"id": 3, "file_name": "c.jpg"},
    ]
    captions = [{"id": n, "image_id": image["id"], "caption": f"x {n}"} for n in range(4) for image in images]
    for number, caption in enumerate(captions):
        caption["id"] = number
    (tmp_path / "captions.json").write_text(json.dumps({"images": images, "annotations": captions}))
    ((record,), problems) = read("coco", tmp_path)
    assert (record.id, len(record.captions)) == ("c", 4)
    assert (
        len(problems) == 2
        and "'width' is None" in problems[0]
        and "at most 9223372036854775807" in problems[1]
    )


@pytest.mark.parametrize("text", ["\u200b\u200b", "\u2060", "\u3164", "\u00ad", "\u2800"])
def test_a_caption_without_a_visible_character_is_none(tmp_path, text):
    (tmp_path / "c.csv").write_text(f"image,caption\na.jpg,{text}\n")
    records, problems = read("csv", tmp_path)
    assert not records and len(problems) == 1 and "no visible character" in problems[0]


TABLES = {
    "image,caption,Split\na.jpg,A dog,train\n": [("a", "train", ["A dog"])],
    "image_name| comment_number| comment\n1.jpg| 0| A dog .\n1.jpg| 4   A cat .\n": [
        ("1", "", ["A dog .", "A cat ."])
    ],
    'raw,sentids,split,filename\n"[""A dog"", ""A cat""]","[7, 8]",test,a.jpg\n': [
        ("a", "test", ["A dog", "A cat"])
    ],
    "file_name,text\na.jpg,A dog\n": [("a", "", ["A dog"])],
    "image,caption_number,caption_text\na.jpg,0,A dog\n": [("a", "", ["A dog"])],
}


@pytest.mark.parametrize("table", TABLES)
def test_tables_of_sites_are_read_as_they_are(tmp_path, table):
    (tmp_path / "captions.csv").write_text(table)
    records, problems = read("csv", tmp_path)
    assert not problems and [(r.id, r.split, [c.text for c in r.captions]) for r in records] == TABLES[table]


def test_metadata_of_a_folder_of_pictures_is_read_as_it_is(tmp_path):
    (tmp_path / "a.jpg").write_text("picture")
    (tmp_path / "metadata.jsonl").write_text('{"file_name": "a.jpg", "text": "A dog", "more": 1}\n')
    ((record,), problems) = read("jsonl", tmp_path)
    assert (
        not problems and (record.id, record.captions[0].text) == ("a", "A dog") and record.picture is not None
    )
