"""`manage.py rank_tags CORPUS [--alpha A] [--tags nouns|compounds] [--out FILE | --keep]`: ranked tags.

    python manage.py rank_tags flickr8k --out tags.jsonl
    python manage.py rank_tags flickr8k --tags compounds --out tags.csv
    python manage.py rank_tags flickr30k --layer people --processes 2 --out tags.jsonl
    python manage.py rank_tags flickr8k --keep

The nouns of an image's captions, the most relevant first. Without a file the lines go to standard output, and
what is said of them to standard error. With --keep they are kept for the corpus: its page finds images by
them, and campaigns can be opened about images that have some.
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
from evaluation.services.tags.ranked import (
    TagsRequest,
    keep_ranked_tags,
    rank_tags,
    write_ranked_tags,
    write_tag_lines,
)
from models_core.features.text.tags import DEFAULT_ALPHA, TagPlacing, TagUnit


class Command(ReportCommand):
    help = "Rank the nouns of each image's captions as its tags, by their place and their frequency."
    refusals = (*ReportCommand.refusals, FormatError, OSError, ValueError)  # Busy is a ValueError

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
            "--place",
            choices=get_args(TagPlacing),
            default="words",
            help="What a tag's place is: that among the words, or in the tree of the caption's parse "
            "(import_parses; default: words)",
        )
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="A new file: .csv for a table, else JSON lines"
        )
        parser.add_argument(
            "--keep",
            action="store_true",
            help="Keep the tags for the corpus, in place of those kept before, to find and draw images by",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["keep"] and options["out"] is not None:
            raise CommandError("--keep and --out: use only one of them; the corpus's page exports kept tags")
        if options["out"] is None and not options["keep"]:
            if options["json"]:
                raise CommandError("--json reports on a file; name one with --out")
            self.lines, self.stdout = self.stdout, OutputWrapper(sys.stderr)
        super().handle(*args, **options)

    def report(self, **options: Any) -> dict[str, Any]:
        wanted = TagsRequest(
            options["corpus"],
            options["tags"],
            options["alpha"],
            layer=options["layer"],
            processes=options["processes"],
            place=options["place"],
        )
        own = {
            "corpus": wanted.corpus,
            "unit": wanted.unit,
            "alpha": wanted.weight,
            "place": wanted.place,
        }
        if options["keep"]:
            with ProgressBars() as bars:
                return {**own, "kept": True, **asdict(keep_ranked_tags(wanted, progress=bars))}
        with ProgressBars() as bars:
            images = rank_tags(wanted, progress=bars)
            if options["out"] is None:
                made = write_tag_lines(images, self.lines.write)
            else:
                made = write_ranked_tags(images, options["out"], options["out"].suffix.lower().lstrip("."))
        return {**own, "kept": False, "file": str(options["out"] or ""), **asdict(made)}

    def show(self, report: dict[str, Any]) -> str:
        if report["kept"]:
            return (
                f"corpus {report['corpus']!r}: kept {report['tags']:,} tags of {report['images']:,} images, "
                f"{report['distinct']:,} different ones ({report['unit']}, alpha {report['alpha']:g})"
            )
        each = f", {report['tags'] / report['images']:.1f} each" if report["images"] else ""
        said = (
            f"corpus {report['corpus']!r}: {report['tags']:,} tags ({report['unit']}, alpha "
            f"{report['alpha']:g}) of {report['images']:,} images{each}; {report['without']:,} without a noun"
        )
        return f"{said}; written to {report['file']}" if report["file"] else said
