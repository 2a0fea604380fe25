"""`manage.py train_proposer NAME --corpus C`: a proposer of boxes that machines of campaigns begin from."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars, add_device
from evaluation.services.machines.stored_proposers import Lesson, train_proposer


class Command(ReportCommand):
    help = (
        "Learn from the phrases and boxes of a layer where boxes are and which of them people accept, and "
        "store it; a campaign names it by machine.system."
    )
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument("--corpus", required=True)
        parser.add_argument("--layer", help="A layer with boxes (default: the only one)")
        parser.add_argument("--split", help="Images of this split only")
        parser.add_argument(
            "--epochs", type=int, help="Times that each picture is learned from (default: 32)"
        )
        parser.add_argument("--seed", type=int, default=0)
        add_device(parser, "learning")
        parser.add_argument("--replace", action="store_true", help="Replace a stored one of that name")

    def report(self, **options: Any) -> dict[str, Any]:
        with ProgressBars() as bars:
            return train_proposer(
                name=options["name"],
                corpus=options["corpus"],
                layer=options["layer"],
                split=options["split"],
                lesson=Lesson(options["epochs"], options["seed"], options["device"]),
                replace_old=options["replace"],
                told=bars,
            )

    def show(self, report: dict[str, Any]) -> str:
        return (
            f"proposer {report['name']} learnt from {report['images']} images of corpus {report['corpus']} "
            f"(layer {report['layer']})"
            + (f"; {report['unreadable']} pictures cannot be read" if report["unreadable"] else "")
        )
