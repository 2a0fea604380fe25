"""The number of judgments per pair, and how often all judges agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotation.figures.style import ACCENT, MUTED, canvas, value_grid, whole_numbers
from evaluation.figures.base import Plot, column, figure_kind
from evaluation.report_data.judging import JudgingSummary
from phrasebox.figure_tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "judgments"


def plot(judging: JudgingSummary) -> Plot:
    """Return a figure of the pairs by their number of judgments."""
    rows = [[row.answers, row.pairs, row.unanimous, row.pairs - row.unanimous] for row in judging.per_pair]
    return Plot(
        key="judgments",
        kind=KIND,
        title="Judgments per pair",
        sentence=_sentence(judging),
        data=Table(["judgments", "pairs", "unanimous", "divided"], rows, basis=judging.basis),
    )


def _sentence(judging: JudgingSummary) -> str:
    """Return the most frequent number, and how often judges are unanimous."""
    usual = max(judging.per_pair, key=lambda row: (row.pairs, -row.answers))
    judgments = "judgment" if usual.answers == 1 else "judgments"
    share = usual.pairs / judging.pairs
    of = (
        f"All {usual.pairs:,} pairs"
        if share == 1
        else f"{usual.pairs:,} of {judging.pairs:,} pairs ({share:.1%})"
    )
    start = f"{of} have {usual.answers} {judgments}"
    several = [row for row in judging.per_pair if row.answers > 1]
    pairs = sum(row.pairs for row in several)
    if not pairs:
        return f"{start}; no pair has more than one."
    share = sum(row.unanimous for row in several) / pairs
    return f"{start}; of the pairs with more than one, all judgments agree for {share:.1%}."


@figure_kind(KIND)
def _draw(data: Table) -> Figure:
    """Draw a bar per number of judgments, divided by whether all agree."""
    names = [str(number) for number in column(data, "judgments")]
    same, divided = ([int(n) for n in column(data, name)] for name in ("unanimous", "divided"))
    figure, (panel,) = canvas(height=2.6)
    value_grid(panel)
    places = range(len(names))
    width = 0.7 if len(names) > 2 else 0.35
    panel.bar(places, same, color=ACCENT, width=width, label="all judges agree")
    panel.bar(
        places,
        divided,
        bottom=same,
        color=MUTED,
        width=width,
        label="judges are divided",
        hatch="///",
        edgecolor="#c8c8c8",
        linewidth=0,
    )
    if len(names) <= 12:
        for x, agreeing, differing in zip(places, same, divided, strict=True):
            panel.annotate(
                f"{agreeing + differing:,}",
                (x, agreeing + differing),
                (0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
    panel.set_xticks(places, names)
    panel.set_xlim(-0.8, len(names) - 0.2)
    panel.margins(y=0.12)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    whole_numbers(panel.yaxis)
    panel.set_xlabel("judgments of a pair")
    panel.set_ylabel("pairs")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
