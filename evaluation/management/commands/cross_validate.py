"""`manage.py cross_validate CORPUS [RECIPE...]`: the systems of Table 11 on every image of a corpus once.

    python manage.py cross_validate flickr8k --background captions.txt dialogues.txt
    python manage.py cross_validate flickr8k --features fire9.npy --feature-ids names.txt --background ...
    python manage.py cross_validate flickr8k BoW5 TRI5 mine.toml --pairs mine:TRI5

Folds that are done are kept: a run that was stopped, or one with further recipes, goes on after them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from evaluation.agreement.estimates import MOST_RESAMPLES
from evaluation.comparison.cross_validation import (
    BASELINE,
    MEDIAN_RANK,
    TESTED,
    compare_systems,
    cross_validated_figures,
    printed_pairs,
)
from evaluation.formats.figure_basis import FigureBasis, basis_from_dict
from evaluation.formats.figure_tables import Cell, Table, as_text
from evaluation.management.base import TableCommand
from evaluation.management.training import (
    TRAINING_REFUSALS,
    ProgressBars,
    add_device,
    add_sources,
    dropped_text,
    sources_of,
)
from evaluation.report_data.tables import bracketed
from evaluation.services.systems.cross_validation import cross_validate_corpus
from models_core.estimators.base import DIRECTIONS
from models_core.estimators.kcca.selection import CUTOFFS
from models_core.systems.cross_validation import FOLDS
from models_core.systems.table11 import TABLE_11

MEASURES = (*(f"R@{k}" for k in CUTOFFS), MEDIAN_RANK)


class Command(TableCommand):
    help = (
        "Cross-validate recipes: train and test them in folds. Prints results with intervals, and "
        f"McNemar's tests at R@{TESTED}, adjusted by Holm. Images without a picture (or features) are left "
        "out."
    )
    refusals = (*TableCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The corpus")
        parser.add_argument(
            "recipes", nargs="*", help="Names of recipes, or TOML files (default: all of Table 11)"
        )
        add_sources(parser)
        add_device(parser)
        parser.add_argument("--folds", type=int, default=FOLDS, help=f"Number of folds (default: {FOLDS})")
        parser.add_argument(
            "--seed", type=int, default=0, help="Seed of folds, codebooks and resamples (default: 0)"
        )
        parser.add_argument(
            "--resamples", type=int, default=1000, help="Resamples of the bootstrap (default: 1000)"
        )
        parser.add_argument(
            "--pairs",
            nargs="+",
            default=[],
            metavar="A:B",
            help=f"More pairs of systems to test (always tested: all with {BASELINE}, TRI5SEM with those "
            "of Table 3)",
        )
        parser.add_argument(
            "--tests", action="store_true", help="With --csv or --latex: write the tests, not the results"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        pairs = [tuple(pair.split(":")) for pair in options["pairs"]]
        if any(len(pair) != 2 for pair in pairs):
            raise CommandError("--pairs: expected two systems separated by a colon, such as TRI5SEM:BoW5")
        if not 1 <= options["resamples"] <= MOST_RESAMPLES:
            raise CommandError(
                f"--resamples {options['resamples']}: use at least 1, and {MOST_RESAMPLES} at most"
            )
        self.tests = options["tests"]
        with ProgressBars() as bars:
            crossed = cross_validate_corpus(
                corpus=options["corpus"],
                recipes=options["recipes"] or list(TABLE_11),
                sources=sources_of(options),
                folds=options["folds"],
                seed=options["seed"],
                device=options["device"],
                progress=bars,
            )
        names = [one.recipe.name for one in crossed.systems]
        tests = compare_systems(crossed.systems, [*printed_pairs(names), *((a, b) for a, b in pairs)])
        return {
            **crossed.facts,
            "basis": _basis(crossed.facts).as_dict(),
            "systems": [
                asdict(cross_validated_figures(one, resamples=options["resamples"], seed=options["seed"]))
                for one in crossed.systems
            ],
            "tests": [{**asdict(test), "mark": test.mark} for test in tests],
        }

    def table(self, report: dict[str, Any]) -> Table:
        return _tests(report) if self.tests else _figures(report, spread=self.layout == "csv")

    def text(self, report: dict[str, Any]) -> str:
        found = f"{_remarks(report)}\n\n{as_text(_figures(report))}"
        if not report["tests"]:
            return found
        return (
            f"{found}\n\nMcNemar's exact test at R@{TESTED}; p adjusted by Holm for {len(report['tests'])} "
            f"tests; * p <= 0.1, ** p <= 0.05, *** p <= 0.01\n\n{as_text(_tests(report))}"
        )


def _remarks(report: dict[str, Any]) -> str:
    whom = (
        f"{report['images']} images of corpus {report['corpus']!r} in {report['folds']} folds (seed "
        f"{report['seed']}), each a query once among the {report['pool']} of its fold; "
        f"{report['left_out']} images are left out."
    )
    how = (
        f"Images: {report['image']}. In brackets: 95 % intervals; Wilson for shares, bootstrap over "
        "the images for median ranks."
    )
    lines = [whom, how]
    if report["background"]:
        dropped = dropped_text(report["background_dropped"], report["background_lines"])
        lines.append(f"Background text in place of the BNC: {', '.join(report['background'])}; {dropped}.")
    if report["lemmas"]:
        lines.append(f"Lemmas: {Path(report['lemmas']).name}.")
    if report["same"]:
        lines.append(f"Left out, as they equal others with these features: {', '.join(report['same'])}.")
    lines += [f"{one['system']}, {remark}." for one in report["systems"] for remark in one["remarks"]]
    return "\n".join(lines)


def _figures(report: dict[str, Any], *, spread: bool = False) -> Table:
    """Systems by measures and directions; with `spread` the ends of intervals have columns of their own.

    What is to be known of a system's intervals is then a remark, and else stands beside each.
    """
    head = ["system"]
    for direction in DIRECTIONS:
        for measure in MEASURES:
            head += [f"{direction} {measure}"]
            head += [f"{direction} {measure} low", f"{direction} {measure} high"] if spread else []
    head += ["remark"] if spread else []
    rows: list[list[Cell]] = []
    for one in report["systems"]:
        row: list[Cell] = [one["system"]]
        said: dict[str, None] = {}
        for direction in DIRECTIONS:
            for measure in MEASURES:
                found = one["figures"][direction][measure]
                value, low, high = (
                    found[key] * (1 if measure == MEDIAN_RANK else 100) for key in ("value", "low", "high")
                )
                if spread:
                    row += [value, low, high]
                    said.setdefault(found["remark"], None)
                else:
                    row.append(bracketed(value, low, high, images=found["clusters"], remark=found["remark"]))
        rows.append([*row, "; ".join(filter(None, said))] if spread else row)
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


def _basis(facts: Mapping[str, Any]) -> FigureBasis:
    """What the figures are of: each image asks once, and so does each of its captions."""
    return FigureBasis(
        cases="images",
        counted=facts["images"],
        out_of=facts["images"] + facts["left_out"],
        pool=f"corpus {facts['corpus']}, {facts['pool']} images of each fold",
        protocol=f"{facts['folds']} folds, seed {facts['seed']}",
    )
