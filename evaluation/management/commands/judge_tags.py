"""`manage.py judge_tags NAME --corpus C SYSTEM=FILE [SYSTEM=FILE ...]`: tags of systems, to be judged.

    python manage.py rank_tags flickr8k --out nouns.jsonl
    python manage.py judge_tags tagged --corpus flickr8k people=nouns.jsonl model=model.jsonl \
        --images 100 --controls 60
    python manage.py open_batch first --corpus tagged --runs tagged-people tagged-model --tasks tags \
        --known-from controls

It makes a corpus of candidates, in which nothing says which system gave a tag, and a run for each system. A
batch of these runs asks people; collect_judgments, freeze_qrels and compare_systems give each system its
figures.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.common.locks import Busy
from annotation.datasets.importing import IntakeError
from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand
from evaluation.management.training import ProgressBars
from evaluation.services.common import ImportRefused
from evaluation.services.tagging.judging import JUDGED_TAGS, TagMixRequest, mix_tags


class Command(ReportCommand):
    help = "Mix tags of systems in a corpus of their own, for a batch in which people judge them."
    refusals = (*ReportCommand.refusals, Busy, FormatError, ImportRefused, IntakeError, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Name of the corpus to be made")
        parser.add_argument("--corpus", required=True, help="The corpus whose images have the tags")
        parser.add_argument(
            "lists",
            nargs="+",
            metavar="SYSTEM=FILE",
            help="Name of a system, and its tags as JSON lines (rank_tags --out)",
        )
        parser.add_argument(
            "--depth",
            type=int,
            default=JUDGED_TAGS,
            help=f"Best tags of each system that are judged (default: {JUDGED_TAGS})",
        )
        parser.add_argument(
            "--images", type=int, default=0, help="How many images are drawn (default: 0, all)"
        )
        parser.add_argument(
            "--controls", type=int, default=0, help="Further images for control items (default: 0)"
        )
        parser.add_argument("--seed", type=int, default=0, help="Of what is drawn (default: 0)")

    def report(self, **options: Any) -> dict[str, Any]:
        with ProgressBars() as bars:
            made = mix_tags(
                TagMixRequest(
                    name=options["name"],
                    corpus=options["corpus"],
                    lists=_lists(options["lists"]),
                    depth=options["depth"],
                    images=options["images"],
                    controls=options["controls"],
                    seed=options["seed"],
                ),
                progress=bars,
            )
        return asdict(made)

    def show(self, report: dict[str, Any]) -> str:
        return (
            f"corpus {report['corpus']!r}: {report['tags']:,} tags of {report['images']:,} images to be "
            f"judged, {report['controls']:,} images for control items\nruns: {', '.join(report['runs'])}"
        )


def _lists(given: list[str]) -> dict[str, Path]:
    """The files by their systems. Raises CommandError."""
    found: dict[str, Path] = {}
    for one in given:
        system, equals, path = one.partition("=")
        if not (system and equals and path):
            raise CommandError(f"{one!r}: expected SYSTEM=FILE, as people=nouns.jsonl")
        if system in found:
            raise CommandError(f"system {system!r} is named twice; give each system a name of its own")
        found[system] = Path(path)
    return found
