"""Flickr30k JSON: `{"name.jpg": ["caption", ..., "folder/name.jpg"]}`.

The last string of an entry is a picture's path if it looks like one.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from annotation.formats.base import FORMATS, Format, Written, report_problem
from annotation.formats.checks import LocatedRecord, checked_records, writable
from annotation.formats.files.json_stream import members
from annotation.formats.names import Pictures, only_file, path_in_source
from annotation.protocol.terms import CaptionRecord, ImageRecord
from phrasebox.names import base_name, extension, image_id
from phrasebox.text_files import FormatError, open_new, short_repr

_SHAPE = '{"name.jpg": ["caption", ..., "folder/name.jpg"], ...}'
_PICTURES = "flickr30k-images"


def _is_path(text: str, key: str) -> bool:
    """Whether the last string of an entry is a picture's path rather than a caption."""
    if text.endswith(f"/{key}"):
        return True
    return bool(extension(text)) and (text == key or not any(c.isspace() for c in text))


class Flickr30k(Format):
    """Captions only; the picture's path is looked up by its base name."""

    key = "flickr30k"
    title = "Flickr30k JSON (file name to captions and a picture's path)"
    reads = True
    writes = True
    loading = 'import json\ncaptions = json.load(open("captions.json"))'

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        return checked_records(self._located(path, images), source=path, expected=_SHAPE)

    def _located(self, path: Path, images: Path | None) -> Iterator[LocatedRecord]:
        file = only_file(path, "*.json")
        pictures = Pictures(images)
        for key, value in members(file):
            try:
                captions, printed = self._entry(key, value, file)
                base = base_name(printed)
                filename = path_in_source(base if not extension(key) and image_id(base) == key else key)
                picture = pictures.find(base, key)
            except FormatError as error:
                report_problem(error, captions=max(0, len(value) - 1) if isinstance(value, list) else 0)
                continue
            record = ImageRecord(
                id="",
                filename=filename,
                captions=tuple(CaptionRecord(text.strip()) for text in captions),
                picture=picture,
            )
            yield record, file, None

    @staticmethod
    def _entry(key: str, value: Any, file: Path) -> tuple[list[str], str]:
        """Return captions and picture's path (or "") of one entry."""
        if not isinstance(value, list) or not value:
            raise FormatError(f"image {short_repr(key)} has {short_repr(value)}", file=file, expected=_SHAPE)
        for entry in value:
            if not isinstance(entry, str):
                raise FormatError(
                    f"image {short_repr(key)} has the caption {short_repr(entry)}", file=file, expected=_SHAPE
                )
        return (value[:-1], value[-1]) if _is_path(value[-1], key) else (value, "")

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        """Write `captions.json`, in the layout of the published files."""
        file = out / "captions.json"
        written = Written(files=[file])
        with open_new(file) as stream:
            separator = "{\n"
            for record in writable(records, out, format=self, written=written):
                name = record.filename
                # The path comes last even if there is no caption: readers identify it by this.
                entries = [*(caption.text.strip() for caption in record.captions), f"{_PICTURES}/{name}"]
                body = ",\n".join(f"        {json.dumps(entry)}" for entry in entries)
                stream.write(f"{separator}    {json.dumps(name)}: [\n{body}\n    ]")
                separator = ",\n"
                written.add("images")
                written.add("captions", len(record.captions))
            stream.write("\n}" if written.counts else "{}")
        return written


FORMATS.register(Flickr30k.key, Flickr30k())
