"""Parquet: images, captions, mentions, chains and boxes as five tables, row group by row group.

The rows of all tables are in the order of the images, so that they are read in parallel, one image at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain as concatenated
from pathlib import Path
from typing import Any

from annotation.formats.base import ALL_CONTENTS, FORMATS, Format, Written, report_problem
from annotation.formats.checks import LocatedRecord, checked_records, writable
from annotation.formats.fields import Fields
from annotation.formats.names import Pictures
from annotation.protocol.terms import (
    NOT_VISUAL,
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from models_core.extras import MissingExtra, load_extra
from phrasebox.balance import current_tally
from phrasebox.table_files import count_columns
from phrasebox.text_files import FormatError, short_repr

#: Rows in memory before they are written as one group, and rows that are read at a time.
ROW_GROUP, _READ_AT_ONCE = 20_000, 200
_IMAGES = "images.parquet"
_SHAPE = "a folder with images, captions, mentions, chains and boxes.parquet"

_TEXT, _INT, _FLAG, _TEXTS = "string", "int32", "bool", "list<string>"

#: Type of each column by table; docs/formats.md describes their meaning.
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
        "label": _TEXT,
        "phrases": _TEXTS,
        "categories": _TEXTS,
        "mentions": _INT,
        "boxes": _INT,
        "object": _INT,
        "scene": _FLAG,
        "nobndbox": _FLAG,
    },
    "boxes": {
        "image": _TEXT,
        "object": _INT,
        "chains": _TEXTS,
        "xmin": _INT,
        "ymin": _INT,
        "xmax": _INT,
        "ymax": _INT,
        "by_model": _FLAG,
    },
}


class Parquet(Format):
    """Everything in an ImageRecord except the picture's path: for pandas, DuckDB, Polars, R."""

    key = "parquet"
    title = "Parquet tables (images, captions, mentions, chains, boxes)"
    reads = True
    writes = True
    loading = 'import pandas\ncaptions = pandas.read_parquet("captions.parquet")'
    reads_layers = True
    says = ALL_CONTENTS

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        return checked_records(_located(path, images), source=path, expected=_SHAPE)

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
    flags = {obj.chains[0]: (at, obj) for at, obj in enumerate(layer.objects) if obj.box is None}
    for chain in layer.chains:
        for m in chain.mentions:
            tables["mentions"].add(image, m.caption, m.start, m.end, m.text, list(m.categories), chain.id)
        at, flag = flags.get(chain.id, (None, None))
        tables["chains"].add(
            image,
            chain.id,
            chain.label,
            list(chain.phrases),
            list(chain.categories),
            len(chain.mentions),
            len(depicted.get(chain.id, ())),
            at,
            flag.scene if flag else None,
            flag.nobndbox if flag else None,
        )
    for number, obj in enumerate(layer.objects):
        if obj.box is not None:
            corners = obj.box.xmin, obj.box.ymin, obj.box.xmax, obj.box.ymax
            tables["boxes"].add(image, number, list(obj.chains), *corners, obj.by_model)


def _located(path: Path, images: Path | None) -> Iterator[LocatedRecord]:
    """Yield the records of a folder with the five files, or whose only subfolder has them."""
    files = [path / _IMAGES] if (path / _IMAGES).is_file() else sorted(path.glob(f"*/{_IMAGES}"))
    if len(files) != 1:
        raise FormatError(f"holds no {_IMAGES}", file=path, expected=_SHAPE)
    folder = files[0].parent
    tables = {name: _Rows(folder / f"{name}.parquet", columns) for name, columns in PARQUET_TABLES.items()}
    pictures = Pictures(images)
    for row in tables["images"].all():
        id, filename = row.text("image"), row.text("filename")
        captions = tuple(
            CaptionRecord(
                caption.text("text"),
                words if (words := caption.strings("words")) != tuple(caption.text("text").split()) else None,
                caption.text("caption_id"),
                caption.flag("unrelated"),
            )
            for caption in tables["captions"].of(id)
        )
        layer = _layer(tables, id, captions) if row.flag("covered") else None
        try:
            record = ImageRecord(
                id=id,
                filename=filename,
                captions=captions,
                split=row.text("split"),
                width=row.integer("width"),
                height=row.integer("height"),
                picture=pictures.find(filename),
                layer=layer,
                external_id=row.text("external_id"),
            )
        except FormatError as error:
            report_problem(error, captions=len(captions))
            continue
        yield record, files[0], None
    for table in tables.values():
        table.check_end()


def _layer(tables: dict[str, _Rows], image: str, captions: tuple[CaptionRecord, ...]) -> LayerRecord:
    mentions: dict[str, list[Mention]] = {}
    for row in tables["mentions"].of(image):
        caption, start, end = row.integer("caption"), row.integer("start"), row.integer("end")
        words = captions[caption].words if 0 <= caption < len(captions) else ()
        if not 0 <= start < end <= len(words):
            raise row.refuse(
                f"words {start} to {end} of caption {caption} do not exist",
                "places counted from 0 within a caption, the end exclusive",
            )
        mention = Mention(caption, start, end, words[start:end], row.strings("categories"))
        mentions.setdefault(row.text("chain"), []).append(mention)
    chains: list[Chain] = []
    objects: dict[int, LayerObject] = {}
    for row in tables["chains"].of(image):
        id = row.text("chain")
        # Chain 0 occurs once for each of its mentions.
        of_chain = mentions.get(id, [])
        in_chain = tuple(of_chain[:1] if id == NOT_VISUAL else of_chain)
        chains.append(Chain(id, in_chain, row.text("label"), row.strings("phrases")))
        del of_chain[: len(chains[-1].mentions)]
        if row.value["object"] is not None:
            objects[row.integer("object")] = LayerObject((id,), None, row.flag("scene"), row.flag("nobndbox"))
    if lost := next((mention for of_chain in mentions.values() for mention in of_chain), None):
        raise tables["chains"].refuse(f"image {short_repr(image)}, mention {lost.id}: its chain is missing")
    for row in tables["boxes"].of(image):
        try:
            box = Box(*(row.integer(corner) for corner in ("xmin", "ymin", "xmax", "ymax")))
        except ValueError as error:
            raise row.refuse(
                str(error).split(": expected")[0], "1 <= xmin <= xmax and 1 <= ymin <= ymax"
            ) from error
        objects[row.integer("object")] = LayerObject(
            row.strings("chains"), box, by_model=row.flag("by_model")
        )
    return LayerRecord(tuple(chains), tuple(objects[place] for place in sorted(objects)))


class _Rows:
    """The rows of one Parquet file in order, consumed image by image."""

    def __init__(self, path: Path, columns: dict[str, str]) -> None:
        self._path = path
        if not path.is_file():
            raise FormatError("does not exist", file=path, expected=_SHAPE)
        try:
            pq = load_extra("pyarrow.parquet")
            self._file = pq.ParquetFile(path)
            current_tally().opened.add(str(path))
        except (MissingExtra, ValueError, OSError) as error:
            raise FormatError(str(error).splitlines()[0], file=path, expected=_SHAPE) from error
        if missing := sorted(set(columns) - set(self._file.schema_arrow.names)):
            raise FormatError(
                f"has no column {missing[0]}", file=path, expected=f"the columns {', '.join(columns)}"
            )
        count_columns(self._file.schema_arrow.names, columns)
        self._left = self._read()
        self._next = next(self._left, None)

    def all(self) -> Iterator[Fields]:
        """Yield every row."""
        while self._next is not None:
            row, self._next = self._next, next(self._left, None)
            yield row

    def of(self, image: str) -> Iterator[Fields]:
        """Yield the next rows as far as they belong to `image`."""
        while self._next is not None and self._next.value["image"] == image:
            row, self._next = self._next, next(self._left, None)
            yield row

    def check_end(self) -> None:
        """Raise FormatError unless all rows were consumed."""
        if self._next is not None:
            image = short_repr(self._next.value["image"])
            raise self.refuse(f"the rows of image {image} do not stand where {_IMAGES} has the image")

    def refuse(self, problem: str) -> FormatError:
        """Return the error, to be raised, that names the file."""
        return FormatError(problem, file=self._path, expected="rows in the order of the images")

    def _read(self) -> Iterator[Fields]:
        batches = self._file.iter_batches(batch_size=_READ_AT_ONCE)
        rows = concatenated.from_iterable(batch.to_pylist() for batch in batches)
        for number, row in enumerate(rows, 1):
            yield Fields(row, what=f"row {number}", file=self._path)


class _Table:
    """One Parquet file; rows are collected by column and written in groups."""

    def __init__(self, path: Path, columns: dict[str, str]) -> None:
        # Importing pyarrow takes a third of a second and 60 MB, so only an export to Parquet does.
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
