"""Captions that a system wrote, one for each image: what `score_captions` reads.

Two forms, distinguished by the first character of the file, plain or compressed by gzip, in UTF-8:

- JSON lines, `{"image": "1000.jpg", "caption": "a dog runs"}` in each;
- the results of the COCO evaluation, one list of `{"image_id": 42, "caption": "a dog runs"}`.

Both take either name of the image's field, a text or a whole number: `image_id` is the image's id in the
source, `image` any name. Other fields are ignored.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phrasebox.names import ANY, FILE, SOURCE
from phrasebox.text_files import FormatError, lines, short_repr

#: The fields that name the image, and the name spaces of each.
_IMAGE = {"image": ANY, "image_id": (SOURCE, FILE)}
_EXPECTED = 'as in {"image": "1000.jpg", "caption": "a dog runs"}'


@dataclass(frozen=True, slots=True)
class Candidate:
    """The caption for `image`, under its name in the file, from the name `spaces`; `position` is "line 3" or
    "entry 3"."""

    image: str
    caption: str
    position: str
    spaces: tuple[str, ...] = ANY


def read_candidates(path: Path) -> list[Candidate]:
    """Return the captions of a file in its order; an empty one is a caption too.

    Raises FormatError with line or entry for neither form, an entry without image or caption, an image named
    twice, and an empty file.
    """
    candidates: dict[str, Candidate] = {}
    for position, entry in _entries(path):
        candidate = _candidate(entry, position, path)
        there = candidates.setdefault(candidate.image, candidate)
        if there is not candidate:
            raise _format_error(
                path,
                position,
                f"image {short_repr(candidate.image)} has a caption already, on {there.position}",
            )
    if not candidates:
        raise FormatError("holds no captions", file=path, expected=f"one for each image, {_EXPECTED}")
    return list(candidates.values())


def _entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield each entry with its position."""
    numbered = ((number, line) for number, line in lines(path) if line.strip())
    for number, line in numbered:
        if line.lstrip().startswith("["):
            rest = "\n".join([line, *(more for _, more in numbered)])
            value = _loads(rest, path, f"line {number}")
            yield from ((f"entry {position}", entry) for position, entry in enumerate(value, start=1))
            return
        yield f"line {number}", _loads(line, path, f"line {number}")


def _loads(text: str, path: Path, position: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # too deeply nested, or with too long numbers
        message = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise _format_error(path, position, f"is not JSON ({message})") from error


def _candidate(entry: Any, position: str, path: Path) -> Candidate:
    if not isinstance(entry, dict):
        raise _format_error(path, position, f"is {short_repr(entry)}")
    named = [name for name in _IMAGE if name in entry]
    if len(named) != 1:
        raise _format_error(path, position, f"names {'no' if not named else 'more than one'} image")
    image, caption = entry[named[0]], entry.get("caption")
    if not isinstance(image, str | int) or isinstance(image, bool) or not str(image).strip():
        raise _format_error(path, position, f"has {short_repr(image)} for its image")
    if not isinstance(caption, str):
        problem = f"has {short_repr(caption)} for its caption" if "caption" in entry else "has no caption"
        raise _format_error(path, position, problem)
    return Candidate(str(image).strip(), caption, position, _IMAGE[named[0]])


def _format_error(path: Path, position: str, problem: str) -> FormatError:
    expected = f"one caption for each image, {_EXPECTED}"
    word, _, number = position.partition(" ")
    if word == "line":
        return FormatError(problem, file=path, line=int(number), expected=expected)
    return FormatError(f"{position} {problem}", file=path, expected=expected)
