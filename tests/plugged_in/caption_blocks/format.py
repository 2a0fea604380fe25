"""Blocks of captions: a picture's name, its captions indented below it, an empty line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from annotation.formats.base import FORMATS, Format, Written
from annotation.formats.checks import LocatedRecord, checked_records, writable
from annotation.formats.names import Pictures, only_file
from annotation.protocol.terms import CaptionRecord, ImageRecord
from phrasebox.text_files import FormatError, lines, open_new, short_repr

FILE = "captions.blocks"
INDENT = "  "
SHAPE = "a picture's name, its captions indented by two spaces below it, and an empty line"


class CaptionBlocks(Format):
    """Captions alone, a block for each image."""

    key = "caption_blocks"
    title = "Blocks of captions (a picture's name, then its captions)"
    reads = True
    writes = True

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        return checked_records(_images_of(path, images), source=path, expected=SHAPE)

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        written = Written(files=[out / FILE])
        with open_new(out / FILE) as stream:
            for record in writable(records, out, format=self, written=written):
                texts = [caption.text.strip() for caption in record.captions]
                if broken := [text for text in texts if len(text.splitlines()) != 1]:
                    raise FormatError(
                        f"image {short_repr(record.id)} has the caption {short_repr(broken[0])}",
                        file=out / FILE,
                        expected="captions of one line",
                    )
                stream.write("\n".join([record.filename, *(INDENT + text for text in texts), "", ""]))
                written.add("images")
                written.add("captions", len(texts))
        return written


def _images_of(path: Path, images: Path | None) -> Iterator[LocatedRecord]:
    file = only_file(path, "*.blocks")
    block: list[str] = []
    first = 0
    for number, line in chain(lines(file), [(0, "")]):
        if line.startswith(INDENT) and block:
            block.append(line.strip())
        elif line and not block and not line[0].isspace():
            block, first = [line.strip()], number
        elif line:
            raise FormatError(f"holds {short_repr(line)}", file=file, line=number, expected=SHAPE)
        elif block:
            name, captions = block[0], tuple(map(CaptionRecord, block[1:]))
            picture = Pictures(images).find(name)
            yield ImageRecord("", name, captions, picture=picture), file, first
            block = []


FORMATS.register(CaptionBlocks.key, CaptionBlocks())
