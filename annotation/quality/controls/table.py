"""Control items from a CSV file.

The first line has the columns, in any order:

    kind         coref_link, chain_verification, box_requirement, box_drawing, box_quality, box_coverage;
                 relevance, graded_relevance, caption_writing
    purpose      control or qualification
    image        the image's key in the campaign's corpus, or its file name
    mentions     their ids, separated by spaces: 0:0-2 3:1-3 (caption:start-end, from 0, end exclusive)
    boxes        boxes accepted so far, as xmin,ymin,xmax,ymax, separated by semicolons; may be empty
    pending      box_quality: the box to be judged; else empty
    known        the answer's word; for box_drawing the boxes still to be drawn, or none
    explanation  optional: the reason, for workers who got it wrong
    captions     relevance, graded_relevance: the captions shown, IMAGE#NUMBER, separated by spaces
    sentence     caption_writing: the sentence of the test of spelling

Boxes are in pixels, 1-based and inclusive. For the last three kinds `known` is: the names of the true
captions; the grade; "correct" or "incorrect". A file with only these kinds may omit mentions, boxes and
pending, one with only the others captions and sentence.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from annotation.common.readers import stream
from annotation.formats.table_rows import TableRow, read_table_rows
from annotation.models import Account, Campaign
from annotation.protocol.kinds import BadItem, draws, is_counted, kind_of
from annotation.protocol.terms import Box
from annotation.quality.controls.authoring import Added, add_control_items
from annotation.quality.controls.counted import CountedControlItem
from annotation.quality.controls.items import ControlItem
from annotation.selectors.corpora import names_of_images
from phrasebox.balance import EXAMPLES, PROBLEM, ROWS, current_tally
from phrasebox.names import AmbiguousName, ImageNames
from phrasebox.text_files import FormatError

_REQUIRED = ("kind", "purpose", "image", "known")
#: Required unless the file has the columns of counted questions.
OF_CHAIN = ("mentions", "boxes", "pending")
OF_COUNTED = ("captions", "sentence")
_COLUMNS = (*_REQUIRED, *OF_CHAIN, "explanation", *OF_COUNTED)
#: The gold answer to a drawing without missing boxes.
NOTHING_LEFT = "none"


def from_csv(*, campaign: Campaign, file: Path, actor: Account | None = None) -> Added:
    """Add the control items of a CSV file: all of them, or none.

    Existing items are unchanged. Raises BadItems, naming the line of every invalid row, and FormatError if
    the file is no such table.
    """
    items: list[tuple[int, ControlItem | CountedControlItem]] = []
    problems: list[tuple[int, str]] = []
    names = names_of_images(campaign.corpus)
    for line, cells in _rows(file):
        try:
            items.append((line, _item(cells, names)))
        except BadItem as error:
            problems.append((line, str(error)))
    if not items and not problems:
        raise FormatError("holds no rows", file=file, expected="one control item per row")
    added = add_control_items(campaign=campaign, items=items, source="csv", actor=actor, problems=problems)
    tally = current_tally()
    tally.count(ROWS, len(items))
    tally.take(ROWS, added.added + added.there)
    tally.leave(ROWS, PROBLEM, len(added.passed_over), *map(str, added.passed_over[:EXAMPLES]))
    return added


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line at which each row ends, and its cells by column. Raises FormatError."""
    rows = stream(read_table_rows, file)
    head = cast(list[str], next(rows))
    needed = _REQUIRED if set(head) & set(OF_COUNTED) else (*_REQUIRED, *OF_CHAIN)
    missing = [name for name in needed if name not in head]
    unknown = [name for name in head if name not in _COLUMNS or head.count(name) > 1]
    if missing or unknown:
        problem = f"lacks the column {missing[0]!r}" if missing else f"has a column {unknown[0]!r}"
        raise FormatError(problem, file=file, line=1, expected=f"{', '.join(_COLUMNS)}, each once")
    yield from cast(Iterator[TableRow], rows)


def _item(cells: dict[str, str], names: ImageNames) -> ControlItem | CountedControlItem:
    """Return the control item of one row. Raises BadItem if it cannot be parsed."""
    if not cells:
        raise BadItem("has more or fewer cells than the first line; expected one for each column")
    row = {name: cell.strip() for name, cell in cells.items()}
    try:
        row["image"] = names.key(row["image"])
        row["captions"] = " ".join(map(names.caption_key, row.get("captions", "").split()))
    except AmbiguousName as error:
        raise BadItem(f"{error}; name images by file name") from error
    if not row["known"]:
        raise BadItem("known is empty; expected the answer, or none where no box is left to draw")
    if is_counted(row["kind"]):
        return _counted(row)
    known: str | tuple[Box, ...] = row["known"]
    if draws(row["kind"]):
        known = () if known == NOTHING_LEFT else _boxes(row["known"], "known")
    pending = _boxes(row.get("pending", ""), "pending")
    if len(pending) > 1:
        raise BadItem(f"pending holds {len(pending)} boxes; expected one")
    return ControlItem(
        kind=row["kind"],
        purpose=row["purpose"],
        image=row["image"],
        mentions=tuple(row.get("mentions", "").split()),
        known=known,
        boxes=_boxes(row.get("boxes", ""), "boxes"),
        pending=pending[0] if pending else None,
        explanation=row.get("explanation", ""),
    )


def _counted(row: Mapping[str, str]) -> CountedControlItem:
    """Return the control item of a row about a counted question. Raises BadItem."""
    captions = tuple(_caption(name) for name in row.get("captions", "").split())
    read = kind_of(row["kind"]).written_known
    known: str | tuple[bool, ...] = read(row["known"], captions) if read is not None else row["known"]
    return CountedControlItem(
        kind=row["kind"],
        purpose=row["purpose"],
        image=row["image"],
        known=known,
        captions=captions,
        sentence=row.get("sentence", ""),
        explanation=row.get("explanation", ""),
    )


def _caption(name: str) -> tuple[str, int]:
    key, _, number = name.rpartition("#")
    if not key or not (number.isascii() and number.isdigit()):
        raise BadItem(f"caption {name!r}: expected IMAGE#NUMBER, as 1000092795#0")
    return key, int(number)


def _boxes(cell: str, column: str) -> tuple[Box, ...]:
    """Return the boxes in a cell. Raises BadItem."""
    boxes = []
    for part in filter(None, (part.strip() for part in cell.split(";"))):
        try:
            xmin, ymin, xmax, ymax = map(int, part.split(","))
            boxes.append(Box(xmin, ymin, xmax, ymax))
        except ValueError:
            raise BadItem(
                f"{column} {part!r}: expected xmin,ymin,xmax,ymax in whole pixels from 1, with "
                "xmin <= xmax and ymin <= ymax"
            ) from None
    return tuple(boxes)
