"""Sets of captions, tags or localizations compared with the first: figures with intervals, paired differences
with tests, as plain data and as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from evaluation.comparison.comparisons import marked_figures
from phrasebox.agreement.summary import Resampling
from phrasebox.figure_basis import FigureBasis, basis_from_dict
from phrasebox.figure_tables import Cell, Table
from phrasebox.significance.sums import SummedFigure, differences_from_first, interval_of_sums
from phrasebox.significance.tables import mark

#: Decimal places of figures.
_PLACES = 4
_DIFFERENCE = ("measure", "set", "difference", "low", "high", "p", "adjusted", "over", "remark")


def set_figures(figures: Sequence[SummedFigure], resampling: Resampling) -> dict[str, list[dict[str, Any]]]:
    """Return the figures of each set by name, each with its interval; raises as `interval_of_sums`."""
    names = list(figures[0].added)
    return {
        name: [
            {
                "measure": figure.measure,
                **asdict(
                    interval_of_sums(
                        figure.added[name],
                        figure.figure,
                        resampling.over(figure.clusters, figure.unit),
                    )
                ),
            }
            for figure in figures
        ]
        for name in names
    }


def set_differences(
    figures: Sequence[SummedFigure], resampling: Resampling, rounds: int
) -> list[dict[str, Any]]:
    """Return the differences of the other sets from the first, with the mark of each; raises as
    `differences_from_first`."""
    rows = differences_from_first(figures, resampling, rounds=rounds)
    return [
        {
            "measure": row.measure,
            "set": row.system,
            "difference": row.difference,
            "low": row.low,
            "high": row.high,
            "p": row.p,
            "adjusted": row.adjusted,
            "mark": "" if row.adjusted is None else mark(row.adjusted),
            "over": f"{row.unit}s",
            "remark": row.remark,
        }
        for row in rows
    ]


def table_of_differences(
    differences: Sequence[Mapping[str, Any]], basis: FigureBasis, notes: Sequence[str] = ()
) -> Table:
    """Return the differences of sets from the first, one per row."""
    places = dict.fromkeys(("difference", "low", "high", "p", "adjusted"), _PLACES)
    return Table(
        _DIFFERENCE, [[row[key] for key in _DIFFERENCE] for row in differences], places, notes, basis=basis
    )


def tables_of_sets(report: Mapping[str, Any]) -> dict[str, Table]:
    """Return the tables of a comparison of sets: a row per set, with marks of significance and the best of
    each measure emphasised, as of runs; the figures' intervals; and the differences from the first."""
    basis = basis_from_dict(report["basis"])
    sets, notes = report["sets"], remarks_on_comparison(report)
    figures = {one["set"]: {figure["measure"]: figure["value"] for figure in one["measures"]} for one in sets}
    marks = {(row["set"], row["measure"]): row["mark"] for row in report["differences"]}
    measures = [figure["measure"] for figure in sets[0]["measures"]]
    rows: list[list[Cell]] = [[name, *cells] for name, cells in marked_figures(figures, marks).items()]
    tables = {
        "Figures": Table(["set", *measures], rows, dict.fromkeys(measures, _PLACES), notes, basis=basis),
        "Intervals": Table(
            ["measure", "set", "value", "low", "high", "items", "remark"],
            [
                [figure["measure"], one["set"], *(figure[key] for key in ("value", "low", "high", "items"))]
                + [figure["reason"]]
                for row in zip(*(one["measures"] for one in sets), strict=True)
                for one, figure in zip(sets, row, strict=True)
            ],
            dict.fromkeys(("value", "low", "high"), _PLACES),
            notes,
            basis=basis,
        ),
    }
    if report["differences"]:
        title = f"Differences from {report['baseline']}"
        tables[title] = table_of_differences(report["differences"], basis, notes)
    return tables


def remarks_on_comparison(report: Mapping[str, Any]) -> list[str]:
    """Return how the intervals of a report were computed, and what its differences mean."""
    lines = []
    if report["resamples"]:
        lines.append(
            f"Intervals of {100 * report['level']:g}%: {report['resamples']:,} resamples of whole images, "
            f"seed {report['seed']}."
        )
    if others := sorted({row["over"] for row in report["differences"]} - {"images"}):
        lines.append(f"Figures over {' and '.join(others)} draw and exchange those in the place of images.")
    tested = sum(row["p"] is not None for row in report["differences"])
    if tested:
        lines.append(
            f"Differences: less the figure of {report['baseline']}, both of the same resamples. p: "
            f"randomisation of whole images ({report['rounds']:,} permutations), adjusted by Holm for "
            f"{tested} tests: * p <= 0.1, ** p <= 0.05, *** p <= 0.01."
        )
    return lines
