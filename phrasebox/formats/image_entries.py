"""Files with entries about images, as systems write them elsewhere: captions, tags.

Three forms, distinguished by the first character of the file, plain or compressed by gzip:

- JSON lines, an object in each: `{"image": "1000.jpg", ...}`;
- a JSON list of such objects, as the results of the COCO evaluation: `[{"image_id": 42, ...}]`;
- a table (see `phrasebox.table_files`) with a column for each field.

All take either name of the image's field, a text or a whole number: `image_id` is the image's id in the
source, `image` any name; in a table also the usual names of such a column.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phrasebox.names import ANY, FILE, SOURCE
from phrasebox.table_files import IMAGE_ALIASES, TableFile, count_columns
from phrasebox.text_files import FormatError, lines, short_repr

#: The fields that name the image, and the name spaces of each.
_IMAGE = {"image": ANY, "image_id": (SOURCE, FILE)}


@dataclass(frozen=True, slots=True)
class ImageEntry:
    """The `fields` of one image's entry; `position` is "line 3" or "entry 3" of `file`, `expected` says what
    a right entry is. Cells of a table (`in_table`) are texts."""

    file: Path
    position: str
    fields: dict[str, Any]
    expected: str
    in_table: bool = False

    def image(self) -> tuple[str, tuple[str, ...]]:
        """Return the name of the image, and its name spaces. Raises FormatError if there is not exactly
        one."""
        named = [name for name in _IMAGE if name in self.fields]
        if len(named) != 1:
            raise self.error(f"names {'no' if not named else 'more than one'} image")
        image = self.fields[named[0]]
        if not isinstance(image, str | int) or isinstance(image, bool) or not str(image).strip():
            raise self.error(f"has {short_repr(image)} for its image")
        return str(image).strip(), _IMAGE[named[0]]

    def error(self, problem: str) -> FormatError:
        """Return the error of the entry."""
        return entry_error(self.file, self.position, problem, self.expected)


def read_entries(path: Path, fields: tuple[str, ...], *, expected: str) -> Iterator[ImageEntry]:
    """Yield the entries of a file in its order; then count its `fields`, besides the image, as taken, and
    others as left.

    Raises FormatError with line or entry; `expected` describes a right one.
    """
    names: dict[str, None] = {}
    for entry in _entries(path, expected):
        names.update(dict.fromkeys(entry.fields))
        yield entry
    count_columns(names, (*_IMAGE, *fields))


def _entries(path: Path, expected: str) -> Iterator[ImageEntry]:
    numbered = ((number, line) for number, line in lines(path) if line.strip())
    first, line = next(numbered, (1, ""))
    beginning = line.lstrip()[:1]
    if not beginning:
        return
    if beginning == "[":
        rest = "\n".join([line, *(more for _, more in numbered)])
        for number, value in enumerate(_loads(rest, path, f"line {first}", expected), start=1):
            yield _checked(path, f"entry {number}", value, expected)
    elif beginning == "{":
        yield _checked(path, f"line {first}", _loads(line, path, f"line {first}", expected), expected)
        for number, line in numbered:
            value = _loads(line, path, f"line {number}", expected)
            yield _checked(path, f"line {number}", value, expected)
    else:
        for number, row in TableFile(path, {"image": IMAGE_ALIASES}).rows():
            yield ImageEntry(path, f"line {number}", dict(row), expected, in_table=True)


def _loads(text: str, path: Path, position: str, expected: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # too deeply nested, or with too long numbers
        message = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise entry_error(path, position, f"is not JSON ({message})", expected) from error


def _checked(path: Path, position: str, value: Any, expected: str) -> ImageEntry:
    if not isinstance(value, dict):
        raise entry_error(path, position, f"is {short_repr(value)}", expected)
    return ImageEntry(path, position, value, expected)


def entry_error(path: Path, position: str, problem: str, expected: str) -> FormatError:
    """Return the error of an entry at a position, "line 3" or "entry 3"."""
    word, _, number = position.partition(" ")
    if word == "line":
        return FormatError(problem, file=path, line=int(number), expected=expected)
    return FormatError(f"{position} {problem}", file=path, expected=expected)
