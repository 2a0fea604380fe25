"""`manage.py export_answers CAMPAIGN --out FILE.jsonl`: every answer of a campaign, a JSON line each."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import campaign_named
from annotation.datasets.exporting import simulated_refusal
from annotation.management.base import ReportCommand, with_progress
from annotation.models import Judgment
from annotation.protocol.campaign_settings import CampaignError
from annotation.selectors.answers import answers


class Command(ReportCommand):
    help = (
        "Write every answer of a campaign as a JSON line: who (a pseudonym), what was asked and answered, "
        "under which instructions, in how many seconds. The file is complete once it exists."
    )
    refusals = (CampaignError, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("--out", required=True, type=Path, metavar="FILE.jsonl", help="A new file")
        parser.add_argument("--known", action="store_true", help="Include the answers to control items")
        parser.add_argument(
            "--simulated", action="store_true", help="The answers may be simulated: no person gave them"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        if campaign.simulated and not options["simulated"]:
            raise CampaignError(simulated_refusal(campaign.name))
        out: Path = options["out"]
        if out.exists():
            raise CampaignError(f"{out} already exists; name a new file")
        total = Judgment.objects.filter(campaign=campaign).count()
        counts: Counter[str] = Counter()
        part = out.with_name(f"{out.name}.part")
        try:
            with part.open("w", encoding="utf-8") as file:
                for record in with_progress(
                    answers(campaign, known=options["known"]), what="answers", total=total
                ):
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
                    counts[record["kind"]] += 1
            os.replace(part, out)
        finally:
            part.unlink(missing_ok=True)
        return {"campaign": campaign.name, "out": str(out), "answers": dict(counts)}

    def show(self, report: dict[str, Any]) -> str:
        told = ", ".join(f"{number} {kind}" for kind, number in report["answers"].items()) or "no answers"
        return f"{told}\nwritten to {report['out']}"
