"""The rows of a table with any columns, as plain data."""

from collections.abc import Iterator
from pathlib import Path

from phrasebox.table_files import IMAGE_ALIASES, RaggedRow, TableFile

#: The line at which a row ends, and its cells by column; no cells if their number differs from the columns'.
TableRow = tuple[int, dict[str, str]]


def read_table_rows(file: Path) -> Iterator[list[str] | TableRow]:
    """Yield the columns of a table, then its rows. Raises FormatError naming the line."""
    table = TableFile(file, {"image": IMAGE_ALIASES})
    yield table.header
    for line, row in table:
        yield line, {} if isinstance(row, RaggedRow) else row
