"""What the commands of studies print: cross-validation, simulated judges, and what was printed before."""

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from annotation.common.plain_text import text_table
from evaluation.comparison.cross_validation import MEDIAN_RANK, TESTED
from evaluation.formats.figure_basis import FigureBasis, basis_from_dict
from evaluation.formats.figure_tables import LAYOUTS, Cell, Table, as_text
from evaluation.report_data.tables import bracketed
from evaluation.reproduction.cells import COUNT, KAPPA, PrintedCell
from evaluation.reproduction.figure3 import PRINTED_FIGURE3, SIMILAR_WORDS_SHOWN, Figure3
from evaluation.reproduction.report import ReproductionReport
from evaluation.services.batches.recorded_judges import SimulatedJudges
from evaluation.services.request_fields import FigureReport
from models_core.estimators.base import DIRECTIONS
from models_core.estimators.kcca.selection import CUTOFFS

_MEASURES = (*(f"R@{k}" for k in CUTOFFS), MEDIAN_RANK)
_HODOSH = FigureBasis(
    protocol="Hodosh et al. 2013", notes=("Each row is of the cases that its printed table is of.",)
)


def simulated_text(done: SimulatedJudges) -> str:
    """Who came, and what is left over."""
    crowd = ", ".join(f"{count} {kind}" for kind, count in done.crowd.items()) or "judges as recorded"
    violations = [f"{what}: {count}" for what, count in done.violations.items() if count]
    lines = [
        f"batch {done.batch!r}: {done.answers} answers by {crowd}, seed {done.seed}",
        f"suspended: {', '.join(done.suspended) or 'nobody'}",
        f"left over: {done.open_tasks} open tasks, {done.leased} of them leased",
        "; ".join([*violations, *done.amiss]) or "no task over-assigned, no answer lost or duplicated",
    ]
    return "\n".join(lines)


def crossed_text(crossed: FigureReport) -> str:
    """The figures of recipes, and the tests of pairs."""
    report = crossed.report
    figures = f"{_remarks(report)}\n\n{as_text(_figures(report))}"
    if not report["tests"]:
        return figures
    return (
        f"{figures}\n\nMcNemar's exact test at R@{TESTED}; p adjusted by Holm for {len(report['tests'])} "
        f"tests; * p <= 0.1, ** p <= 0.05, *** p <= 0.01\n\n{as_text(_tests(report))}"
    )


def _as(layout: str, table: Callable[[Any], Table]) -> Callable[[Any], str]:
    return lambda result: LAYOUTS.get(layout)(table(result))


def _remarks(report: dict[str, Any]) -> str:
    whom = (
        f"{report['images']} images of corpus {report['corpus']!r} in {report['folds']} folds (seed "
        f"{report['seed']}), each a query once among the {report['pool']} of its fold; "
        f"{report['excluded']} images are left out."
    )
    how = (
        f"Images: {report['image']}. In brackets: 95 % intervals; Wilson for shares, bootstrap over "
        "the images for median ranks."
    )
    lines = [whom, how]
    if report["background"]:
        removed = (
            f"dropped {report['background_excluded']:,} of {report['background_lines']:,} lines, captions of "
            "the corpus"
        )
        lines.append(f"Background text in place of the BNC: {', '.join(report['background'])}; {removed}.")
    if report["lemmas"]:
        lines.append(f"Lemmas: {Path(report['lemmas']).name}.")
    if report["same"]:
        lines.append(f"Left out, as they equal others with these features: {', '.join(report['same'])}.")
    lines += [
        f"{system['system']}, {remark}." for system in report["systems"] for remark in system["remarks"]
    ]
    return "\n".join(lines)


def _figures(report: dict[str, Any], *, spread: bool = False) -> Table:
    """Systems by measures and directions; with `spread` the ends of intervals have columns of their own.

    What is to be known of a system's intervals is then a remark, and else stands beside each.
    """
    head = ["system"]
    for direction in DIRECTIONS:
        for measure in _MEASURES:
            head += [f"{direction} {measure}"]
            head += [f"{direction} {measure} low", f"{direction} {measure} high"] if spread else []
    head += ["remark"] if spread else []
    rows: list[list[Cell]] = []
    for system in report["systems"]:
        row: list[Cell] = [system["system"]]
        remarks: dict[str, None] = {}
        for direction in DIRECTIONS:
            for measure in _MEASURES:
                interval = system["figures"][direction][measure]
                value, low, high = (
                    interval[key] * (1 if measure == MEDIAN_RANK else 100) for key in ("value", "low", "high")
                )
                if spread:
                    row += [value, low, high]
                    remarks.setdefault(interval["remark"], None)
                else:
                    row.append(
                        bracketed(value, low, high, images=interval["clusters"], remark=interval["remark"])
                    )
        rows.append([*row, "; ".join(filter(None, remarks))] if spread else row)
    return Table(head, rows, places=dict.fromkeys(head[1:], 1), basis=basis_from_dict(report["basis"]))


def _tests(report: dict[str, Any]) -> Table:
    head = ["first", "second", "direction", "difference", "first only", "second only", "p", "adjusted p", ""]
    rows: list[list[Cell]] = [
        [
            *(test["first"], test["second"], test["direction"], 100 * test["difference"]),
            *(test["first_only"], test["second_only"], f"{test['p']:.2g}", f"{test['adjusted']:.2g}"),
            test["mark"],
        ]
        for test in report["tests"]
    ]
    return Table(head, rows, places={"difference": 1}, basis=basis_from_dict(report["basis"]))


CROSSED_LAYOUTS = {
    "csv": _as("csv", lambda crossed: _figures(crossed.report, spread=True)),
    "latex": _as("latex", lambda crossed: _figures(crossed.report)),
    "tests-csv": _as("csv", lambda crossed: _tests(crossed.report)),
    "tests-latex": _as("latex", lambda crossed: _tests(crossed.report)),
}


def similar_words_text(figure: Figure3) -> str:
    """Sizes, how many words agree, our own lists, and each printed word beside ours."""
    sizes = text_table(
        ["vocabulary", "printed", "ours"],
        [[cell.row, int(cell.printed), int(cell.ours or 0)] for cell in figure.sizes],
    )
    counted = "\n".join(
        f"{column}: {figure.within(column)} of {sum(map(len, PRINTED_FIGURE3[column].values()))} within "
        f"0.02, {figure.count_listed(column)} in our first {SIMILAR_WORDS_SHOWN}"
        for column in figure.ours
    )
    lists = "\n".join(
        f"{column}, {word}: " + ", ".join(f"{similar} {value:.2f}" for similar, value in neighbours)
        for column, words in figure.ours.items()
        for word, neighbours in words.items()
    )
    table = as_text(_similar_words(figure))
    return f"{sizes}\n\n{counted}\n\nOur own lists\n{lists}\n\n{table}"


def _similar_words(figure: Figure3) -> Table:
    head = ["similarity", "word", "similar", "printed", "ours", "within", "our rank", "remark"]
    rows: list[list[Cell]] = [
        [
            *(
                neighbour.cell.column,
                *neighbour.cell.row.split(", "),
                neighbour.cell.printed,
                neighbour.cell.ours,
            ),
            *(_WITHIN[neighbour.cell.within], neighbour.rank, neighbour.cell.why),
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


_WITHIN = {True: "yes", False: "no", None: ""}
SIMILAR_WORDS_LAYOUTS = {layout: _as(layout, _similar_words) for layout in ("csv", "latex")}


def reproduced_text(report: ReproductionReport) -> str:
    """Every cell beside what was printed, and what other conventions would have given."""
    parts = (_cells(report), _summary(report), _not_within(report), _others(report), *_HODOSH.lines())
    return "\n\n".join(parts)


def _reproduced(report: ReproductionReport) -> Table:
    head = ["table", "row", "column", "printed", "ours", "unit", "within", "remark"]
    rows: list[list[Cell]] = [
        [
            *(cell.table, cell.row, cell.column, cell.printed, cell.ours, cell.unit),
            *(_WITHIN[cell.within], "; ".join(_cell_row(cell))),
        ]
        for cell in report.cells
    ]
    return Table(head, rows, basis=_HODOSH)


REPRODUCED_LAYOUTS = {layout: _as(layout, _reproduced) for layout in ("csv", "latex")}


def _cells(report: ReproductionReport) -> str:
    """Every cell, table by table."""
    parts = []
    for name, cells in groupby(report.cells, key=lambda cell: cell.table):
        rows = [
            [cell.row, cell.column, _cell_text(cell.printed, cell.unit), *_ours(cell), _remark(cell)]
            for cell in cells
        ]
        parts.append(f"{name}\n{text_table(['row', 'column', 'printed', 'ours', 'off', ''], rows)}")
    return "\n\n".join(parts)


def _cell_text(value: float, unit: str) -> str:
    """A figure with the places that make sense in its unit."""
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
    """The cells outside tolerance once more, and those that cannot be had."""
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
    """What each family of cells does under other conventions."""
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
