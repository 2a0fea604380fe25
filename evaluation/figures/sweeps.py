"""A figure over a setting: a line per series, with its interval as a band, in a panel per measure.

It draws, for example, Tables 2 to 4 (alpha) and Figure 2 (K_top) of structured listwise tagging.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from annotation.figures.style import (
    canvas,
    legend,
    legend_height,
    percent_axis,
    short,
    system_look,
    value_grid,
)
from evaluation.figures.base import Plot, figure_kind, rows_by
from phrasebox.figure_basis import FigureBasis
from phrasebox.figure_tables import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "sweeps"
#: The opacity of a band: six of them have to be distinguishable.
_BAND = 0.12


@dataclass(frozen=True, slots=True)
class SweptFigure:
    """A share of a `series` on a `measure`, with its interval, at the value `setting`."""

    series: str
    measure: str
    setting: float
    value: float
    low: float
    high: float


def plot(key: str, title: str, axis: str, swept: Sequence[SweptFigure], *, basis: FigureBasis) -> Plot:
    """Return the figure of these shares; `axis` is the name of the setting, and series and measures come in
    order of first occurrence. `basis` describes what the figures are based on. Raises ValueError for no
    shares."""
    if not swept:
        raise ValueError("nothing was swept; give at least one figure")
    rows: list[list[Cell]] = [
        [row.series, row.measure, axis, row.setting, row.value, row.low, row.high] for row in swept
    ]
    head = ["series", "measure", "axis", "setting", "value", "low", "high"]
    data = Table(head, rows, dict.fromkeys(head[4:], 4), basis=basis)
    return Plot(key, KIND, title, sweeps_sentence(axis, swept), data)


def sweeps_sentence(axis: str, swept: Sequence[SweptFigure]) -> str:
    """Return the best series and setting for each measure."""
    sentences = []
    for measure in dict.fromkeys(row.measure for row in swept):
        rows = [row for row in swept if row.measure == measure]
        best = max(rows, key=lambda row: row.value)
        sentences.append(f"{measure}: {best.value:.1%} at best, {best.series} at {axis} {best.setting:g}.")
    return " ".join(sentences)


@figure_kind(KIND)
def _draw(data: Table) -> Figure:
    """Draw a panel per measure, a line per series."""
    lines = rows_by(data, ["measure", "series"])
    measures = list(dict.fromkeys(measure for measure, _ in lines))
    series = list(dict.fromkeys(name for _, name in lines))
    names = [short(str(name)) for name in series]
    figure, panels = canvas(len(measures), height=2.8 + legend_height(names), share_y=True)
    highest = max(float(row["high"]) for rows in lines.values() for row in rows)
    for panel, measure in zip(panels, measures, strict=True):
        value_grid(panel)
        for number, name in enumerate(series):
            points, look = lines.get((measure, name), []), system_look(number)
            where = [point["setting"] for point in points]
            panel.fill_between(
                where,
                [point["low"] for point in points],
                [point["high"] for point in points],
                color=look.colour,
                alpha=_BAND,
                linewidth=0,
            )
            panel.plot(
                where,
                [point["value"] for point in points],
                color=look.colour,
                linestyle=look.dash,
                marker=look.marker,
            )
        panel.set_title(str(measure), loc="left")
        panel.set_xlabel(str(data.rows[0][list(data.head).index("axis")]))
        panel.set_xticks(sorted({point["setting"] for rows in lines.values() for point in rows}))
        percent_axis(panel, highest)
    looks = [system_look(number) for number in range(len(series))]
    handles = [
        panels[0].plot([], [], color=look.colour, linestyle=look.dash, marker=look.marker)[0]
        for look in looks
    ]
    legend(figure, handles, names)
    return figure
