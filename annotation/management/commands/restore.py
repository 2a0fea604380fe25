"""`manage.py restore FILE [--replace]`: replace the current data by the output of `backup`."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.backups import restoring
from annotation.management.base import ReportCommand


class Command(ReportCommand):
    help = (
        "Replace the database and the folders of DATA_DIR with a backup, once all of it is checked; then "
        "migrate, and erase everybody again who is on the list of erasures, here or in the backup. Stop "
        "the server and its workers first."
    )
    expected_errors = (OSError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="A file that `backup` wrote")
        parser.add_argument("--replace", action="store_true", help="Replace everything that exists")

    def report(self, **options: Any) -> dict[str, Any]:
        return asdict(restoring.restore_backup(options["file"], replace=options["replace"]))

    def show(self, report: dict[str, Any]) -> str:
        r = report
        lines = [f"the backup of {r['made_at']} is in place, with {r['files']} files"]
        if r["migrated"]:
            lines.append(f"migrations applied: {', '.join(r['migrated'])}")
        if r["erased"]:
            lines.append(f"erased again: {', '.join(r['erased'])}")
        if r["withdrawn"]:
            lines.append(f"{r['withdrawn']} pictures withdrawn again")
        if r["missing"]:
            lines.append(f"{r['missing']} pictures are named by the database and were not in the backup")
        if r["broken"]:
            lines.append("SECRET_KEY is not the one of the backup; this stops working:")
            lines += [f"- {line}" for line in r["broken"]]
        return "\n".join(lines)
