"""`manage.py train_word_vectors CORPUS --name N`: word vectors learned from a corpus's own captions.

python manage.py train_word_vectors flickr30k --name words --dimensions 200

The captions of the split `train` are read, unless `--split` says which others.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.comparison.subsets import OF_RUN
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars
from evaluation.services.features.word_training import (
    ALL_CAPTIONS,
    TRAINING_SPLIT,
    WordTraining,
    train_word_vectors,
)

_SETTINGS = ("dimensions", "window", "negative", "epochs", "least", "seed")


class Command(ReportCommand):
    help = "Learn word vectors from a corpus's captions (skip-gram), as a feature set."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The corpus")
        parser.add_argument("--name", required=True, help="Name of the feature set")
        parser.add_argument(
            "--split",
            default="",
            help=f"Whose captions are read: a split, a file of names, a fold such as 1/5, {OF_RUN}NAME, or "
            f"{ALL_CAPTIONS} (default: {TRAINING_SPLIT}; all where the corpus has no splits)",
        )
        usual = {field.name: field.default for field in fields(WordTraining)}
        for name in _SETTINGS:
            parser.add_argument(f"--{name}", type=int, default=usual[name], help=f"default: {usual[name]}")

    def report(self, **options: Any) -> dict[str, Any]:
        chosen = {name: options[name] for name in _SETTINGS}
        wanted = WordTraining(
            corpus=options["corpus"], name=options["name"], split=options["split"], **chosen
        )
        with ProgressBars() as bars:
            found, new = train_word_vectors(wanted, progress=bars)
        return {**found.as_dict(), "unchanged": not new}

    def show(self, report: dict[str, Any]) -> str:
        end = "already exists, nothing changed" if report["unchanged"] else "stored"
        what = f"{report['rows']} words, vectors of {report['dimensions']} numbers"
        called = f"{report['name']}:{report['version']} of corpus {report['corpus']!r}"
        origin = report["origin"]
        read = f"{origin['captions']:,} captions ({origin['split']})" if "split" in origin else ""
        return f"feature set {called} {end}: {what}{', of ' * bool(read)}{read}\nSHA-256 {report['digest']}"
