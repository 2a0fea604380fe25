"""Agreement over thresholds: Cohen's kappa of two sets of judgments, each cut into yes and no."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotation.figures.style import canvas, legend, legend_height, system_look, value_grid
from evaluation.figures.base import Plot, figure_kind, rows_by
from evaluation.report_data.judging import SweptKappas
from phrasebox.figure_basis import FigureBasis
from phrasebox.figure_tables import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "agreement"


def plot(swept: SweptKappas, number: int) -> Plot:
    """Return the sweep as a figure; `number` distinguishes the sweeps of a report, from 1."""
    head = [f"{swept.first} at least", f"{swept.second} at least", "kappa", "low", "high", "remark"]
    rows: list[list[Cell]] = [
        [row, column, cell.value, cell.low, cell.high, cell.reason]
        for row, line in zip(swept.rows, swept.kappa, strict=True)
        for column, cell in zip(swept.columns, line, strict=True)
    ]
    basis = FigureBasis(
        cases=swept.unit,
        counted=swept.items,
        out_of=swept.items,
        pool=f"{swept.first} and {swept.second}",
    )
    return Plot(
        key="agreement" if number == 1 else f"agreement-{number}",
        kind=KIND,
        title=f"Agreement of {swept.first} with {swept.second}, by threshold",
        sentence=agreement_sentence(swept),
        data=Table(head, rows, places={head[0]: 2, head[1]: 2}, basis=basis),
    )


def agreement_sentence(swept: SweptKappas) -> str:
    """Return where agreement is highest; cuts that are not shown have no higher kappa."""
    cells = [
        (cell, row, column)
        for row, line in zip(swept.rows, swept.kappa, strict=True)
        for column, cell in zip(swept.columns, line, strict=True)
        if cell.value is not None
    ]
    if not cells:
        return f"Kappa of {swept.first} with {swept.second} is undefined at every threshold."
    cell, row, column = max(cells, key=lambda entry: entry[0].value or 0.0)
    between = (
        f" ({100 * cell.level:g} %: {cell.low:.2f} to {cell.high:.2f}"
        f"{f'; {cell.reason}' if cell.reason else ''})"
        if cell.level is not None and cell.low is not None and cell.high is not None
        else ""
    )
    return (
        f"Kappa is highest, {cell.value:.2f}{between}, for {swept.first} of at least {row:.3g} with "
        f"{swept.second} of at least {column:.3g}, over {swept.items:,} {swept.unit}."
    )


@figure_kind(KIND)
def _draw(data: Table) -> Figure:
    """Draw a line for each cut of the first set, over the cuts of the second; whiskers are intervals.

    Lines beyond the palette's colours are grey; a report has at most one of these.
    """
    first, second = list(data.head)[:2]
    names = [f"{first} {cut:.3g}" for (cut,) in rows_by(data, [first])]
    figure, (panel,) = canvas(height=2.6 + legend_height(names))
    value_grid(panel)
    panel.axhline(0, color="#000000", linewidth=0.8)
    lines = rows_by(data, [first])
    values = sorted({float(point[second]) for points in lines.values() for point in points})
    # Shifted sideways, or the whiskers of several lines would hide each other.
    step = ((values[-1] - values[0]) or 1.0) * min(0.008, 0.024 / len(lines))
    handles = []
    for number, points in enumerate(lines.values()):
        known = [point for point in points if point["kappa"] is not None]
        look, shift = system_look(number), (number - (len(lines) - 1) / 2) * step
        xs = [float(point[second]) + shift for point in known]
        ys = [float(point["kappa"]) for point in known]
        handles += panel.plot(xs, ys, color=look.colour, linestyle=look.dash, marker=look.marker)
        for x, point in zip(xs, known, strict=True):
            if point["low"] is not None:
                ends = [float(point["low"]), float(point["high"])]
                panel.plot([x, x], ends, color=look.colour, linewidth=1.0)
    panel.set_xlabel(second)
    panel.set_ylabel("Cohen's kappa")
    panel.set_xticks(values, [f"{value:.2f}" for value in values])
    panel.set_ylim(min(0.0, panel.get_ylim()[0]), max(1.0, panel.get_ylim()[1]))
    legend(figure, handles, names)
    return figure
