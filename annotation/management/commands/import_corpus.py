"""`manage.py import_corpus NAME PATH --format F [--images DIR]`: a corpus from files."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.datasets.importing import IntakeError, import_corpus
from annotation.formats import FORMATS, FormatError
from annotation.formats.digest import RepeatedImage
from annotation.images.pictures import PictureError
from annotation.management.base import ReportCommand, with_progress
from annotation.management.resources import peak_mib


class Command(ReportCommand):
    help = (
        "Import a corpus: all of it, or nothing if there is an error. If it already exists with the same "
        "content, nothing changes."
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

    def report(self, **options: Any) -> dict[str, Any]:
        done = import_corpus(
            name=options["name"],
            path=options["path"],
            format=options["format"],
            images=options["images"],
            progress=partial(with_progress, what="images"),
        )
        return {
            **asdict(done),
            "images_per_second": done.images / done.seconds,
            "peak_memory_mib": peak_mib(),
        }

    def show(self, report: dict[str, Any]) -> str:
        r = report
        lines = [f"{r['images']} images, {r['captions']} captions, {r['pictures']} pictures"]
        if r["layer"]:
            lines.append(
                f"layer {r['layer']!r}: {r['mentions']} mentions in {r['chains']} chains, "
                f"{r['boxes']} boxes, {r['not_visual']} mentions that are not visual"
            )
        if r["layer"] and r["covered"] < r["images"]:
            lines.append(f"the layer covers {r['covered']} of the {r['images']} images")
        if r["unchanged"]:
            lines.append(f"corpus {r['corpus']!r} already exists, nothing changed")
        else:
            lines.append(f"corpus {r['corpus']!r} imported")
        lines.append(
            f"{r['seconds']:.1f} s, {r['images_per_second']:.0f} images/s, "
            f"peak memory {r['peak_memory_mib']:.0f} MiB"
        )
        return "\n".join(lines)
