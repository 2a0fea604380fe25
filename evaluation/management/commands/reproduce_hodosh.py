"""Print the tables of Hodosh et al. 2013 beside what their published judgments give.

    python manage.py reproduce_hodosh FOLDER [--corpus C] [--json|--csv|--latex]

FOLDER holds Flickr8k's captions (as written and lemmatised), split lists, `ExpertAnnotations.txt`
and `CrowdFlowerAnnotations.txt`. With a corpus, the judgments are those imported for it, not the two
files'. CSV and LaTeX hold every cell, without the second table. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.common.plain_text import plain_table
from annotation.formats.base import FormatError
from annotation.management.base import with_progress
from evaluation.formats.figure_basis import FigureBasis
from evaluation.formats.figure_tables import Table
from evaluation.formats.flickr8k_judgments import Flickr8kCrowd, Flickr8kExpert
from evaluation.management.base import TableCommand
from evaluation.relevance.pairs import JudgedPair
from evaluation.reproduction.cells import COUNT, KAPPA, PrintedCell
from evaluation.reproduction.conventions import Conventions
from evaluation.reproduction.evidence import Evidence
from evaluation.reproduction.report import ReproductionReport, Steps, reproduce
from evaluation.selectors import judged_pairs, judgment_set, names_of

_BASIS = FigureBasis(
    protocol="Hodosh et al. 2013", notes=("Each row is of the cases that its printed table is of.",)
)


class Command(TableCommand):
    help = "Compute the tables of Hodosh et al. 2013 again and print them next to the published values."
    refusals = (*TableCommand.refusals, FormatError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("folder", type=Path, help="Flickr8k's folder: captions, splits, judgments")
        parser.add_argument("--corpus", help="Use the judgments that were imported for this corpus")
        for who, format in (("experts", Flickr8kExpert.key), ("crowd", Flickr8kCrowd.key)):
            parser.add_argument(
                f"--{who}",
                default=format,
                metavar="NAME",
                help=f"Their name in that corpus (default: {format})",
            )

    def report(self, **options: Any) -> dict[str, Any]:
        imported: dict[str, Iterable[JudgedPair]] = {}
        if options["corpus"]:
            names = names_of(options["corpus"])
            for who in ("experts", "crowd"):
                imported[who] = judged_pairs(judgment_set(names.corpus, options[who]), names)
        self.found = reproduce(Evidence.read(options["folder"], **imported), watch=_watch)
        return {**self.found.as_json(), "basis": _BASIS.as_dict()}

    def table(self, report: dict[str, Any]) -> Table:
        return Table(
            ["table", "row", "column", "printed", "ours", "unit", "within", "remark"],
            [
                [
                    *(cell.table, cell.row, cell.column, cell.printed, cell.ours, cell.unit),
                    {True: "yes", False: "no", None: ""}[cell.within],
                    "; ".join(_said(cell)),
                ]
                for cell in self.found.cells
            ],
            basis=_BASIS,
        )

    def text(self, report: dict[str, Any]) -> str:
        return "\n\n".join(
            [
                *(_cells(self.found), _summary(self.found), _not_within(self.found), _others(self.found)),
                *_BASIS.lines(),
            ]
        )


def _watch(steps: Steps) -> Iterable[tuple[str, Conventions]]:
    return with_progress(steps, what="conventions")


def _cells(found: ReproductionReport) -> str:
    """Every cell, table by table."""
    parts = []
    for name, own in groupby(found.cells, key=lambda cell: cell.table):
        rows = [
            [cell.row, cell.column, _shown(cell.printed, cell.unit), *_ours(cell), _remark(cell)]
            for cell in own
        ]
        parts.append(f"{name}\n{plain_table(['row', 'column', 'printed', 'ours', 'off', ''], rows)}")
    return "\n\n".join(parts)


def _shown(value: float, unit: str) -> str:
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
    return "; ".join([*outside, *_said(cell)])


def _said(cell: PrintedCell) -> list[str]:
    again = f"not counted: repeats {cell.again}" if cell.again else ""
    return [text for text in (cell.why, cell.note, again) if text]


def _summary(found: ReproductionReport) -> str:
    counted, again = found.tally, len(found.cells) - len(found.counted)
    return (
        f"{counted.within} of {counted.cells} cells are within tolerance ({counted.share:.1%}): 0.02 for "
        f"coefficients, two points for percentages, 2 % or 5 items for counts. {again} more cells repeat a "
        "printed value and are not counted."
    )


def _not_within(found: ReproductionReport) -> str:
    """The cells outside tolerance once more, and those that cannot be had."""
    outside = [cell for cell in found.counted if cell.within is False]
    missing = [cell for cell in found.cells if cell.ours is None]
    lines = [f"{len(outside)} cells outside:"]
    lines += [
        f"  {cell.table}, {cell.row}, {cell.column}: printed {_shown(cell.printed, cell.unit)}, "
        f"ours {_ours(cell)[0]}" + (f" ({cell.note})" if cell.note else "")
        for cell in outside
    ]
    lines.append(f"{len(missing)} cells that cannot be computed, not counted:")
    lines += [f"  {cell.table}, {cell.row}, {cell.column}: {cell.why}" for cell in missing]
    return "\n".join(lines)


def _others(found: ReproductionReport) -> str:
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
            other.convention,
            other.family,
            other.chosen.cells,
            other.chosen.within,
            other.other.within,
            other.chosen.mean,
            other.other.mean,
        ]
        for other in found.alternatives
    ]
    return (
        "Other conventions: cells within tolerance and their mean difference in units of the tolerance "
        "(off), as chosen and then so. "
        f"Chosen: {found.conventions.described()}\n{plain_table(head, rows)}"
    )
