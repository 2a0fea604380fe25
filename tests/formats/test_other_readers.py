"""Other tools read the same data from our exports, without further explanation.

The readers that are packages are used as documented. Those that are scripts of a paper's authors (Flickr30k
Entities, MDETR's evaluation on it) are rewritten from their known behaviour.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import duckdb
import pandas as pd
import polars as pl
import pytest
import supervision
from PIL import Image
from pycocotools.coco import COCO

from annotation.formats import FORMATS
from annotation.protocol.terms import CaptionRecord, Chain, ImageRecord, LayerObject, LayerRecord
from tests.factories import an_image, boxed, boxless

pytestmark = pytest.mark.slow

SPLITS = ("train", "val", "test")


def records(number: int = 260) -> Iterator[ImageRecord]:
    """Yield varied images: with boxes, without an object, unannotated, and with odd captions. The first
    hundred, from which some readers infer the columns, are all alike."""
    for n in range(number):
        split, name = SPLITS[n % 3], f"im{n:04}"
        captions = (
            f"[/EN#{n}1/people A man] in [/EN#{n}2/clothing a hat] .",
            f"[/EN#{n}1/people He] walks .",
        )
        objects = (boxed(f"{n}1", 10, 10, 100, 200), boxed(f"{n}2", 30, 10, 60, 30))
        if n >= 100 and n % 4 == 1:
            yield an_image(name, "Nothing to see .", split=split, objects=())
        elif n >= 100 and n % 4 == 2:
            yield ImageRecord(
                name,
                f"{name}.jpg",
                (
                    CaptionRecord("It 's here", id=f"{n}5"),
                    CaptionRecord("a cat", ("a", "cat"), unrelated=True),
                ),
                split,
            )
        elif n >= 100 and n % 4 == 3:
            yield an_image(name, *captions, split=split, objects=(*objects[:1], boxless(f"{n}2", scene=True)))
        else:
            yield an_image(name, *captions, split=split, objects=objects)


def written(format: str, folder: Path) -> list[ImageRecord]:
    corpus = list(records())
    folder.mkdir()
    FORMATS.get(format).write(corpus, folder)
    return corpus


# Rows -----------------------------------------------------------------------------------------------


def with_pandas(path: Path) -> list[dict[str, Any]]:
    frame = pd.read_json(path, lines=True) if path.suffix == ".jsonl" else pd.read_parquet(path)
    return frame.to_dict("records")


def with_polars(path: Path) -> list[dict[str, Any]]:
    read = pl.read_ndjson if path.suffix == ".jsonl" else pl.read_parquet
    return read(path).to_dicts()


def with_duckdb(path: Path) -> list[dict[str, Any]]:
    relation = duckdb.sql(f"SELECT * FROM '{path}'")
    assert relation is not None
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def with_datasets(path: Path) -> list[dict[str, Any]]:
    builder = {".jsonl": "json", ".parquet": "parquet"}[path.suffix]
    cache = str(path.parent / "cache")
    return list(datasets.load_dataset(builder, data_files=str(path), split="train", cache_dir=cache))


ROW_READERS = [with_pandas, with_polars, with_duckdb, with_datasets]


def is_nothing(value: Any) -> bool:
    """Return whether a cell is empty, in the reader's representation."""
    return value is None or value != value


@pytest.mark.parametrize("reader", ROW_READERS)
def test_json_lines_are_an_image_a_row_with_its_layer(tmp_path: Path, reader: Any) -> None:
    corpus = written("jsonl", tmp_path / "out")
    rows = reader(tmp_path / "out" / "corpus.jsonl")
    assert [row["id"] for row in rows] == [record.id for record in corpus]
    for row, record in zip(rows, corpus, strict=True):
        assert [caption["text"] for caption in row["captions"]] == [c.text for c in record.captions]
        assert is_nothing(row["layer"]) == (record.layer is None)
        if record.layer is not None:
            boxes = [list(o["box"]) for o in row["layer"]["objects"] if not is_nothing(o.get("box"))]
            assert boxes == [
                [o.box.xmin, o.box.ymin, o.box.xmax, o.box.ymax] for o in record.layer.objects if o.box
            ]


@pytest.mark.parametrize("reader", ROW_READERS)
def test_parquet_tables_join_by_image_and_chain(tmp_path: Path, reader: Any) -> None:
    corpus = written("parquet", tmp_path / "out")
    tables = {file.stem: reader(file) for file in sorted((tmp_path / "out").glob("*.parquet"))}
    assert [row["image"] for row in tables["images"]] == [record.id for record in corpus]
    phrases = {(row["image"], row["chain"]): row["text"] for row in tables["mentions"]}
    drawn = {(row["image"], chain) for row in tables["boxes"] for chain in row["chains"]}
    expected = {
        (record.id, chain)
        for record in corpus
        if record.layer
        for thing in record.layer.objects
        if thing.box
        for chain in thing.chains
    }
    assert drawn == expected <= set(phrases)


def test_the_hugging_face_folder_loads_by_split(tmp_path: Path) -> None:
    corpus = written("huggingface", tmp_path / "out")
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    names = {"train": "train", "val": "validation", "test": "test"}
    for split in SPLITS:
        ids = [record.id for record in corpus if record.split == split]
        assert list(loaded[names[split]]["image_id"]) == ids


@pytest.mark.parametrize("format", [entry.key for entry in FORMATS if entry.writes])
def test_the_lines_of_its_card_load_an_export(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = written(format, tmp_path / "out")
    monkeypatch.chdir(tmp_path / "out")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    names: dict[str, Any] = {}
    exec(FORMATS.get(format).loading, names)
    loaded = list(names.values())[-1]
    covered = sum(record.layer is not None for record in corpus)
    expected = {len(corpus), sum(len(record.captions) for record in corpus), covered}
    size = sum(map(len, loaded.values())) if format == "huggingface" else len(getattr(loaded, "imgs", loaded))
    assert size in expected


# COCO -----------------------------------------------------------------------------------------------


def test_pycocotools_finds_captions_and_boxes(tmp_path: Path) -> None:
    corpus = written("coco", tmp_path / "out")
    captions, instances = (COCO(str(tmp_path / "out" / f"{n}.json")) for n in ("captions", "instances"))
    by_name = {image["file_name"]: id for id, image in captions.imgs.items()}
    kinds = {kind["id"]: kind["name"] for kind in instances.loadCats(instances.getCatIds())}
    for record in corpus:
        id = by_name[record.filename]
        texts = [row["caption"] for row in captions.loadAnns(captions.getAnnIds(imgIds=[id]))]
        assert texts == [caption.text for caption in record.captions]
        boxes = instances.loadAnns(instances.getAnnIds(imgIds=[id]))
        objects = record.layer.objects if record.layer else ()
        assert [row["bbox"] for row in boxes] == [
            [o.box.xmin - 1, o.box.ymin - 1, o.box.width, o.box.height] for o in objects if o.box
        ]
        assert {kinds[row["category_id"]] for row in boxes} <= {"people", "clothing"}
        assert (id in instances.imgs) == (record.layer is not None)


def test_pycocotools_finds_the_labels_of_other_tools(tmp_path: Path) -> None:
    chains = (Chain("1", (), "traffic light", ("the left one",)), Chain("2", (), "people"))
    layer = LayerRecord(chains, (boxed("1", 1, 1, 9, 9), boxed("2", 2, 2, 9, 9)))
    record = ImageRecord("a", "a.jpg", (CaptionRecord("A street ."),), width=90, height=90, layer=layer)
    FORMATS.get("coco").write([record], tmp_path)
    instances = COCO(str(tmp_path / "instances.json"))
    for chain, thing in zip(chains, layer.objects, strict=True):
        ids = [
            kind for kind in instances.getCatIds(catNms=[chain.label]) if instances.getAnnIds(catIds=[kind])
        ]
        (row,) = instances.loadAnns(instances.getAnnIds(catIds=ids))
        assert thing.box is not None and row["bbox"][2] == thing.box.width
        assert tuple(row.get("phrases", ())) == chain.phrases


def test_supervision_makes_detections_of_it(tmp_path: Path) -> None:
    corpus = written("coco", tmp_path / "out")
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for record in corpus:
        Image.new("L", (record.width or 500, record.height or 375)).save(pictures / record.filename)
    dataset = supervision.DetectionDataset.from_coco(str(pictures), str(tmp_path / "out" / "instances.json"))
    detections = {Path(path).stem: boxes for path, _, boxes in dataset}
    for record in corpus:
        if record.layer is None:
            continue
        corners = [
            [o.box.xmin - 1, o.box.ymin - 1, o.box.xmax, o.box.ymax] for o in record.layer.objects if o.box
        ]
        assert detections[record.id].xyxy.tolist() == corners


# Flickr30k Entities -----------------------------------------------------------------------------------


def entities_phrases(file: Path) -> list[list[tuple[str, str, list[str]]]]:
    """Return (chain, phrase, types) of each sentence, like the authors' script: words are split at single
    spaces; one that begins with a bracket opens a phrase, one that ends with a bracket closes it."""
    sentences = []
    for line in file.read_text(encoding="utf-8").split("\n"):
        if not line:
            continue
        phrases: list[tuple[str, str, list[str]]] = []
        words: list[str] | None = None
        for token in line.split(" "):
            if token.startswith("["):
                head, *types = token[1:].split("/")[1:]
                chain, words = head.removeprefix("EN#"), []
                phrases.append((chain, "", types))
                continue
            if words is None:
                continue
            words.append(token.removesuffix("]"))
            if token.endswith("]"):
                phrases[-1] = (chain, " ".join(words), phrases[-1][2])
                words = None
        sentences.append(phrases)
    return sentences


def entities_boxes(file: Path) -> dict[str, Any]:
    """Return size, boxes by chain (from 0), and chains without a box; a missing element is an error, as
    there."""
    root = ElementTree.parse(file).getroot()
    size = root.findall("size")[0]
    annotation: dict[str, Any] = {name: int(size.findall(name)[0].text or "") for name in ("width", "height")}
    annotation |= {"boxes": {}, "scene": [], "nobox": []}
    for thing in root.findall("object"):
        for name in thing.findall("name"):
            if corners := thing.findall("bndbox"):
                at = [
                    int(corners[0].findall(side)[0].text or "") - 1
                    for side in ("xmin", "ymin", "xmax", "ymax")
                ]
                annotation["boxes"].setdefault(name.text, []).append(at)
                continue
            if int(thing.findall("nobndbox")[0].text or ""):
                annotation["nobox"].append(name.text)
            if int(thing.findall("scene")[0].text or ""):
                annotation["scene"].append(name.text)
    return annotation


def test_the_authors_way_of_reading_entities_finds_phrases_and_boxes(tmp_path: Path) -> None:
    corpus = written("entities", tmp_path / "out")
    for record in corpus:
        phrases = entities_phrases(tmp_path / "out" / "Sentences" / f"{record.id}.txt")
        annotation = entities_boxes(tmp_path / "out" / "Annotations" / f"{record.id}.xml")
        layer = record.layer or LayerRecord()
        spoken = {(chain, phrase) for sentence in phrases for chain, phrase, _ in sentence}
        assert spoken == {(chain.id, m.text) for chain in layer.chains for m in chain.mentions}
        assert len(phrases) == len(record.captions)
        assert (annotation["width"], annotation["height"]) == (record.width, record.height)
        drawn = {(chain, tuple(box)) for chain, boxes in annotation["boxes"].items() for box in boxes}
        assert drawn == {(c, zero_based(o)) for o in layer.objects if o.box for c in o.chains}
        assert annotation["scene"] == [o.chains[0] for o in layer.objects if o.scene]


def zero_based(thing: LayerObject) -> tuple[int, ...]:
    assert thing.box is not None
    return tuple(side - 1 for side in (thing.box.xmin, thing.box.ymin, thing.box.xmax, thing.box.ymax))


@pytest.mark.parametrize("split", SPLITS)
def test_evaluation_as_of_mdetr_opens_a_file_for_each_image_of_a_split(tmp_path: Path, split: str) -> None:
    """It reads the sentences and the annotation of every id in the list, and scores phrases with a box."""
    corpus = written("entities", tmp_path / "out")
    ids = [line for line in (tmp_path / "out" / f"{split}.txt").read_text().splitlines() if line]
    assert ids == [record.id for record in corpus if record.split == split]
    scored = 0
    for id in ids:
        boxes = entities_boxes(tmp_path / "out" / "Annotations" / f"{id}.xml")["boxes"]
        for sentence in entities_phrases(tmp_path / "out" / "Sentences" / f"{id}.txt"):
            scored += sum(chain in boxes for chain, _, _ in sentence)
    expected = (record for record in corpus if record.split == split and record.layer)
    assert scored == sum(
        len(chain.mentions)
        for record in expected
        for chain in (record.layer or LayerRecord()).chains
        if (record.layer or LayerRecord()).boxes_of(chain.id)
    )
