"""Hugging Face export: one row per image, with its picture, in shards of Parquet by split.

Rows are written in small groups, so that memory contains only a few pictures of each split. The bytes of a
picture are those of its file, without re-encoding.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotation.formats.base import ALL_CONTENTS, FORMATS, Format, Written
from annotation.formats.checks import writable
from annotation.formats.hugging_face.card import SplitSize, card_front
from annotation.formats.hugging_face.features import FEATURES, shard_schema
from annotation.protocol.terms import ImageRecord, LayerRecord
from models_core.extras import load_extra

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: A row group is written at this number of rows, or at this number of bytes of pictures.
GROUP_ROWS, GROUP_BYTES = 100, 8 * 2**20
#: Bytes of pictures after which a split begins a new shard.
SHARD_BYTES = 400 * 2**20
#: Names of splits in `datasets`; the column `split` has our name. "all" is its name for the union of all.
SPLIT_NAMES = {"": "unsplit", "val": "validation", "dev": "validation", "all": "all_images"}
_DATA = "data"
_SHARD = re.compile(r"(.+)-\d{5}-of-\d{5}\.parquet")


def split_called(split: str) -> str:
    """Return the name in `datasets` of one of our splits: letters, digits and underscores."""
    return SPLIT_NAMES.get(split) or split.replace("-", "_")


class HuggingFace(Format):
    """Export only: `datasets.load_dataset(FOLDER)` reads it, and it can be pushed to the hub unchanged."""

    key = "huggingface"
    title = "Hugging Face dataset (Parquet shards with the pictures, and a dataset card); export only"
    writes = True
    loading = "import datasets, os\nsplits = datasets.load_dataset(os.getcwd())"
    holds_pictures = True
    says = ALL_CONTENTS

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        written = Written()
        written.counts = dict.fromkeys(("images", "captions", "mentions", "chains", "boxes"), 0)
        (out / _DATA).mkdir()
        with ExitStack() as stack:
            splits: dict[str, _Split] = {}
            for position, record in enumerate(writable(records, out, format=self, written=written)):
                called = split_called(record.split)
                if called not in splits:
                    splits[called] = stack.enter_context(_Split(out / _DATA, called))
                splits[called].add(_row(record, position, written))
        for split in splits.values():
            written.files += split.shards()
        return written

    def front_matter(self, name: str, licence: str, written: Written) -> str:
        pq = load_extra("pyarrow.parquet")

        splits: dict[str, SplitSize] = {}
        for file in written.files:
            if match := _SHARD.fullmatch(file.name):
                metadata = pq.read_metadata(file)
                size = sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
                before = splits.get(match[1], SplitSize(0, 0))
                splits[match[1]] = SplitSize(before.images + metadata.num_rows, before.size + size)
        return card_front(name, licence, splits=splits, boxes=written.counts["boxes"] > 0)


def _row(record: ImageRecord, position: int, written: Written) -> list[Any]:
    """Return the cells of an image, in the order of FEATURES; count their contents."""
    layer = record.layer or LayerRecord()
    picture = None
    if record.picture is not None:
        picture = {"bytes": record.picture.read_bytes(), "path": record.filename}
        written.add("pictures")
    flags = {thing.chains[0]: thing for thing in layer.objects if thing.box is None}
    phrases = [
        {
            "caption": m.caption,
            "start": m.start,
            "end": m.end,
            "text": m.text,
            "categories": list(m.categories),
            "chain": chain.id,
        }
        for chain in layer.chains
        for m in chain.mentions
    ]
    chains = [
        {
            "id": chain.id,
            "label": chain.label,
            "phrases": list(chain.phrases),
            "categories": list(chain.categories),
            "scene": flags[chain.id].scene if chain.id in flags else None,
            "nobndbox": flags[chain.id].nobndbox if chain.id in flags else None,
        }
        for chain in layer.chains
    ]
    boxes = [
        {
            # As in COCO: left, top, width, height, counted from 0.
            "bbox": [box.xmin - 1, box.ymin - 1, box.xmax - box.xmin + 1, box.ymax - box.ymin + 1],
            "chains": list(thing.chains),
            "by_model": thing.by_model,
        }
        for thing in layer.objects
        if (box := thing.box) is not None
    ]
    written.add("images")
    counted = (("captions", record.captions), ("mentions", phrases), ("chains", chains), ("boxes", boxes))
    for word, count in counted:
        written.add(word, len(count))
    return [
        record.id,
        picture,
        record.filename,
        position,
        record.split,
        record.width,
        record.height,
        record.external_id,
        [
            {"text": c.text, "words": list(c.words), "id": c.id, "unrelated": c.unrelated}
            for c in record.captions
        ],
        record.layer is not None,
        phrases,
        chains,
        boxes,
    ]


class _Split:
    """The shards of one split, named `SPLIT-00000-of-00002.parquet` once their number is known."""

    def __init__(self, folder: Path, called: str) -> None:
        self._folder, self._called = folder, called
        self._schema = shard_schema()
        self._columns: list[list[Any]] = [[] for _ in FEATURES]
        self._waiting = self._in_shard = self._number = 0
        self._writer: pq.ParquetWriter | None = None

    def add(self, cells: list[Any]) -> None:
        """Add an image; write a group of rows when there are enough."""
        for column, cell in zip(self._columns, cells, strict=True):
            column.append(cell)
        self._waiting += len(cells[1]["bytes"]) if cells[1] else 0
        if len(self._columns[0]) >= GROUP_ROWS or self._waiting >= GROUP_BYTES:
            self._flush()

    def shards(self) -> list[Path]:
        """Return the files of the split, under their final names."""
        shards = []
        for number in range(self._number):
            file = self._folder / f"{self._called}-{number:05}-of-{self._number:05}.parquet"
            os.replace(self._unnamed(number), file)
            shards.append(file)
        return shards

    def _unnamed(self, number: int) -> Path:
        return self._folder / f"{self._called}-{number:05}.partial"

    def _flush(self) -> None:
        if not self._columns[0]:
            return
        pa = load_extra("pyarrow")
        pq = load_extra("pyarrow.parquet")

        if self._writer is None:
            # Pictures do not compress; the texts beside them do.
            self._writer = pq.ParquetWriter(
                self._unnamed(self._number), self._schema, compression="zstd", use_dictionary=False
            )
            self._number += 1
        self._writer.write_batch(pa.record_batch(self._columns, schema=self._schema))
        self._in_shard += self._waiting
        self._columns, self._waiting = [[] for _ in FEATURES], 0
        if self._in_shard >= SHARD_BYTES:
            self._close()

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer, self._in_shard = None, 0

    def __enter__(self) -> _Split:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._flush()
        self._close()


FORMATS.register(HuggingFace.key, HuggingFace())
