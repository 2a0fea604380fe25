"""`manage.py extract_regions CORPUS --name N`: regions of the pictures, and a vector for each.

    python manage.py extract_regions flickr8k --name boxes --weights resnet.onnx
    python manage.py extract_regions walks --name drawn --method gold --layer people --weights resnet.onnx
    python manage.py extract_regions walks --name cheap --extractor layout --limit 100

Boxes are proposed (edge boxes, selective search, a grid, edges and segments), those that people drew with the
boxes around all of a chain, or those of a file: COCO results (.json), npz, or CSV with the columns image,
xmin, ymin, xmax and ymax. What was stopped goes on where it ended.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.comparison.provenance import Declaration
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars, add_trained_on
from evaluation.services.common import read_key_values
from evaluation.services.features.regions import (
    REGION_EXTRACTORS,
    REGION_METHODS,
    RegionsRequest,
    extract_regions,
)
from evaluation.services.features.store import NUMBER_TYPES
from models_core.features.image.proposals import BEST_PROPOSALS


class Command(ReportCommand):
    help = "Find regions of every picture, describe each by a network, and store them as a feature set."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The corpus")
        parser.add_argument("--name", required=True, help="Name of the feature set")
        parser.add_argument(
            "--extractor",
            choices=tuple(REGION_EXTRACTORS),
            default="cnn",
            help="What describes regions: a network, or their colours, gradients and place (default: cnn)",
        )
        parser.add_argument(
            "--weights",
            type=Path,
            metavar="FILE",
            help="The network of extractor cnn: an ONNX file, or the weights of --set network=timm/NAME",
        )
        parser.add_argument(
            "--method",
            choices=REGION_METHODS,
            default=BEST_PROPOSALS,
            help=f"Where boxes are from (default: {BEST_PROPOSALS})",
        )
        parser.add_argument(
            "--limit",
            type=int,
            default=19,
            help="Regions of a picture besides itself, at most (default: 19); method gold takes all",
        )
        parser.add_argument("--layer", default="", help="The layer whose boxes are taken (method gold)")
        parser.add_argument("--split", default="", help="Only the images of this split (default: all)")
        parser.add_argument(
            "--boxes",
            type=Path,
            metavar="FILE",
            help="A file of boxes (method file): COCO results (.json), npz, or CSV",
        )
        parser.add_argument(
            "--no-whole",
            action="store_true",
            help="Leave out the whole picture, which else is the first region",
        )
        parser.add_argument(
            "--set",
            nargs="+",
            default=[],
            metavar="KEY=VALUE",
            help="Settings of the extractor: "
            + "; of ".join(
                f"{name} {', '.join(own.__dataclass_fields__)}" for name, own in REGION_EXTRACTORS.items()
            ),
        )
        parser.add_argument(
            "--dtype",
            choices=NUMBER_TYPES,
            default="float32",
            help="How numbers are stored (default: float32)",
        )
        add_trained_on(parser)

    def report(self, **options: Any) -> dict[str, Any]:
        wanted = RegionsRequest(
            corpus=options["corpus"],
            name=options["name"],
            extractor=options["extractor"],
            weights=options["weights"],
            method=options["method"],
            limit=options["limit"],
            layer=options["layer"],
            split=options["split"],
            file=options["boxes"],
            whole=not options["no_whole"],
            settings=read_key_values(options["set"]),
            dtype=options["dtype"],
            declared=Declaration(options["trained_on"]),
        )
        with ProgressBars() as bars:
            found = extract_regions(wanted, progress=bars)
        return found.as_dict()

    def show(self, report: dict[str, Any]) -> str:
        end = "already exists, nothing changed" if report["unchanged"] else "computed"
        of_file = "".join(f"; {remark}" for remark in report["remarks"])
        return (
            f"feature set {report['name']}:{report['version']} of corpus {report['corpus']!r} {end}: "
            f"{report['rows']} regions of {report['dimensions']} numbers, {report['dtype']}; "
            f"{report['left_out']} images have no picture, {report['without']} no region besides the whole"
            f"{of_file}\n"
            f"SHA-256 {report['digest']}"
        )
