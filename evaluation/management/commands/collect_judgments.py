"""`manage.py collect_judgments BATCH`: what a batch's judges said, as judgments that can be frozen.

    python manage.py collect_judgments first
    python manage.py freeze_qrels pooled --corpus flickr8k --judgments first
    python manage.py collect_judgments first --freeze pooled
    python manage.py collect_judgments first --count JUDGE

The judgments hold what was asked for in this batch and in those before it, and the files it reused. The
third does what the first two do. Collected again, nothing changes unless more was answered, or withdrawn;
then the next set is made, NAME-2. What judges answered before they were reinstated, where the rules had
suspended them, stays out; the fourth counts it for those named, from then on, until --count names others, or
nobody.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.common.locks import Busy
from annotation.management.base import ReportCommand
from evaluation.services.batches.closing import close_batch
from evaluation.services.batches.collecting import collect
from evaluation.services.batches.stored_answers import BatchRefused
from evaluation.services.common import ImportRefused


def unused_text(unused: dict[str, str], batch: str) -> list[str]:
    """A line for each judge whose answers do not count, and what helps."""
    lines = [f"not used: {judge} ({why})" for judge, why in unused.items()]
    return [*lines, f"top_up {batch} reassigns their pages"] if lines else []


def reinstated_text(before: dict[str, int], counted: dict[str, int], batch: str) -> list[str]:
    """A line for each judge with answers from before they were reinstated, and how to have it otherwise."""
    lines = [
        f"not used: {answers} answers that {judge} gave before the trust rules suspended them and a person "
        "reinstated them"
        for judge, answers in before.items()
    ]
    lines += [
        f"counted by name: {answers} answers that {judge} gave before the trust rules suspended them and a "
        "person reinstated them"
        for judge, answers in counted.items()
    ]
    if before:
        every = " ".join([*counted, *before])
        lines.append(f"collect_judgments {batch} --count {every} counts them")
    if counted:
        lines.append(f"collect_judgments {batch} --count without a name leaves all of them out")
    return lines


class Command(ReportCommand):
    help = "Collect the answers of a batch as judgments. freeze_qrels makes qrels from them."
    refusals = (*ReportCommand.refusals, BatchRefused, ImportRefused, Busy)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("batch")
        parser.add_argument(
            "--freeze",
            metavar="QRELS",
            help="Also freeze them as qrels with this name, under the default rule",
        )
        parser.add_argument(
            "--count",
            nargs="*",
            metavar="JUDGE",
            help="Count the answers that these judges, and no others, gave before they were reinstated "
            "(default: the judges of the newest set)",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        if options["freeze"] is None:
            return {**asdict(collect(options["batch"], count=options["count"])), "frozen": None}
        done = close_batch(options["batch"], qrels=options["freeze"], count=options["count"])
        return {**asdict(done.collected), "frozen": asdict(done.frozen)}

    def show(self, report: dict[str, Any]) -> str:
        end = "already exist, nothing changed" if report["unchanged"] else "collected"
        counts = f"{report['answers']} answers about {report['pairs']} pairs, {report['new']} of them new"
        lines = [
            f"judgments {report['judgments']!r} {end}: {counts}",
            f"{report['short']} requested pairs have fewer answers than required",
            *unused_text(report["unused"], report["batch"]),
            *reinstated_text(report["before"], report["counted"], report["batch"]),
            f"digest {report['digest']}",
        ]
        if frozen := report["frozen"]:
            stands = "already exists, nothing changed" if frozen["unchanged"] else "frozen"
            lines.append(
                f"qrels {frozen['qrels']!r} version {frozen['version']} {stands}: {frozen['relevant']} of "
                f"{frozen['rows']} pairs are relevant ({frozen['settings']})"
            )
        return "\n".join(lines)
