"""`manage.py extract_features CORPUS`: what the pictures hold, computed once for all.

    python manage.py extract_features flickr8k
    python manage.py extract_features flickr8k --name cnn --extractor cnn --weights resnet.onnx --set crops=10
    python manage.py extract_features flickr8k --name standard --extractor combined
    python manage.py extract_features flickr8k --name cheap --extractor layout

Without a name it is the pictures' words of colour, texture and shape, which trainings and cross-validations
find; with one a feature set. What was stopped goes on where it ended.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.management.base import ReportCommand
from evaluation.comparison.provenance import Declaration
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars, add_trained_on
from evaluation.services.common import read_key_values
from evaluation.services.features.extraction import EXTRACTORS, ExtractRequest, extract_set
from evaluation.services.features.store import NUMBER_TYPES
from evaluation.services.systems.training import extract_features


class Command(ReportCommand):
    help = (
        "Store every picture's visual words, by codebooks learned from the corpus's pictures; or a feature "
        "set, from a network or of the standard features of Gong et al. 2014."
    )
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The corpus")
        parser.add_argument(
            "--out",
            type=Path,
            metavar="FILE",
            help="Also write histograms to this new .safetensors file, for --features",
        )
        parser.add_argument("--name", default="", help="Name of the feature set to be computed")
        parser.add_argument("--extractor", choices=tuple(EXTRACTORS), help="What computes the feature set")
        parser.add_argument(
            "--weights",
            type=Path,
            metavar="FILE",
            help="The network of the extractor cnn: an ONNX file, or the weights of --set network=timm/NAME",
        )
        parser.add_argument(
            "--learn-corpus",
            default="",
            metavar="CORPUS",
            help="The corpus that the extractor combined learns from (default: the corpus itself)",
        )
        parser.add_argument(
            "--set",
            nargs="+",
            default=[],
            metavar="KEY=VALUE",
            help="Settings of the extractor; "
            + "; ".join(f"{name}: {', '.join(own.__dataclass_fields__)}" for name, own in EXTRACTORS.items()),
        )
        parser.add_argument(
            "--dtype",
            choices=NUMBER_TYPES,
            default="float32",
            help="How a feature set's numbers are stored (default: float32)",
        )
        parser.add_argument("--seed", type=int, default=0, help="Seed of what is learned (default: 0)")
        add_trained_on(parser)

    def report(self, **options: Any) -> dict[str, Any]:
        if any(options[key] for key in ("name", "extractor", "weights", "learn_corpus", "trained_on")):
            return _set(options)
        with ProgressBars() as bars:
            return asdict(
                extract_features(
                    corpus=options["corpus"], out=options["out"], seed=options["seed"], progress=bars
                )
            )

    def show(self, report: dict[str, Any]) -> str:
        if "dimensions" in report:
            end = "already exists, nothing changed" if report["unchanged"] else "computed"
            return (
                f"feature set {report['name']}:{report['version']} of corpus {report['corpus']!r} {end}: "
                f"{report['rows']} image vectors of {report['dimensions']} numbers, {report['dtype']}; "
                f"{report['left_out']} images have no picture\nSHA-256 {report['digest']}"
            )
        written = f"\nhistograms written to {report['out']}" if report["out"] else ""
        return (
            f"{report['images']} pictures of corpus {report['corpus']!r} described, "
            f"{report['left_out']} images have none\ncodebooks {report['codebooks'][:16]}{written}"
        )


def _set(options: dict[str, Any]) -> dict[str, Any]:
    """Have an extractor compute a feature set."""
    combined = options["extractor"] == "combined"
    of_network = options["extractor"] in (None, "cnn")
    needed = ("name", "extractor", "weights") if of_network else ("name", "extractor")
    lacking = [f"--{key}" for key in needed if not options[key]]
    if lacking:
        raise CommandError(f"a feature set needs {', '.join(lacking)} too")
    wanted = ExtractRequest(
        corpus=options["corpus"],
        name=options["name"],
        extractor=options["extractor"],
        weights=options["weights"],
        learn_corpus=options["learn_corpus"],
        settings=({"seed": options["seed"]} if combined else {}) | read_key_values(options["set"]),
        dtype=options["dtype"],
        declared=Declaration(options["trained_on"]),
    )
    with ProgressBars() as bars:
        found, made, absent = extract_set(wanted, progress=bars)
    return {**found.as_dict(), "unchanged": not made, "left_out": absent}
