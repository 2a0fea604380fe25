"""`manage.py freeze_qrels NAME --corpus C --judgments J [--rule R]`: which captions are relevant, frozen.

    python manage.py freeze_qrels hodosh --corpus flickr8k --judgments flickr8k-crowd

Each change makes a new version; `score_run --qrels hodosh:1` still finds the first.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.exclusive import Busy
from annotation.management.base import ReportCommand
from evaluation.qrels import MAJORITY, RULES
from evaluation.services.qrels import freeze_qrels
from evaluation.services.writing import ImportRefused


class Command(ReportCommand):
    help = "Freeze judgments as qrels. Where the newest version holds the same, nothing changes."
    refusals = (*ReportCommand.refusals, ImportRefused, Busy, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="What the qrels are called")
        parser.add_argument("--corpus", required=True, help="The corpus that was judged")
        parser.add_argument("--judgments", required=True, help="The name of its judgments")
        known = ", ".join(RULES.keys())
        parser.add_argument(
            "--rule", default=MAJORITY.name, help=f"One of: {known} (default: {MAJORITY.name})"
        )
        parser.add_argument(
            "--without-originals", action="store_true", help="An original counts as it was judged"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        return asdict(
            freeze_qrels(
                name=options["name"],
                corpus=options["corpus"],
                judgments=options["judgments"],
                rule=options["rule"],
                originals=not options["without_originals"],
            )
        )

    def show(self, report: dict[str, Any]) -> str:
        end = "stands already, nothing changed" if report["unchanged"] else "frozen"
        return (
            f"{report['relevant']} of {report['rows']} pairs of {report['queries']} queries are relevant, "
            f"{report['unjudged']} of them originals that nobody judged\n"
            f"qrels {report['qrels']!r} version {report['version']} {end} ({report['settings']})\n"
            f"digest {report['digest']}"
        )
