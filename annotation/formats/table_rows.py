"""The rows of a CSV file, whatever its columns."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from phrasebox.text_files import FormatError, lines

#: The line at which a row ends, and its cells by column; cells beyond the columns are a list under None.
TableRow = tuple[int, dict[str | None, Any]]


def read_table_rows(file: Path) -> Iterator[list[str] | TableRow]:
    """The columns of a CSV file, then its rows; raises FormatError naming the line."""
    reader = csv.DictReader((text for _, text in lines(file, keep_ends=True)), strict=True)
    try:
        yield list(reader.fieldnames or ())
        for row in reader:
            yield reader.line_num, dict(row)
    except csv.Error as error:
        raise FormatError(str(error), file=file, line=reader.line_num, expected="CSV") from error
