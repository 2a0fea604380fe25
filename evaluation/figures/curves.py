"""R@k and S@k over k: the share of queries with an original, or a relevant item, among the top k."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotation.figures.style import (
    COLOURED,
    canvas,
    legend,
    legend_height,
    percent_axis,
    short,
    system_look,
    value_grid,
)
from evaluation.figures.base import Plot, figure_kind, rows_by
from evaluation.report_data.directions import DirectionTable
from phrasebox.figure_tables import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "curves"
WHAT = {"R": "R@k: an original in the top k", "S": "S@k: a relevant item in the top k"}


def plot(direction: DirectionTable) -> Plot | None:
    """Return the curves of a direction; None if no run was measured at any k."""
    rows: list[list[Cell]] = [
        [system.label, f"{letter}@k", k, share]
        for letter in WHAT
        for system in direction.systems
        for k, share in enumerate(system.curves.get(letter, ()), start=1)
    ]
    if not rows:
        return None
    return Plot(
        key=f"curves-{direction.direction}",
        kind=KIND,
        title=f"R@k and S@k, {direction.direction}",
        sentence=curves_sentence(direction),
        data=Table(["system", "measure", "k", "share"], rows, places={"share": 4}, basis=direction.basis),
    )


def curves_sentence(direction: DirectionTable) -> str:
    """Return the result at the deepest k that all curves reach."""
    sentences = []
    for letter, word in (("R", "an original"), ("S", "a relevant item")):
        ends = [
            (system.curves[letter], system.label) for system in direction.systems if system.curves.get(letter)
        ]
        if not ends:
            continue
        # Deeper lists end at a larger k, where a higher share does not mean a better system.
        depth = min(len(curve) for curve, _ in ends)
        best, name = max(((curve[depth - 1], label) for curve, label in ends), key=lambda end: end[0])
        least, last = min(((curve[depth - 1], label) for curve, label in ends), key=lambda end: end[0])
        range_ = f", the most, and {last} for {least:.1%}, the fewest" if least < best else ""
        sentences.append(f"{name} has {word} in the top {depth} for {best:.1%} of the queries{range_}.")
    return " ".join(sentences)


@figure_kind(KIND)
def _draw(data: Table) -> Figure:
    """Draw a panel per measure, a line per system; the eight best at the end have a colour and a name."""
    lines = rows_by(data, ["measure", "system"])
    measures = list(dict.fromkeys(measure for measure, _ in lines))
    ends: dict[object, float] = {}
    for (_, system), points in lines.items():
        ends[system] = max(ends.get(system, 0.0), float(points[-1]["share"]))
    best = sorted(ends, key=lambda system: -ends[system])[:COLOURED]
    # In the order of the report's tables, so that a system has the same colour in all its figures.
    named = [system for system in ends if system in best]
    looks = {system: system_look(number) for number, system in enumerate(named)}
    names = [short(str(system)) for system in named]
    figure, panels = canvas(len(measures), height=2.6 + legend_height(names), share_y=True)
    for panel, measure in zip(panels, measures, strict=True):
        value_grid(panel)
        # Lines with names are drawn last, on top of the others.
        for system in [*(look for look in ends if look not in looks), *reversed(named)]:
            points = lines.get((measure, system), [])
            system_style = looks.get(system, system_look(COLOURED))
            panel.plot(
                [point["k"] for point in points],
                [point["share"] for point in points],
                color=system_style.colour,
                linestyle=system_style.dash,
                marker=system_style.marker,
                linewidth=1.6 if system in looks else 0.8,
            )
        panel.set_title(WHAT[str(measure)[0]], loc="left")
        panel.set_xlabel("k")
        deepest = max(int(point["k"]) for points in lines.values() for point in points)
        panel.set_xticks(range(1, deepest + 1))
        percent_axis(panel, max(ends.values()))
    panels[0].set_ylabel("queries")
    handles = [
        panels[0].plot([], [], color=look.colour, linestyle=look.dash, marker=look.marker)[0]
        for look in looks.values()
    ]
    if len(ends) > len(looks):
        handles.append(panels[0].plot([], [], color=system_look(COLOURED).colour, linewidth=0.8)[0])
        names.append(f"{len(ends) - len(looks)} others")
    legend(figure, handles, names)
    return figure
