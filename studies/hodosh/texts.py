"""Output of the commands: cells and words beside the printed ones."""

from itertools import groupby

from annotation.common.plain_text import text_table
from phrasebox.figure_basis import FigureBasis
from phrasebox.figure_tables import Cell, Table, as_text
from studies.hodosh.cells import COUNT, KAPPA, PrintedCell
from studies.hodosh.figure3 import PRINTED_FIGURE3, SIMILAR_WORDS, Figure3
from studies.hodosh.report import ReproductionReport

_HODOSH = FigureBasis(
    protocol="Hodosh et al. 2013", notes=("Each row is of the cases that its printed table is of.",)
)

#: Whether a figure is within tolerance, in a table's cell.
WITHIN = {True: "yes", False: "no", None: ""}


def similar_words_text(figure: Figure3) -> str:
    """Return sizes, the number of words that agree, our own lists, and each printed word beside ours."""
    sizes = text_table(
        ["vocabulary", "printed", "ours"],
        [[cell.row, int(cell.printed), int(cell.ours or 0)] for cell in figure.sizes],
    )
    counted = "\n".join(
        f"{column}: {figure.within(column)} of {sum(map(len, PRINTED_FIGURE3[column].values()))} within "
        f"0.02, {figure.count_listed(column)} in our first {SIMILAR_WORDS}"
        for column in figure.ours
    )
    lists = "\n".join(
        f"{column}, {word}: " + ", ".join(f"{similar} {value:.2f}" for similar, value in neighbours)
        for column, words in figure.ours.items()
        for word, neighbours in words.items()
    )
    table = as_text(similar_words_table(figure))
    return f"{sizes}\n\n{counted}\n\nOur own lists\n{lists}\n\n{table}"


def similar_words_table(figure: Figure3) -> Table:
    """Return each printed word beside ours."""
    head = ["similarity", "word", "similar", "printed", "ours", "within", "our rank", "remark"]
    rows: list[list[Cell]] = [
        [
            *(
                neighbour.cell.column,
                *neighbour.cell.row.split(", "),
                neighbour.cell.printed,
                neighbour.cell.ours,
            ),
            *(WITHIN[neighbour.cell.within], neighbour.rank, neighbour.cell.why),
        ]
        for neighbour in figure.neighbours
    ]
    basis = FigureBasis(
        cases="images",
        counted=figure.images,
        out_of=figure.images,
        pool="captions of Flickr8k's training images",
        protocol="Hodosh et al. 2013, Figure 3",
    )
    return Table(head, rows, places={"printed": 2}, basis=basis)


def reproduced_text(report: ReproductionReport) -> str:
    """Return every cell beside the printed one, and the results of other conventions."""
    parts = (_cells(report), _summary(report), _not_within(report), _others(report), *_HODOSH.lines())
    return "\n\n".join(parts)


def reproduced_table(report: ReproductionReport) -> Table:
    """Return every cell beside the printed one."""
    head = ["table", "row", "column", "printed", "ours", "unit", "within", "remark"]
    rows: list[list[Cell]] = [
        [
            *(cell.table, cell.row, cell.column, cell.printed, cell.ours, cell.unit),
            *(WITHIN[cell.within], "; ".join(_cell_row(cell))),
        ]
        for cell in report.cells
    ]
    return Table(head, rows, basis=_HODOSH)


def _cells(report: ReproductionReport) -> str:
    """Return every cell, table by table."""
    parts = []
    for name, cells in groupby(report.cells, key=lambda cell: cell.table):
        rows = [
            [cell.row, cell.column, _cell_text(cell.printed, cell.unit), *_ours(cell), _remark(cell)]
            for cell in cells
        ]
        parts.append(f"{name}\n{text_table(['row', 'column', 'printed', 'ours', 'off', ''], rows)}")
    return "\n\n".join(parts)


def _cell_text(value: float, unit: str) -> str:
    """Return a figure with the digits of its unit."""
    if unit == COUNT:
        return f"{value:,.0f}"
    return f"{value:.2f}" if unit == KAPPA else f"{value:.1f} %"


def _ours(cell: PrintedCell) -> list[str]:
    if cell.ours is None:
        return ["-", "-"]
    off = cell.ours - cell.printed
    if cell.unit == COUNT:
        return [f"{cell.ours:,.0f}", f"{off:+,.0f}"]
    return (
        [f"{cell.ours:.3f}", f"{off:+.3f}"] if cell.unit == KAPPA else [f"{cell.ours:.2f} %", f"{off:+.2f}"]
    )


def _remark(cell: PrintedCell) -> str:
    outside = ["OUTSIDE"] if cell.within is False else []
    return "; ".join([*outside, *_cell_row(cell)])


def _cell_row(cell: PrintedCell) -> list[str]:
    again = f"not counted: repeats {cell.again}" if cell.again else ""
    return [text for text in (cell.why, cell.note, again) if text]


def _summary(report: ReproductionReport) -> str:
    counted, again = report.tally, len(report.cells) - len(report.counted)
    return (
        f"{counted.within} of {counted.cells} cells are within tolerance ({counted.share:.1%}): 0.02 for "
        f"coefficients, two points for percentages, 2 % or 5 items for counts. {again} more cells repeat a "
        "printed value and are not counted."
    )


def _not_within(report: ReproductionReport) -> str:
    """Return the cells outside tolerance once more, and those that cannot be computed."""
    outside = [cell for cell in report.counted if cell.within is False]
    missing = [cell for cell in report.cells if cell.ours is None]
    lines = [f"{len(outside)} cells outside:"]
    lines += [
        f"  {cell.table}, {cell.row}, {cell.column}: printed {_cell_text(cell.printed, cell.unit)}, "
        f"ours {_ours(cell)[0]}" + (f" ({cell.note})" if cell.note else "")
        for cell in outside
    ]
    lines.append(f"{len(missing)} cells that cannot be computed, not counted:")
    lines += [f"  {cell.table}, {cell.row}, {cell.column}: {cell.why}" for cell in missing]
    return "\n".join(lines)


def _others(report: ReproductionReport) -> str:
    """Return the effect of other conventions on each family of cells."""
    head = [
        "convention",
        "family of cells",
        "cells",
        "within, chosen",
        "within, so",
        "off, chosen",
        "off, so",
    ]
    rows = [
        [
            alternative.convention,
            alternative.family,
            alternative.chosen.cells,
            alternative.chosen.within,
            alternative.alternative.within,
            alternative.chosen.mean,
            alternative.alternative.mean,
        ]
        for alternative in report.alternatives
    ]
    return (
        "Other conventions: cells within tolerance and their mean difference in units of the tolerance "
        "(off), as chosen and then so. "
        f"Chosen: {report.conventions.described()}\n{text_table(head, rows)}"
    )
