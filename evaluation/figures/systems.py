"""Systems by their figures on originals and on judgments: one point per system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from annotation.figures.style import (
    COLOURED,
    MUTED,
    SystemLook,
    canvas,
    legend,
    legend_height,
    short,
    system_look,
    value_grid,
)
from evaluation.figures.base import Plot, figure_kind, rows_by
from evaluation.report_data.directions import DirectionTable, basis_of_directions
from evaluation.report_data.orders import BY_JUDGMENTS, BY_ORIGINALS, OrderAgreement, first_of
from phrasebox.figure_tables import Cell, Table
from phrasebox.metrics.table import METRICS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "systems"
#: The look of one of many systems, which has a number instead of a colour.
LITTLE = SystemLook(MUTED, "o", "")
#: The smallest distance between two numbers, as a share of the panel.
ROOM = 0.045


def plot(directions: Sequence[DirectionTable], orders: Sequence[OrderAgreement]) -> Plot | None:
    """Return a figure of the systems of all directions; None if none has both kinds of figures."""
    rows: list[list[Cell]] = []
    held: list[tuple[str, str, str]] = []
    for direction in directions:
        originals = first_of(BY_ORIGINALS, direction.measures)
        judged = first_of(BY_JUDGMENTS, direction.measures)
        if not originals or not judged:
            continue
        held.append((direction.direction, originals, judged))
        for number, entry in enumerate(direction.systems, start=1):
            x, y = entry.figures[originals].value, entry.figures[judged].value
            if x is not None and y is not None:
                rows.append([direction.direction, number, entry.label, originals, x, judged, y])
    if not rows:
        return None
    head = [
        "direction",
        "number",
        "system",
        "by originals",
        "original figure",
        "by judgments",
        "judged figure",
    ]
    return Plot(
        key="systems",
        kind=KIND,
        title="Systems by their originals and by judgments",
        sentence=_sentence(
            [entry for entry in orders if (entry.direction, entry.originals, entry.judged) in held],
            numbered=len({str(row[2]) for row in rows}) > COLOURED,
        ),
        data=Table(
            head,
            rows,
            places={"original figure": 4, "judged figure": 4},
            basis=basis_of_directions(directions),
        ),
    )


def _sentence(orders: Sequence[OrderAgreement], *, numbered: bool) -> str:
    """Return how similar the two rankings are, and what the numbers beside points are, if systems are
    `numbered`."""
    sentences = [
        f"In {row.direction}, {row.originals} and {row.judged} rank {row.systems} systems with Kendall's tau "
        f"{row.tau:.2f} and Spearman's rho {row.rho:.2f}."
        if row.tau is not None and row.rho is not None
        else f"In {row.direction}, {row.originals} and {row.judged} have no defined correlation: "
        f"{row.reason}."
        for row in orders
    ]
    if orders and numbered:
        sentences.append("Numbers refer to the data below; some are left out where points overlap.")
    return " ".join(sentences) or "One system cannot be ordered."


@figure_kind(KIND)
def _draw(data: Table) -> Figure:
    """Draw a panel per direction; up to eight systems have a colour and a name, more have numbers."""
    panels_of = rows_by(data, ["direction"])
    systems = list(dict.fromkeys(str(row["system"]) for rows in panels_of.values() for row in rows))
    few = len(systems) <= COLOURED
    names = [short(name) for name in systems]
    figure, panels = canvas(len(panels_of), height=2.8 + (legend_height(names) if few else 0))
    for panel, ((direction,), points) in zip(panels, panels_of.items(), strict=True):
        value_grid(panel, "both")
        panel.set_title(str(direction), loc="left")
        for point in points:
            x, y = float(point["original figure"]), float(point["judged figure"])
            look = system_look(systems.index(str(point["system"]))) if few else LITTLE
            panel.plot(
                [x], [y], color=look.colour, marker=look.marker, linestyle="", markersize=8 if few else 4
            )
        for point in [] if few else _apart(points):
            point_xy = float(point["original figure"]), float(point["judged figure"])
            panel.annotate(str(point["number"]), point_xy, (3, 2), textcoords="offset points", fontsize=7)
        for axis, name in (("x", str(points[0]["by originals"])), ("y", str(points[0]["by judgments"]))):
            unit = METRICS.find(name).measure.unit
            getattr(panel, f"set_{axis}label")(f"{name} (fewer is better)" if unit == "rank" else name)
            getattr(panel, f"{axis}axis").set_major_formatter(
                (lambda value, _: f"{100 * value:.4g} %")
                if unit == "share"
                else (lambda value, _: f"{value:g}")
            )
            if unit == "rank":
                getattr(panel, f"invert_{axis}axis")()
        panel.margins(0.12)
    if few:
        handles = [
            panels[0].plot([], [], color=look.colour, marker=look.marker, linestyle="", markersize=7)[0]
            for look in (system_look(number) for number in range(len(systems)))
        ]
        legend(figure, handles, names)
    return figure


def _apart(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the points whose numbers do not overlap, the best by judgments first."""
    ranges = []
    for name in ("original figure", "judged figure"):
        values = [float(point[name]) for point in points]
        ranges.append((name, (max(values) - min(values)) or 1.0))
    chosen: list[dict[str, Any]] = []
    for point in sorted(points, key=lambda entry: (-entry["judged figure"], entry["number"])):
        crowded = any(
            all(abs(point[name] - chosen_point[name]) < ROOM * wide for name, wide in ranges)
            for chosen_point in chosen
        )
        chosen += [] if crowded else [point]
    return chosen
