"""Counts by category as grouped bars, as in Plummer et al. 2015, Figure 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from annotation.figures.style import canvas, legend, system_look, value_grid
from annotation.figures.svg import drawn_as_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEIGHT, _BAR = 2.8, 0.27


def category_bars(
    categories: Sequence[str], counts: Mapping[str, Sequence[int]], *, title: str, key: str
) -> str:
    """Return a group of bars for each category, as SVG: `counts` are by what was counted, each in the order
    of the categories; at least one. `title` is its accessible name, `key` begins its ids."""

    def draw() -> Figure:
        figure, (axes,) = canvas(height=_HEIGHT)
        handles = []
        for number, values in enumerate(counts.values()):
            places = [place + (number - (len(counts) - 1) / 2) * _BAR for place in range(len(categories))]
            handles.append(axes.bar(places, values, width=_BAR, color=system_look(number).colour))
        axes.set_xticks(range(len(categories)), list(categories))
        axes.tick_params(axis="x", length=0)
        axes.yaxis.set_major_formatter(lambda value, _position: f"{value:,.0f}")
        value_grid(axes)
        legend(figure, [handle[0] for handle in handles], list(counts))
        return figure

    return drawn_as_svg(draw, key=key, title=title)
