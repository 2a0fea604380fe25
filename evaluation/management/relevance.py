"""What commands ask about answers on a scale: from which score on a pair is relevant, and its gains."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from evaluation.relevance.grades import GAINS, LINEAR
from evaluation.relevance.scales import EXPECTED, scale_named, score_named
from evaluation.services.judgments.relevance import RelevanceChoice


def add_relevance(parser: CommandParser) -> None:
    """Options that `relevance_of` reads."""
    parser.add_argument("--scale", help=f"Scale of the answers, if their format has none: {EXPECTED}")
    parser.add_argument("--relevant-from", metavar="SCORE", help="For grades: the lowest relevant score")
    parser.add_argument("--gains", choices=GAINS, help=f"For grades: gains of nDCG (default: {LINEAR})")
    parser.add_argument(
        "--median", action="store_true", help="For grades: score pairs by the median, not the mean"
    )


def relevance_of(options: dict[str, Any]) -> RelevanceChoice:
    """What was asked for; raises BadScale for what is no scale and no score."""
    threshold = options["relevant_from"]
    return RelevanceChoice(
        rule=options.get("rule"),
        scale=scale_named(options["scale"]) if options["scale"] else None,
        relevant_from=score_named(threshold) if threshold is not None else None,
        gains=options["gains"] or LINEAR,
        summary="median" if options["median"] else "mean",
        originals=not options.get("without_originals"),
    )
