"""`manage.py train_system NAME --recipe R --corpus C`: a system of Table 11 or one's own, kept.

    python manage.py train_system tri5 --recipe TRI5 --corpus flickr8k
    python manage.py train_system sem --recipe TRI5SEM --corpus flickr8k --fold 1/5 --background texts.txt
    python manage.py train_system brnn --recipe BRNN --corpus flickr8k --regions boxes --set settings.size=200
    python manage.py train_system own --recipe own.toml --corpus flickr8k --train mine.txt --held-out dev.txt

What was stopped goes on after its last finished phase when it is asked for again. Neural systems can be
trained by several processes, on several machines too where they share DATA_DIR and the database:

    torchrun --nproc-per-node 2 manage.py train_system aligned --recipe BRNN --corpus flickr8k --regions boxes
"""

from __future__ import annotations

from dataclasses import asdict
from io import StringIO
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from annotation.management.base import ReportCommand
from evaluation.management.training import (
    TRAINING_REFUSALS,
    ProgressBars,
    add_device,
    add_sources,
    dropped_text,
    sources_of,
)
from evaluation.services.systems.training import TrainRequest, train_system
from models_core.processes import is_first_process


class Command(ReportCommand):
    help = "Train a system by its recipe and store it. If the same system already exists, nothing changes."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Name of the system")
        parser.add_argument(
            "--recipe", required=True, help="Recipe: a name (systems --recipes lists them), or a TOML file"
        )
        parser.add_argument("--corpus", required=True, help="The corpus")
        parser.add_argument(
            "--train",
            default="train",
            help="Training images: a split, a file of names, or a fold such as 1/5 (default: train)",
        )
        parser.add_argument(
            "--held-out",
            default="val",
            help="Held-out images, to select settings on (default: val; empty where the recipe chooses none)",
        )
        parser.add_argument(
            "--fold",
            default="",
            metavar="K/N",
            help="Instead of both: keep fold K for testing, hold out the next, train on the others",
        )
        parser.add_argument(
            "--auxiliary",
            nargs="+",
            default=[],
            metavar="NAME=COLLECTION",
            help="Further data to learn from, such as weak=flickr1m or weak=flickr1m/tags,title",
        )
        parser.add_argument(
            "--set",
            nargs="+",
            default=[],
            metavar="KEY=VALUE",
            help="Settings that the recipe is to have instead of its own, such as settings.epochs=10",
        )
        add_sources(parser)
        add_device(parser)
        parser.add_argument("--seed", type=int, default=0, help="Seed of folds and codebooks (default: 0)")

    def report(self, **options: Any) -> dict[str, Any]:
        if not is_first_process():
            self.stdout = OutputWrapper(StringIO())  # one of them speaks
        with ProgressBars(quiet=not is_first_process()) as bars:
            return asdict(
                train_system(
                    TrainRequest(
                        name=options["name"],
                        recipe=options["recipe"],
                        corpus=options["corpus"],
                        train=options["train"],
                        held_out=options["held_out"],
                        fold=options["fold"],
                        sources=sources_of(options),
                        seed=options["seed"],
                        device=options["device"],
                        auxiliary=tuple(options["auxiliary"]),
                        changes=tuple(options["set"]),
                    ),
                    progress=bars,
                )
            )

    def show(self, report: dict[str, Any]) -> str:
        lines, dropped = report["background_lines"], report["background_dropped"]
        background = f"background text: {dropped_text(dropped, lines)}\n" if lines else ""
        kept, left_out = report["mentions"], report["mentions_left_out"]
        mentions = (
            f"{kept:,} mentions with boxes are those of a region; {left_out:,} are of none, and left out\n"
            if kept or left_out
            else ""
        )
        end = "already exists, nothing changed" if report["unchanged"] else "trained"
        remarks = "".join(f"{remark}\n" for remark in (*report["selection"], *report["remarks"]))
        return (
            f"{report['training']} training and {report['held_out']} held-out images of corpus "
            f"{report['corpus']!r}; {report['left_out']} of its images cannot be used\n"
            f"{background}"
            f"{mentions}"
            f"system {report['system']!r} ({report['recipe']}) {end}\n"
            f"{remarks}"
            f"{report['folder']}, SHA-256 {report['sha256']}"
        )
