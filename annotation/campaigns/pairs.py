"""Pairs of images and captions from a CSV file.

The first line names the columns, in any order: `image`, the image's key or file name in the corpus;
`caption`, the caption's name, IMAGE#NUMBER with numbers from 0; and, optionally, `role`: "wanted" (the
default), or "filler" for a pair that a filter removed and that may fill up a page.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from annotation.campaigns.choosing import too_small_keys
from annotation.common.readers import stream
from annotation.formats.table_rows import TableRow, read_table_rows
from annotation.models import Corpus
from annotation.protocol.paging import ROLE_FILLER, ROLE_WANTED, Pair
from annotation.selectors.corpora import names_of_images
from phrasebox.balance import DUPLICATE, FILLING, OF_LEFT, PAIRS, TOO_SMALL, current_tally
from phrasebox.names import AmbiguousName
from phrasebox.table_files import count_columns
from phrasebox.text_files import FormatError

REQUIRED = ("image", "caption")
_COLUMNS = (*REQUIRED, "role")


@dataclass(slots=True)
class PairTable:
    """The pairs to judge in a file, each once, and the fillers of pages: image -> captions."""

    pairs: list[Pair] = field(default_factory=list)
    fillers: dict[str, list[str]] = field(default_factory=dict)


def pairs_from_csv(file: Path, corpus: Corpus) -> PairTable:
    """Return the pairs of a file, without those of images that are too small to be asked about. Raises
    FormatError with the line."""
    rows, table = stream(read_table_rows, file), PairTable()
    names, too_small = names_of_images(corpus), too_small_keys(corpus)
    distinct: dict[Pair, None] = {}
    repeated: list[str] = []
    small: list[str] = []
    fillers: list[str] = []
    head = cast(list[str], next(rows))
    if not set(REQUIRED) <= set(head):
        raise FormatError(
            f"has the columns {', '.join(head) or 'none'}",
            file=file,
            line=1,
            expected="image, caption and, if need be, role, each once",
        )
    count_columns(head, _COLUMNS)
    for line, row in cast(Iterator[TableRow], rows):
        cells = {name: cell.strip() for name, cell in row.items() if name in _COLUMNS}
        role = cells.get("role") or ROLE_WANTED
        if not row or not cells["image"] or not cells["caption"] or role not in (ROLE_WANTED, ROLE_FILLER):
            raise FormatError(
                f"is not a pair: {', '.join(cells.values())}",
                file=file,
                line=line,
                expected=f"an image, a caption as IMAGE#NUMBER, and {ROLE_WANTED} or {ROLE_FILLER}",
            )
        try:
            image, caption = names.key(cells["image"]), names.caption_key(cells["caption"])
        except AmbiguousName as error:
            expected = "file names of images"
            raise FormatError(str(error), file=file, line=line, expected=expected) from error
        pair = Pair(image, caption)
        if role == ROLE_FILLER:
            table.fillers.setdefault(image, []).append(caption)
            fillers.append(caption)
        elif image in too_small:
            small.append(image)
        elif pair in distinct:
            repeated.append(caption)
        else:
            distinct[pair] = None
    if not distinct:
        only = f", only {len(small)} of images that are too small to be asked about" if small else ""
        raise FormatError(f"has no pair to judge{only}", file=file, expected="one pair per row")
    table.pairs = list(distinct)
    tally = current_tally()
    left = {OF_LEFT: small, DUPLICATE: repeated, FILLING: fillers}
    tally.take_others(PAIRS, len(distinct) + sum(map(len, left.values())), left)
    tally.note(TOO_SMALL, len(set(small)), *dict.fromkeys(small))
    return table
