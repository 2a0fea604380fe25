"""`manage.py score_localization NAME [--layer L] [--split S] [--against OTHER] [--json|--csv|--latex]`.

    python manage.py score_localization grounded --layer people
    python manage.py score_localization grounded --layer people --against baseline

The regions in which a system finds phrases against the boxes that people drew: recall at 1, 10 and 100,
average precision, the bound of the proposals, by category and for the most frequent phrases. Nothing is
written, unless `--keep` keeps the figures for the set's page, in the place of those of the same images.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.base import FormatError
from evaluation.agreement.estimates import AgreementError
from evaluation.agreement.summary import Resampling
from evaluation.comparison.subsets import OF_RUN, BadSubset
from evaluation.formats.figure_tables import Table
from evaluation.management.base import TablesCommand, add_missing
from evaluation.services.common import ImportRefused
from evaluation.services.localizations.kept_scores import keep_localization_scores
from evaluation.services.localizations.scores import LocalizationScoring, score_localization
from evaluation.services.localizations.tables import remarks_on_localization, tables_of_localization


class Command(TablesCommand):
    help = "Score the regions in which a system finds phrases against the boxes that people drew."
    refusals = (
        *TablesCommand.refusals,
        AgreementError,
        BadSubset,
        FormatError,
        ImportRefused,
        OSError,
        ValueError,
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="The localization set")
        parser.add_argument(
            "--layer", default="", help="The layer with people's boxes (default: the set's layer)"
        )
        parser.add_argument(
            "--split",
            default=None,
            help=f"Only these images: a split, a file of names, a fold such as 1/5, or {OF_RUN}NAME for the "
            "images that a run ranks (default: those of the set)",
        )
        parser.add_argument("--fold-seed", type=int, default=0, help="Seed of the folds (default: 0)")
        add_missing(parser, "images without regions")
        parser.add_argument("--against", default="", help="Another set, whose figures are subtracted")
        parser.add_argument("--keep", action="store_true", help="Show these figures on the set's page")
        parser.add_argument("--resamples", type=int, default=1000, help="For intervals; 0 for none")
        parser.add_argument("--level", type=float, default=0.95, help="Of the intervals (default: 0.95)")
        parser.add_argument("--seed", type=int, default=0, help="Of the resamples (default: 0)")

    def report(self, **options: Any) -> dict[str, Any]:
        found = score_localization(
            LocalizationScoring(
                options["name"],
                options["layer"],
                options["split"],
                options["fold_seed"],
                options["against"],
                Resampling(options["resamples"], options["level"], options["seed"]),
                options["missing"],
            )
        )
        if options["keep"]:
            keep_localization_scores(options["name"], found)
        return found

    def tables(self, report: dict[str, Any]) -> dict[str, Table]:
        return tables_of_localization(report)

    def remarks(self, report: dict[str, Any]) -> str:
        return remarks_on_localization(report)
