"""`manage.py change_settings CAMPAIGN [--config FILE.toml] [--set NAME=VALUE ...] [--dry-run]`."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from functools import reduce
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation import campaigns
from annotation.campaigns import CampaignError, campaign_named
from annotation.management.base import ReportCommand


class Command(ReportCommand):
    help = (
        "Change a campaign's settings: anything before somebody works on it; afterwards trust, lease, pay "
        "and stop rules from the next task assigned, and the rest for images that are not open yet."
    )
    refusals = (CampaignError, OSError, tomllib.TOMLDecodeError, UnicodeDecodeError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument(
            "--config", type=Path, metavar="FILE.toml", help="All settings; absent ones are defaults"
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="One setting, as TOML has it: link_votes=3, pay.hourly=12.5; may be repeated",
        )
        parser.add_argument(
            "--if-version", type=int, metavar="N", help="Only if version N of the settings is in force"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="Print what would change, and change nothing"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        config: Path | None = options["config"]
        if config is None and not options["set"]:
            raise CampaignError("nothing to change: give --config FILE.toml or --set NAME=VALUE")
        whole = tomllib.loads(config.read_text(encoding="utf-8")) if config is not None else None

        def wanted(settings: dict[str, Any]) -> dict[str, Any]:
            return reduce(_with, options["set"], settings if whole is None else whole)

        if options["dry_run"]:
            settings = wanted(campaign.settings)
            found, version, reopened = campaigns.settings_differences(campaign, settings), None, 0
        else:
            done = campaigns.change_some_settings(
                campaign=campaign, changed=wanted, seen=options["if_version"]
            )
            found, version, reopened = done.differences, done.version, done.reopened
        return {
            "campaign": campaign.name,
            "version": version,
            "changed": [asdict(each) for each in found],
            "reopened": reopened,
        }

    def show(self, report: dict[str, Any]) -> str:
        lines = [
            f"{each['name']}: {each['before']!r} -> {each['after']!r}, {campaigns.WHEN[each['when']]}"
            for each in report["changed"]
        ]
        if report["version"] is None:
            lines.append("nothing was changed: this was a dry run")
        elif not lines:
            lines.append("the settings are the same as before; nothing was changed")
        else:
            reopened = f"; {report['reopened']} images were reopened" if report["reopened"] else ""
            lines.append(f"version {report['version']} of the settings is in force{reopened}")
        return "\n".join(lines)


def _with(settings: dict[str, Any], one: str) -> dict[str, Any]:
    """`settings` with one more, given as NAME=VALUE; tables that it is of are kept. Raises CampaignError."""
    try:
        given = tomllib.loads(one)
    except tomllib.TOMLDecodeError as error:
        raise CampaignError(
            f"--set {one}: expected NAME=VALUE as TOML has it, as in pay.hourly=12.5"
        ) from error
    return _merged(settings, given)


def _merged(settings: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    found = dict(settings)
    for name, value in more.items():
        held = found.get(name)
        found[name] = _merged(held, value) if isinstance(held, dict) and isinstance(value, dict) else value
    return found
