"""`manage.py rank_tags CORPUS [--alpha A] [--tags nouns|compounds] [--out FILE]`: tags from captions.

    python manage.py rank_tags flickr8k --out tags.jsonl
    python manage.py rank_tags flickr8k --tags compounds --out tags.csv
    python manage.py rank_tags flickr30k --layer people --processes 2 --out tags.jsonl

The nouns of an image's captions, the most relevant first. Without a file the lines go to standard output, and
what is said of them to standard error.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from django.core.management.base import CommandError, CommandParser, OutputWrapper

from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand
from evaluation.management.training import ProgressBars
from evaluation.services.tags.ranked import TagsRequest, rank_tags, write_ranked_tags, write_tag_lines
from models_core.features.text.tags import DEFAULT_ALPHA, TagUnit


class Command(ReportCommand):
    help = "Rank the nouns of each image's captions as its tags, by their place and their frequency."
    refusals = (*ReportCommand.refusals, FormatError, OSError, ValueError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The corpus")
        parser.add_argument(
            "--tags",
            choices=get_args(TagUnit),
            default="nouns",
            help="Each noun is a tag, or nouns that stand together are one (default: nouns)",
        )
        usual = ", ".join(f"{alpha:g} for {unit}" for unit, alpha in DEFAULT_ALPHA.items())
        parser.add_argument(
            "--alpha",
            type=float,
            help=f"Weight of frequency, 0 to 1; the rest is that of the place (default: {usual})",
        )
        parser.add_argument(
            "--layer", default="", help="Its mentions are the noun phrases (default: the chunker's)"
        )
        parser.add_argument(
            "--processes", type=int, default=1, help="How many read captions at a time (default: 1)"
        )
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="A new file: .csv for a table, else JSON lines"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["out"] is None:
            if options["json"]:
                raise CommandError("--json reports on a file; name one with --out")
            self.lines, self.stdout = self.stdout, OutputWrapper(sys.stderr)
        super().handle(*args, **options)

    def report(self, **options: Any) -> dict[str, Any]:
        wanted = TagsRequest(
            options["corpus"], options["tags"], options["alpha"], options["layer"], options["processes"]
        )
        with ProgressBars() as bars:
            images = rank_tags(wanted, progress=bars)
            if options["out"] is None:
                made = write_tag_lines(images, self.lines.write)
            else:
                made = write_ranked_tags(images, options["out"])
        own = {"corpus": wanted.corpus, "unit": wanted.unit, "alpha": wanted.weight}
        return {**own, "file": str(options["out"] or ""), **asdict(made)}

    def show(self, report: dict[str, Any]) -> str:
        each = f", {report['tags'] / report['images']:.1f} each" if report["images"] else ""
        said = (
            f"corpus {report['corpus']!r}: {report['tags']:,} tags ({report['unit']}, alpha "
            f"{report['alpha']:g}) of {report['images']:,} images{each}; {report['without']:,} without a noun"
        )
        return f"{said}; written to {report['file']}" if report["file"] else said
