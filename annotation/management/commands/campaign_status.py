"""`manage.py campaign_status CAMPAIGN [--workers]`: how far it is, what it cost, what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import campaign_named, monitoring
from annotation.campaigns.monitoring import Alarm
from annotation.management.base import ReportCommand, plain_table
from annotation.models import Campaign
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.selectors.campaign import Overview, money, overview, workers
from annotation.selectors.campaign.crowd import WORKERS_PER_PAGE, WorkerRow
from annotation.selectors.campaign.reasons import reason_in_words
from annotation.selectors.drawing_ways import drawing_ways
from annotation.task_types.wording import BY_KEY


def alarms_of(alarms: Iterable[Alarm]) -> list[dict[str, str]]:
    """Alarms as plain data, with what helps as a terminal says it."""
    return [
        {
            "code": alarm.code,
            "kind": alarm.kind,
            "text": alarm.text,
            "remedy": alarm.command or alarm.remedy,
        }
        for alarm in alarms
    ]


def alarms_text(alarms: Iterable[dict[str, str]]) -> list[str]:
    """Alarms as lines: what is wrong, and below it what helps, once for alarms of one remedy."""
    by_remedy: dict[str, list[str]] = {}
    for alarm in alarms:
        by_remedy.setdefault(alarm["remedy"], []).append(alarm["text"])
    lines = []
    for remedy, texts in by_remedy.items():
        lines += [f"ALARM: {text}" for text in texts] + [f"  -> {remedy}"]
    return lines


#: What is said instead of pace and cost.
_SIMULATED = "simulated answers: they took no time and earn nothing"


class Command(ReportCommand):
    help = "Print a campaign's progress, pace, cost, agreement and alarms."
    refusals = (CampaignError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("--workers", action="store_true", help="List the workers too")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        pay = settings_of(campaign.settings).pay
        figures = overview(campaign, pay, fresh=True)
        return {
            "campaign": campaign.name,
            "corpus": campaign.corpus.name,
            "state": campaign.state,
            "simulated": campaign.simulated,
            "reason": reason_in_words(campaign.reason),
            **_figures(figures),
            "pace": {
                **asdict(figures.pace),
                "newest_at": _iso(figures.pace.newest_at),
                "ends_at": _iso(figures.pace.ends_at),
            },
            "cost": {**asdict(figures.cost), "due": figures.cost.due},
            "drawing_ways": [asdict(way) for way in drawing_ways(campaign, fresh=True)],
            "alarms": alarms_of(monitoring.alarms(campaign, words=BY_KEY)),
            "workers": [_worker(row) for row in _all_workers(campaign)] if options["workers"] else None,
        }

    def show(self, report: dict[str, Any]) -> str:
        reason = f" ({report['reason']})" if report["reason"] else ""
        funnel, pace, cost = report["funnel"], report["pace"], report["cost"]
        currency = cost["currency"]
        planned = f" and {funnel['planned']} to be opened" if funnel["planned"] else ""
        parts = [
            f"campaign {report['campaign']!r} over corpus {report['corpus']!r}: {report['state']}{reason}",
            f"images {funnel['images']}{planned}: begun {funnel['begun']}, complete {funnel['complete']}, "
            f"waiting for a reviewer {funnel['in_review']}\nchains: "
            + ", ".join(f"{stage.lower()} {count}" for stage, count in funnel["chains"].items()),
            plain_table(
                [
                    "question",
                    "open",
                    "wanting",
                    "in progress",
                    "answers",
                    "controls",
                    "asked twice",
                ],
                [_kind(report, kind) for kind in report["tasks"]],
            ),
            *([_agreement(report["agreement"])] if report["agreement"] else ()),
            *([_drawing(report["drawing_ways"])] if report["drawing_ways"] else ()),
            *([_SIMULATED] if report["simulated"] else [_pace(pace), _cost(report)]),
        ]
        if report["workers"] is not None:
            parts.append(_workers(report["workers"], currency, timed=not report["simulated"]))
        if report["alarms"]:
            parts.append("\n".join(alarms_text(report["alarms"])))
        return "\n\n".join(parts)


def _cost(report: dict[str, Any]) -> str:
    """What was earned, paid and is due, in a line."""
    cost, currency = report["cost"], report["cost"]["currency"]
    line = (
        f"earned {money(cost['earned'], currency)}, paid {money(cost['paid'], currency)}, "
        f"due {money(cost['due'], currency)}, in progress {money(cost['in_hand'], currency)}"
    )
    if cost["bonuses"]:
        line += f", bonuses {money(cost['bonuses'], currency)}"
    if report["pay_to_come"]:
        line += f", still to be earned {money(report['pay_to_come'], currency)}"
    return line + (f"; {money(cost['hourly'], currency)} earned per hour of work" if cost["hourly"] else "")


def _figures(figures: Overview) -> dict[str, Any]:
    """The figures as plain data; all are counted now."""
    plain = {name: value for name, value in asdict(figures).items() if name not in ("counted_at", "since")}
    for kind, of in figures.agreement.items():
        plain["agreement"][kind]["lacking"] = of.lacking
    return plain


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None


def _kind(report: dict[str, Any], kind: str) -> list[Any]:
    open_tasks, done = report["tasks"][kind], report["cost"]["kinds"].get(kind, {})
    return [
        kind,
        open_tasks["open"],
        open_tasks["wanting"],
        open_tasks["in_hand"],
        done.get("answers", 0),
        done.get("controls", 0),
        done.get("double_checks", 0),
    ]


def _agreement(kinds: dict[str, Any]) -> str:
    """How far two people agree, over the questions drawn for a second answer; intervals are of 95 %."""

    def interval(of: dict[str, float] | None, form: str) -> str:
        if of is None:
            return "-"
        return f"{of['value']:{form}} ({of['low']:{form}} to {of['high']:{form}})"

    lines = [
        [
            kind,
            of["drawn"],
            of["pairs"],
            of["lacking"],
            interval(of["equal"], ".0%"),
            interval(of["kappa"], ".2f"),
            ", ".join(f"{one['answer']} {one['share']['value']:.0%}" for one in of["answers"]) or "-",
            interval(of["overlap"], ".2f"),
        ]
        for kind, of in kinds.items()
    ]
    counts = ["drawn", "two answers", "no second answer"]
    return plain_table(["question", *counts, "same answer", "kappa", "share of each answer", "IoU"], lines)


def _drawing(ways: list[dict[str, Any]]) -> str:
    lines = [
        [
            way["way"] or "unknown",
            way["boxes"],
            f"{way['median_seconds']:.1f}",
            way["judged"],
            "-" if way["good"] is None else f"{way['good']:.1%}",
        ]
        for way in ways
    ]
    return plain_table(["way of drawing", "boxes", "median s", "judged", "good"], lines)


def _pace(pace: dict[str, Any]) -> str:
    newest = f"the newest at {pace['newest_at']}" if pace["newest_at"] else "none yet"
    text = f"answers in the last hour {pace['last_hour']}, an hour over the last day {pace['per_hour']:.1f}; "
    text += newest
    if pace["to_come"] is None:
        return text + "; too few images are finished to estimate the end"
    end = f", expected end {pace['ends_at']}" if pace["ends_at"] else ""
    return text + f"; {pace['to_come']} to come{end}"


def _all_workers(campaign: Campaign) -> Iterable[WorkerRow]:
    after = 0
    while page := workers(campaign, after=after, limit=WORKERS_PER_PAGE):
        yield from page
        after = page[-1].id
        if len(page) < WORKERS_PER_PAGE:
            return


def _worker(row: WorkerRow) -> dict[str, Any]:
    kinds = [{**asdict(kind), "withdrawn_at": _iso(kind.withdrawn_at)} for kind in row.kinds]
    return {**asdict(row), "due": row.due, "kinds": kinds}


def _workers(rows: list[dict[str, Any]], currency: str, *, timed: bool) -> str:
    lines = []
    for row in rows:
        for n, kind in enumerate(row["kinds"]):
            standing = (
                "withdrawn" if kind["withdrawn_at"] else "blocked" if kind["blocked"] else kind["state"]
            )
            lines.append(
                [
                    "" if n else row["pseudonym"],
                    kind["kind"],
                    standing,
                    kind["answers"],
                    "-" if kind["accuracy"] is None else f"{kind['accuracy']:.0%} of {kind['known']}",
                    "-" if kind["median_seconds"] is None or not timed else f"{kind['median_seconds']:.1f}",
                    "" if n else money(row["due"], currency),
                ]
            )
    head = ["worker", "question", "standing", "answers", "control items right", "median s", "due"]
    return plain_table(head, lines) if lines else "no workers yet"
