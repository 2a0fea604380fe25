"""`manage.py open_batch NAME --corpus C --runs R R ... [--dry-run]`: ask people about what runs found.

    python manage.py open_batch first --corpus flickr8k --runs nn-a nn-s kcca-a kcca-s --dry-run
    python manage.py open_batch first --corpus flickr8k --runs nn-a nn-s kcca-a kcca-s --known-from dev

The top of each run's rankings is pooled, in both directions; originals, unlikely pairs and pairs that were
judged before are left out, and the others become a campaign of pages (or of graded pairs). With --order
they are asked in rounds (next_round), until the systems keep their order. With --dry-run nothing is written:
the table says what it would come to.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import CampaignError
from annotation.common.locks import Busy
from annotation.datasets.layer_rows import LayerError
from annotation.management.base import ReportCommand, pages_text, plain_table
from annotation.quality.controls import BadItem
from evaluation.pooling.active import STRATEGIES
from evaluation.pooling.pools import BadPool
from evaluation.pooling.unlikely import BLEU_PRE_THRESHOLD
from evaluation.relevance.pair_tasks import USUAL_TASKS, all_pair_tasks, pair_tasks
from evaluation.services.batches.launching import launch
from evaluation.services.batches.next_pairs import SHARE
from evaluation.services.batches.planning import BATCH_DEPTH, BatchRequest, plan
from evaluation.services.batches.stored_answers import BatchRefused
from evaluation.services.common import ImportRefused

#: What helps where pages lack captions.
REMEDY = (
    "they can be judged as they are; for more fillers, use a greater --depth or more runs, or use smaller "
    "pages ([page] captions in --config)"
)
UNFILTERED = "they can be judged as they are; with a --threshold, filtered pairs fill them"


class Command(ReportCommand):
    help = (
        "Open a batch: a campaign in which people judge the pool of chosen runs. With --dry-run, show "
        "its price only."
    )
    refusals = (
        *ReportCommand.refusals,
        *(BadItem, BadPool, BatchRefused, Busy, CampaignError, ImportRefused, LayerError, OSError),
        *(tomllib.TOMLDecodeError, UnicodeDecodeError),
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Name of the batch and of its campaign")
        parser.add_argument("--corpus", required=True)
        parser.add_argument("--runs", nargs="+", required=True, metavar="RUN")
        parser.add_argument("--tasks", default=USUAL_TASKS, help=f"One of: {', '.join(all_pair_tasks())}")
        parser.add_argument(
            "--depth",
            type=int,
            default=BATCH_DEPTH,
            help=f"Depth of the pool: top items of each ranking (default: {BATCH_DEPTH})",
        )
        parser.add_argument(
            "--threshold",
            type=float,
            help=f"Lowest BLEU_pre of a pair to be judged (default: {BLEU_PRE_THRESHOLD}; none for grades "
            "and tags)",
        )
        parser.add_argument(
            "--no-filter", action="store_true", help="Do not filter: ask about unlikely pairs too"
        )
        parser.add_argument(
            "--judges", type=int, help="Answers for each pair (default: as in the settings, 3)"
        )
        parser.add_argument("--config", type=Path, metavar="FILE.toml", help="Settings of the campaign")
        parser.add_argument(
            "--reuse",
            nargs="*",
            metavar="JUDGMENTS",
            help="Imported judgments to reuse; their pairs are not asked again (default: those in "
            "Flickr8k's formats)",
        )
        parser.add_argument(
            "--seconds", type=float, help="Assumed seconds for an answer, to estimate the price"
        )
        parser.add_argument(
            "--order",
            default="",
            metavar="STRATEGY",
            help="Ask in rounds, and stop when the order of the systems is stable; one of: "
            f"{', '.join(STRATEGIES.keys())}",
        )
        parser.add_argument(
            "--waves",
            type=int,
            help="With --order: number of rounds in which all pairs would be asked (default: "
            f"{round(1 / SHARE)})",
        )
        parser.add_argument(
            "--known-from", metavar="SPLIT", help="Make control items from the images of this split"
        )
        parser.add_argument(
            "--draft", action="store_true", help="Create the campaign as a draft: nobody can join yet"
        )
        parser.add_argument(
            "--simulated",
            action="store_true",
            help="Simulated workers will answer: nobody else may, and no batch of people reuses the answers",
        )
        parser.add_argument("--dry-run", action="store_true", help="Show size and price; write nothing")

    def report(self, **options: Any) -> dict[str, Any]:
        config: Path | None = options["config"]
        threshold = options["threshold"]
        if options["no_filter"] and threshold is not None:
            raise BatchRefused("--no-filter and --threshold: use only one of them")
        if options["waves"] is not None and (not options["order"] or options["waves"] < 1):
            raise BatchRefused("--waves needs an --order, and is 1 or more")
        tasks = all_pair_tasks().get(options["tasks"])
        if threshold is None and not options["no_filter"] and tasks is not None and tasks.filtered:
            threshold = BLEU_PRE_THRESHOLD
        made = plan(
            BatchRequest(
                corpus=options["corpus"],
                runs=options["runs"],
                tasks=options["tasks"],
                depth=options["depth"],
                threshold=threshold,
                judges=options["judges"],
                settings=tomllib.loads(config.read_text(encoding="utf-8")) if config else {},
                reuse=options["reuse"],
                seconds=options["seconds"],
                strategy=options["order"].replace("-", "_"),
                share=1 / options["waves"] if options["waves"] is not None else SHARE,
                simulated=options["simulated"],
            )
        )
        report = {
            "batch": options["name"],
            "corpus": made.corpus,
            "tasks": made.tasks,
            "depth": made.depth,
            "threshold": made.threshold,
            "judges": made.judges,
            "reused": list(made.reused),
            "digest": made.digest,
            "strategy": made.strategy,
            "share": made.share,
            "simulated": made.simulated,
            **made.numbers(),
            "launched": False,
            "unchanged": False,
            "state": "",
        }
        if options["dry_run"]:
            return report
        done = launch(made, options["name"], known_from=options["known_from"], begin=not options["draft"])
        return {
            **report,
            **done.batch.numbers,
            "launched": True,
            "unchanged": done.unchanged,
            "state": done.batch.campaign.state,
        }

    def show(self, report: dict[str, Any]) -> str:
        runs = [[r["run"], r["direction"], r["pairs"], r["alone"], r["unjudged"]] for r in report["runs"]]
        cut = "no filter" if report["threshold"] is None else f"BLEU_pre under {report['threshold']:g}"
        asked = pair_tasks(report["tasks"])
        word = "pages" if asked.paged else "graded pairs"
        # Where nothing is filtered, pages have no fillers to lack.
        filling = report if asked.filtered else {}
        took = f"as in batch {report['measured_on']!r}" if report["measured_on"] else "assumed"
        rows = [
            [f"pairs in the top {report['depth']}", report["pooled"]],
            ["originals, relevant without a judgment", report["originals"]],
            [f"filtered out ({cut})", report["filtered"]],
            ["judged before", report["known"]],
            *([["can be asked", report["askable"]]] if report["strategy"] else []),
            ["to be asked, in a first round" if report["strategy"] else "to be asked", report["asked"]],
            [f"{word} to be answered", report["task_count"]],
            ["filtered pairs as fillers", report["fillers"]],
            *([["captions missing on pages", filling["missing"]]] if "missing" in filling else []),
            [f"answers to {word}, {report['judges']} each", report["answers"]],
            ["judgments of the pairs asked", report["judgments"]],
        ]
        work = f"{report['hours']:.1f} hours of work at {report['seconds_an_answer']:.0f} seconds per answer"
        lines = [
            plain_table(["run", "direction", "pairs", "alone", "unjudged"], runs),
            "",
            plain_table(["what", "number"], rows),
            "",
            f"{work} ({took}), {report['price']}",
            *pages_text(filling, UNFILTERED if report["threshold"] is None else REMEDY),
            "not included: pages with control items only, and pages reassigned after a judge is discarded",
        ]
        end = "already exists, nothing changed" if report["unchanged"] else f"opened, {report['state']}"
        told = f"batch {report['batch']!r} {end}" if report["launched"] else "nothing was written"
        return "\n".join([*lines, told])
