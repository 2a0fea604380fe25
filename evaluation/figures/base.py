"""What a figure is: data as a table, a sentence about its meaning, and a function that draws it.

A kind of figure is one module of this folder. It registers a function that draws its table, and has another
that makes the figure from a report's findings. A figure draws exactly what its table contains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phrasebox.figure_tables import Table
from phrasebox.registry import Registry

if TYPE_CHECKING:  # matplotlib is imported only where something is drawn: most processes never draw
    from matplotlib.figure import Figure

Draw = Callable[[Table], "Figure"]


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure of a report: `kind` selects the function that draws its `data`; `key` is its file name."""

    key: str
    kind: str
    title: str
    sentence: str
    data: Table


FIGURE_DRAWERS: Registry[Draw] = Registry("kind of figure")


def figure_kind(key: str) -> Callable[[Draw], Draw]:
    """Register the decorated function as the one that draws figures of kind `key`."""

    def register(draw: Draw) -> Draw:
        return FIGURE_DRAWERS.register(key, draw)

    return register


def column(table: Table, name: str) -> list[Any]:
    """Return a column's cells; raises ValueError for an unknown name."""
    index = list(table.head).index(name)
    return [row[index] for row in table.rows]


def rows_by(table: Table, names: Sequence[str]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Group rows, as mappings, by the values of the columns `names`, in order of first occurrence."""
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table.rows:
        cells = dict(zip(table.head, row, strict=True))
        rows.setdefault(tuple(cells[name] for name in names), []).append(cells)
    return rows
