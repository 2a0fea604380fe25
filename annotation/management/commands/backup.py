"""`manage.py backup FILE`: all stored data, in one file."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.backups import making
from annotation.management.base import ReportCommand, with_progress


class Command(ReportCommand):
    help = (
        "Write the database, pictures, systems, reports, sources and the list of erasures into one new file, "
        "which only its owner may read. The server may run meanwhile. The secret key is not in it."
    )
    expected_errors = (OSError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="The file to write; it must not exist yet")

    def report(self, **options: Any) -> dict[str, Any]:
        return asdict(making.backup(options["file"], progress=partial(with_progress, what="files")))

    def show(self, report: dict[str, Any]) -> str:
        r = report
        version = ", ".join(r["migrations"])
        lines = [
            f"{r['backup']}: {r['size'] / 2**20:.1f} MiB, {r['files']} files, {r['database']} at {version}"
        ]
        if r["missing"]:
            lines.append(f"{r['missing']} pictures are named by the database and were not there")
        if r["unknown"]:
            lines.append(f"left out, as no part of the product knows it: {', '.join(r['unknown'])}")
        lines.append("keep SECRET_KEY apart from it; without that key links and sessions end")
        return "\n".join(lines)
