"""`manage.py rank SYSTEM [--split test]`: images and captions ranked by a stored system, both ways.

    python manage.py rank tri5
    python manage.py rank tri5 --split test
    python manage.py rank sem --split 1/5 --out runs/ --protocol "any of five"

The runs are NAME-annotation and NAME-search; score_run, compare_systems and export_run take them.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.management.base import ReportCommand
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars, add_items, sources_of
from evaluation.metrics.protocols import PROTOCOLS
from evaluation.services.runs.files import RUN_DEPTH
from evaluation.services.runs.ranking import ONE_CAPTION, RunsRequest, rank_system


class Command(ReportCommand):
    help = "Rank images for captions and captions for images, as runs in the database or as TREC files."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("system", help="The system")
        parser.add_argument(
            "--split",
            default="",
            help="Images to rank: a split, a file of names, or a fold such as 1/5 (default: all usable "
            "images)",
        )
        parser.add_argument(
            "--corpus", default="", help="Rank this corpus instead of the one that it was trained on"
        )
        parser.add_argument("--name", default="", help="Name of the runs (default: the name of the system)")
        parser.add_argument(
            "--protocol",
            default=ONE_CAPTION,
            help=f"Protocol, which selects captions: {', '.join(PROTOCOLS)} (default: {ONE_CAPTION})",
        )
        parser.add_argument(
            "--depth",
            type=int,
            default=RUN_DEPTH,
            help=f"Items kept of each ranking (default: {RUN_DEPTH}; 0: all)",
        )
        parser.add_argument("--out", type=Path, metavar="DIR", help="Also write TREC files to this folder")
        parser.add_argument("--files-only", action="store_true", help="Do not store runs in the database")
        add_items(parser)
        parser.add_argument("--seed", type=int, default=0, help="Seed of the folds (default: 0)")

    def report(self, **options: Any) -> dict[str, Any]:
        if options["files_only"] and options["out"] is None:
            raise CommandError("--files-only needs --out DIR")
        with ProgressBars() as bars:
            ranked = rank_system(
                RunsRequest(
                    system=options["system"],
                    split=options["split"],
                    corpus=options["corpus"],
                    run=options["name"],
                    protocol=options["protocol"],
                    depth=options["depth"],
                    out=options["out"],
                    database=not options["files_only"],
                    sources=sources_of(options)
                    if any(options[given] for given in ("features", "regions", "lemmas", "text"))
                    else None,
                    seed=options["seed"],
                ),
                progress=bars,
            )
        return {"runs": [asdict(one) for one in ranked]}

    def show(self, report: dict[str, Any]) -> str:
        said = []
        for one in report["runs"]:
            where = [f"in {one['file']}"] if one["file"] else []
            if one["stored"]:
                where.append("already exists, nothing changed" if one["unchanged"] else "kept")
            said.append(
                f"run {one['run']!r}: {one['queries']} queries, {one['items']} items each, "
                f"{' and '.join(where)}"
            )
        # Both directions are of the same vectors and images.
        said += dict.fromkeys(remark for one in report["runs"] for remark in one["remarks"])
        said += dict.fromkeys(one["provenance"]["sentence"] for one in report["runs"])
        return "\n".join(said)
