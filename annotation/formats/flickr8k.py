"""Flickr8k text, also the format of Flickr30k's `results_20130124.token`: `name.jpg#k<TAB>caption`.

A file, or a folder that also contains `Flickr_8k.trainImages.txt` and the other lists; `dev` there is our
`val`. Captions of one image need not be adjacent.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from annotation.formats.base import FORMATS, Format, Written, report_problem
from annotation.formats.checks import LocatedRecord, checked_records, writable
from annotation.formats.files.spool import Spool
from annotation.formats.names import Pictures, listed_splits, only_file, path_in_source
from annotation.protocol.terms import CaptionRecord, ImageRecord
from phrasebox.balance import CAPTIONS
from phrasebox.names import PICTURE_EXTENSIONS
from phrasebox.text_files import FormatError, lines, open_new, short_repr

LINE = "name.jpg#number<TAB>caption"
TOKEN_FILE = "Flickr8k.token.txt"
_TOKEN_FILES = (TOKEN_FILE, "results_20130124.token")

_KEY = re.compile(r"(.+)#([0-9]{1,9})\s*")
#: Some copies have a space instead of the tab, which is unambiguous after a name without spaces and a number.
_SPACED = re.compile(r"(\S+)#([0-9]{1,9}) +(.*)")
#: A name with a tag of the caption: `name.jpg#zhm` in files with captions of several languages.
_TAGGED = re.compile(rf"(.+(?:{'|'.join(map(re.escape, PICTURE_EXTENSIONS))}))#[a-z0-9_-]*", re.IGNORECASE)
_SPLIT_FILE = re.compile(r"Flickr_?(?:8k|30k)[._]([A-Za-z0-9_-]+)Images\.txt", re.IGNORECASE)
#: Number of captions with a tag, which sort after all others.
_AFTER_ALL = 10**10


def _parse(line: str) -> tuple[str, int, str] | None:
    """Return file name, caption number and caption of one line; None if it has another form."""
    key, tab, text = line.partition("\t")
    match = _KEY.fullmatch(key) if tab else None
    if match:
        return match[1], int(match[2]), text.strip()
    match = _SPACED.fullmatch(line)
    return (match[1], int(match[2]), match[3].strip()) if match else None


def _splits(folder: Path, filenames: Iterable[str]) -> dict[str, str]:
    """Return the split of each file name, from the lists in `folder`."""
    words = {
        file: match[1] for file in sorted(folder.glob("*.txt")) if (match := _SPLIT_FILE.fullmatch(file.name))
    }
    lists = {file: "val" if word.lower() == "dev" else word for file, word in words.items()}
    return listed_splits(lists, filenames)


def _add(spool: Spool, line: str, file: Path, number: int, pictures: Pictures) -> None:
    """Add one line to the spool."""
    parsed = _parse(line)
    if parsed is None:
        problem = (
            f"{short_repr(line)} has no image#number before its tab"
            if "\t" in line
            else f"{short_repr(line)} holds no tab"
        )
        raise FormatError(problem, file=file, line=number, expected=LINE)
    printed, index, text = parsed
    tagged = _TAGGED.fullmatch(printed) if "#" in printed else None
    filename = path_in_source(tagged[1] if tagged else printed)
    if not text:
        raise FormatError(
            f"caption {index} of {short_repr(filename)} is empty", file=file, line=number, expected=LINE
        )
    key = pictures.key(filename)
    spool.add_image(key, filename, number)
    if tagged:
        spool.add_caption(key, _AFTER_ALL + number, text, id=f"{printed}#{index}", ids_of=key, line=number)
    else:
        spool.add_caption(key, index, text, line=number)


class Flickr8k(Format):
    """Captions and splits; no sizes, no mentions."""

    key = "flickr8k"
    title = "Flickr8k text (name.jpg#k, tab, caption), also Flickr30k's token file"
    reads = True
    writes = True
    loading = (
        'import pandas\ncaptions = pandas.read_csv("Flickr8k.token.txt", sep="\\t", header=None, quoting=3)'
    )
    needs_captions = True
    says = frozenset({"splits", "caption_ids"})
    companions = ("ExpertAnnotations.txt", "CrowdFlowerAnnotations.txt", "*.lemma.token.txt")

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        """Yield the images of `path`. Captions get their printed key as id only if their image skips a
        number."""
        return checked_records(self._located(path, images), source=path, expected=f"lines {LINE}")

    def _located(self, path: Path, images: Path | None) -> Iterator[LocatedRecord]:
        known = [path / name for name in _TOKEN_FILES if (path / name).is_file()]
        file = known[0] if known else only_file(path, "*.token.txt", "*.token")
        pictures = Pictures(images)
        with Spool(file) as spool:
            for number, text in lines(file):
                try:
                    if text.strip():
                        _add(spool, text, file, number, pictures)
                except FormatError as error:
                    report_problem(error, CAPTIONS)
            splits = _splits(file.parent, spool.images()) if path.is_dir() else {}
            for _, filename, line, captions in spool:
                in_order = [caption.number for caption in captions] == list(range(len(captions)))
                try:
                    picture = pictures.find(filename)
                except FormatError as error:
                    report_problem(error, captions=len(captions))
                    continue
                record = ImageRecord(
                    id="",
                    filename=filename,
                    captions=tuple(
                        CaptionRecord(c.text, id="" if in_order else c.id or f"{filename}#{c.number}")
                        for c in captions
                    ),
                    split=splits.get(filename, ""),
                    picture=picture,
                )
                yield record, file, line

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        """Write the captions and one list per split.

        Raises FormatError for a caption of several lines, and for the split `dev`, which is the name of our
        `val` here.
        """
        written = Written(files=[out / TOKEN_FILE])
        lists: dict[str, TextIO] = {}
        with ExitStack() as stack:
            token = stack.enter_context(open_new(out / TOKEN_FILE))
            for record in writable(records, out, format=self, written=written):
                name = record.filename
                if _TAGGED.fullmatch(name):
                    raise FormatError(
                        f"the file name {short_repr(name)} is read as another, with a tag",
                        file=out / TOKEN_FILE,
                        expected="a name without #, or the formats csv and jsonl",
                    )
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
    """Return the numbers to write: those of the captions' ids if every one is `name#number`, else 0, 1, 2,
    ..."""
    ids = [_KEY.fullmatch(caption.id) for caption in record.captions]
    numbers = [int(match[2]) for match in ids if match and match[1] == name]
    rising = all(a < b for a, b in zip(numbers, numbers[1:], strict=False))
    return numbers if len(numbers) == len(ids) and rising else list(range(len(ids)))


FORMATS.register(Flickr8k.key, Flickr8k())
