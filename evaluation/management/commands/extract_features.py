"""`manage.py extract_features CORPUS`: the pictures' words of colour, texture and shape, once for all.

Trainings and cross-validations find them; what was stopped goes on where it ended.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars
from evaluation.services.systems.training import extract_features


class Command(ReportCommand):
    help = "Learn codebooks from a corpus's pictures and store every picture's visual words."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The corpus")
        parser.add_argument(
            "--out",
            type=Path,
            metavar="FILE",
            help="Also write histograms to this new .safetensors file, for --features",
        )
        parser.add_argument("--seed", type=int, default=0, help="Seed of the codebooks (default: 0)")

    def report(self, **options: Any) -> dict[str, Any]:
        with ProgressBars() as bars:
            return asdict(
                extract_features(
                    corpus=options["corpus"], out=options["out"], seed=options["seed"], progress=bars
                )
            )

    def show(self, report: dict[str, Any]) -> str:
        written = f"\nhistograms written to {report['out']}" if report["out"] else ""
        return (
            f"{report['images']} pictures of corpus {report['corpus']!r} described, "
            f"{report['left_out']} images have none\ncodebooks {report['codebooks'][:16]}{written}"
        )
