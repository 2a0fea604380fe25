"""`manage.py decode_alignments SYSTEM --layer L`: which words of captions tell of which region.

    python manage.py decode_alignments aligned --layer machine --split test
    python manage.py decode_alignments aligned --layer machine --gold people --choose-beta-on val

Runs of words with one region become mentions of a layer, beside those that people made. With `--gold` the
command says how many of people's boxed mentions it finds.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars
from evaluation.services.alignments.decoding import BETAS, DecodeRequest, decode_alignments


class Command(ReportCommand):
    help = "Give words of captions regions of their image by a trained alignment, and write them as a layer."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("system", help="A trained alignment, such as one of recipe BRNN")
        parser.add_argument("--layer", required=True, help="Name of the layer to be written")
        parser.add_argument(
            "--split", default="test", help="Images: a split, a file of names or a fold (default: test)"
        )
        beta = parser.add_mutually_exclusive_group()
        beta.add_argument(
            "--beta",
            type=float,
            default=1.0,
            help="How much neighbours with the same region are worth (default: 1)",
        )
        beta.add_argument(
            "--choose-beta-on",
            metavar="SPLIT",
            default="",
            help=f"Take the beta that finds the most of --gold there: one of {', '.join(map(str, BETAS))}",
        )
        parser.add_argument("--gold", metavar="LAYER", default="", help="A layer with boxes that people drew")
        parser.add_argument(
            "--regions", metavar="SET", default="", help="A feature set of regions (default: the training's)"
        )
        parser.add_argument("--seed", type=int, default=0, help="Seed of folds (default: 0)")
        parser.add_argument(
            "--replace", action="store_true", help="Replace an alignment's layer of that name"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        wanted = DecodeRequest(
            system=options["system"],
            layer=options["layer"],
            split=options["split"],
            beta=None if options["choose_beta_on"] else options["beta"],
            choose_on=options["choose_beta_on"],
            gold=options["gold"],
            regions=options["regions"],
            seed=options["seed"],
            replace=options["replace"],
        )
        with ProgressBars() as bars:
            return decode_alignments(wanted, progress=bars).as_dict()

    def show(self, report: dict[str, Any]) -> str:
        said = (
            f"layer {report['layer']!r} of corpus {report['corpus']!r} written: {report['images']} images, "
            f"{report['mentions']} mentions in {report['chains']} chains; beta {report['beta']:g}"
        )
        told = [said, *(f"  beta {beta:g}: {share:.1%} found" for beta, share in report["tried"])]
        if report["chosen_on"]:
            there = report["chosen_on"]
            told.append(f"beta was chosen on {there} of these images, so what is found there is not told")
        found = report["localized"]
        if not found:
            return "\n".join(told)
        share = (
            f"of {found['mentions']} mentions with boxes {found['share']:.1%} are found "
            f"({found['low']:.1%} to {found['high']:.1%}); by a region at random {found['random']:.1%}, "
            f"by the largest {found['largest']:.1%}, by the best of all {found['possible']:.1%}"
        )
        return "\n".join([*told, share])
