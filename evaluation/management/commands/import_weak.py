"""`manage.py import_weak NAME FILE`: a weakly annotated collection; without both, those that there are.

python manage.py import_weak flickr1m flickr1m.parquet
python manage.py import_features flickr1m flickr1m.npy --ids flickr1m.ids.txt --name cnn
python manage.py train_system sae --recipe SAE --corpus flickr30k --features cnn --auxiliary weak=flickr1m
python manage.py import_weak --remove flickr1m
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.common.plain_text import plain_table
from annotation.management.base import ReportCommand
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars
from evaluation.services.weak.collections import import_collection, remove_collection, weak_collections

_SHOWN = ("name", "rows", "kinds", "made_at")


class Command(ReportCommand):
    help = (
        "Import images with titles, tags or descriptions, which systems learn from and no annotator sees; "
        "list such collections, or remove one."
    )
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", nargs="?", default="", help="Name of the collection")
        parser.add_argument(
            "file", nargs="?", type=Path, help="CSV or Parquet: a column id, and title, tags or description"
        )
        parser.add_argument("--remove", metavar="NAME", help="Remove this collection")

    def report(self, **options: Any) -> dict[str, Any]:
        if options["remove"]:
            remove_collection(options["remove"])
            return {"removed": options["remove"]}
        if not options["name"]:
            return {"collections": [one.as_dict() for one in weak_collections()]}
        if options["file"] is None:
            raise CommandError("give a name and a file, or neither")
        with ProgressBars() as bars:
            found, new = import_collection(options["name"], options["file"], progress=bars)
        return {**found.as_dict(), "unchanged": not new}

    def show(self, report: dict[str, Any]) -> str:
        if "removed" in report:
            return f"collection {report['removed']} removed"
        if "collections" in report:
            rows = [
                [one["name"], str(one["rows"]), ", ".join(one["kinds"]), one["made_at"]]
                for one in report["collections"]
            ]
            return plain_table([*_SHOWN], rows) if rows else "no weak collections"
        end = "already exists, nothing changed" if report["unchanged"] else "imported"
        return (
            f"collection {report['name']!r} {end}: {report['rows']} images with {', '.join(report['kinds'])}"
        )
