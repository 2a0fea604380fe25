"""`manage.py generate_captions SYSTEM [--split test] [--out FILE]`: captions that a trained system writes.

    python manage.py generate_captions mrnn --split test --out captions.json
    python manage.py generate_captions mrnn --split test --name mrnn-greedy --beam 1
    python manage.py generate_captions aligned --split test --regions boxes

The captions are kept as a set, which `score_captions` and `judge_captions` take by its name. With `--regions`
each region gets one; an alignment then takes that part of a training caption which fits it best.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars
from evaluation.services.captions.writing import CaptionsRequest, generate_captions
from models_core.estimators.captioners import WritingSettings


class Command(ReportCommand):
    help = "Have a trained system write captions of images, or of regions of images."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("system", help="A trained system, such as one of recipe mRNN or NN-caption")
        parser.add_argument(
            "--split", default="test", help="Images: a split, a file of names or a fold (default: test)"
        )
        parser.add_argument("--name", default="", help="Name of the set (default: the name of the system)")
        parser.add_argument("--out", type=Path, metavar="FILE", help="Also write COCO results to this file")
        parser.add_argument("--beam", type=int, default=7, help="Beginnings kept; 1 is greedy (default: 7)")
        parser.add_argument("--limit", type=int, default=20, help="Words of a caption, at most (default: 20)")
        parser.add_argument("--draw", action="store_true", help="Draw words instead of searching")
        parser.add_argument(
            "--temperature",
            type=float,
            default=1.0,
            help="Of drawn words (default: 1)",
        )
        parser.add_argument("--seed", type=int, default=0, help="Of drawn words and of folds (default: 0)")
        parser.add_argument(
            "--features", metavar="SET", default="", help="A feature set of images (default: the training's)"
        )
        parser.add_argument(
            "--regions",
            metavar="SET",
            default="",
            help="A feature set of regions, to describe each",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        how = WritingSettings(
            "draw" if options["draw"] else "search",
            options["beam"],
            options["limit"],
            options["temperature"],
            options["seed"],
        )
        wanted = CaptionsRequest(how=how, **{key: options[key] for key in _PASSED_ON})
        with ProgressBars() as bars:
            return asdict(generate_captions(wanted, progress=bars))

    def show(self, report: dict[str, Any]) -> str:
        already = ", which already exists" if report["unchanged"] else ""
        said = (
            f"caption set {report['name']!r}{already}: {report['captions']:,} captions of "
            f"{report['images']:,} images, {report['words']:.1f} words each; "
            f"{report['distinct']:,} different, {report['in_training'] / report['captions']:.1%} word for "
            "word a training caption"
        )
        said = f"{said}; written to {report['file']}" if report["file"] else said
        return f"{said}\n{report['provenance']['sentence']}"


#: Options that the request takes as they are.
_PASSED_ON = ("system", "name", "split", "features", "regions", "out", "seed")
