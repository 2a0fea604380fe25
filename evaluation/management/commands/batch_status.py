"""`manage.py batch_status BATCH [--omissions]`: how far a batch is, and how far it can be trusted.

What is open, what was judged by as many as wanted, who does not count, what it has cost; what pages
lack; what the filter loses, from the fillers' judgments; and with --omissions what each run would lose had
it not been pooled. Nothing is written.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand, pages_text, plain_table
from evaluation.management.commands.collect_judgments import reinstated_text, unused_text
from evaluation.management.commands.next_round import waves_text
from evaluation.metrics.table import UnknownMeasure
from evaluation.pooling.pools import BadPool
from evaluation.relevance.pair_tasks import pair_tasks
from evaluation.services.batches.collecting import staying_out
from evaluation.services.batches.reassignment import CLOSED_MESSAGE
from evaluation.services.batches.state import batch_state
from evaluation.services.batches.stored_answers import BatchRefused

#: What helps where pages lack captions.
REMEDY = (
    "they are judged as they are; in the next batch, use a greater --depth for more fillers, or smaller "
    "pages ([page] captions in --config)"
)
UNFILTERED = (
    "they are judged as they are; in the next batch, use a --threshold: filtered pairs then fill the pages"
)


class Command(ReportCommand):
    help = "Show the state of a batch, what its filter loses, and what its pool would lose without each run."
    refusals = (*ReportCommand.refusals, BatchRefused, BadPool, UnknownMeasure)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("batch")
        parser.add_argument(
            "--omissions",
            action="store_true",
            help="Leave each run out of the pool in turn and show the effect",
        )
        parser.add_argument(
            "--measure", default="R-precision", help="Measure for --omissions (default: R-precision)"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        found = batch_state(options["batch"], omissions=options["omissions"], measure=options["measure"])
        ends = found.ends_at.isoformat() if found.ends_at is not None else None
        return {
            **asdict(found),
            "ends_at": ends,
            "complete": found.complete,
            "before": staying_out(found.people),
            "counted": {judge: one.before for judge, one in found.people.items() if one.counted},
        }

    def show(self, report: dict[str, Any]) -> str:
        counts = f"{report['judged']} of {report['numbers']['asked']} pairs have {report['judges']} answers"
        ends = f", expected by {report['ends_at'][:10]}" if report["ends_at"] else ""
        money = f", {report['to_come']}" if report["to_come"] else ""
        again = report["top_up"]
        filling = report["filling"] if pair_tasks(report["tasks"]).filtered else {}
        lines = [
            f"batch {report['batch']!r} of corpus {report['corpus']!r}, {report['tasks']}, {report['state']}",
            f"{report['open']} tasks open; {counts}; {report['answers']} answers, {report['earned']}",
            f"{report['answers_to_come']} answers are still to come{money}{ends}",
            *_lacking(report),
            *pages_text(filling, UNFILTERED if report["threshold"] is None else REMEDY),
            *([waves_text(report["waves"])] if report["waves"] else []),
            _agreement(report["agreement"]),
            *unused_text(report["unused"], report["batch"]),
            *reinstated_text(report["before"], report["counted"], report["batch"]),
            *([f"that is {again['answers']} answers, {again['price']}"] if again["answers"] else []),
            *([_loss(report["loss"])] if report["loss"] else []),
        ]
        if report["left_out"] is not None:
            head = ["run left out", "direction", "alone", "relevant", "score", "without", "place", "then"]
            keys = ("run", "direction", "own", "relevant", "score", "score_without", "place", "place_without")
            lines += ["", plain_table(head, [[one[key] for key in keys] for one in report["left_out"]])]
        return "\n".join(lines)


def _lacking(report: dict[str, Any]) -> list[str]:
    """What of the pairs that were judged before, or are asked no more, lacks answers, and what helps."""
    lines = []
    if report["lacking"]:
        before = report["reused"] + report["lacking"]
        lines.append(f"{report['lacking']} of {before} pairs that were judged before now lack answers")
    closed = report["state"] == CLOSED_MESSAGE
    if closed and report["short"]:
        lines.append(f"its campaign is closed, and {report['short']} of its pairs lack answers")
    return [*lines, "open a new batch of the same runs (open_batch) to collect them"] if lines else []


def _agreement(found: dict[str, Any]) -> str:
    if found["value"] is None:
        return f"agreement: {found['reason']}"
    return f"judges agree with alpha {found['value']:.2f} over {found['items']} pairs"


def _loss(loss: dict[str, Any]) -> str:
    share = loss["relevant"] / loss["judged"]
    return (
        f"filter: {loss['relevant']} of {loss['judged']} judged fillers are relevant ({share:.2%}, Wilson "
        f"{loss['low']:.2%} to {loss['high']:.2%}, clustered by {loss['images']} images), "
        f"{loss['some_yes']} were marked as relevant by at least one judge; of {loss['filtered']} filtered "
        f"pairs about {loss['expected']:.0f} are lost ({loss['at_least']:.0f} to {loss['at_most']:.0f})"
    )
