"""Tables in text files: rows of cells under a header, as spreadsheets and sites write them.

Cells are separated by commas, semicolons, tabs or bars, as the header shows or a line `sep=;` before it
declares. Headers are case-insensitive, and spaces and hyphens are read as `_`. Empty rows and columns that
nobody uses are skipped.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from phrasebox.balance import CLUTTER, NOT_READ, TABLE_COLUMNS, current_tally
from phrasebox.text_files import FormatError, lines, short_repr

Row = dict[str, str]

#: Other names of the column `image`.
IMAGE_ALIASES = ("image_name", "file_name", "filename", "image_file", "file")
DELIMITERS = (",", ";", "\t", "|")
#: Columns in which other tools number rows or images.
ROW_NUMBERS = frozenset(
    {"", "id", "index", "idx", "unnamed:_0", "row", "img_id", "imgid", "__index_level_0__"}
)
_SEPARATOR = re.compile(r"sep=(.)\s*", re.IGNORECASE)


def column_name(cell: str) -> str:
    """Return the normalized name of a header's cell: `Image Name` becomes `image_name`."""
    return re.sub(r"[\s-]+", "_", cell.strip().strip("\ufeff").strip('"').casefold())


def count_columns(columns: Iterable[str], used: Collection[str]) -> None:
    """Count columns for the balance sheet: the `used` ones, row numbers of other tools, and the others."""
    tally = current_tally()
    for name in columns:
        if name in used:
            tally.count(TABLE_COLUMNS)
            tally.take(TABLE_COLUMNS)
        else:
            tally.pass_over(TABLE_COLUMNS, CLUTTER if name in ROW_NUMBERS else NOT_READ, 1, name)


class RaggedRow(FormatError):
    """A row with more or fewer `cells` than the header."""

    def __init__(self, cells: list[str], *, file: Path, line: int, expected: str) -> None:
        super().__init__(f"holds {len(cells)} cells", file=file, line=line, expected=expected)
        self.cells = cells


class TableFile:
    """A table that is read: its columns under their normalized names, and its rows.

    `aliases` are alternative names of columns: with `{"image": ("file_name", "image_name")}`, the first of
    them that the header has is read as `image`, unless it has `image` itself. Raises FormatError for a
    duplicate column.
    """

    def __init__(self, file: Path, aliases: Mapping[str, Sequence[str]] | None = None) -> None:
        self.file = file
        self._numbered = lines(file, keep_ends=True)
        self._delimiter, first, self._line = self._head()
        cells = self._cells(iter([first]), self._line)
        self.header = [column_name(cell) for cell in next((cells for _, cells in cells if any(cells)), [])]
        if twice := [name for name, number in Counter(self.header).items() if number > 1 and name]:
            raise FormatError(
                f"has the column {short_repr(twice[0])} more than once",
                file=file,
                line=self._line,
                expected="each column once",
            )
        for name, others in (aliases or {}).items():
            alias = next((alias for alias in (name, *others) if alias in self.header), None)
            if alias is not None:
                self.header[self.header.index(alias)] = name

    def __iter__(self) -> Iterator[tuple[int, Row | RaggedRow]]:
        """Yield (line, cells by column) for each row, or the error for a row with more or fewer cells than
        the header.

        Raises FormatError for an unclosed quotation mark.
        """
        for line, cells in self._cells((text for _, text in self._numbered), self._line + 1):
            if not any(map(str.strip, cells)):
                continue
            if len(cells) == len(self.header):
                yield line, dict(zip(self.header, cells, strict=True))
            else:
                expected = f"{len(self.header)}, as in the header"
                yield line, RaggedRow(cells, file=self.file, line=line, expected=expected)

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Yield (line, cells by column) for each row. Raises FormatError at the first invalid row."""
        for line, row in self:
            if isinstance(row, RaggedRow):
                raise row
            yield line, row

    def require(self, *columns: str, expected: str) -> None:
        """Raise FormatError if the header lacks one of these columns."""
        missing = [name for name in columns if name not in self.header]
        if missing:
            raise FormatError(
                f"the header has no column {missing[0]}: {short_repr(','.join(self.header))}",
                file=self.file,
                line=self._line,
                expected=expected,
            )

    def count_columns(self, *used: str) -> None:
        """Count the columns for the balance sheet: the `used` ones, and the others."""
        count_columns(self.header, used)

    def _head(self) -> tuple[str, str, int]:
        """Return the delimiter, the header, and its line."""
        declared = ""
        for number, text in self._numbered:
            if not declared and (match := _SEPARATOR.fullmatch(text)):
                declared = match[1]
            elif text.strip():
                return declared or _delimiter(text), text, number
        return declared or ",", "", 1

    def _cells(self, texts: Iterable[str], first: int) -> Iterator[tuple[int, list[str]]]:
        # Sites that separate by bars do not quote cells, and use quotation marks within them.
        quoting: Literal[0, 3] = csv.QUOTE_NONE if self._delimiter == "|" else csv.QUOTE_MINIMAL
        reader = csv.reader(texts, delimiter=self._delimiter, strict=True, quoting=quoting)
        try:
            for cells in reader:
                yield first + reader.line_num - 1, cells
        except csv.Error as error:
            raise FormatError(
                f"is not CSV ({error})",
                file=self.file,
                line=first + max(reader.line_num, 1) - 1,
                expected="cells with one sign between them, and quotation marks in pairs",
            ) from error


def _delimiter(header: str) -> str:
    """Return the most frequent separator of a header; a comma if it has none."""
    counts = {sign: header.count(sign) for sign in DELIMITERS}
    return max(DELIMITERS, key=counts.__getitem__)
