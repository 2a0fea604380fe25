"""`manage.py add_system NAME PATH --corpus C [--format embeddings|scores]`: a system made elsewhere, kept.

    python manage.py add_system clip clip.npz --corpus flickr30k
    python manage.py add_system clip images.npy --captions captions.npy --corpus flickr30k
    python manage.py add_system sae sae.npz --corpus flickr8k --format scores

`rank` then makes runs of any split that the files cover. A TREC run is imported by `import_run`.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.comparison.provenance import Declaration
from evaluation.management.training import TRAINING_REFUSALS, add_trained_on
from evaluation.services.systems.upload import UPLOAD_FORMATS, upload_system


class Command(ReportCommand):
    help = (
        "Add embeddings or scores of a corpus as a system. If the same system already exists, nothing "
        "changes."
    )
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Name of the system")
        parser.add_argument("path", type=Path, help="Embeddings or scores (npz, npy, safetensors)")
        parser.add_argument("--corpus", required=True, help="Their corpus")
        parser.add_argument(
            "--format",
            default=UPLOAD_FORMATS[0],
            help=f"One of: {', '.join(UPLOAD_FORMATS)} (default: {UPLOAD_FORMATS[0]})",
        )
        parser.add_argument(
            "--captions", type=Path, metavar="FILE", help="Embeddings of captions, where PATH has the images'"
        )
        parser.add_argument(
            "--inner-products", action="store_true", help="Rank by inner products, not by cosines"
        )
        add_trained_on(parser)

    def report(self, **options: Any) -> dict[str, Any]:
        return asdict(
            upload_system(
                name=options["name"],
                corpus=options["corpus"],
                path=options["path"],
                format=options["format"],
                captions=options["captions"],
                cosine=not options["inner_products"],
                declared=Declaration(options["trained_on"]),
            )
        )

    def show(self, report: dict[str, Any]) -> str:
        end = "already exists, nothing changed" if report["unchanged"] else "kept"
        wide = f", {report['dimensions']} dimensions" if report["dimensions"] else ""
        remarks = "".join(f"{remark}\n" for remark in report["remarks"])
        return (
            f"{report['images']} images, {report['captions']} captions of corpus {report['corpus']!r}{wide}\n"
            f"{remarks}"
            f"system {report['system']!r} ({report['format']}) {end}\n"
            f"{report['folder']}, SHA-256 {report['sha256']}"
        )
