"""What all commands share: `--json`, a progress bar on a terminal, one clear line on error.

A command subclasses `ReportCommand`, overrides `report` (do the work, return plain data)
and `show` (that data as text). With `--json` the last line of standard output is the data
as one JSON document; progress always goes to standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError
from tqdm import tqdm

from annotation.registry import UnknownName

T = TypeVar("T")
#: A bootstrap over fewer images says so beside its interval; as `evaluation.agreement.estimates.FEW`.
FEW_IMAGES = 10


def progress(things: Iterable[T], *, what: str, total: int | None = None) -> Iterable[T]:
    """`things`, with a bar on standard error where that is a terminal and it takes over two seconds."""
    return tqdm(things, desc=what, total=total, delay=2, file=sys.stderr, disable=None, unit_scale=True)


def progress_bar(*, what: str, total: int) -> tqdm[Any]:
    """A bar to `update()` by hand, under the same conditions as `progress`."""
    return tqdm(desc=what, total=total, delay=2, file=sys.stderr, disable=None, unit_scale=True)


def few_images(images: int) -> str:
    """What is to be said of a bootstrap interval over so many images; nothing of `FEW_IMAGES` or more."""
    if images >= FEW_IMAGES:
        return ""
    drawn = f"{images} image{'' if images == 1 else 's'}"
    return f"a bootstrap of {drawn}, fewer than {FEW_IMAGES}: may be too narrow"


class ReportCommand(BaseCommand):
    """A command that computes a report and shows it as text or as JSON.

    `refusals` are the exceptions that mean "your input, not our bug": they become one line
    on standard error and exit status 1. Anything else keeps its traceback.
    """

    refusals: tuple[type[Exception], ...] = (UnknownName,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print the report as one JSON document")

    def report(self, **options: Any) -> dict[str, Any]:
        """Do the work. The returned mapping must be JSON-serialisable."""
        raise CommandError(f"{type(self).__module__} has no report")

    def show(self, report: dict[str, Any]) -> str:
        """The report as text for a terminal."""
        return "\n".join(f"{key}: {value}" for key, value in report.items())

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = self.report(**options)
        except self.refusals as error:
            raise CommandError(str(error)) from error
        except (OperationalError, ProgrammingError) as error:
            if "no such table" in str(error) or "does not exist" in str(error):
                raise CommandError(
                    "the database is not made, or of an older version: manage.py migrate"
                ) from error
            raise
        self.stdout.write(json.dumps(report) if options["json"] else self.show(report))


def table(head: list[str], rows: list[list[Any]]) -> str:
    """A plain-text table; numbers to the right, floats to three places."""

    def cell(value: Any) -> str:
        return f"{value:.3f}" if isinstance(value, float) else str(value)

    lines = [head] + [[cell(v) for v in row] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    numeric = [all(isinstance(row[i], int | float) for row in rows) and bool(rows) for i in range(len(head))]

    def laid(line: list[str]) -> str:
        return "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()

    return "\n".join(
        [laid(lines[0]), "  ".join("-" * w for w in widths), *[laid(line) for line in lines[1:]]]
    )
