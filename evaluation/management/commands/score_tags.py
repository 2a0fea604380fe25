"""`manage.py score_tags NAME --corpus C [--split S] [--json|--csv|--latex]`: tags against people's captions.

    python manage.py score_tags listwise --corpus flickr8k
    python manage.py score_tags listwise --corpus flickr8k --tags compounds --distractors 0,20 --json

The tags of a set, against the nouns of people's captions: precision among the image's own tags and
distractors, with the gain over chance, MAP and MiAP, each with an interval. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from django.core.management.base import CommandError, CommandParser

from annotation.formats.base import FormatError
from evaluation.agreement.estimates import AgreementError
from evaluation.agreement.summary import Resampling
from evaluation.comparison.subsets import BadSubset
from evaluation.formats.figure_tables import Table
from evaluation.management.base import TableCommand, add_missing, add_subset, subset_of
from evaluation.management.training import ProgressBars
from evaluation.services.common import ImportRefused
from evaluation.services.tagging.scores import (
    DISTRACTORS,
    POOL_DEPTHS,
    TagScoring,
    keep_figures,
    remarks_on_tags,
    score_tag_set,
    table_of_tags,
)
from models_core.features.text.tags import TagUnit


def whole_numbers(option: str) -> Callable[[str], list[int]]:
    """What reads an option of whole numbers, separated by commas. Raises CommandError."""

    def read(text: str) -> list[int]:
        try:
            return [int(part) for part in text.split(",")]
        except ValueError as error:
            raise CommandError(f"{option} {text!r}: expected whole numbers, separated by commas") from error

    return read


class Command(TableCommand):
    help = "Score ranked tags of images against the tags that people's captions give."
    refusals = (
        *TableCommand.refusals,
        *(AgreementError, BadSubset, FormatError, ImportRefused, OSError, ValueError),
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="A tag set; `tag` makes one under the system's name")
        parser.add_argument("--corpus", required=True, help="The corpus whose captions say what is true")
        parser.add_argument(
            "--tags", choices=get_args(TagUnit), help="What a true tag is (default: as in the training)"
        )
        parser.add_argument(
            "--alpha", type=float, help="Weight of frequency among true tags (default: as in the training)"
        )
        for option, default in (("--distractors", DISTRACTORS), ("--depths", POOL_DEPTHS)):
            usual = ",".join(map(str, default))
            parser.add_argument(
                option,
                type=whole_numbers(option),
                default=list(default),
                help=f"Separated by commas (default: {usual})",
            )
        add_subset(parser)
        add_missing(parser, "images without tags")
        parser.add_argument("--keep", action="store_true", help="Show these figures on the set's page")
        parser.add_argument("--resamples", type=int, default=1000, help="For intervals; 0 for none")
        parser.add_argument("--level", type=float, default=0.95, help="Of the intervals (default: 0.95)")
        parser.add_argument(
            "--seed", type=int, default=0, help="Of the resamples and the distractors (default: 0)"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        how = TagScoring(
            unit=options["tags"],
            alpha=options["alpha"],
            missing=options["missing"],
            depths=options["depths"],
            distractors=options["distractors"],
            resampling=Resampling(options["resamples"], options["level"], options["seed"]),
        )
        with ProgressBars() as bars:
            found = score_tag_set(
                corpus=options["corpus"],
                name=options["name"],
                how=how,
                subset=subset_of(options["corpus"], options),
                progress=bars,
            )
        if options["keep"]:
            keep_figures(options["name"], found)
        return found

    def table(self, report: dict[str, Any]) -> Table:
        return table_of_tags(report)

    def remarks(self, report: dict[str, Any]) -> str:
        return remarks_on_tags(report)
