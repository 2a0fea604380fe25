"""`manage.py open_campaign NAME --corpus C --tasks entities [--config FILE.toml]`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import SMALLEST_CROWD, TASKS, CampaignError, open_campaign
from annotation.management.base import ReportCommand
from annotation.rebuild import LayerError
from annotation.registry import UnknownName


class Command(ReportCommand):
    help = "Open a campaign over a corpus; its settings are frozen from then on."
    refusals = (UnknownName, CampaignError, LayerError, OSError, tomllib.TOMLDecodeError, UnicodeDecodeError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="What the campaign, and the layer it makes, shall be called")
        parser.add_argument("--corpus", required=True)
        parser.add_argument("--tasks", required=True, help="One of: " + ", ".join(TASKS))
        parser.add_argument("--config", type=Path, metavar="FILE.toml", help="Settings of the protocol")

    def report(self, **options: Any) -> dict[str, Any]:
        config: Path | None = options["config"]
        settings = tomllib.loads(config.read_text(encoding="utf-8")) if config else {}
        campaign = open_campaign(
            name=options["name"], corpus=options["corpus"], tasks=options["tasks"], settings=settings
        )
        return {
            "campaign": campaign.name,
            "corpus": campaign.corpus.name,
            "tasks": campaign.tasks,
            "settings": campaign.settings,
        }

    def show(self, report: dict[str, Any]) -> str:
        settings = "\n".join(f"  {name} = {value}" for name, value in report["settings"].items())
        return (
            f"campaign {report['campaign']!r} is open over corpus {report['corpus']!r} "
            f"({report['tasks']})\n{settings}\n"
            f"it takes {SMALLEST_CROWD} workers at least: nobody judges a question twice or their own box"
        )
