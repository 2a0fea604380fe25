"""The rows of a table, whatever its columns, as plain data."""

from collections.abc import Iterator
from pathlib import Path

from phrasebox.table_files import IMAGE_ALIASES, RaggedRow, TableFile

#: The line at which a row ends, and its cells by column; none where they are more or fewer than the columns.
TableRow = tuple[int, dict[str, str]]


def read_table_rows(file: Path) -> Iterator[list[str] | TableRow]:
    """The columns of a table, then its rows; raises FormatError naming the line."""
    table = TableFile(file, {"image": IMAGE_ALIASES})
    yield table.header
    for line, row in table:
        yield line, {} if isinstance(row, RaggedRow) else row
