"""Boxes that a model annotator proposes, as JSON Lines: one image per line.

    {"image": "scene-000001", "boxes": {"0:1-3": [[34, 12, 120, 240, 0.81], ...], ...}}

The key of a phrase is its mention: caption, first word, and the word after its last, all counted from 0. A
box is left, top, right, bottom, 1-based and inclusive, and the probability that people accept it. Boxes are
clipped to their picture.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.protocol.contents import corners
from annotation.protocol.model_annotators import Proposals, ProposedBox, best_first
from annotation.protocol.terms import Box
from phrasebox.balance import BOXES, OUTSIDE, current_tally
from phrasebox.names import ImageNames, ImageNaming
from phrasebox.text_files import FormatError, lines

_SHAPE = '{"image": KEY, "boxes": {"0:1-3": [[xmin, ymin, xmax, ymax, chance], ...]}}'


@dataclass(slots=True)
class OutOfPicture:
    """How many boxes of a file were `clipped` to their picture, and how many were entirely outside and
    skipped."""

    clipped: int = 0
    outside: int = 0


#: Returns width and height in pixels for an image's key, 0 if unknown.
SizeOf = Callable[[str], tuple[int, int]]
#: Returns the key of an image for its key or file name (`phrasebox.names.ImageNames.key`).
KeyOf = Callable[[str], str]


def read_proposals(
    path: Path,
    *,
    size_of: SizeOf = lambda image: (0, 0),
    out: OutOfPicture | None = None,
    key_of: KeyOf = str,
) -> Iterator[tuple[str, Proposals]]:
    """Yield (key of an image, its proposals, the best first) of each line, the boxes clipped to the picture
    of this size.

    `out` counts the clipped ones. Raises FormatError, naming the line.
    """
    out = OutOfPicture() if out is None else out
    seen: set[str] = set()
    for number, line in lines(path):
        try:
            content = json.loads(line)
            image, boxes = content["image"], content["boxes"]
            image = key_of(image) if isinstance(image, str) else image
            size = size_of(str(image))
            proposals = {
                str(phrase): best_first(_proposed(rows, size, out)) for phrase, rows in boxes.items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"no proposals ({error})", file=path, line=number, expected=_SHAPE) from error
        if not isinstance(image, str) or image in seen:
            raise FormatError(
                f"image {image!r} comes twice, or is no key",
                file=path,
                line=number,
                expected="each image once",
            )
        seen.add(image)
        yield image, proposals


def read_proposals_within(
    path: Path, sizes: Mapping[str, tuple[int, int]], images: Iterable[ImageNaming]
) -> Iterator[tuple[str, Proposals] | OutOfPicture]:
    """Like `read_proposals`, for images of these sizes and names; the last item is the number of clipped or
    skipped boxes."""
    out = OutOfPicture()
    key_of = ImageNames(images).key
    yield from read_proposals(path, size_of=lambda image: sizes.get(image, (0, 0)), out=out, key_of=key_of)
    yield out


def proposal_line(image: str, proposals: Proposals) -> str:
    """Return the line of an image, without its end."""
    boxes = {
        phrase: [[*corners(proposal.box), round(proposal.chance, 4)] for proposal in phrase_proposals]
        for phrase, phrase_proposals in proposals.items()
    }
    return json.dumps({"image": image, "boxes": boxes}, separators=(",", ":"))


def write_proposals(path: Path, images: Iterable[tuple[str, Proposals]]) -> int:
    """Write a file of proposals; return the number of images."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for image, proposals in images:
            file.write(proposal_line(image, proposals) + "\n")
            count += 1
    return count


def _proposed(boxes: Any, size: tuple[int, int], out: OutOfPicture) -> Iterator[ProposedBox]:
    """Yield the parts of boxes within a picture of this size."""
    tally = current_tally()
    for *box, chance in boxes:
        if any(type(corner) is not int for corner in box) or len(box) != 4:
            raise ValueError(f"box {box} is not four whole numbers")
        if not isinstance(chance, int | float) or not 0 <= chance <= 1:
            raise ValueError(f"chance {chance!r} is not from 0 to 1")
        left, top, right, low = box
        if left > right or top > low:
            raise ValueError(f"box {box} has its corners in the wrong order")
        width, height = size
        corners = [max(left, 1), max(top, 1), min(right, width or right), min(low, height or low)]
        tally.count(BOXES)
        if corners[0] > corners[2] or corners[1] > corners[3]:
            out.outside += 1
            tally.leave(BOXES, OUTSIDE)
            continue
        tally.take(BOXES)
        out.clipped += corners != box
        yield ProposedBox(Box(*corners), float(chance))
