"""CSV: one caption per row under a header with `image` and `caption`; rows of one image may stand apart.

Further columns: `split`, `caption_id`, `unrelated` (0 or 1); others are passed over.
"""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from annotation.formats.base import FORMATS, Format, Written, report_problem
from annotation.formats.checks import LocatedRecord, checked_records, writable
from annotation.formats.names import find_picture, image_id, only_file, printed_name
from annotation.formats.spool import Spool
from annotation.protocol.terms import CaptionRecord, ImageRecord
from phrasebox.text_files import FormatError, lines, open_new, short_repr

_COLUMNS = ("image", "caption", "split", "caption_id", "unrelated")
_REQUIRED = _COLUMNS[:2]
_FILE = "captions.csv"
_SHAPE = "a header with the columns image and caption, then one caption per row"


class Csv(Format):
    """Captions, splits, caption ids; no sizes, no mentions."""

    key = "csv"
    title = "CSV table (image, caption, split, ...), one caption per row"
    reads = True
    writes = True
    needs_captions = True
    says = frozenset({"splits", "caption_ids", "unrelated"})

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        return checked_records(self._located(path, images), source=path, expected=_SHAPE)

    def _located(self, path: Path, images: Path | None) -> Iterator[LocatedRecord]:
        file = only_file(path, "*.csv")
        with Spool(file) as spool:
            for line, row in _rows(file):
                try:
                    _add(spool, row, file, line)
                except FormatError as error:
                    report_problem(error)
            for key, data, first, captions in spool:
                split, _, filename = data.partition("/")
                record = ImageRecord(
                    id=key,
                    filename=filename,
                    captions=tuple(
                        CaptionRecord(c.text, id=(c.id or ""), unrelated=c.unrelated) for c in captions
                    ),
                    split=split,
                    picture=find_picture(images, filename),
                )
                yield record, file, first

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        written = Written(files=[out / _FILE])
        with open_new(out / _FILE) as stream:
            # CR LF, as RFC 4180 has it: with LF alone, Python would leave a CR in a caption unquoted.
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
                            printed_name(record),
                            caption.text.strip(),
                            record.split,
                            caption.id,
                            int(caption.unrelated),
                        )
                    )
                written.add("images")
                written.add("captions", len(record.captions))
        return written


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Line (of its end) and cells of each row, by column."""
    reader = csv.reader((line for _, line in lines(file, keep_ends=True)), strict=True)
    header: list[str] | None = None
    try:
        for row in reader:
            at = reader.line_num
            if not row:
                continue
            if header is None:
                header = _header(row, file, at)
                continue
            if len(row) != len(header):
                cells = f"{len(header)}, as in the header"
                report_problem(FormatError(f"holds {len(row)} cells", file=file, line=at, expected=cells))
                continue
            yield at, dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise FormatError(
            f"is not CSV ({error})",
            file=file,
            line=reader.line_num,
            expected="commas, and quotation marks in pairs",
        ) from error


def _header(row: list[str], file: Path, line: int) -> list[str]:
    names = [name.strip() for name in row]
    missing = [name for name in _REQUIRED if name not in names]
    if missing:
        raise FormatError(
            f"the header has no column {missing[0]}: {short_repr(','.join(names))}",
            file=file,
            line=line,
            expected=_SHAPE,
        )
    if twice := [name for name in _COLUMNS if names.count(name) > 1]:
        raise FormatError(f"the header has two columns {twice[0]}", file=file, line=line, expected=_SHAPE)
    return names


def _add(spool: Spool, row: dict[str, str], file: Path, line: int) -> None:
    """Put one row into the spool; its image's name and split must agree with the rows before."""
    filename, text, split = row["image"].strip(), row["caption"].strip(), row.get("split", "").strip()
    if not filename or not text:
        raise FormatError(
            f"the {'caption' if filename else 'image'} is empty",
            file=file,
            line=line,
            expected="a name and a sentence",
        )
    unrelated = row.get("unrelated", "").strip().lower()
    if unrelated not in ("", "0", "1", "true", "false"):
        raise FormatError(f"unrelated is {short_repr(unrelated)}", file=file, line=line, expected="0 or 1")
    # A split holds no slash, nor does a name: both are refused when the record is checked.
    data = f"{split}/{filename}"
    stands = spool.add_image(image_id(filename), data, line)
    if stands not in (None, data):
        raise FormatError(
            f"{short_repr(filename)} in the split {short_repr(split)} appeared before as "
            f"{short_repr(stands)}",
            file=file,
            line=line,
            expected="one name and one split per image",
        )
    spool.add_caption(
        image_id(filename),
        line,
        text,
        id=row.get("caption_id", "").strip() or None,
        ids_of=image_id(filename),
        line=line,
        unrelated=unrelated in ("1", "true"),
    )


FORMATS.register(Csv.key, Csv())
