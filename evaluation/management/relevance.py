"""What commands ask about answers on a scale: from which score on a pair is relevant, and its gains."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from django.core.management.base import CommandError, CommandParser

from evaluation.grades import GAINS, LINEAR
from evaluation.scales import EXPECTED, scale_named
from evaluation.services.qrels import Relevance


def add_relevance(parser: CommandParser) -> None:
    """Options that `relevance_of` reads."""
    parser.add_argument("--scale", help=f"Of answers that do not tell theirs: {EXPECTED}")
    parser.add_argument(
        "--relevant-from", metavar="SCORE", help="Of grades: the score from which on a pair is relevant"
    )
    parser.add_argument("--gains", choices=GAINS, help=f"Of grades, for nDCG (default: {LINEAR})")
    parser.add_argument(
        "--median", action="store_true", help="Of grades: score pairs by the median, not the mean"
    )


def relevance_of(options: dict[str, Any]) -> Relevance:
    """What was asked for; raises BadScale for no scale, CommandError for no score."""
    threshold = None
    if options["relevant_from"] is not None:
        try:
            threshold = Fraction(options["relevant_from"])
        except (ValueError, ZeroDivisionError) as error:
            raise CommandError(f"--relevant-from {options['relevant_from']}: expected a number") from error
    return Relevance(
        rule=options.get("rule"),
        scale=scale_named(options["scale"]) if options["scale"] else None,
        relevant_from=threshold,
        gains=options["gains"] or LINEAR,
        summary="median" if options["median"] else "mean",
    )
