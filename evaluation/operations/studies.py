"""Studies, as commands only: cross-validate recipes, simulate judges."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, Has
from annotation.common.roles import RESEARCHER
from evaluation.comparison.cross_validation import MEDIAN_RANK, TESTED
from evaluation.operations import register
from evaluation.report_data.tables import bracketed
from evaluation.services.batches import recorded_judges
from evaluation.services.batches.recorded_judges import SimulatedJudges
from evaluation.services.request_fields import FigureReport
from evaluation.services.systems import cross_validation
from models_core.estimators.base import DIRECTIONS
from models_core.estimators.kcca.selection import CUTOFFS
from phrasebox.figure_basis import basis_from_dict
from phrasebox.figure_tables import LAYOUTS, Cell, Table, as_text

_MEASURES = (*(f"R@{k}" for k in CUTOFFS), MEDIAN_RANK)


def simulated_text(done: SimulatedJudges) -> str:
    """Return how many judges of each kind answered, and what remains."""
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
    """Return the figures of recipes, and the tests of pairs."""
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
    """Return systems by measures and directions; with `spread` the bounds of intervals have their own
    columns.

    Remarks on a system's intervals are then a column, and else follow each interval.
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


register(
    name="cross_validate",
    title=_("Cross-validate recipes"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=cross_validation.cross_validate_recipes,
    command=CommandLine(positional=("corpus", "recipes"), text=crossed_text, layouts=CROSSED_LAYOUTS),
)
register(
    title=_("Simulate the judges of a batch"),
    permission=Has((RESEARCHER,), on="batch", corpora=True),
    run=recorded_judges.simulate_judges,
    command=CommandLine(positional=("batch",), text=simulated_text),
)
