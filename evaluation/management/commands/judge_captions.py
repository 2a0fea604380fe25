"""`manage.py judge_captions NAME SET [SET ...]`: captions of systems, mixed with people's, to be judged.

    python manage.py judge_captions written mrnn nn --people 1 --images 40 --controls 20
    python manage.py open_batch first --corpus written --runs written-mrnn written-nn written-people-1 \
        --tasks graded --depth 1 --known-from controls

It makes a corpus of candidates, in which nothing says who wrote a caption, and a run for each system. A batch
of these runs asks people; collect_judgments, freeze_qrels and compare_systems give each system its figures.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.common.locks import Busy
from annotation.datasets.source_problems import IntakeError
from annotation.management.base import ReportCommand
from evaluation.services.captions.judging import MixRequest, mix_captions
from evaluation.services.common import ImportRefused


class Command(ReportCommand):
    help = "Mix captions of systems with people's in a corpus of their own, for a batch of judgments."
    refusals = (*ReportCommand.refusals, Busy, ImportRefused, IntakeError, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Name of the corpus to be made")
        parser.add_argument("sets", nargs="+", metavar="SET", help="Caption sets of generate_captions")
        parser.add_argument(
            "--people", type=int, default=1, help="Captions of people's own of each image (default: 1)"
        )
        parser.add_argument(
            "--images", type=int, default=0, help="How many images are drawn (default: 0, all)"
        )
        parser.add_argument(
            "--controls", type=int, default=0, help="Further images for control items (default: 0)"
        )
        parser.add_argument("--seed", type=int, default=0, help="Of what is drawn (default: 0)")

    def report(self, **options: Any) -> dict[str, Any]:
        return asdict(
            mix_captions(
                MixRequest(
                    name=options["name"],
                    sets=tuple(options["sets"]),
                    people=options["people"],
                    images=options["images"],
                    controls=options["controls"],
                    seed=options["seed"],
                )
            )
        )

    def show(self, report: dict[str, Any]) -> str:
        return (
            f"corpus {report['corpus']!r}: {report['captions']:,} different captions of "
            f"{report['images']:,} images to be judged, {report['controls']:,} images for control items\n"
            f"runs: {', '.join(report['runs'])}"
        )
