"""Ranked tags as `rank_tags` writes them: JSON lines, one image a line, its best tag first.

{"image": "1.jpg", "tags": [["dog", 0.666667], ["frisbee", 0.4]]}
"""

import json
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from phrasebox.text_files import FormatError, lines, short_repr

#: The maximum length of a tag.
LONGEST_TAG = 200
_EXPECTED = 'as in {"image": "1.jpg", "tags": [["dog", 0.7], ["ball", 0.4]]}, the best tag first'


def read_tag_lines(path: Path) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Yield each image of the file with its tags and their scores, in order; empty lines are skipped.

    Raises FormatError with the line for invalid lines, scores that increase or are not finite, duplicate
    images, duplicate tags of an image, and an empty file; OSError.
    """
    seen: dict[str, int] = {}
    for number, line in lines(path):
        if not line.strip():
            continue
        try:
            image, tags = _read(line)
            if image in seen:
                raise _EntryError(f"image {short_repr(image)} is there already, on line {seen[image]}")
        except _EntryError as problem:
            raise FormatError(str(problem), file=path, line=number, expected=_EXPECTED) from problem
        seen[image] = number
        yield image, tags
    if not seen:
        raise FormatError("holds no tags", file=path, expected=f"one image a line, {_EXPECTED}")


class _EntryError(ValueError):
    """The error of a line."""


def _read(line: str) -> tuple[str, list[tuple[str, float]]]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:  # too deeply nested, or with too long numbers
        message = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise _EntryError(f"is not JSON ({message})") from error
    if not isinstance(entry, dict):
        raise _EntryError(f"is {short_repr(entry)}")
    image, tag_list = entry.get("image"), entry.get("tags")
    if not isinstance(image, str) or not image:
        raise _EntryError(f"has {short_repr(image)} for its image")
    if not isinstance(tag_list, list):
        raise _EntryError(f"has {short_repr(tag_list)} for its tags")
    tags = [_tag(item) for item in tag_list]
    for (before, high), (tag, low) in pairwise(tags):
        if low > high:
            raise _EntryError(f"gives {short_repr(tag)} a higher score than {short_repr(before)} before it")
    seen: set[str] = set()
    for tag, _ in tags:
        if tag in seen:
            raise _EntryError(f"has the tag {short_repr(tag)} twice")
        seen.add(tag)
    return image, tags


def _tag(entry: Any) -> tuple[str, float]:
    """Return a tag and its score; white space within the tag becomes a single space."""
    match entry:
        case [str(text), int() | float() as score] if not isinstance(score, bool) and math.isfinite(score):
            tag = " ".join(text.split())
            if tag and len(tag) <= LONGEST_TAG and tag.isprintable():
                return tag, float(score)
    raise _EntryError(f"has {short_repr(entry)} for a tag with its score")
