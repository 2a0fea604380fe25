"""`manage.py add_controls CAMPAIGN --from-gold LAYER | --from-captions SPLIT | --csv F | --promote KIND`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import campaign_named
from annotation.common.plain_text import plain_table
from annotation.common.registry import UnknownName
from annotation.datasets.layers import layer_to_read
from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand
from annotation.models import Control
from annotation.moderation import control_items
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.protocol.kinds import all_kinds
from annotation.quality import controls, qualification
from annotation.selectors.controls import control_item_counts
from annotation.selectors.corpora import check_split


class Command(ReportCommand):
    help = (
        "Add questions with gold answers to a campaign: control items, which are mixed into the work, and "
        "qualification "
        "items, which make up the tests. Without a source, print what there is. docs/trust.md describes the "
        "CSV's columns."
    )
    refusals = (
        UnknownName,
        CampaignError,
        controls.BadItem,
        controls.BadItems,
        control_items.NoGold,
        control_items.CannotPromote,
        FormatError,
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        source = parser.add_mutually_exclusive_group()
        source.add_argument("--from-gold", metavar="LAYER", help="Take questions about a layer's images")
        source.add_argument(
            "--from-captions",
            metavar="SPLIT",
            help="For relevance and grading: take images of this split that the campaign does not ask about, "
            "with their own captions and others' (check them: one may fit as well)",
        )
        source.add_argument("--csv", type=Path, metavar="FILE")
        source.add_argument(
            "--promote",
            metavar="KIND",
            choices=[kind.key for kind in all_kinds() if kind.promotable],
            help="Take settled questions to which all workers gave the same answer",
        )
        parser.add_argument(
            "--images", type=int, default=60, help="With --from-gold: how many images (default 60)"
        )
        parser.add_argument(
            "--seed",
            type=int,
            default=0,
            help="With --from-gold or --from-captions: which images and questions",
        )
        parser.add_argument(
            "--purpose",
            choices=Control.PURPOSES,
            help="With --from-gold or --from-captions: only these; with --promote: these (default control)",
        )
        parser.add_argument(
            "--at-least", type=int, default=3, help="With --promote: workers who agree (default 3)"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        purpose = options["purpose"]
        added: controls.Added | None = None
        if options["from_gold"] is not None:
            layer = layer_to_read(campaign.corpus, options["from_gold"])
            assert layer is not None  # A name was given.
            added = control_items.from_gold(
                campaign=campaign,
                layer=layer,
                images=options["images"],
                seed=options["seed"],
                purposes=[purpose] if purpose else Control.PURPOSES,
            )
        elif options["from_captions"] is not None:
            check_split(campaign.corpus, options["from_captions"])
            added = controls.from_split(
                campaign=campaign,
                split=options["from_captions"],
                seed=options["seed"],
                purposes=[purpose] if purpose else Control.PURPOSES,
            )
        elif options["csv"] is not None:
            added = controls.from_csv(campaign=campaign, file=options["csv"])
        elif options["promote"]:
            added = control_items.promote(
                campaign=campaign,
                kind=options["promote"],
                at_least=options["at_least"],
                purpose=purpose or Control.CONTROL,
            )
        settings = settings_of(campaign.settings)
        return {
            "campaign": campaign.name,
            "added": added.added if added else 0,
            "there_already": added.there if added else 0,
            "passed_over": list(map(str, added.passed_over)) if added else [],
            "items": [
                {"kind": kind, "purpose": purpose, "answer": answer, "items": items}
                for (kind, purpose, answer), items in control_item_counts(campaign).items()
            ],
            "warnings": [
                *qualification.test_warnings(campaign=campaign, settings=settings).values(),
                *controls.control_warnings(campaign=campaign, settings=settings.trust).values(),
            ],
        }

    def show(self, report: dict[str, Any]) -> str:
        rows = [[i["kind"], i["purpose"], i["answer"], i["items"]] for i in report["items"]]
        lines = [
            (
                f"{report['added']} control items added to campaign {report['campaign']!r}, "
                f"{report['there_already']} already existed"
            )
        ]
        if rows:
            lines.append(plain_table(["question", "purpose", "gold answer", "items"], rows))
        if report["passed_over"]:
            lines.append("skipped: something contradicts their answer, or they are no longer asked:")
            lines += [f"  {item}" for item in report["passed_over"]]
        return "\n".join([*lines, *(f"warning: {warning}" for warning in report["warnings"])])
