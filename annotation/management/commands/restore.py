"""`manage.py restore FILE [--replace]`: what `backup` wrote, in the place of what stands."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.backups import BackupRefused, restoring
from annotation.common.locks import Busy
from annotation.management.base import ReportCommand


class Command(ReportCommand):
    help = (
        "Put a backup in the place of the database and the folders of DATA_DIR, once all of it is checked; "
        "then migrate, and erase again whoever is on the list of erasures, in place or in the backup. Stop "
        "the server and its workers first."
    )
    refusals = (BackupRefused, Busy, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="What `backup` wrote")
        parser.add_argument("--replace", action="store_true", help="Give up all that stands")

    def report(self, **options: Any) -> dict[str, Any]:
        return asdict(restoring.restore(options["file"], replace=options["replace"]))

    def show(self, report: dict[str, Any]) -> str:
        r = report
        lines = [f"the backup of {r['made_at']} is in place, with {r['files']} files"]
        if r["migrated"]:
            lines.append(f"migrated on: {', '.join(r['migrated'])}")
        if r["erased"]:
            lines.append(f"erased again: {', '.join(r['erased'])}")
        if r["missing"]:
            lines.append(f"{r['missing']} pictures are named by the database and were not in the backup")
        if r["broken"]:
            lines.append("SECRET_KEY is not the one that it was made under; this ends:")
            lines += [f"- {line}" for line in r["broken"]]
        return "\n".join(lines)
