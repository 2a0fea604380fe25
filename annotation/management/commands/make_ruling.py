"""`manage.py make_ruling CAMPAIGN IMAGE [--partition G G... | --boxes C B... | --closure C KIND | ...]`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import campaign_named
from annotation.management.base import ReportCommand, plain_table
from annotation.moderation import rulings
from annotation.moderation.control_items import names_of_items
from annotation.moderation.rulings import CannotRule
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.contents import BadPlainData, mention_from, ruling_from
from annotation.protocol.rulings import Ruling
from annotation.selectors.review import NoSuchImage, chain_title, open_image


class Command(ReportCommand):
    help = (
        "Make or withdraw a ruling about an image of a campaign; without either, print its chains. A "
        "mention is named caption:start-end, as 0:3-5, and a chain by all its mentions, separated by commas."
    )
    refusals = (CampaignError, CannotRule, BadPlainData, NoSuchImage)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("image", help="The image's key in the corpus")
        said = parser.add_mutually_exclusive_group()
        said.add_argument(
            "--partition",
            nargs="+",
            metavar="MENTIONS",
            help="Each argument is a chain; mentions of two of them are never one",
        )
        said.add_argument(
            "--keep-apart", nargs=2, metavar="MENTION", help="Two chains that stay two; undoes their merge"
        )
        said.add_argument(
            "--boxes",
            nargs="+",
            metavar=("CHAIN", "BOX"),
            help="The chain's boxes, each as xmin,ymin,xmax,ymax in pixels from 1",
        )
        said.add_argument(
            "--closure", nargs=2, metavar=("CHAIN", "KIND"), help="No box: KIND is scene, none or excluded"
        )
        said.add_argument("--resume", metavar="CHAIN", help="Ask workers again")
        said.add_argument("--withdraw", type=int, metavar="ID", help="Withdraw a ruling")
        parser.add_argument("--comment", default="", help="Reason; stored with the ruling")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        row = open_image(campaign=campaign.pk, key=options["image"])
        ruling, done = _ruling(options), None
        if options["withdraw"] is not None:
            done = rulings.withdraw_ruling(campaign=campaign, ruling=options["withdraw"])
        elif ruling is not None:
            done = rulings.make_ruling(image=row.pk, ruling=ruling, comment=options["comment"])
        row.refresh_from_db()
        mentions = {mention.id: mention for mention in map(mention_from, row.mentions)}
        return {
            "campaign": campaign.name,
            "image": options["image"],
            "ruling": done.ruling.pk if done else None,
            "retired": list(map(str, names_of_items(done.retired))) if done else [],
            "withdrawn": options["withdraw"] is not None,
            "complete": row.complete,
            "chains": [
                {
                    "mentions": chain["m"],
                    "title": chain_title(chain, mentions),
                    "stage": chain["s"],
                    "reason": chain["r"],
                    "kind": chain["k"],
                    "boxes": chain["b"],
                }
                for chain in row.state["chains"]
            ],
            "merged": row.state["merged"],
            "rulings": [
                {"id": given.pk, **given.content, "withdrawn": given.withdrawn_at is not None}
                for given in row.rulings.order_by("pk")
            ],
        }

    def show(self, report: dict[str, Any]) -> str:
        rows = [
            [
                ",".join(chain["mentions"]),
                chain["title"],
                chain["stage"] + (f" ({chain['reason']})" if chain["reason"] else ""),
                " ".join(",".join(map(str, box)) for box in chain["boxes"]) or chain["kind"],
            ]
            for chain in report["chains"]
        ]
        lines = [plain_table(["chain", "called", "stage", "boxes"], rows)]
        for merged in report["merged"]:
            lines.append(
                f"merged {merged['what']} of {', '.join(merged['chains'])} at IoU {merged['iou']:.2f}"
            )
        for given in report["rulings"]:
            said = " ".join(f"{k}={v}" for k, v in given.items() if k not in ("id", "kind", "withdrawn"))
            withdrawn = ", withdrawn" if given["withdrawn"] else ""
            lines.append(f"ruling {given['id']}: {given['kind']} {said}{withdrawn}")
        if report["ruling"] is not None:
            lines.append(f"ruling {report['ruling']} is {'withdrawn' if report['withdrawn'] else 'in force'}")
        lines += [
            f"control item retired, because it contradicts the ruling: {item}" for item in report["retired"]
        ]
        return "\n".join(lines)


def _ruling(options: dict[str, Any]) -> Ruling | None:
    """The ruling that the options make, if any. Raises BadContent."""
    plain: dict[str, Any]
    if options["partition"]:
        plain = {"kind": "partition", "groups": [_mentions(group) for group in options["partition"]]}
    elif options["keep_apart"]:
        a, b = options["keep_apart"]
        plain = {"kind": "keep_apart", "a": a, "b": b}
    elif options["boxes"]:
        chain, *boxes = options["boxes"]
        plain = {"kind": "boxes", "mentions": _mentions(chain), "boxes": [_corners(box) for box in boxes]}
    elif options["closure"]:
        chain, kind = options["closure"]
        plain = {"kind": "closure", "mentions": _mentions(chain), "as": kind}
    elif options["resume"]:
        plain = {"kind": "resume", "mentions": _mentions(options["resume"])}
    else:
        return None
    return ruling_from(plain)


def _mentions(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _corners(text: str) -> list[int]:
    try:
        xmin, ymin, xmax, ymax = map(int, text.split(","))
    except ValueError:
        raise BadPlainData(f"box {text!r}: expected xmin,ymin,xmax,ymax in whole pixels from 1") from None
    return [xmin, ymin, xmax, ymax]
