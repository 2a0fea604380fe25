"""`manage.py import_corpus NAME PATH --format F [--images DIR]`: a corpus from files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.datasets.importing import import_corpus
from annotation.datasets.intake import ImportHow
from annotation.datasets.source_problems import (
    NO_CAPTION,
    NO_PICTURE,
    IntakeError,
    SourceProblem,
    SourceProblems,
)
from annotation.formats import FORMATS, FormatError
from annotation.formats.digest import RepeatedImage
from annotation.images.pictures import PictureError
from annotation.management.base import ReportCommand, with_progress
from annotation.management.resources import peak_mib


class Command(ReportCommand):
    help = (
        "Import a corpus: all of it, or nothing if there is an error; all errors are listed. If it already "
        "exists with the same content, nothing changes."
    )
    refusals = (UnknownName, FormatError, PictureError, RepeatedImage, IntakeError, Busy, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Name of the corpus")
        parser.add_argument("path", type=Path, help="A file, a folder, or a zip or tar archive of either")
        parser.add_argument(
            "--format", required=True, help="One of: " + ", ".join(f.key for f in FORMATS if f.reads)
        )
        parser.add_argument("--images", type=Path, metavar="DIR", help="The folder of pictures")
        parser.add_argument(
            "--skip-problems",
            action="store_true",
            help="Leave out just what is listed as a problem, and import the rest",
        )
        parser.add_argument("--dry-run", action="store_true", help="List all problems, and store nothing")

    def report(self, **options: Any) -> dict[str, Any]:
        try:
            done = import_corpus(
                name=options["name"],
                path=options["path"],
                format=options["format"],
                images=options["images"],
                progress=partial(with_progress, what="images"),
                how=ImportHow(skip_problems=options["skip_problems"], dry_run=options["dry_run"]),
            )
        except SourceProblems as error:
            for problem in error.problems:
                self.stderr.write(str(problem))
            raise
        return {
            **asdict(done),
            "skipped": options["skip_problems"],
            "images_per_second": done.images / done.seconds,
            "peak_memory_mib": peak_mib(),
        }

    def show(self, report: dict[str, Any]) -> str:
        r = report
        problems = [SourceProblem(**problem) for problem in r["problems"]]
        lines = [*map(str, problems if r["skipped"] or r["dry_run"] else ())]
        if problems:
            lines.append(_problems_in_words(problems, skipped=r["skipped"], dry_run=r["dry_run"]))
        lines += [f"{r['images']} images, {r['captions']} captions, {r['pictures']} pictures"]
        if r["layer"]:
            lines.append(
                f"layer {r['layer']!r}: {r['mentions']} mentions in {r['chains']} chains, "
                f"{r['boxes']} boxes, {r['not_visual']} mentions that are not visual"
            )
        if r["layer"] and r["covered"] < r["images"]:
            lines.append(f"the layer covers {r['covered']} of the {r['images']} images")
        if r["dry_run"]:
            lines.append("nothing was stored")
        elif r["unchanged"]:
            lines.append(f"corpus {r['corpus']!r} already exists, nothing changed")
        else:
            lines.append(f"corpus {r['corpus']!r} imported")
        lines.append(
            f"{r['seconds']:.1f} s, {r['images_per_second']:.0f} images/s, "
            f"peak memory {r['peak_memory_mib']:.0f} MiB"
        )
        return "\n".join(lines)


def _problems_in_words(problems: Sequence[SourceProblem], *, skipped: bool, dry_run: bool) -> str:
    """How many problems there are, and what became of them."""
    blocking = sum(problem.blocks for problem in problems)
    if dry_run:
        rest = f"of which {blocking} end an import without --skip-problems"
        return f"{len(problems)} problem{'s' * (len(problems) != 1)}, {rest}"
    if skipped:
        return f"left out {len(problems)} problem{'s' * (len(problems) != 1)}: those listed, nothing else"
    counts = Counter(problem.sort for problem in problems)
    return "; ".join(
        [
            *([f"{counts[NO_PICTURE]} images have no picture"] if counts[NO_PICTURE] else []),
            *([f"{counts[NO_CAPTION]} pictures or images have no caption"] if counts[NO_CAPTION] else []),
            "--dry-run lists them, --skip-problems leaves them out",
        ]
    )
