"""Tables: one caption per row under a header with `image` and `caption`; rows of one image need not be
adjacent.

Other columns: `split`, `caption_id`, `unrelated` (0 or 1); any further ones are skipped. `metadata.jsonl` in
a folder of pictures is read as such a table too, an object in each row.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from annotation.formats.base import FORMATS, Format, Written, report_problem
from annotation.formats.checks import LocatedRecord, checked_records, writable
from annotation.formats.files.spool import Spool
from annotation.formats.names import Pictures, only_file, path_in_source
from annotation.protocol.terms import CaptionRecord, ImageRecord
from phrasebox.balance import CAPTIONS
from phrasebox.table_files import IMAGE_ALIASES, RaggedRow, Row, TableFile
from phrasebox.text_files import FormatError, open_new, short_repr, whole_number

_COLUMNS = ("image", "caption", "split", "caption_id", "unrelated")
#: Names of these columns in other tables.
ALIASES = {
    "image": IMAGE_ALIASES,
    "caption": ("caption_text", "comment", "text", "sentence"),
    "split": ("set", "partition", "subset"),
    "caption_id": ("sentid",),
    "number": ("caption_number", "comment_number"),
}
#: All captions of an image as a JSON list, and their ids, as in tables made from Karpathy's files.
_LISTED, _LISTED_IDS = "raw", "sentids"
_FILE = "captions.csv"
_SHAPE = "a header with the columns image and caption, then one caption per row"
#: The number of a caption and its text in one cell: an error of one row in the published table of Flickr30k.
_NUMBER_AND_TEXT = re.compile(r"\s*([0-9]+)\s+(\S.*)")


class Csv(Format):
    """Captions, splits, caption ids; no sizes, no mentions."""

    key = "csv"
    title = "CSV table (image, caption, split, ...), one caption per row"
    reads = True
    writes = True
    loading = 'import pandas\ncaptions = pandas.read_csv("captions.csv")'
    needs_captions = True
    says = frozenset({"splits", "caption_ids", "unrelated"})

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        return checked_records(self._located(path, images), source=path, expected=_SHAPE)

    def _located(self, path: Path, images: Path | None) -> Iterator[LocatedRecord]:
        file = only_file(path, "*.csv", "*.tsv")
        table = TableFile(file, ALIASES)
        if not table.header:
            return
        listed = _LISTED in table.header  # one row per image, with its captions in a list
        table.require("image", _LISTED if listed else "caption", expected=_SHAPE)
        table.count_columns(*_COLUMNS, "number", *((_LISTED, _LISTED_IDS) if listed else ()))
        rows = _unlisted(table) if listed else _mended(table)
        yield from records_of_rows(rows, file, Pictures(images))

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        written = Written(files=[out / _FILE])
        with open_new(out / _FILE) as stream:
            # CR LF, as in RFC 4180: with LF alone, Python would not quote a CR in a caption.
            rows = csv.writer(stream, lineterminator="\r\n")
            rows.writerow(_COLUMNS)
            for record in writable(records, out, format=self, written=written):
                if not record.captions:
                    raise FormatError(
                        f"image {short_repr(record.id)} has no caption, which one row per caption cannot "
                        f"represent",
                        file=out / _FILE,
                        expected="an image with captions, or the format jsonl",
                    )
                for caption in record.captions:
                    written.leave_out("caption_ids", caption.id != caption.id.strip())
                    rows.writerow(
                        (
                            record.filename,
                            caption.text.strip(),
                            record.split,
                            caption.id,
                            int(caption.unrelated),
                        )
                    )
                written.add("images")
                written.add("captions", len(record.captions))
        return written


def records_of_rows(
    rows: Iterable[tuple[int, Row | FormatError]], file: Path, pictures: Pictures
) -> Iterator[LocatedRecord]:
    """Yield the images of rows with `image` and `caption`, in order of first occurrence."""
    with Spool(file) as spool:
        for number, (line, row) in enumerate(rows):
            try:
                if isinstance(row, FormatError):
                    raise row
                _add(spool, row, file, line, number, pictures)
            except FormatError as error:
                report_problem(error, CAPTIONS)
        for _, data, first, captions in spool:
            split, _, filename = data.partition("\n")
            try:
                record = ImageRecord(
                    id="",
                    filename=filename,
                    captions=tuple(
                        CaptionRecord(c.text, id=(c.id or ""), unrelated=c.unrelated) for c in captions
                    ),
                    split=split,
                    picture=pictures.find(filename),
                )
            except FormatError as error:
                report_problem(error, captions=len(captions))
                continue
            yield record, file, first


def _mended(table: TableFile) -> Iterator[tuple[int, Row | FormatError]]:
    """Yield the rows; in one that lacks the separator between the number of a caption and its text, it is
    restored."""
    numbered = table.header[-2:] == ["number", "caption"]
    for line, row in table:
        cells = row.cells if isinstance(row, RaggedRow) and numbered else []
        match = _NUMBER_AND_TEXT.fullmatch(cells[-1]) if len(cells) == len(table.header) - 1 else None
        yield line, dict(zip(table.header, [*cells[:-1], *match.groups()], strict=True)) if match else row


def _add(spool: Spool, row: Row, file: Path, line: int, number: int, pictures: Pictures) -> None:
    """Add one row, the `number`th, to the spool; its image's split must equal that of earlier rows."""
    filename, text, split = path_in_source(row["image"]), row["caption"].strip(), row.get("split", "").strip()
    if not filename or not text:
        raise FormatError(
            f"the {'caption' if filename else 'image'} is empty",
            file=file,
            line=line,
            expected="a name and a sentence",
        )
    unrelated = row.get("unrelated", "").strip().lower()
    unrelated = {"true": "1", "false": "0", "": "0"}.get(unrelated, unrelated)
    if (says := whole_number(unrelated)) not in (0, 1):
        raise FormatError(f"unrelated is {short_repr(unrelated)}", file=file, line=line, expected="0 or 1")
    key = pictures.key(filename)
    # A name with a line break is rejected when the record is checked.
    earlier = spool.add_image(key, f"{split}\n{filename}", line)
    if earlier is not None and (earlier_split := earlier.partition("\n")[0]) != split:
        raise FormatError(
            f"{short_repr(filename)} in the split {short_repr(split)} appeared before in the split "
            f"{short_repr(earlier_split)}",
            file=file,
            line=line,
            expected="one split per image",
        )
    spool.add_caption(
        key,
        number,
        text,
        id=row.get("caption_id", "").strip() or None,
        ids_of=key,
        line=line,
        unrelated=bool(says),
    )


def _unlisted(table: TableFile) -> Iterator[tuple[int, Row | FormatError]]:
    """Yield a row for each caption of rows that contain the captions of an image in a list."""
    for line, row in table:
        if isinstance(row, FormatError):
            yield line, row
            continue
        texts, ids = _entries(row[_LISTED]), _entries(row.get(_LISTED_IDS, ""))
        if texts is None:
            wrong = f"{_LISTED} is {short_repr(row[_LISTED])}"
            yield line, FormatError(wrong, file=table.file, line=line, expected="a list of captions")
            continue
        if ids is None or len(ids) != len(texts):
            ids = [""] * len(texts)
        for text, id in zip(texts, ids, strict=True):
            yield line, {**row, "caption": text, "caption_id": id}


def _entries(cell: str) -> list[str] | None:
    """Return the texts and numbers of a JSON list; None if a cell is none."""
    try:
        entries: Any = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entries, list) or not all(type(entry) in (str, int) for entry in entries):
        return None
    return [str(entry) for entry in entries]


FORMATS.register(Csv.key, Csv())
