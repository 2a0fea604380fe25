"""`manage.py import_run NAME PATH --corpus C [--format trec|scores|embeddings]`: any system's rankings.

    python manage.py import_run kcca kcca.trec --corpus flickr8k
    python manage.py import_run sae sae.npz --corpus flickr8k --format scores --direction search
    python manage.py import_run clip images.npy --captions captions.npy --corpus coco --format embeddings

Embeddings of images and captions stand in one file or in two; scores are computed as they are read.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.common.locks import Busy
from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand, with_progress
from evaluation.comparison.provenance import Declaration
from evaluation.management.training import add_trained_on
from evaluation.services.common import ImportRefused
from evaluation.services.runs.files import RUN_DEPTH, RUN_DIRECTIONS, RUN_FORMATS, RunImport, import_run


class Command(ReportCommand):
    help = (
        "Import a system's rankings. If anything is wrong, nothing is imported. If the same run already "
        "exists, nothing changes."
    )
    refusals = (*ReportCommand.refusals, FormatError, ImportRefused, Busy, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Name of the run")
        parser.add_argument(
            "path", type=Path, help="A TREC run; scores or embeddings (npz, npy, safetensors)"
        )
        parser.add_argument("--corpus", required=True, help="The corpus that was ranked")
        parser.add_argument(
            "--format", default="trec", help=f"One of: {', '.join(RUN_FORMATS)} (default: trec)"
        )
        parser.add_argument(
            "--direction",
            default=RUN_DIRECTIONS[0],
            help="annotation: images are the queries (default); search: captions are the queries",
        )
        parser.add_argument(
            "--captions", type=Path, metavar="FILE", help="Embeddings of captions, where PATH has the images'"
        )
        parser.add_argument(
            "--inner-products", action="store_true", help="Score embeddings by inner products, not cosines"
        )
        parser.add_argument(
            "--system", default="", help="The system that made it (default: the tag of a TREC run)"
        )
        parser.add_argument(
            "--depth",
            type=int,
            default=RUN_DEPTH,
            help=f"Items of each ranking to keep; TREC runs are kept whole (default: {RUN_DEPTH}; 0: all)",
        )
        add_trained_on(parser)

    def report(self, **options: Any) -> dict[str, Any]:
        return asdict(
            import_run(
                RunImport(
                    name=options["name"],
                    corpus=options["corpus"],
                    path=options["path"],
                    format=options["format"],
                    direction=options["direction"],
                    system=options["system"],
                    depth=options["depth"],
                    captions=options["captions"],
                    cosine=not options["inner_products"],
                    declared=Declaration(options["trained_on"]),
                ),
                progress=partial(with_progress, what="rankings"),
            )
        )

    def show(self, report: dict[str, Any]) -> str:
        end = "already exists, nothing changed" if report["unchanged"] else "imported"
        kept = f", the best {report['depth']} kept" if report["depth"] else ""
        remarks = "".join(f"{remark}\n" for remark in report["remarks"])
        return (
            f"{report['entries']} entries in {report['queries']} rankings ({report['direction']}{kept})\n"
            f"{remarks}"
            f"run {report['run']!r} of corpus {report['corpus']!r} {end}\n"
            f"{report['seconds']:.1f} s, digest {report['digest']}"
        )
