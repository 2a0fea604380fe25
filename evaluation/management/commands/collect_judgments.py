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
from evaluation.services.batches.closing import settle
from evaluation.services.batches.collecting import collect
from evaluation.services.batches.stored_answers import BatchRefused
from evaluation.services.common import ImportRefused


def unused_text(unused: dict[str, str], batch: str) -> list[str]:
    """A line for each judge whose answers do not count, and what helps."""
    lines = [f"not used: {judge} ({why})" for judge, why in unused.items()]
    return [*lines, f"top_up {batch} has their pages asked again"] if lines else []


def reinstated_text(before: dict[str, int], counted: dict[str, int], batch: str) -> list[str]:
    """A line for each judge with answers from before they were reinstated, and how to have it otherwise."""
    lines = [
        f"not used: {answers} answers of {judge} from before the rules suspended and somebody reinstated them"
        for judge, answers in before.items()
    ]
    lines += [
        f"counted by name: {answers} answers of {judge} from before the rules suspended and somebody "
        "reinstated them"
        for judge, answers in counted.items()
    ]
    if before:
        every = " ".join([*counted, *before])
        lines.append(f"collect_judgments {batch} --count {every} counts them")
    if counted:
        lines.append(f"collect_judgments {batch} --count, without a name, leaves all of them out")
    return lines


class Command(ReportCommand):
    help = "Collect what was answered in a batch as judgments, which freeze_qrels freezes."
    refusals = (*ReportCommand.refusals, BatchRefused, ImportRefused, Busy)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("batch")
        parser.add_argument("--freeze", metavar="QRELS", help="Freeze them at once, under the usual rule")
        parser.add_argument(
            "--count",
            nargs="*",
            metavar="JUDGE",
            help="Count what these judges answered before they were reinstated, and of nobody else "
            "(default: of those of the newest set)",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        if options["freeze"] is None:
            return {**asdict(collect(options["batch"], count=options["count"])), "frozen": None}
        done = settle(options["batch"], qrels=options["freeze"], count=options["count"])
        return {**asdict(done.collected), "frozen": asdict(done.frozen)}

    def show(self, report: dict[str, Any]) -> str:
        end = "stand already, nothing changed" if report["unchanged"] else "collected"
        counts = f"{report['answers']} answers about {report['pairs']} pairs, {report['new']} of them new"
        lines = [
            f"judgments {report['judgments']!r} {end}: {counts}",
            f"{report['short']} pairs that were asked for have fewer answers than wanted",
            *unused_text(report["unused"], report["batch"]),
            *reinstated_text(report["before"], report["counted"], report["batch"]),
            f"digest {report['digest']}",
        ]
        if frozen := report["frozen"]:
            stands = "stands already, nothing changed" if frozen["unchanged"] else "frozen"
            lines.append(
                f"qrels {frozen['qrels']!r} version {frozen['version']} {stands}: {frozen['relevant']} of "
                f"{frozen['rows']} pairs are relevant ({frozen['settings']})"
            )
        return "\n".join(lines)
