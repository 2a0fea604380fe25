"""`manage.py localize SYSTEM [--split test] [--regions SET] [--out FILE]`: where a system finds phrases.

    python manage.py localize grounded --split test --regions proposals
    python manage.py localize grounded --split test --layer chunks --regions proposals --out found.jsonl

The mentions of the layer are looked for, each among the regions of its image, and each phrase among those of
all images. The predictions are kept as a set, which `score_localization` takes by its name.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars
from evaluation.services.localizations.files import write_localizations
from evaluation.services.localizations.predicting import LocalizeRequest, localize
from evaluation.services.localizations.sets import localization_set_named


class Command(ReportCommand):
    help = "Have a trained system find the phrases of a layer in pictures."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("system", help="A trained system, such as one of recipe Region-phrase-CCA")
        parser.add_argument(
            "--split", default="test", help="Images: a split, a file of names or a fold (default: test)"
        )
        parser.add_argument("--name", default="", help="Name of the set (default: the name of the system)")
        parser.add_argument(
            "--layer", default="", help="The layer whose mentions are looked for (default: the training's)"
        )
        parser.add_argument(
            "--regions",
            metavar="SET",
            default="",
            help="The feature set of regions that are ranked (default: the training's, if nobody drew them)",
        )
        parser.add_argument(
            "--limit", type=int, default=100, help="Regions kept of each mention, at most (default: 100)"
        )
        parser.add_argument("--seed", type=int, default=0, help="Seed of folds (default: 0)")
        parser.add_argument("--out", type=Path, metavar="FILE", help="Also write JSON Lines to this file")

    def report(self, **options: Any) -> dict[str, Any]:
        wanted = LocalizeRequest(**{key: options[key] for key in _PASSED_ON})
        with ProgressBars() as bars:
            found = asdict(localize(wanted, progress=bars))
        if options["out"] is not None:
            write_localizations(localization_set_named(found["name"]), options["out"])
        return {**found, "file": "" if options["out"] is None else str(options["out"])}

    def show(self, report: dict[str, Any]) -> str:
        already = ", which already exists" if report["unchanged"] else ""
        said = (
            f"localization set {report['name']!r}{already}: {report['mentions']:,} mentions of layer "
            f"{report['layer']!r} in {report['images']:,} images, {report['phrases']:,} phrases; "
            f"{report['unknown']:,} mentions have no word that the system knows"
        )
        said = f"{said}; written to {report['file']}" if report["file"] else said
        return f"{said}\n{report['provenance']['sentence']}"


#: Options that the request takes as they are.
_PASSED_ON = ("system", "name", "split", "layer", "regions", "limit", "seed")
