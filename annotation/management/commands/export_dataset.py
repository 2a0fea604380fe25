"""`manage.py export_dataset CORPUS --format F --out DIR`: a corpus and a layer as files."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.common.registry import UnknownName
from annotation.datasets.exporting import ExportError, export_dataset
from annotation.formats import FORMATS
from annotation.management.base import ReportCommand, with_progress
from annotation.management.resources import peak_mib
from annotation.selectors.corpora import AmbiguousLayer, corpus_named
from annotation.selectors.left_out import missing_from_export


class Command(ReportCommand):
    help = "Write a corpus with one of its layers to a new folder, which is complete once it exists."
    refusals = (UnknownName, AmbiguousLayer, ExportError, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The name of the corpus")
        parser.add_argument(
            "--format", required=True, help="One of: " + ", ".join(f.key for f in FORMATS if f.writes)
        )
        parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="A new or an empty folder")
        parser.add_argument("--layer", help="The layer; needed where several exist")
        unfinished = parser.add_mutually_exclusive_group()
        unfinished.add_argument(
            "--include-unfinished",
            action="store_true",
            help="Also export unfinished images, even those that nobody has begun",
        )
        unfinished.add_argument(
            "--only-finished",
            action="store_true",
            help="Leave out images that are not finished, and say how many they are",
        )
        parser.add_argument(
            "--with-pictures",
            action="store_true",
            help="Put the pictures into the folder images/ of the export",
        )
        parser.add_argument(
            "--simulated",
            action="store_true",
            help="The layer may be of a simulation: no person gave its answers",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        began = time.monotonic()
        written = export_dataset(
            corpus=options["corpus"],
            format=options["format"],
            out=options["out"],
            layer=options["layer"],
            include_unfinished=options["include_unfinished"],
            only_finished=options["only_finished"],
            with_pictures=options["with_pictures"],
            simulated=options["simulated"],
            progress=partial(with_progress, what="images", total=corpus_named(options["corpus"]).image_count),
        )
        seconds = time.monotonic() - began
        return {
            "corpus": options["corpus"],
            "format": options["format"],
            "out": str(options["out"]),
            "counts": written.counts,
            "left_out": written.left_out,
            "notes": written.notes,
            "files": [str(file) for file in written.files],
            "seconds": seconds,
            "images_per_second": written.counts.get("images", 0) / seconds,
            "peak_memory_mib": peak_mib(),
        }

    def show(self, report: dict[str, Any]) -> str:
        counts = ", ".join(f"{number} {word}" for word, number in report["counts"].items())
        note = "".join(f"{note}\n" for note in (*report["notes"], *missing_from_export(report["left_out"])))
        return (
            f"{counts}\nwritten to {report['out']} as {report['format']}\n{note}"
            f"{report['seconds']:.1f} s, {report['images_per_second']:.0f} images/s, "
            f"peak memory {report['peak_memory_mib']:.0f} MiB"
        )
