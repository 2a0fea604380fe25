"""What a figure is: data as a table, a sentence that says what it means, and how it is drawn.

A kind of figure is one file of this folder. It registers a function that draws its table, and offers one
that makes the figure of a report's findings. Whatever is drawn stands in the table, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluation.formats.figure_tables import Table
from phrasebox.registry import Registry

if TYPE_CHECKING:  # matplotlib is imported where something is drawn: most processes never draw
    from matplotlib.figure import Figure

Draw = Callable[[Table], "Figure"]


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure of a report: `kind` says how its `data` are drawn; `key` is its file's name."""

    key: str
    kind: str
    title: str
    sentence: str
    data: Table


FIGURE_DRAWERS: Registry[Draw] = Registry("kind of figure")


def figure_kind(key: str) -> Callable[[Draw], Draw]:
    """Register the decorated function as what draws figures of kind `key`."""

    def register(draw: Draw) -> Draw:
        return FIGURE_DRAWERS.register(key, draw)

    return register


def column(table: Table, name: str) -> list[Any]:
    """A column's cells; raises ValueError for a name that is none."""
    index = list(table.head).index(name)
    return [row[index] for row in table.rows]


def rows_by(table: Table, names: Sequence[str]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Rows as mappings, by the values of the columns `names`, in the order in which these come."""
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table.rows:
        cells = dict(zip(table.head, row, strict=True))
        rows.setdefault(tuple(cells[name] for name in names), []).append(cells)
    return rows
