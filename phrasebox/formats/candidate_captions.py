"""Captions that a system wrote, one for each image: what `score_captions` and `import_captions` read.

The forms are those of `phrasebox.formats.image_entries`: JSON lines, the results of the COCO evaluation, a
table. An entry has the fields `image` (or `image_id`) and `caption`, and may have the caption's
`log_probability`, a number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phrasebox.formats.image_entries import ImageEntry, read_entries
from phrasebox.names import ANY
from phrasebox.text_files import FormatError, finite_number, short_repr

_EXPECTED = 'one caption for each image, as in {"image": "1000.jpg", "caption": "a dog runs"}'


@dataclass(frozen=True, slots=True)
class Candidate:
    """The caption for `image`, under its name in the file, from the name `spaces`; `position` is "line 3" or
    "entry 3". `log_probability` is None where the file does not state it."""

    image: str
    caption: str
    position: str
    spaces: tuple[str, ...] = ANY
    log_probability: float | None = None


def read_candidates(path: Path) -> Iterator[Candidate]:
    """Yield the captions of a file in its order; an empty one is a caption too.

    Raises FormatError with line or entry for none of the forms, an entry without image or caption, an image
    named twice, and an empty file.
    """
    positions: dict[str, str] = {}
    for entry in read_entries(path, ("caption", "log_probability"), expected=_EXPECTED):
        candidate = _candidate(entry)
        before = positions.setdefault(candidate.image, entry.position)
        if before != entry.position:
            raise entry.error(f"image {short_repr(candidate.image)} has a caption already, on {before}")
        yield candidate
    if not positions:
        raise FormatError("holds no captions", file=path, expected=_EXPECTED)


def _candidate(entry: ImageEntry) -> Candidate:
    image, spaces = entry.image()
    caption = entry.fields.get("caption")
    if not isinstance(caption, str):
        has = "caption" in entry.fields
        raise entry.error(f"has {short_repr(caption)} for its caption" if has else "has no caption")
    return Candidate(image, caption, entry.position, spaces, _log_probability(entry))


def _log_probability(entry: ImageEntry) -> float | None:
    value: Any = entry.fields.get("log_probability")
    if value is None or (entry.in_table and not value.strip()):
        return None
    number = finite_number(value, typed=entry.in_table)
    if number is None:
        raise entry.error(f"has {short_repr(value)} for its log_probability")
    return number
