"""`manage.py simulate_crowd CAMPAIGN --workers N --seed S`: every question answered by error models."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaign_settings import CampaignError
from annotation.campaigns import campaign_named
from annotation.exclusive import Busy
from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand, progress, table
from annotation.management.resources import peak_mib
from annotation.protocol.questions import QUESTIONS
from annotation.rebuild import LayerError
from annotation.registry import UnknownName
from annotation.rehearsal import mix_of, simulate_campaign
from annotation.simulation.workers import PRESETS


def parse_mix(text: str) -> dict[str, float]:
    """ "careful=0.7,sloppy=0.3" as a mapping; raises CampaignError on anything else."""
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
        "Answer every question of a campaign by a seeded crowd of error models, on the pure protocol, "
        "and write the layer named after the campaign. Answers come from the corpus's gold layer, or "
        "from a seeded stand-in over chunked mentions where it has none."
    )
    refusals = (UnknownName, CampaignError, LayerError, FormatError, Busy, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("--workers", type=int, default=20, help="How many come (default 20)")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--mix", metavar="KIND=SHARE,...", help="Who comes; kinds: " + ", ".join(PRESETS))
        parser.add_argument("--gold", metavar="LAYER", help="The layer to answer from")
        parser.add_argument("--chunked", action="store_true", help="Chunk mentions although gold has some")
        parser.add_argument("--trust-everyone", action="store_true", help="No control items, no suspension")
        parser.add_argument(
            "--judgments", type=Path, metavar="FILE", help="Write every judgment as a JSON line"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        mix = parse_mix(options["mix"]) if options["mix"] else None
        people = mix_of(options["workers"], mix) if mix else mix_of(options["workers"])
        started = perf_counter()
        done = simulate_campaign(
            campaign=campaign,
            mix=people,
            seed=options["seed"],
            gold=options["gold"],
            chunked=options["chunked"],
            gated=not options["trust_everyone"],
            judgments=options["judgments"],
            each=partial(progress, what="images", total=campaign.corpus.image_count),
        )
        seconds = perf_counter() - started
        given = done.cost.total + sum(done.cost.double_checks.values())
        scores = done.scores
        return {
            "campaign": campaign.name,
            "corpus": campaign.corpus.name,
            "layer": done.layer.name,
            "crowd": people,
            "seed": options["seed"],
            "cost": done.cost.as_dict(),
            "quality": None
            if scores is None
            else {
                "chain_precision": scores.precision,
                "chain_recall": scores.recall,
                "chain_f1": scores.f1,
                "box_iou": scores.iou,
                "kind_accuracy": scores.kind_accuracy,
                "mentions_with_boxes": scores.boxed,
            },
            "images_without_gold": done.uncovered,
            "suspended": done.suspended,
            "seconds": seconds,
            "judgments_per_second": (given + sum(done.cost.controls.values())) / seconds,
            "peak_memory_mib": peak_mib(),
        }

    def show(self, report: dict[str, Any]) -> str:
        cost, quality = report["cost"], report["quality"]
        images = max(cost["images"], 1)
        rows = [
            [
                kind,
                cost["judgments"].get(kind, 0),
                cost["judgments"].get(kind, 0) / images,
                cost["controls"].get(kind, 0),
                cost["double_checks"].get(kind, 0),
                len(report["suspended"].get(kind, ())),
            ]
            for kind in QUESTIONS
        ]
        head = ["question", "judgments", "per image", "controls", "asked twice", "suspended"]
        crowd = ", ".join(f"{count} {kind}" for kind, count in report["crowd"].items())
        lines = [
            f"{cost['images']} images, {cost['mentions']} mentions; crowd: {crowd}; seed {report['seed']}",
            table(head, rows),
            (
                f"reviewer's rulings {cost['rulings']}, moot judgments {cost['moot']}, "
                f"images left unfinished {cost['unfinished']}"
            ),
        ]
        if report["images_without_gold"]:
            lines.append(
                f"images left out because the gold layer does not cover them: {report['images_without_gold']}"
            )
        if quality is None:
            lines.append("no gold: answers came from a seeded stand-in and say nothing about the pictures")
        else:
            boxes = (
                f"box IoU {quality['box_iou']:.3f}, boxed/scene/none right {quality['kind_accuracy']:.3f}"
                if quality["mentions_with_boxes"]
                else "no boxes in gold to compare with"
            )
            lines.append(
                f"against gold: B-cubed chain F1 {quality['chain_f1']:.3f} "
                f"(precision {quality['chain_precision']:.3f}, recall {quality['chain_recall']:.3f}), {boxes}"
            )
        lines.append(
            f"{report['seconds']:.1f} s, {report['judgments_per_second']:.0f} judgments/s, "
            f"peak memory {report['peak_memory_mib']:.0f} MiB; layer {report['layer']!r} is written"
        )
        return "\n".join(lines)
