"""What commands about campaigns print."""

from collections.abc import Iterable
from typing import Any

from django.utils.formats import number_format

from annotation.campaigns.status import AlarmSummary, CampaignStatus, CostSummary, KindAgreement
from annotation.common.plain_text import text_table
from annotation.protocol.agreement import IntervalEstimate
from annotation.selectors.drawing_ways import DrawingWay

#: The text that stands for progress and cost.
_SIMULATED = "simulated answers: they took no time and earn nothing"


def alarm_lines(alarms: Iterable[AlarmSummary]) -> list[str]:
    """Alarms as lines: what is wrong, and below it what helps, once for alarms of one remedy."""
    by_remedy: dict[str, list[str]] = {}
    for alarm in alarms:
        by_remedy.setdefault(alarm.remedy, []).append(alarm.text)
    lines = []
    for remedy, texts in by_remedy.items():
        lines += [f"ALARM: {text}" for text in texts] + [f"  -> {remedy}"]
    return lines


def campaign_status_text(status: CampaignStatus) -> str:
    """Progress, pace, cost, agreement and alarms of a campaign."""
    reason, progress = f" ({status.reason})" if status.reason else "", status.progress
    planned = f" and {progress.planned} to be opened" if progress.planned else ""
    chains = ", ".join(f"{stage.lower()} {count}" for stage, count in progress.chains.items())
    done = {row.kind: [row.answers, row.controls, row.double_checks] for row in status.cost.kinds}
    images = (
        f"images {progress.images}{planned}: begun {progress.begun}, complete {progress.complete}, "
        f"waiting for a reviewer {progress.in_review}\nchains: {chains}"
    )
    parts = [
        f"campaign {status.name!r} over corpus {status.corpus!r}: {status.state}{reason}",
        images,
        text_table(
            ["question", "open", "wanting", "in progress", "answers", "controls", "asked twice"],
            [
                [kind, of.open, of.wanting, of.in_hand, *done.get(kind, [0, 0, 0])]
                for kind, of in progress.tasks.items()
            ],
        ),
        *([_agreement(status.agreement)] if status.agreement else ()),
        *([_drawing(status.drawing_ways)] if status.drawing_ways else ()),
        *([_SIMULATED] if status.simulated else [_progress_text(status), _cost(status.cost)]),
        *(["\n".join(alarm_lines(status.alarms))] if status.alarms else ()),
    ]
    return "\n\n".join(parts)


def _cost(cost: CostSummary) -> str:
    """What was earned, paid and is due, in a line."""

    def money(amount: str) -> str:
        return f"{number_format(amount)} {cost.currency}"

    line = (
        f"earned {money(cost.earned)}, paid {money(cost.paid)}, due {money(cost.due)}, "
        f"in progress {money(cost.in_hand)}"
    )
    if float(cost.bonuses):
        line += f", bonuses {money(cost.bonuses)}"
    if cost.to_come and float(cost.to_come):
        line += f", still to be earned {money(cost.to_come)}"
    return line + (f"; {money(cost.hourly)} earned per hour of work" if cost.hourly else "")


def _agreement(kinds: Iterable[KindAgreement]) -> str:
    """How far two people agree, over the questions drawn for a second answer; intervals are of 95 %."""

    def interval(of: IntervalEstimate | None, form: str) -> str:
        return "-" if of is None else f"{of.value:{form}} ({of.low:{form}} to {of.high:{form}})"

    lines: list[list[Any]] = [
        [
            of.kind,
            of.drawn,
            of.pairs,
            of.lacking,
            interval(of.equal, ".0%"),
            interval(of.kappa, ".2f"),
            ", ".join(f"{share.answer} {share.share.value:.0%}" for share in of.answers) or "-",
            interval(of.overlap, ".2f"),
        ]
        for of in kinds
    ]
    counts = ["drawn", "two answers", "no second answer"]
    return text_table(["question", *counts, "same answer", "kappa", "share of each answer", "IoU"], lines)


def _drawing(ways: Iterable[DrawingWay]) -> str:
    lines = [
        [
            way.way or "unknown",
            way.boxes,
            f"{way.median_seconds:.1f}",
            way.judged,
            "-" if way.good is None else f"{way.good:.1%}",
        ]
        for way in ways
    ]
    return text_table(["way of drawing", "boxes", "median s", "judged", "good"], lines)


def _progress_text(status: CampaignStatus) -> str:
    progress = status.progress
    newest = progress.newest_answer_at
    text = (
        f"answers in the last hour {progress.answers_last_hour}, an hour over the last day "
        f"{progress.answers_per_hour:.1f}; "
    )
    text += f"the newest at {newest.isoformat(timespec='seconds')}" if newest else "none yet"
    if progress.answers_to_come is None:
        return text + "; too few images are finished to estimate the end"
    ends = progress.ends_at
    end = f", expected end {ends.isoformat(timespec='seconds')}" if ends else ""
    return f"{text}; {progress.answers_to_come} to come{end}"
