"""`manage.py import_features CORPUS FILE --name N`: vectors of images or captions, kept under a name.

    python manage.py import_features flickr8k resnet.npz --name resnet
    python manage.py import_features flickr8k sentences.h5 --name sbert --kind caption --dtype float16

What was stopped goes on where it ended when it is asked for again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.comparison.provenance import Declaration
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars, add_trained_on
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.store import FEATURE_KINDS, NUMBER_TYPES


class Command(ReportCommand):
    help = "Import vectors of a corpus's images or captions as a feature set."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The corpus")
        parser.add_argument("file", type=Path, help="npy, npz, safetensors, Parquet or HDF5")
        parser.add_argument("--name", required=True, help="Name of the feature set")
        parser.add_argument(
            "--kind", choices=FEATURE_KINDS, default="image", help="What its rows describe (default: image)"
        )
        parser.add_argument(
            "--ids", type=Path, metavar="FILE", help="Names of its rows in order, one on each line"
        )
        parser.add_argument(
            "--dtype",
            choices=NUMBER_TYPES,
            default="float32",
            help="How numbers are stored (default: float32)",
        )
        parser.add_argument(
            "--network",
            default="",
            help="What computed them, in your words; sets of one network have the same",
        )
        add_trained_on(parser)

    def report(self, **options: Any) -> dict[str, Any]:
        wanted = FeatureImport(
            corpus=options["corpus"],
            name=options["name"],
            path=options["file"],
            kind=options["kind"],
            ids=options["ids"],
            dtype=options["dtype"],
            network=options["network"],
            declared=Declaration(options["trained_on"]),
        )
        with ProgressBars() as bars:
            return import_features(wanted, progress=bars).as_dict()

    def show(self, report: dict[str, Any]) -> str:
        end = "already exists, nothing changed" if report["unchanged"] else "imported"
        what = f"{report['rows']} {report['kind']} vectors of {report['dimensions']} numbers"
        called = f"{report['name']}:{report['version']} of corpus {report['corpus']!r}"
        lines = [f"feature set {called} {end}: {what}, {report['dtype']}", *report["remarks"]]
        return "\n".join([*lines, f"SHA-256 {report['digest']}"])
