"""How all figures look, in light and dark, on screens and on paper.

Ink is drawn black, and is the text colour of whatever page an SVG stands on (`svg`). Colours have a
contrast of 3:1 or more with white and with the dark page alike; after Okabe and Ito, they are told apart by
colour-blind eyes too, and each goes with a marker and a dash of its own. Nothing here touches
matplotlib's global state: no pyplot, no backend chosen, no style left behind. It is imported on use.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

#: Inches: two columns of a journal's page.
WIDTH = 7.0
FIGURE_INK, GRID, MUTED = "#000000", "#808080", "#808080"
ACCENT = "#0072b2"
#: So many systems have a colour; the others of a figure are grey, and stand in its table.
_COLOURS = ("#0072b2", "#d55e00", "#00855f", "#b0578d", "#8a6d00", "#7a5fd0", "#b8405e", "#4f7d8c")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = ("-", "--", "-.", (0, (1, 1.2)))
COLOURED = len(_COLOURS)
#: Names beside each other in a legend.
IN_A_ROW = 3

_SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    # Letters stay letters: to be searched for, read out, and set in the page's own type.
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "phrasebox",
    "path.simplify": False,
    # Names are names, whatever signs they have.
    "text.parse_math": False,
    "text.usetex": False,
}


@dataclass(frozen=True, slots=True)
class SystemLook:
    """How one system is drawn."""

    colour: str
    marker: str
    dash: str | tuple[int, tuple[float, ...]]


def system_look(number: int) -> SystemLook:
    """The look of system `number`, counted from 0; those past the palette are grey."""
    if number >= COLOURED:
        return SystemLook(MUTED, "", "-")
    return SystemLook(_COLOURS[number], _MARKERS[number], _DASHES[number % len(_DASHES)])


@contextmanager
def styled() -> Iterator[None]:
    """While this lasts, matplotlib's settings are ours."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def canvas(
    columns: int = 1, rows: int = 1, *, height: float, share_y: bool = False
) -> tuple[Figure, list[Axes]]:
    """A new figure and its axes, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=share_y)
    return figure, [axes[row][column] for row in range(rows) for column in range(columns)]


def value_grid(axes: Axes, which: Literal["x", "y", "both"] = "y") -> None:
    """Faint lines to read values by."""
    axes.grid(axis=which, color=GRID, linewidth=0.5, alpha=0.35)


def short(name: str, width: int = 26) -> str:
    """A name in at most two lines of `width`; of a longer one the middle is left out."""
    lines = textwrap.wrap(name, width, break_on_hyphens=True)
    if len(lines) > 2:
        lines = [name[: width - 1] + "\N{HORIZONTAL ELLIPSIS}", name[-width + 1 :]]
    return "\n".join(lines)


def legend(figure: Figure, handles: Sequence[Artist], names: Sequence[str]) -> None:
    """Names below the panels, set once it is made: a legend leaves out those with a leading _."""
    box = figure.legend(
        handles,
        [str(number) for number in range(len(names))],
        loc="outside lower center",
        ncols=min(IN_A_ROW, len(names)),
    )
    for text, name in zip(box.get_texts(), names, strict=True):
        text.set_text(name)


def legend_height(names: Sequence[str]) -> float:
    """Inches that a legend of these names takes below the panels."""
    lines = [
        max(name.count("\n") for name in names[at : at + IN_A_ROW]) + 1
        for at in range(0, len(names), IN_A_ROW)
    ]
    return 0.15 * sum(lines) + 0.1


def whole_numbers(axis: Axis) -> None:
    """Ticks at whole numbers alone."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def percent_axis(axes: Axes, highest: float) -> None:
    """The y axis in per cent, from 0 to a little over `highest` (a share)."""
    axes.set_ylim(0, min(1.02, max(0.05, 1.12 * highest)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
