"""Histograms of the rank of each query's original, one panel per system on the same axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotation.figures.style import ACCENT, MUTED, canvas, percent_axis, short, value_grid
from evaluation.figures.base import Plot, figure_kind, rows_by
from evaluation.report_data.directions import BINS, DirectionTable
from phrasebox.figure_tables import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "ranks"
#: Panels per row: for few systems, and for many.
FEW, MANY = 3, 5
NOT_THERE = "not listed"


def plot(direction: DirectionTable) -> Plot | None:
    """Return the histograms of a direction; None if no query has an original."""
    names = bin_names()
    used = [
        number for number in range(len(names)) if any(system.ranks[number] for system in direction.systems)
    ]
    if not used:
        return None
    # Empty bins beyond the worst rank are omitted; gaps between ranks stay.
    ranks_to_draw = [
        number
        for number, name in enumerate(names)
        if (
            name != NOT_THERE
            and number <= max((rank for rank in used if names[rank] != NOT_THERE), default=0)
        )
        or (name == NOT_THERE and number in used)
    ]
    rows: list[list[Cell]] = [
        [system.label, names[number], system.ranks[number], system.ranks[number] / max(1, sum(system.ranks))]
        for system in direction.systems
        for number in ranks_to_draw
    ]
    return Plot(
        key=f"ranks-{direction.direction}",
        kind=KIND,
        title=f"Ranks of the originals, {direction.direction}",
        sentence=_sentence(direction),
        data=Table(["system", "rank", "queries", "share"], rows, places={"share": 4}, basis=direction.basis),
    )


def bin_names() -> list[str]:
    """Return the labels of the bins of `directions.binned`."""
    starts = [1, *(end + 1 for end in BINS[:-1])]
    inside = [
        f"{start}" if start == end else f"{start}\N{EN DASH}{end}"
        for start, end in zip(starts, BINS, strict=True)
    ]
    return [*inside, f"over {BINS[-1]}", NOT_THERE]


def _sentence(direction: DirectionTable) -> str:
    """Return how often the original comes first, and how often it is not retrieved."""
    parts = []
    shares = [
        (system.ranks[0] / sum(system.ranks), system) for system in direction.systems if sum(system.ranks)
    ]
    if not shares:
        return ""
    share, best = max(shares, key=lambda pair: pair[0])
    parts.append(f"{best.label} ranks the original first for {share:.1%} of the queries")
    if len(shares) > 1:
        least, worst = min(shares, key=lambda pair: pair[0])
        parts[0] += f", the most; {worst.label} for {least:.1%}, the fewest"
    lost = [system for system in direction.systems if system.ranks[-1]]
    if lost:
        share = max(system.ranks[-1] / sum(system.ranks) for system in lost)
        of = "one run misses" if len(lost) == 1 else f"{len(lost)} runs miss"
        parts.append(f"{of} some originals, at most {share:.1%} of them")
    return "; ".join(parts) + "."


@figure_kind(KIND)
def _draw(data: Table) -> Figure:
    """Draw small panels with the same axes, one per system."""
    systems = rows_by(data, ["system"])
    many = len(systems) > FEW * FEW
    columns = min(MANY if many else FEW, len(systems))
    rows = -(-len(systems) // columns)
    figure, panels = canvas(columns, rows, height=0.9 + (1.25 if many else 1.4) * rows, share_y=True)
    highest = max(float(bar["share"]) for bars in systems.values() for bar in bars)
    for number, (panel, ((system,), bars)) in enumerate(
        zip(panels[: len(systems)], systems.items(), strict=True)
    ):
        value_grid(panel)
        names = [str(bar["rank"]) for bar in bars]
        colours = [MUTED if name == NOT_THERE else ACCENT for name in names]
        panel.bar(range(len(bars)), [float(bar["share"]) for bar in bars], color=colours, width=0.8)
        panel.set_title(short(str(system), 19 if many else 30), loc="left", fontweight="normal", fontsize=8)
        percent_axis(panel, highest)
        # Only the last panel of each column has labels of bins.
        last = number + columns >= len(systems)
        panel.set_xticks(range(len(bars)), names if last else [""] * len(bars), rotation=45, ha="right")
        panel.tick_params(axis="x", length=0)
        if number % columns == 0:
            panel.set_ylabel("queries")
    for panel in panels[len(systems) :]:
        panel.set_visible(False)
    figure.supxlabel("rank of the original", fontsize=8.5)
    return figure
