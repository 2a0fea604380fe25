"""Our own lossless table: one JSON object per image, with its layer.

docs/formats.md describes each field. A mention's words are not repeated: they are in its caption. Pictures
are looked up by file name under `--images`; their paths on this machine are not written.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from annotation.formats.base import ALL_CONTENTS, FORMATS, Format, Written, report_problem
from annotation.formats.checks import LocatedRecord, checked_records, writable
from annotation.formats.csv_table import records_of_rows
from annotation.formats.fields import Fields
from annotation.formats.names import SAFE_NAME, Pictures, only_file
from annotation.protocol.terms import (
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from phrasebox.table_files import Row, count_columns
from phrasebox.text_files import FormatError, lines, open_new, short_repr

_FILE = "corpus.jsonl"
#: Names of a picture and its captions in `metadata.jsonl` of a folder of pictures.
_PICTURE, _CAPTIONS_IN = "file_name", ("text", "caption", "captions")


class Jsonl(Format):
    """Everything in an ImageRecord except the picture's path on this machine."""

    key = "jsonl"
    title = "Phrasebox JSON lines: everything, one image per line"
    reads = True
    writes = True
    loading = 'import pandas\nimages = pandas.read_json("corpus.jsonl", lines=True)'
    reads_layers = True
    says = ALL_CONTENTS

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        return checked_records(self._located(path, images), source=path, expected="one line per image")

    def _located(self, path: Path, images: Path | None) -> Iterator[LocatedRecord]:
        file = only_file(path, "*.jsonl")
        pictures, first = Pictures(images), True
        for number, line in lines(file):
            if not line.strip():
                continue
            try:
                entry = _loads(line, file, number)
                if first and isinstance(entry, dict) and _PICTURE in entry:
                    yield from records_of_rows(_rows(file), file, Pictures(images or file.parent))
                    return
                first = False
                record = _record(Fields(entry, what="the image", file=file, line=number), pictures)
            except FormatError as error:
                report_problem(error)
                continue
            yield record, file, number

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        written = Written(files=[out / _FILE])
        with open_new(out / _FILE) as stream:
            for record in writable(records, out, format=self, written=written):
                stream.write(json.dumps(_row(record), ensure_ascii=False) + "\n")
                written.add("images")
                written.add("captions", len(record.captions))
                if record.layer is not None:
                    written.add("mentions", len(record.layer.mentions))
                    written.add("boxes", sum(obj.box is not None for obj in record.layer.objects))
        return written


def _rows(file: Path) -> Iterator[tuple[int, Row | FormatError]]:
    """Yield the rows of `metadata.jsonl` in a folder of pictures, one for each caption.

    Source of the notation: `datasets`, ImageFolder.
    """
    keys: dict[str, None] = {}
    for number, line in lines(file):
        if not line.strip():
            continue
        try:
            entry = Fields(_loads(line, file, number), what="the picture", file=file, line=number)
            keys.update(dict.fromkeys(entry.value))
            name = next((name for name in _CAPTIONS_IN if name in entry.value), _CAPTIONS_IN[0])
            texts = entry.strings(name) if isinstance(entry.value.get(name), list) else (entry.text(name),)
            row = {"image": entry.text(_PICTURE), "split": entry.text("split", "")}
        except FormatError as error:
            yield number, error
            continue
        for text in texts:
            yield number, {**row, "caption": text}
    count_columns(keys, (_PICTURE, "split", *_CAPTIONS_IN))


def _loads(line: str, file: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"is not JSON at column {error.colno} ({error.msg})",
            file=file,
            line=number,
            expected="one whole JSON object",
        ) from error
    except (ValueError, RecursionError) as error:
        raise FormatError(
            "holds a number of too many digits or is nested too deeply",
            file=file,
            line=number,
            expected="an image",
        ) from error


def record_of(image: dict[str, Any], *, images: Path | None = None) -> ImageRecord:
    """Return the image of a line of a file. Raises FormatError if it is invalid."""
    return _record(Fields(image, what="the image", file=Path(_FILE)), Pictures(images))


def _record(row: Fields, pictures: Pictures) -> ImageRecord:
    id = row.text("id")
    if not id:
        raise row.refuse("the id '' is refused", SAFE_NAME)
    row.what = f"image {short_repr(id)}"
    row.only("id", "filename", "split", "width", "height", "external_id", "captions", "layer")
    filename = row.text("filename")
    captions = tuple(
        _caption(Fields(value, what=f"{row.what}, caption {number}", file=row.file, line=row.line))
        for number, value in enumerate(row.list("captions"), 1)
    )
    layer = row.value.get("layer")
    return ImageRecord(
        id=id,
        filename=filename,
        captions=captions,
        split=row.text("split", ""),
        width=row.integer("width", 0),
        height=row.integer("height", 0),
        picture=pictures.find(filename),
        layer=None
        if layer is None
        else layer_of_row(Fields(layer, what=row.what, file=row.file, line=row.line), captions),
        external_id=row.text("external_id", ""),
    )


def _caption(row: Fields) -> CaptionRecord:
    row.only("text", "tokens", "id", "unrelated")
    return CaptionRecord(
        text=row.text("text"),
        tokens=row.strings("tokens") if row.value.get("tokens") is not None else None,
        id=row.text("id", ""),
        unrelated=row.flag("unrelated", False),
    )


def layer_of_row(row: Fields, captions: tuple[CaptionRecord, ...]) -> LayerRecord:
    """Return the layer from the object of `layer_row`. Raises FormatError."""
    row.only("chains", "objects")
    chains = []
    for value in row.list("chains"):
        chain = Fields(value, what=f"{row.what}, a chain", file=row.file, line=row.line)
        chain.only("id", "mentions", "label", "phrases")
        id = chain.text("id")
        chain.what = f"{row.what}, chain {short_repr(id)}"
        mentions = tuple(
            _mention(Fields(m, what=f"{chain.what}, a mention", file=row.file, line=row.line), captions)
            for m in chain.list("mentions")
        )
        phrases = chain.strings("phrases") if "phrases" in chain.value else ()
        chains.append(Chain(id, mentions, chain.text("label", ""), phrases))
    objects = tuple(
        _object(Fields(value, what=f"{row.what}, object {number}", file=row.file, line=row.line))
        for number, value in enumerate(row.list("objects"), 1)
    )
    return LayerRecord(tuple(chains), objects)


def _mention(row: Fields, captions: tuple[CaptionRecord, ...]) -> Mention:
    row.only("caption", "start", "end", "categories")
    caption, start, end = row.integer("caption"), row.integer("start"), row.integer("end")
    words = captions[caption].words if 0 <= caption < len(captions) else ()
    if not 0 <= start < end <= len(words):
        raise row.refuse(
            f"words {start} to {end} of caption {caption} do not exist",
            "places counted from 0 within a caption, the end exclusive",
        )
    return Mention(caption, start, end, words[start:end], row.strings("categories"))


def _object(row: Fields) -> LayerObject:
    row.only("chains", "box", "scene", "nobndbox", "by_model")
    box = None
    if "box" in row.value:
        corners = row.list("box")
        if len(corners) != 4 or any(type(corner) is not int for corner in corners):
            raise row.refuse(f"'box' is {short_repr(corners)}", "four whole numbers")
        try:
            box = Box(*corners)
        except ValueError as error:
            raise row.refuse(
                str(error).split(": expected")[0], "1 <= xmin <= xmax and 1 <= ymin <= ymax"
            ) from error
    flags = (row.flag(name, False) for name in ("scene", "nobndbox", "by_model"))
    return LayerObject(row.strings("chains"), box, *flags)


def _row(record: ImageRecord) -> dict[str, Any]:
    """Return the object for `record`; default values in a caption or an object are omitted."""
    return {
        "id": record.id,
        "filename": record.filename,
        "split": record.split,
        "width": record.width,
        "height": record.height,
        "external_id": record.external_id,
        "captions": [_caption_row(caption) for caption in record.captions],
        "layer": None if record.layer is None else layer_row(record.layer),
    }


def _caption_row(caption: CaptionRecord) -> dict[str, Any]:
    row: dict[str, Any] = {"text": caption.text}
    if caption.tokens is not None:
        row["tokens"] = caption.tokens
    if caption.id:
        row["id"] = caption.id
    if caption.unrelated:
        row["unrelated"] = True
    return row


def layer_row(layer: LayerRecord) -> dict[str, Any]:
    """Return the object for a layer, for `layer_of_row`."""
    chains = [
        {
            "id": chain.id,
            "mentions": [
                {"caption": m.caption, "start": m.start, "end": m.end, "categories": m.categories}
                for m in chain.mentions
            ],
            **({"label": chain.label} if chain.label else {}),
            **({"phrases": chain.phrases} if chain.phrases else {}),
        }
        for chain in layer.chains
    ]
    objects: list[dict[str, Any]] = []
    for obj in layer.objects:
        if obj.box is None:
            objects.append({"chains": obj.chains, "scene": obj.scene, "nobndbox": obj.nobndbox})
        else:
            box = obj.box
            content = {"chains": obj.chains, "box": [box.xmin, box.ymin, box.xmax, box.ymax]}
            objects.append({**content, "by_model": True} if obj.by_model else content)
    return {"chains": chains, "objects": objects}


FORMATS.register(Jsonl.key, Jsonl())
