"""`manage.py teach_machine CAMPAIGN NAME`: teach a machine now, and let it propose."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import CampaignError
from annotation.management.base import ReportCommand
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars, add_device
from evaluation.services.machines.teaching import teach_machine


class Command(ReportCommand):
    help = (
        "Teach a machine of a campaign from its finished images, or take the stored proposer that the "
        "campaign names (machine.system); store its boxes, and let it answer. A job does the same as images "
        "are finished, save where the boxes come from a file: this command replaces those."
    )
    refusals = (*TRAINING_REFUSALS, CampaignError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("machine")
        parser.add_argument(
            "--restart",
            action="store_true",
            help="Forget what it learnt last: learn from the stored proposer, or from nothing",
        )
        add_device(parser, "learning")

    def report(self, **options: Any) -> dict[str, Any]:
        with ProgressBars() as bars:
            return teach_machine(
                campaign=options["campaign"],
                machine=options["machine"],
                restart=options["restart"],
                device=options["device"],
                told=bars,
            ).as_dict()

    def show(self, report: dict[str, Any]) -> str:
        return (
            f"machine {report['machine']}, version {report['version']}, learnt from {report['source']}: "
            f"boxes for {report['images']} images; {report['answers']} questions answered at once"
            + (f"; they replace those of {report['replaced']}" if report["replaced"] else "")
            + (f"; {report['unreadable']} pictures cannot be read" if report["unreadable"] else "")
        )
