"""Parquet export: images, captions, mentions, chains and boxes as five tables, row group by row group."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from annotation.formats.base import ALL_CONTENTS, FORMATS, Format, Written
from annotation.formats.checks import writable
from annotation.protocol.terms import ImageRecord, LayerRecord
from models_core.extras import load_extra

#: Rows that wait in memory before they are written as one group.
ROW_GROUP = 20_000

_TEXT, _INT, _FLAG, _TEXTS = "string", "int32", "bool", "list<string>"

#: Table -> column -> type; docs/formats.md says what each means.
PARQUET_TABLES: dict[str, dict[str, str]] = {
    "images": {
        "image": _TEXT,
        "filename": _TEXT,
        "split": _TEXT,
        "width": _INT,
        "height": _INT,
        "external_id": _TEXT,
        "covered": _FLAG,
    },
    "captions": {
        "image": _TEXT,
        "caption": _INT,
        "text": _TEXT,
        "words": _TEXTS,
        "caption_id": _TEXT,
        "unrelated": _FLAG,
    },
    "mentions": {
        "image": _TEXT,
        "caption": _INT,
        "start": _INT,
        "end": _INT,
        "text": _TEXT,
        "categories": _TEXTS,
        "chain": _TEXT,
    },
    "chains": {
        "image": _TEXT,
        "chain": _TEXT,
        "categories": _TEXTS,
        "mentions": _INT,
        "boxes": _INT,
        "scene": _FLAG,
        "nobndbox": _FLAG,
    },
    "boxes": {
        "image": _TEXT,
        "box": _INT,
        "chains": _TEXTS,
        "xmin": _INT,
        "ymin": _INT,
        "xmax": _INT,
        "ymax": _INT,
        "by_model": _FLAG,
    },
}


class Parquet(Format):
    """Export only: for pandas, DuckDB, Polars, R."""

    key = "parquet"
    title = "Parquet tables (images, captions, mentions, chains, boxes); export only"
    writes = True
    says = ALL_CONTENTS

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        written = Written(files=[out / f"{name}.parquet" for name in PARQUET_TABLES])
        with ExitStack() as stack:
            tables = {
                name: stack.enter_context(_Table(out / f"{name}.parquet", columns))
                for name, columns in PARQUET_TABLES.items()
            }
            for record in writable(records, out, format=self, written=written):
                tables["images"].add(
                    record.id,
                    record.filename,
                    record.split,
                    record.width,
                    record.height,
                    record.external_id,
                    record.layer is not None,
                )
                for number, c in enumerate(record.captions):
                    tables["captions"].add(record.id, number, c.text, list(c.words), c.id, c.unrelated)
                if record.layer is not None:
                    _add_layer(tables, record.id, record.layer)
        written.counts = {name: table.rows for name, table in tables.items()}
        return written


def _add_layer(tables: dict[str, _Table], image: str, layer: LayerRecord) -> None:
    depicted = layer.depicted()
    flags = {obj.chains[0]: obj for obj in layer.objects if obj.box is None}
    for chain in layer.chains:
        for m in chain.mentions:
            tables["mentions"].add(image, m.caption, m.start, m.end, m.text, list(m.categories), chain.id)
        flag = flags.get(chain.id)
        tables["chains"].add(
            image,
            chain.id,
            list(chain.categories),
            len(chain.mentions),
            len(depicted.get(chain.id, ())),
            flag.scene if flag else None,
            flag.nobndbox if flag else None,
        )
    boxes = [obj for obj in layer.objects if obj.box is not None]
    for number, obj in enumerate(boxes):
        if obj.box is not None:
            corners = obj.box.xmin, obj.box.ymin, obj.box.xmax, obj.box.ymax
            tables["boxes"].add(image, number, list(obj.chains), *corners, obj.by_model)


class _Table:
    """One Parquet file; rows are gathered by column and written in groups."""

    def __init__(self, path: Path, columns: dict[str, str]) -> None:
        # pyarrow costs a third of a second and 60 MB: only an export to Parquet pays for it.
        pa = load_extra("pyarrow")
        pq = load_extra("pyarrow.parquet")

        types = {_TEXT: pa.string(), _INT: pa.int32(), _FLAG: pa.bool_(), _TEXTS: pa.list_(pa.string())}
        self._schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
        self._batch = pa.record_batch
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._columns: list[list[Any]] = [[] for _ in columns]
        self.rows = 0

    def add(self, *cells: Any) -> None:
        for column, cell in zip(self._columns, cells, strict=True):
            column.append(cell)
        self.rows += 1
        if len(self._columns[0]) == ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._columns[0]:
            self._writer.write_batch(self._batch(self._columns, schema=self._schema))
            self._columns = [[] for _ in self._columns]

    def __enter__(self) -> _Table:
        return self

    def __exit__(self, *error: object) -> None:
        self._flush()
        self._writer.close()


FORMATS.register(Parquet.key, Parquet())
