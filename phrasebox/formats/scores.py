"""Score matrices with ids: images are rows, captions columns, higher is better.

A file (npz, npy or safetensors) holds the array `scores`, shape (images, captions); the one array of an .npy
file is it. Ids are in the file (npz: arrays of text `images` and `captions`; safetensors: JSON lists under
these names in its metadata), or beside it, one id per line, in `NAME.images.txt` and `NAME.captions.txt` for
a file `NAME.npz`. Scores are memory-mapped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from phrasebox.balance import SOURCE_FILES, current_tally
from phrasebox.formats.arrays import ArrayFile, FileArray, note_arrays, open_arrays
from phrasebox.scoring.tiles import Dense, NotANumber, Products, Scores
from phrasebox.text_files import FormatError, lines, short_repr

_SCORES = "scores"


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Scores of images (rows) with captions (columns), with their ids; `file` identifies them in errors.

    `precomputed`: they are from the file, and were not computed here. `notes` are sentences on how they were
    made.
    """

    file: Path
    images: tuple[str, ...]
    captions: tuple[str, ...]
    scores: Scores
    precomputed: bool = False
    notes: tuple[str, ...] = ()

    def ordered(self, images: Sequence[str], captions: Sequence[str]) -> ScoreMatrix:
        """Return the scores of these images and captions, in this order; raises FormatError for a missing
        one."""
        rows = _numbers(self.images, images, "image", self.file)
        columns = _numbers(self.captions, captions, "caption", self.file)
        scores = self.scores.select(rows, columns)
        return replace(self, images=tuple(images), captions=tuple(captions), scores=scores)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return remarks on the embeddings behind these scores: zeros, and overflowing ones."""
        if not isinstance(self.scores, Products):
            return ()
        sides = list(zip(("image", "caption"), (self.images, self.captions), self.scores.odd, strict=True))
        zeros = [(word, [ids[n] for n in odd.zeros]) for word, ids, odd in sides]
        long = [(word, [ids[n] for n in odd.overflowing]) for word, ids, odd in sides]
        return (
            *(_counted(word, ids, "of zeros, which scores 0 for everything") for word, ids in zeros if ids),
            *(
                _counted(word, ids, "that is too long for the precision of scores")
                for word, ids in long
                if ids
            ),
        )

    @contextmanager
    def naming(self, *, turned: bool = False) -> Iterator[None]:
        """Context in which NaN is reported with ids while scores are read (`turned`: with captions as
        rows)."""
        try:
            yield
        except NotANumber as error:
            row, column = (error.column, error.row) if turned else (error.row, error.column)
            raise FormatError(
                f"the score of {short_repr(self.images[row])} with "
                f"{short_repr(self.captions[column])} is NaN",
                file=self.file,
                expected="numbers only",
            ) from error


def _counted(word: str, ids: Sequence[str], what: str) -> str:
    """Return how many images or captions have such a vector, with the first three."""
    first = ", ".join(map(short_repr, ids[:3])) + (", ..." if len(ids) > 3 else "")
    return f"{len(ids)} {word}{'s have' if len(ids) > 1 else ' has'} a vector {what} ({first})"


def read_scores(path: Path | str) -> ScoreMatrix:
    """Open a score matrix; raises FormatError for mismatched shapes, types and ids."""
    path = Path(path)
    held = open_arrays(path)
    scores = named_array(held, _SCORES)
    if scores.ndim != 2 or scores.dtype.kind not in "fiub":
        raise FormatError(
            f"scores have shape {scores.shape} of {scores.dtype}",
            file=path,
            expected="numbers of shape (images, captions)",
        )
    images = ids_of(held, "images", scores.shape[0])
    captions = ids_of(held, "captions", scores.shape[1])
    return ScoreMatrix(path, images, captions, Dense(scores), precomputed=True)


def named_array(held: ArrayFile, name: str) -> FileArray:
    """Return the array called `name`, or the only one without a name."""
    array = held.arrays.get(name, held.arrays.get(""))
    if array is None:
        there = ", ".join(sorted(held.arrays)) or "none"
        raise FormatError(
            f"contains no array {name!r} (it contains: {there})", file=held.file, expected=f"{name!r}"
        )
    note_arrays(held.file, name)
    return array


def ids_of(
    held: ArrayFile, name: str, number: int, listed: Path | None = None, *, once: bool = True
) -> tuple[str, ...]:
    """Return the ids called `name`, one for each of `number` rows: in the file or beside it; unique if
    `once`.

    If `listed` is given, they are the lines of that file.
    """
    beside = listed or held.file.with_name(f"{held.file.stem}.{name}.txt")
    source = held.file
    there = beside.is_file()
    if there:
        note_ids_file(beside)
    if listed is None and name in held.arrays:
        ids = _text(named_array(held, name), name, held.file)
    elif listed is None and name in held.texts:
        ids = _listed(held.texts[name], name, held.file)
    elif there or listed is not None:
        source = beside
        ids = [text for _, text in lines(beside)]
        note_ids_file(beside, read=True)
    else:
        raise FormatError(
            f"has no ids {name!r}", file=held.file, expected=f"the ids in the file, or in {beside.name}"
        )
    if len(ids) != number:
        raise FormatError(
            f"{len(ids)} ids {name!r} for {number} rows or columns", file=source, expected="one for each"
        )
    seen: dict[str, int] = {}
    for index, text in enumerate(ids):
        if not text or (seen.setdefault(text, index) != index and once):
            problem = (
                f"id {short_repr(text)} occurs at {seen[text]} and {index}"
                if text
                else f"id {index} is empty"
            )
            raise FormatError(f"{name}: {problem} (counted from 0)", file=source, expected="each id once")
    return tuple(ids)


def note_ids_file(file: Path, *, read: bool = False) -> None:
    """Count a file of ids as found, once, and as taken if it is `read`."""
    tally, part = current_tally(), (SOURCE_FILES, str(file), [file.name])
    tally.find_parts(*part)
    if read:
        tally.settle_parts(*part)


def _text(values: FileArray, name: str, file: Path) -> list[str]:
    if values.ndim != 1 or values.dtype.kind not in "UiuS":
        raise FormatError(
            f"ids {name!r} have shape {values.shape} of {values.dtype}", file=file, expected="a list of texts"
        )
    if values.dtype.kind == "U":
        codes = np.ascontiguousarray(values).view(f"{values.dtype.byteorder}u4")
        if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
            raise FormatError(f"ids {name!r} are no text", file=file, expected="letters that Unicode has")
    if values.dtype.kind == "S":
        return [text.decode("utf-8", "replace") for text in values.tolist()]
    return [str(text) for text in values.tolist()]


def _listed(text: str, name: str, file: Path) -> list[str]:
    try:
        ids = json.loads(text)
    except (ValueError, RecursionError):
        ids = None
    if not isinstance(ids, list) or not all(isinstance(item, str | int) for item in ids):
        raise FormatError(
            f"metadata {name!r} is {short_repr(text)}", file=file, expected="a JSON list of ids"
        )
    return [str(item) for item in ids]


def _numbers(held: Sequence[str], expected: Sequence[str], word: str, file: Path) -> np.ndarray:
    number = {name: n for n, name in enumerate(held)}
    missing = [name for name in expected if name not in number]
    if missing:
        raise FormatError(
            f"has no scores of {word} {short_repr(missing[0])} ({len(missing)} of {len(expected)} are "
            "missing)",
            file=file,
            expected=f"all {word}s of the split",
        )
    return np.array([number[name] for name in expected], dtype=np.intp)
