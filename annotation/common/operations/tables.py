"""The tables of a result: as text, CSV and LaTeX for commands and downloads, and on pages."""

from collections.abc import Callable, Mapping
from typing import Any

from phrasebox.figure_tables import LAYOUTS, Table

#: Returns the tables of a result by title; the title of a single one may be "".
ResultTables = Callable[[Any], Mapping[str, Table]]


def tables_text(tables: ResultTables) -> Callable[[Any], str]:
    """Return the function that lays out all tables of a result as text, below their titles."""

    def text(result: Any) -> str:
        parts = [f"{title}\n{LAYOUTS.get('text')(table)}" for title, table in tables(result).items()]
        return "\n\n".join(map(str.strip, parts))

    return text


def table_layouts(tables: ResultTables) -> dict[str, Callable[[Any], str]]:
    """Return the functions that write all tables of a result as CSV and as LaTeX."""

    def in_layout(layout: str) -> Callable[[Any], str]:
        return lambda result: "\n\n".join(map(LAYOUTS.get(layout), tables(result).values()))

    return {layout: in_layout(layout) for layout in ("csv", "latex")}
