"""Files of boxes in pictures, without vectors, from detectors that ran elsewhere.

Three forms, distinguished by the file's suffix:

- `.json`: the results of the COCO evaluation, one list of `{"image_id": 42, "bbox": [x, y, width, height],
  "score": 0.9}` (Lin et al. 2014; x and y from 0, parts of pixels are rounded); other fields, so also
  `category_id`, are passed over;
- `.npz`: `boxes`, shape (boxes, 4), with `ids`, the image of each, and `scores` where there are some;
- any other: CSV with the columns image, xmin, ymin, xmax and ymax, whole numbers, and score where there are
  some.

Boxes of npz and CSV are xmin, ymin, xmax, ymax in pixels, counted from 1 and inclusive.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from annotation.formats.fields import Fields
from phrasebox.formats.arrays import open_arrays
from phrasebox.formats.scores import ids_of, named_array
from phrasebox.names import ANY, FILE, SOURCE
from phrasebox.table_files import IMAGE_ALIASES, TableFile
from phrasebox.text_files import FormatError, decimal_number, short_repr, whole_number

#: The suffixes of such files.
BOX_SUFFIXES = (".csv", ".json", ".npz")
COLUMNS = ("image", "xmin", "ymin", "xmax", "ymax")
#: Distance in pixels from the picture's corner beyond which a number must be a mistake.
_FARTHEST = 1e8
#: Number of rows of arrays read at a time.
_ROWS = 65_536
#: The name spaces of images: their ids in the source for COCO's results, else any name.
_OF_RESULTS = (SOURCE, FILE)
NAME_SPACES = (ANY, _OF_RESULTS)
_RESULT = '[{"image_id": 42, "bbox": [x, y, width, height], "score": 0.9}, ...]'


class FileBox(NamedTuple):
    """A box (xmin, ymin, xmax, ymax) in pixels, counted from 1 and inclusive, of the image called `image` in
    the file, in its name `spaces`. A higher `score` is better; 0 if the file has none."""

    image: str
    box: tuple[int, int, int, int]
    score: float = 0.0
    spaces: tuple[str, ...] = ANY


def read_boxes(path: Path) -> Iterator[FileBox]:
    """Stream the boxes of a file in its order; they may extend beyond their pictures.

    Raises FormatError, with the line or the entry (from 1; rows of arrays from 0), for an entry that is no
    box with ordered corners, an image and a finite score, and for a file of none of the forms.
    """
    match path.suffix.lower():
        case ".json":
            return _results(path)
        case ".npz":
            return _arrays(path)
        case _:
            return _rows(path)


def _rows(path: Path) -> Iterator[FileBox]:
    table = TableFile(path, {"image": IMAGE_ALIASES})
    table.require(*COLUMNS, expected=f"the columns {', '.join(COLUMNS)}")
    table.count_columns(*COLUMNS, "score")
    for number, row in table.rows():
        numbers = [whole_number(row[column]) for column in COLUMNS[1:]]
        if None in numbers:
            text = short_repr(",".join(row[column] for column in COLUMNS[1:]))
            raise FormatError(f"has the box {text}", file=path, line=number, expected="four whole numbers")
        left, top, right, low = (value or 0 for value in numbers)
        # Without a column of scores all are 0.
        score = decimal_number(row.get("score", "0"))
        if score is None:
            raise FormatError(
                f"has the score {short_repr(row['score'])}",
                file=path,
                line=number,
                expected="a finite number",
            )
        box = (left, top, right, low)
        if left > right or top > low or max(map(abs, box)) > _FARTHEST:
            raise FormatError(
                f"box {short_repr(box)} has its corners in the wrong order, or far outside",
                file=path,
                line=number,
                expected="xmin <= xmax and ymin <= ymax",
            )
        yield FileBox(row["image"].strip(), box, score)


def _results(path: Path) -> Iterator[FileBox]:
    from annotation.formats.files.json_stream import items  # other formats do not need this import

    number = 0
    for number, item in enumerate(items(path, "item"), 1):
        entry = Fields(item, what=f"entry {number}", file=path)
        image, numbers, score = entry.identifier("image_id"), entry.list("bbox"), entry.value.get("score")
        if len(numbers) != 4 or not all(_is_number(edge) for edge in numbers) or min(numbers[2:]) <= 0:
            raise entry.refuse(
                f"'bbox' is {short_repr(numbers)}", "x, y, width and height, the last two above 0"
            )
        if score is None or not _is_number(score, most=sys.float_info.max):
            raise entry.refuse(f"'score' is {short_repr(score)}", "a finite number")
        x, y, width, height = numbers
        left, top = round(x), round(y)
        right, low = max(round(x + width), left + 1), max(round(y + height), top + 1)
        yield FileBox(image, (left + 1, top + 1, right, low), float(score), _OF_RESULTS)
    if not number:
        raise FormatError("holds no list of boxes", file=path, expected=f"COCO results, as in {_RESULT}")


def _is_number(value: Any, most: float = _FARTHEST) -> bool:
    """Whether it is a finite number of at most that magnitude; in Python, true is a number too."""
    return type(value) in (int, float) and abs(value) <= most


def _arrays(path: Path) -> Iterator[FileBox]:
    held = open_arrays(path)
    boxes = named_array(held, "boxes")
    if boxes.ndim != 2 or boxes.shape[1] != 4 or boxes.dtype.kind not in "fiu":
        raise FormatError(
            f"boxes have shape {boxes.shape} of {boxes.dtype}",
            file=path,
            expected="numbers of shape (boxes, 4)",
        )
    ids = ids_of(held, "ids", len(boxes), once=False)
    scores = named_array(held, "scores") if "scores" in held.arrays else None
    if scores is not None and (scores.shape != (len(boxes),) or scores.dtype.kind not in "fiu"):
        raise FormatError(
            f"scores have shape {scores.shape} of {scores.dtype}, and there are {len(boxes)} boxes",
            file=path,
            expected="a number for each box",
        )
    for start in range(0, len(boxes), _ROWS):
        part = np.asarray(boxes[start : start + _ROWS], np.float64)
        values = np.zeros(len(part)) if scores is None else np.asarray(scores[start : start + _ROWS], float)
        bad = ~(np.abs(part) <= _FARTHEST).all(axis=1) | (part[:, 2:] < part[:, :2]).any(axis=1)
        bad |= ~np.isfinite(values)
        if bad.any():
            row = int(bad.argmax())
            raise FormatError(
                f"box {start + row} (counted from 0), of {short_repr(ids[start + row])}, is "
                f"{part[row].tolist()}, its score {values[row]:g}",
                file=path,
                expected="xmin, ymin, xmax, ymax with xmin <= xmax and ymin <= ymax, and a finite score",
            )
        for row, (left, top, right, low) in enumerate(np.rint(part).astype(int).tolist()):
            yield FileBox(ids[start + row], (left, top, right, low), float(values[row]))
