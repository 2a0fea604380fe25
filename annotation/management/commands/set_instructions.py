"""`manage.py set_instructions CAMPAIGN KIND [FILE]`: what workers are told, and what they agree to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation import instructions
from annotation.campaigns import CampaignError, campaign_named
from annotation.management.base import ReportCommand


class Command(ReportCommand):
    help = (
        "Make the text of FILE the newest instructions of a kind of question, or the newest consent text. "
        "Without FILE, print the text in force. Paragraphs are separated by blank lines; those that begin "
        "with 'Good: ' or 'Bad: ' are examples. Every worker must agree to a new consent text again; an "
        "empty one asks nobody."
    )
    refusals = (CampaignError, OSError, UnicodeDecodeError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("kind", help="One of: " + ", ".join(instructions.known_texts()))
        parser.add_argument("file", nargs="?", type=Path, help="A text file in UTF-8")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign, kind = campaign_named(options["campaign"]), options["kind"]
        before = instructions.current_text(campaign=campaign, kind=kind)
        now = before
        if options["file"]:
            text = options["file"].read_text(encoding="utf-8")
            now = instructions.publish_text(campaign=campaign, kind=kind, text=text)
        return {
            "campaign": campaign.name,
            "kind": kind,
            "version": now.version,
            "changed": now != before,
            "text": now.text,
        }

    def show(self, report: dict[str, Any]) -> str:
        version = f"version {report['version']}" if report["version"] else "the built-in text"
        changed = "; workers see it from now on" if report["changed"] else ""
        return f"{report['text']}\n\n-- {report['kind']} of {report['campaign']!r}, {version}{changed}"
