"""`manage.py simulate_crowd CAMPAIGN --workers N --seed S`: all questions answered by error models."""

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import campaign_crowd_size, campaign_named
from annotation.common.plain_text import text_table
from annotation.management.base import ReportCommand, peak_mib, with_progress
from annotation.models import Campaign
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.questions import QUESTIONS
from annotation.protocol.scores import LayerScores
from annotation.simulation.visits import ORDERLY, USUAL_CONDUCT
from annotation.simulation.workers import PRESETS
from annotation.simulation_driver import (
    CROWD_PATIENCE,
    HTTP,
    QUEUE,
    USUAL_MIX,
    CrowdPlan,
    mix_of,
    run_campaign_crowd,
    simulate_campaign,
)

PROTOCOL = "protocol"
#: Maximum number of lines about unexpected events that are shown in full.
LISTED = 5


def parse_mix(text: str) -> dict[str, float]:
    """Return "careful=0.7,sloppy=0.3" as a mapping. Raises CampaignError for anything else."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.partition("=")
        if name.strip() in shares:
            raise CampaignError(f"--mix {text!r} names {name.strip()!r} twice; expected each kind once")
        try:
            shares[name.strip()] = float(share)
        except ValueError:
            raise CampaignError(f"--mix {part!r}: expected KIND=SHARE, e.g. careful=0.7,sloppy=0.3") from None
    if not math.isfinite(total := sum(shares.values())) or total <= 0 or min(shares.values()) < 0:
        raise CampaignError(f"--mix {text!r}: expected shares of 0 or more that sum to more than 0")
    return shares


class Command(ReportCommand):
    help = (
        "Answer every question of a campaign by a seeded crowd of error models, and write the layer named "
        "after the campaign. Through the protocol: quick, without rows of the queue. Through the queue: "
        "with leases, refusals and misconduct, in this process or over HTTP against a running server. "
        "Answers come from the corpus's gold layer, or from a seeded stand-in where it has none."
    )
    expected_errors = (OSError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("--workers", type=int, default=20, help="Number of workers (default 20)")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument(
            "--mix",
            metavar="KIND=SHARE,...",
            help="Kinds of workers; known: " + ", ".join(PRESETS),
        )
        parser.add_argument(
            "--through",
            choices=[PROTOCOL, QUEUE, HTTP],
            help=f"Default {PROTOCOL}, or {QUEUE} where questions are only counted",
        )
        parser.add_argument("--url", default="", help="Server of --through http: http://127.0.0.1:8000")
        parser.add_argument(
            "--processes", type=int, default=1, help="Processes of the crowd (queue, http; default 1)"
        )
        parser.add_argument(
            "--patience",
            type=float,
            default=CROWD_PATIENCE,
            metavar="SECONDS",
            help=f"How long to wait for leases to run out (queue, http; default {CROWD_PATIENCE:.0f})",
        )
        parser.add_argument("--orderly", action="store_true", help="No misconduct (queue, http)")
        parser.add_argument("--gold", metavar="LAYER", help="The layer to answer from")
        parser.add_argument("--chunked", action="store_true", help="Chunk mentions although gold has some")
        parser.add_argument("--trust-everyone", action="store_true", help="No control items, no suspension")
        parser.add_argument(
            "--judgments", type=Path, metavar="FILE", help="Write every judgment as a JSON line"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        mix = parse_mix(options["mix"]) if options["mix"] else USUAL_MIX
        least = campaign_crowd_size(campaign).least
        people = mix_of(options["workers"], mix, least=least)
        if options["processes"] < 1:
            raise CampaignError(f"--processes {options['processes']}: expected 1 or more")
        counted = campaign.kinds != QUESTIONS
        options["through"] = options["through"] or (QUEUE if counted else PROTOCOL)
        if options["through"] == PROTOCOL:
            if counted:
                raise CampaignError(
                    f"campaign {campaign.name!r} asks {campaign.tasks}, of which the protocol settles "
                    "nothing; simulate it --through queue"
                )
            _only(options, "queue or http", url="", processes=1, orderly=False)
            return self._through_protocol(campaign, people, options)
        _only(options, "protocol", chunked=False, trust_everyone=False, judgments=None)
        return self._through_queue(campaign, people, options)

    def _through_queue(
        self, campaign: Campaign, people: Mapping[str, int], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        done = run_campaign_crowd(
            campaign=campaign,
            plan=CrowdPlan(
                mix=people,
                seed=options["seed"],
                through=options["through"],
                url=options["url"],
                processes=options["processes"],
                conduct=ORDERLY if options["orderly"] else USUAL_CONDUCT,
                patience=options["patience"],
            ),
            gold=options["gold"],
        )
        return {
            "campaign": campaign.name,
            "corpus": campaign.corpus.name,
            "layer": done.layer.name if done.layer else None,
            "through": options["through"],
            "kinds": list(campaign.kinds),
            "crowd": dict(people),
            "seed": options["seed"],
            "cost": dict(done.cost),
            "quality": done.scores and quality_of(done.scores),
            "suspended": dict(done.suspended),
            "visits": done.tally.as_dict(),
            "left": {"open_tasks": done.open_tasks, "leased": done.leased},
            "violations": dict(done.violations),
            "seconds": done.seconds,
            "judgments_per_second": done.tally.answered.total() / done.seconds,
            "peak_memory_mib": peak_mib(),
        }

    def _through_protocol(
        self, campaign: Campaign, people: Mapping[str, int], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        started = perf_counter()
        done = simulate_campaign(
            campaign=campaign,
            mix=people,
            seed=options["seed"],
            gold=options["gold"],
            chunked=options["chunked"],
            gated=not options["trust_everyone"],
            judgments=options["judgments"],
            transform=partial(with_progress, what="images", total=campaign.corpus.image_count),
        )
        seconds = perf_counter() - started
        answers = done.cost.total + sum(done.cost.double_checks.values())
        return {
            "campaign": campaign.name,
            "corpus": campaign.corpus.name,
            "layer": done.layer.name,
            "through": PROTOCOL,
            "kinds": list(campaign.kinds),
            "crowd": dict(people),
            "seed": options["seed"],
            "cost": done.cost.as_dict(),
            "quality": done.scores and quality_of(done.scores),
            "images_without_gold": done.uncovered,
            "suspended": done.suspended,
            "seconds": seconds,
            "judgments_per_second": (answers + sum(done.cost.controls.values())) / seconds,
            "peak_memory_mib": peak_mib(),
        }

    def show(self, report: dict[str, Any]) -> str:
        cost = report["cost"]
        images = max(cost.get("images", 0), 1)
        rows = [
            [
                kind,
                cost.get("judgments", {}).get(kind, 0),
                cost.get("judgments", {}).get(kind, 0) / images,
                cost.get("controls", {}).get(kind, 0),
                cost.get("double_checks", {}).get(kind, 0),
                len(report["suspended"].get(kind, ())),
            ]
            for kind in report["kinds"]
        ]
        head = ["question", "judgments", "per image", "controls", "asked twice", "suspended"]
        crowd = ", ".join(f"{count} {kind}" for kind, count in report["crowd"].items())
        lines = [
            (
                f"{cost.get('images', 0)} images, {cost.get('mentions', 0)} mentions; crowd: {crowd}; "
                f"seed {report['seed']}; through {report['through']}"
            ),
            text_table(head, rows),
            (
                f"reviewer's rulings {cost.get('rulings', 0)}, "
                + (f"superseded judgments {cost['superseded']}, " if "superseded" in cost else "")
                + f"images left unfinished {cost.get('unfinished', 0)}"
            ),
        ]
        if report.get("images_without_gold"):
            lines.append(
                f"images left out because the gold layer does not cover them: {report['images_without_gold']}"
            )
        if "visits" in report:
            lines += visits_of(report)
        if tuple(report["kinds"]) == QUESTIONS:
            lines.append(quality_text(report["quality"]))
        lines.append(
            f"{report['seconds']:.1f} s, {report['judgments_per_second']:.0f} judgments/s, peak memory "
            f"{report['peak_memory_mib']:.0f} MiB"
            + (f"; layer {report['layer']!r} is written" if report["layer"] else "")
        )
        return "\n".join(lines)


def _only(options: Mapping[str, Any], way: str, **usual: Any) -> None:
    """Raise CampaignError for an option of another way."""
    for name, value in usual.items():
        if options[name] != value:
            raise CampaignError(f"--{name.replace('_', '-')} goes with --through {way}; leave it out")


def quality_of(scores: LayerScores) -> dict[str, Any]:
    """Return scores against gold as plain data."""
    return {
        "chain_precision": scores.precision,
        "chain_recall": scores.recall,
        "chain_f1": scores.f1,
        "box_iou": scores.iou,
        "kind_accuracy": scores.kind_accuracy,
        "mentions_with_boxes": scores.boxed,
    }


def quality_text(quality: Mapping[str, Any] | None) -> str:
    """Return one line about the layer against gold."""
    if quality is None:
        return "no gold: answers came from a seeded stand-in and say nothing about the pictures"
    boxes = (
        f"box IoU {quality['box_iou']:.3f}, boxed/scene/none right {quality['kind_accuracy']:.3f}"
        if quality["mentions_with_boxes"]
        else "no boxes in gold to compare with"
    )
    return (
        f"against gold: B-cubed chain F1 {quality['chain_f1']:.3f} "
        f"(precision {quality['chain_precision']:.3f}, recall {quality['chain_recall']:.3f}), {boxes}"
    )


def visits_of(report: Mapping[str, Any]) -> list[str]:
    """Return what workers did besides answering, and remaining and invalid rows, one line each."""
    visits, left = report["visits"], report["left"]
    acts = {
        "clicked twice": "repeated",
        "second answers refused": "refused_twice",
        "late and counted": "late_counted",
        "late and extra": "late_extra",
        "returned": "returned",
        "workers who left": "left",
        "trips made again": "lost",
    }
    lines = [", ".join(f"{words} {visits[name]}" for words, name in acts.items())]
    if left["open_tasks"]:
        lines.append(
            f"left over: {left['open_tasks']} open tasks, {left['leased']} of them leased; what workers were "
            f"told: {', '.join(f'{code} {count}' for code, count in visits['nothing'].items())}"
        )
    violations = [f"{what}: {count}" for what, count in report["violations"].items() if count]
    violations += visits["amiss"][:LISTED]
    if len(visits["amiss"]) > LISTED:
        violations.append(f"and {len(visits['amiss']) - LISTED} more like these")
    lines.append("; ".join(violations) or "nothing over-assigned, lost or doubled")
    return lines
