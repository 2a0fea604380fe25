"""The style of all figures, in light and dark, on screens and on paper.

Ink is drawn black, and becomes the text colour of the page around an SVG (`svg`). Colours have a contrast of
at least 3:1 with white and with the dark page; modelled on Okabe and Ito, they are distinguishable for
colour-blind people, and each has its own marker and dash. Nothing here changes matplotlib's global state: no
pyplot, no backend, no style. It is imported on use.
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

#: In inches: two columns of a journal's page.
WIDTH = 7.0
FIGURE_INK, GRID, MUTED = "#000000", "#808080", "#808080"
ACCENT = "#0072b2"
#: Colours of the first systems; the others of a figure are grey, and are in its table.
_COLOURS = ("#0072b2", "#d55e00", "#00855f", "#b0578d", "#8a6d00", "#7a5fd0", "#b8405e", "#4f7d8c")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = ("-", "--", "-.", (0, (1, 1.2)))
COLOURED = len(_COLOURS)
#: Number of names in a row of a legend.
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
    # Letters stay text: searchable, accessible, and in the page's own font.
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "phrasebox",
    "path.simplify": False,
    # Names may contain any characters.
    "text.parse_math": False,
    "text.usetex": False,
}


@dataclass(frozen=True, slots=True)
class SystemLook:
    """The style of one system."""

    colour: str
    marker: str
    dash: str | tuple[int, tuple[float, ...]]


def system_look(number: int) -> SystemLook:
    """Return the style of system `number`, counted from 0; those beyond the palette are grey."""
    if number >= COLOURED:
        return SystemLook(MUTED, "", "-")
    return SystemLook(_COLOURS[number], _MARKERS[number], _DASHES[number % len(_DASHES)])


@contextmanager
def styled() -> Iterator[None]:
    """Use our matplotlib settings within the context."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def canvas(
    columns: int = 1, rows: int = 1, *, height: float, share_y: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a new figure and its axes, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=share_y)
    return figure, [axes[row][column] for row in range(rows) for column in range(columns)]


def value_grid(axes: Axes, which: Literal["x", "y", "both"] = "y") -> None:
    """Draw faint grid lines."""
    axes.grid(axis=which, color=GRID, linewidth=0.5, alpha=0.35)


def short(name: str, width: int = 26) -> str:
    """Return a name in at most two lines of `width`; the middle of a longer one is omitted."""
    lines = textwrap.wrap(name, width, break_on_hyphens=True)
    if len(lines) > 2:
        lines = [name[: width - 1] + "\N{HORIZONTAL ELLIPSIS}", name[-width + 1 :]]
    return "\n".join(lines)


def legend(figure: Figure, handles: Sequence[Artist], names: Sequence[str]) -> None:
    """Add names below the panels, set afterwards: a legend omits those with a leading _."""
    box = figure.legend(
        handles,
        [str(number) for number in range(len(names))],
        loc="outside lower center",
        ncols=min(IN_A_ROW, len(names)),
    )
    for text, name in zip(box.get_texts(), names, strict=True):
        text.set_text(name)


def legend_height(names: Sequence[str]) -> float:
    """Return the height in inches of a legend of these names below the panels."""
    lines = [
        max(name.count("\n") for name in names[at : at + IN_A_ROW]) + 1
        for at in range(0, len(names), IN_A_ROW)
    ]
    return 0.15 * sum(lines) + 0.1


def whole_numbers(axis: Axis) -> None:
    """Put ticks only at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def percent_axis(axes: Axes, highest: float) -> None:
    """Format the y axis in per cent, from 0 to slightly above `highest` (a share)."""
    axes.set_ylim(0, min(1.02, max(0.05, 1.12 * highest)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
