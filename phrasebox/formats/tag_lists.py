"""Tags that a system gave images: what `import_tags` reads, and what `tag` and `rank_tags` write.

The forms are those of `phrasebox.formats.image_entries`: JSON lines, a JSON list, a table. An entry has all
`tags` of an image, or one `tag`, with its `score` if there is one:

    {"image": "1.jpg", "tags": [["dog", 0.666667], ["frisbee", 0.4]]}
    {"image": "1.jpg", "tags": ["dog", "frisbee"]}
    {"image_id": 42, "tag": "dog", "score": 0.666667}

Scores decide the order, the highest first; tags with equal scores stay in the order of the file. Without
scores the order of the file is the ranking, and the n-th of N tags gets the score 1 - (n - 1) / N.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from phrasebox.formats.image_entries import ImageEntry, read_entries
from phrasebox.text_files import FormatError, finite_number, short_repr

#: The maximum length of a tag.
LONGEST_TAG = 200
#: Digits after the decimal point of the score of a place.
_DIGITS = 6
_EXPECTED = 'as in {"image": "1.jpg", "tags": [["dog", 0.7], ["ball", 0.4]]}, or a table of image, tag, score'


@dataclass(frozen=True, slots=True)
class TagsOfImage:
    """The tags of `image`, under its name in the file, from the name `spaces`, with their scores, best first.

    `position` is that of its first entry, "line 3" or "entry 3". `reordered`: the file has them in another
    order than that of their scores.
    """

    image: str
    tags: tuple[tuple[str, float], ...]
    position: str
    spaces: tuple[str, ...]
    reordered: bool


@dataclass(slots=True)
class _Gathered:
    position: str
    spaces: tuple[str, ...]
    whole: bool
    scores: dict[str, float | None] = field(default_factory=dict)


def read_tag_lists(path: Path) -> Iterator[TagsOfImage]:
    """Yield each image of the file with its tags, in the order of first entries; an image may have none.

    Raises FormatError with line or entry for invalid entries, scores that are not finite or that only some
    tags of an image have, an image with two lists, a tag that an image has twice, and an empty file; OSError.
    """
    images: dict[str, _Gathered] = {}
    for entry in read_entries(path, ("tags", "tag", "score"), expected=_EXPECTED):
        image, spaces = entry.image()
        whole = "tags" in entry.fields
        before = images.get(image)
        if before is not None and (whole or before.whole):
            raise entry.error(f"image {short_repr(image)} has tags already, on {before.position}")
        gathered = images.setdefault(image, _Gathered(entry.position, spaces, whole))
        for tag, score in _tags(entry) if whole else [_single(entry)]:
            if tag in gathered.scores:
                raise entry.error(f"has the tag {short_repr(tag)} of image {short_repr(image)} twice")
            if gathered.scores and (score is None) != (next(iter(gathered.scores.values())) is None):
                raise entry.error(f"only some tags of image {short_repr(image)} have scores")
            gathered.scores[tag] = score
    if not images:
        raise FormatError("holds no tags", file=path, expected=_EXPECTED)
    for image, gathered in images.items():
        yield _ranked(image, gathered)


def _ranked(image: str, gathered: _Gathered) -> TagsOfImage:
    number = len(gathered.scores)
    scored = [
        (tag, round(1 - place / number, _DIGITS) if score is None else score)
        for place, (tag, score) in enumerate(gathered.scores.items())
    ]
    reordered = any(high < low for (_, high), (_, low) in pairwise(scored))
    best_first = tuple(sorted(scored, key=lambda pair: -pair[1]))
    return TagsOfImage(image, best_first, gathered.position, gathered.spaces, reordered)


def _tags(entry: ImageEntry) -> Iterator[tuple[str, float | None]]:
    tags = entry.fields["tags"]
    if not isinstance(tags, list):
        raise entry.error(f"has {short_repr(tags)} for its tags")
    for item in tags:
        match item:
            case str():
                yield _tag(entry, item), None
            case [str(text), score]:
                yield _tag(entry, text), _score(entry, score)
            case _:
                raise entry.error(f"has {short_repr(item)} for a tag with its score")


def _single(entry: ImageEntry) -> tuple[str, float | None]:
    tag, score = entry.fields.get("tag"), entry.fields.get("score")
    if not isinstance(tag, str):
        raise entry.error(f"has {short_repr(tag)} for its tag" if "tag" in entry.fields else "has no tags")
    if score is None or (entry.in_table and not score.strip()):
        return _tag(entry, tag), None
    return _tag(entry, tag), _score(entry, score)


def _tag(entry: ImageEntry, text: str) -> str:
    """Return a tag; white space within it becomes a single space."""
    tag = " ".join(text.split())
    if not tag or len(tag) > LONGEST_TAG or not tag.isprintable():
        raise entry.error(f"has {short_repr(text)} for a tag")
    return tag


def _score(entry: ImageEntry, value: Any) -> float:
    number = finite_number(value, typed=entry.in_table)
    if number is None:
        raise entry.error(f"has {short_repr(value)} for a score")
    return number
