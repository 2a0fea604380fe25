"""`manage.py open_campaign NAME --corpus C --tasks entities [--config FILE.toml] [--images N] [--draft]`."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation import campaigns
from annotation.campaigns import CampaignError, asks_pairs
from annotation.campaigns.drafts.opening import check_no_running_pilot
from annotation.campaigns.pairs import pairs_from_csv
from annotation.campaigns.status import AlarmSummary, alarm_summaries
from annotation.common.plain_text import pages_text
from annotation.common.registry import UnknownName
from annotation.datasets.layer_rows import LayerError
from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand, move_bar, progress_bar
from annotation.models import Campaign
from annotation.operations.texts.campaign import alarm_lines
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import all_tasks
from annotation.selectors.pair_judgments import page_filling

#: What helps where pages lack captions.
REMEDY = "they can be judged as they are; rows of the role filler, of these images, in --pairs fill them up"


class Command(ReportCommand):
    help = (
        "Open a campaign over a corpus, so that people can work. "
        "Running it again changes nothing, or finishes what was interrupted."
    )
    refusals = (
        UnknownName,
        CampaignError,
        LayerError,
        FormatError,
        OSError,
        tomllib.TOMLDecodeError,
        UnicodeDecodeError,
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Name of the campaign, and of its layer")
        parser.add_argument("--corpus", help="Needed unless --like names a campaign")
        parser.add_argument(
            "--tasks", help="One of: " + ", ".join(all_tasks()) + "; needed unless --like is given"
        )
        parser.add_argument(
            "--like",
            metavar="CAMPAIGN",
            help="Duplicate this one: its corpus, tasks and settings unless others are given, its texts, and "
            "its control items if the corpus is the same",
        )
        parser.add_argument("--config", type=Path, metavar="FILE.toml", help="Settings of the protocol")
        parser.add_argument("--split", help="Only the images of this split")
        parser.add_argument(
            "--images", type=int, metavar="N", help="Only the first N images; more may be opened later"
        )
        parser.add_argument(
            "--tags",
            nargs="+",
            metavar="QUERY",
            default=[],
            help="Only images with these tags (rank_tags --keep), as 'dog and frisbee': drawn by chance, "
            "--images of them in all, and of several queries the same number each",
        )
        parser.add_argument(
            "--pairs",
            type=Path,
            metavar="FILE.csv",
            help="For relevance and graded: the pairs to judge (columns image, caption: IMAGE#NUMBER, role). "
            "Without it each image is paired with its own captions and as many of others",
        )
        parser.add_argument(
            "--open-to-all",
            action="store_true",
            help="Every annotator of this server may work on it, not only invited people or those of a study",
        )
        parser.add_argument(
            "--draft", action="store_true", help="Create a draft: open neither images nor campaign"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        config: Path | None = options["config"]
        settings = tomllib.loads(config.read_text(encoding="utf-8")) if config else None
        asked = {"name": options["name"], "corpus": options["corpus"], "tasks": options["tasks"]}
        open_to_all = options["open_to_all"]
        ignored = [f"--{name}" for name in ("split", "images", "tags", "draft") if options[name]]
        if options["pairs"] is not None and ignored:
            raise CampaignError(
                f"--pairs says what is asked, as the campaign is opened: leave {' and '.join(ignored)} out"
            )
        if options["like"] is not None:
            like = campaigns.campaign_named(options["like"])
            campaign = campaigns.duplicate_campaign(
                campaign=like, settings=settings, open_to_all=open_to_all, **asked
            )
        else:
            if missing := next((word for word, value in asked.items() if value is None), None):
                raise CampaignError(f"--{missing} is missing; give it, or --like CAMPAIGN")
            campaign = campaigns.create_campaign(settings=settings, open_to_all=open_to_all, **asked)
        if not options["draft"]:
            check_no_running_pilot(campaign)
        opened = None
        if options["pairs"] is not None:
            table = pairs_from_csv(options["pairs"])
            if not campaign.images.exists():
                campaigns.open_pairs(campaign=campaign, pairs=table.wanted, fillers=table.fillers)
            elif not campaigns.asks_these_pairs(campaign, table.wanted):
                raise CampaignError(
                    f"campaign {campaign.name!r} asks other pairs than those of {options['pairs']}; open "
                    "another campaign for them"
                )
        if open_to_all and not campaign.open_to_all:
            campaigns.set_open_to_all(campaign=campaign, open_to_all=True)
        if not options["draft"]:
            with progress_bar(what="images", total=campaign.corpus.image_count) as bar:

                def tell(done: int, total: int) -> None:
                    move_bar(bar, done, total)

                opened = campaigns.open_campaign_images(
                    campaign=campaign,
                    split=options["split"],
                    images=options["images"],
                    tags=options["tags"],
                    progress=tell,
                )
            campaigns.begin_campaign(campaign=campaign)
        of_pairs = options["pairs"] is not None and asks_pairs(campaign.tasks)
        return {
            "campaign": campaign.name,
            "corpus": campaign.corpus.name,
            "tasks": campaign.tasks,
            "state": campaign.state,
            "images_opened": opened.opened if opened else 0,
            "images_there": opened.there if opened else 0,
            "images_without_gold": opened.uncovered if opened else 0,
            "planned": opened.planned if opened else 0,
            "filling": asdict(page_filling(campaign)) if of_pairs else None,
            "settings": campaign.settings,
            "unpaid": list(settings_of(campaign.settings).pay.unpaid(campaign.kinds)),
            "workers": asdict(campaigns.campaign_crowd_size(campaign)),
            "alarms": list(map(asdict, alarm_summaries(campaign, by_command=True))),
        }

    def show(self, report: dict[str, Any]) -> str:
        lines = [f"campaign {report['campaign']!r} over corpus {report['corpus']!r} ({report['tasks']})"]
        lines += [f"  {name} = {value}" for name, value in report["settings"].items()]
        if report["state"] == Campaign.DRAFT:
            lines.append("it is a draft: run this without --draft to open it")
        else:
            lines.append(
                f"it is {report['state']}: {report['images_opened']} images opened now, "
                f"{report['images_there']} before"
                + (f", {report['planned']} to be opened as others are finished" if report["planned"] else "")
            )
        lines += pages_text(report["filling"] or {}, REMEDY)
        if report["unpaid"]:
            lines.append(f"no pay is set for {', '.join(report['unpaid'])}: set it under [pay] in --config")
        if report["images_without_gold"]:
            lines.append(
                f"images left out because the gold layer does not cover them: {report['images_without_gold']}"
            )
        crowd = report["workers"]
        lines.append(
            f"at least {crowd['least']} workers are needed: nobody answers a question twice; with "
            f"{crowd['enough']} none is missing, also where a question is reported or comes back"
        )
        shown = [AlarmSummary(**alarm) for alarm in report["alarms"] if alarm["code"] != "draft"]
        return "\n".join([*lines, *alarm_lines(shown)])
