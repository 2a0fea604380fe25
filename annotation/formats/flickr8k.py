"""Flickr8k text, which Flickr30k's `results_20130124.token` shares: `name.jpg#k<TAB>caption`.

A file, or a folder that also holds `Flickr_8k.trainImages.txt` and its sisters; `dev` there
is our `val`. Captions of one image need not stand together.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from annotation.formats.base import FORMATS, Format, Written, report_problem
from annotation.formats.checks import LocatedRecord, checked_records, writable
from annotation.formats.names import find_picture, image_id, only_file, printed_name
from annotation.formats.spool import Spool
from annotation.protocol.terms import CaptionRecord, ImageRecord
from phrasebox.text_files import FormatError, lines, open_new, short_repr

LINE = "name.jpg#number<TAB>caption"
TOKEN_FILE = "Flickr8k.token.txt"
_TOKEN_FILES = (TOKEN_FILE, "results_20130124.token")

_KEY = re.compile(r"(.+)#(\d{1,9})\s*")
#: Some copies have a space for the tab; after a name without spaces and a number it can mean nothing else.
_SPACED = re.compile(r"(\S+)#(\d{1,9}) +(.*)")
_SPLIT_FILE = re.compile(r"Flickr_8k\.([A-Za-z0-9_-]+)Images\.txt")


def _parse(line: str) -> tuple[str, int, str] | None:
    """File name, caption number and caption of one line; None where it has another shape."""
    key, tab, text = line.partition("\t")
    match = _KEY.fullmatch(key) if tab else None
    if match:
        return match[1], int(match[2]), text.strip()
    match = _SPACED.fullmatch(line)
    return (match[1], int(match[2]), match[3].strip()) if match else None


def _splits(folder: Path) -> dict[str, str]:
    """Image id -> split, from the lists in `folder`; an id in two lists is an error."""
    splits: dict[str, str] = {}
    for file in sorted(folder.glob("Flickr_8k.*Images.txt")):
        match = _SPLIT_FILE.fullmatch(file.name)
        if not match:
            continue
        split = "val" if match[1] == "dev" else match[1]
        for number, line in lines(file):
            name = image_id(line.strip())
            if name and splits.setdefault(name, split) != split:
                raise FormatError(
                    f"{short_repr(name)} is in the split {splits[name]} already",
                    file=file,
                    line=number,
                    expected="each image in one split",
                )
    return splits


def _add(spool: Spool, line: str, file: Path, number: int, last: str) -> str:
    """Put one line into the spool; its file's name. `last` is that of the line before."""
    parsed = _parse(line)
    if parsed is None:
        problem = (
            f"{short_repr(line)} has no image#number before its tab"
            if "\t" in line
            else f"{short_repr(line)} holds no tab"
        )
        raise FormatError(problem, file=file, line=number, expected=LINE)
    filename, index, text = parsed
    if not text:
        raise FormatError(
            f"caption {index} of {short_repr(filename)} is empty", file=file, line=number, expected=LINE
        )
    if filename != last:
        stands = spool.add_image(image_id(filename), filename, number)
        if stands not in (None, filename):
            raise FormatError(
                f"{short_repr(filename)} and {short_repr(stands)} have the same id "
                f"{short_repr(image_id(filename))}",
                file=file,
                line=number,
                expected="names that differ without their extension",
            )
    spool.add_caption(image_id(filename), index, text, line=number)
    return filename


class Flickr8k(Format):
    """Captions and splits; no sizes, no mentions."""

    key = "flickr8k"
    title = "Flickr8k text (name.jpg#k, tab, caption), also Flickr30k's token file"
    reads = True
    writes = True
    needs_captions = True
    says = frozenset({"splits", "caption_ids"})

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        """Stream `path`. Captions get their printed key as id only where their image skips a number."""
        return checked_records(self._located(path, images), source=path, expected=f"lines {LINE}")

    def _located(self, path: Path, images: Path | None) -> Iterator[LocatedRecord]:
        splits = _splits(path) if path.is_dir() else {}
        known = [path / name for name in _TOKEN_FILES if (path / name).is_file()]
        file = known[0] if known else only_file(path, "*.token.txt", "*.token")
        with Spool(file) as spool:
            self._fill(spool, file)
            for name, filename, line, captions in spool:
                in_order = [caption.number for caption in captions] == list(range(len(captions)))
                record = ImageRecord(
                    id=name,
                    filename=filename,
                    captions=tuple(
                        CaptionRecord(c.text, id="" if in_order else f"{filename}#{c.number}")
                        for c in captions
                    ),
                    split=splits.get(name, ""),
                    picture=find_picture(images, filename),
                )
                yield record, file, line

    @staticmethod
    def _fill(spool: Spool, file: Path) -> None:
        last = ""
        for number, line in lines(file):
            if not line.strip():
                continue
            try:
                last = _add(spool, line, file, number, last)
            except FormatError as error:
                report_problem(error)

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        """Write the captions and one list per split.

        Raises FormatError for a caption of several lines, and for the split `dev`: it is the name of our
        `val` here.
        """
        written = Written(files=[out / TOKEN_FILE])
        lists: dict[str, TextIO] = {}
        with ExitStack() as stack:
            token = stack.enter_context(open_new(out / TOKEN_FILE))
            for record in writable(records, out, format=self, written=written):
                name = printed_name(record)
                if not record.captions:
                    raise FormatError(
                        f"image {short_repr(record.id)} has no caption, which this format cannot represent",
                        file=out / TOKEN_FILE,
                        expected="an image with captions, or the format jsonl",
                    )
                if record.split == "dev":
                    raise FormatError(
                        f"image {short_repr(record.id)} is of the split 'dev', which is read as 'val'",
                        file=out / TOKEN_FILE,
                        expected="another split, or the formats csv and jsonl",
                    )
                numbers = _numbers(record, name)
                in_order = numbers == list(range(len(numbers)))
                for number, caption in zip(numbers, record.captions, strict=True):
                    read_as = "" if in_order else f"{name}#{number}"
                    written.leave_out("caption_ids", caption.id not in ("", read_as))
                    text = caption.text.strip()
                    if "\n" in text or "\r" in text:
                        raise FormatError(
                            f"caption {number} of {short_repr(name)} holds a line break",
                            file=out / TOKEN_FILE,
                            expected="captions of one line, or the formats csv and jsonl",
                        )
                    token.write(f"{name}#{number}\t{text}\n")
                if record.split:
                    split = "dev" if record.split == "val" else record.split
                    if split not in lists:
                        file = out / f"Flickr_8k.{split}Images.txt"
                        lists[split] = stack.enter_context(open_new(file))
                        written.files.append(file)
                    lists[split].write(f"{name}\n")
                written.add("images")
                written.add("captions", len(record.captions))
        return written


def _numbers(record: ImageRecord, name: str) -> list[int]:
    """The numbers to print: those of the captions' ids where every one is `name#number`, else 0, 1, 2, ..."""
    ids = [_KEY.fullmatch(caption.id) for caption in record.captions]
    numbers = [int(match[2]) for match in ids if match and match[1] == name]
    rising = all(a < b for a, b in zip(numbers, numbers[1:], strict=False))
    return numbers if len(numbers) == len(ids) and rising else list(range(len(ids)))


FORMATS.register(Flickr8k.key, Flickr8k())
