"""`manage.py score_proposals CORPUS SET [--layer L] [--split S] [--json|--csv|--latex]`: what regions allow.

    python manage.py score_proposals flickr30k proposals --layer people --split test

For how many of the mentions that people boxed one of the first 10, 50 or 100 regions of the image (where an
image has more than 100: or 1,000) is right (an IoU of 0.5 or more with the box around all its boxes), and for
how many any: no localizer can do better.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.base import FormatError
from evaluation.agreement.estimates import AgreementError
from evaluation.agreement.summary import Resampling
from evaluation.comparison.subsets import BadSubset
from evaluation.formats.figure_tables import Table
from evaluation.management.base import TableCommand, add_subset, subset_of
from evaluation.services.localizations.proposals import score_proposals, table_of_proposals


class Command(TableCommand):
    help = "Tell for how many of people's boxed mentions a set of regions has a right region, by category."
    refusals = (*TableCommand.refusals, AgreementError, BadSubset, FormatError, OSError, ValueError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The corpus")
        parser.add_argument("regions", metavar="SET", help="A feature set of regions")
        parser.add_argument(
            "--layer", default="", help="The layer with people's boxes (default: the only one)"
        )
        add_subset(parser)
        parser.add_argument("--level", type=float, default=0.95, help="Of the intervals (default: 0.95)")

    def report(self, **options: Any) -> dict[str, Any]:
        return score_proposals(
            corpus=options["corpus"],
            regions=options["regions"],
            layer=options["layer"],
            subset=subset_of(options["corpus"], options),
            resampling=Resampling(level=options["level"]),
        )

    def table(self, report: dict[str, Any]) -> Table:
        return table_of_proposals(report)

    def remarks(self, report: dict[str, Any]) -> str:
        return (
            f"{report['regions']} of corpus {report['corpus']}: {report['regions_an_image']:.1f} regions an "
            f"image, {report['images']:,} images with boxed mentions. Intervals are of R@100, by images "
            "(Wilson's)."
        )
