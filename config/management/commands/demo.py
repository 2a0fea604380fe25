"""`manage.py demo`: from captions to a dataset, from systems to figures, and then pages to look at the
results.

It calls the commands that a researcher would type, and prints them, so that the demo teaches them.
"""

import os
import secrets
import shlex
import shutil
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from annotation.common.roles import ROLES
from annotation.management.commands.serve import HOST, PORT, run_server
from annotation.models import Account, Campaign
from annotation.simulation.visits import ORDERLY
from annotation.simulation_driver import CrowdPlan, run_campaign_crowd
from config.demonstration.evaluating import DemoNames, demo_addresses, make_demo_evaluation

CORPUS = "sample"
CAMPAIGN = "demo"
USER = "demo"
IMAGES = 200
SEED = 1
STUDY_IMAGES = 12
WORKERS = 20
#: Mostly good workers, and a few of each kind that control items should detect.
MIX = "careful=11,average=5,sloppy=1,random=1,always_yes=1,jittered=1"
#: The campaign of the queue: a simulated crowd finishes some images, and leaves others unfinished, so that
#: visitors meet every kind of question: that many images by that few workers, who cannot settle anything.
PEOPLE = "people"
PEOPLE_DONE = 30
PEOPLE_BEGUN = ((10, 2), (6, 1), (4, 0))
PEOPLE_WORKERS = 10
PEOPLE_MIX = "careful=6,average=2,random=1,always_yes=1"
PEOPLE_SETTINGS = """\
# Visitors of the demonstration start without a qualification test.
[trust]
qualification = false

[pay]
basis = "item"
currency = "USD"
per_item = { coref_link = 0.02, chain_verification = 0.03, box_requirement = 0.02, box_drawing = 0.10, \
box_quality = 0.02, box_coverage = 0.03 }
"""


class Command(BaseCommand):
    help = (
        "Make the sample corpus, let a simulated crowd annotate it, and export it to DATA_DIR/demo. Print "
        "its statistics, rank it with some systems, let the crowd judge their results, and build a "
        f"report. Then serve the pages at http://{HOST}:{PORT} (DEMO_PORT=8001: use that port; "
        "DEMO_SERVE=0: stop after the report)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--images", type=int, default=IMAGES, help=f"Number of scenes to make (default: {IMAGES})"
        )
        parser.add_argument("--seed", type=int, default=SEED)

    def handle(self, *args: Any, **options: Any) -> None:
        folder = Path(settings.DATA_DIR) / "demo"
        folder.mkdir(parents=True, exist_ok=True)
        call_command("migrate", verbosity=0)
        usual = (options["images"], options["seed"]) == (IMAGES, SEED)
        suffix = "" if usual else f"-{options['images']}-{options['seed']}"
        corpus, campaign = CORPUS + suffix, CAMPAIGN + suffix
        source, export = folder / corpus, folder / "export"
        if not source.exists():
            self._run("make_sample", source, images=options["images"], seed=options["seed"])
        self._run("import_corpus", corpus, source, format="jsonl", images=source / "images")
        self._run(
            "open_campaign", campaign, "--draft", "--unpaid", corpus=corpus, tasks="entities", quiet=True
        )
        self._run(
            "simulate_crowd",
            campaign,
            workers=WORKERS,
            seed=options["seed"],
            mix=MIX,
            judgments=folder / "judgments.jsonl",
        )
        for form in ("entities", "coco"):
            shutil.rmtree(export / form, ignore_errors=True)
            self._run(
                "export_dataset", corpus, format=form, layer=campaign, out=export / form, simulated=True
            )
        self._run("dataset_stats", corpus, layer=campaign)
        self._run("compare_question_orders", corpus=corpus, images=STUDY_IMAGES)
        self._people(corpus, PEOPLE + suffix, folder, seed=options["seed"], images=options["images"])
        names = DemoNames(corpus, suffix)
        evaluated = make_demo_evaluation(
            names, folder=folder / f"{corpus}-evaluation", seed=options["seed"], call=self._run
        )
        port = int(os.environ.get("DEMO_PORT") or PORT)
        password = self._account()
        self.stdout.write(self.style.SUCCESS(f"\nThe dataset is in {export}"))
        if evaluated:
            self.stdout.write("\n".join(["Evaluation:", *demo_addresses(names, f"http://{HOST}:{port}")]))
        else:
            self.stdout.write("No evaluation: too few --images to compare systems")
        if os.environ.get("DEMO_SERVE", "1") == "0":
            self.stdout.write(
                f"DEMO_SERVE=0: not serving. Start the server with `make serve`. Sign in as {USER!r}, "
                f"password {password}"
            )
            return
        self.stdout.write(f"Sign in as {USER!r} with the password {password}")
        # Counts of our own commands are cached for a minute: visitors should see what they change.
        cache.clear()
        run_server(HOST, port)

    def _people(self, corpus: str, campaign: str, folder: Path, *, seed: int, images: int) -> None:
        """Create a campaign in the queue: a crowd has finished its first images, and others wait for
        visitors."""
        config = folder / "people.toml"
        config.write_text(PEOPLE_SETTINGS)
        done = min(images, PEOPLE_DONE)
        options: dict[str, Any] = {
            "corpus": corpus,
            "tasks": "entities",
            "campaign_settings": config,
            "unpaid": True,
            "open_to_all": True,
        }
        first = not Campaign.objects.filter(name=campaign).exists()
        if first:
            self._run("open_campaign", campaign, **options, images=done, quiet=True)
            self._run("add_controls_from_layer", campaign, layer="import", images=images)
            self._run(
                "simulate_crowd", campaign, workers=PEOPLE_WORKERS, seed=seed, mix=PEOPLE_MIX, through="queue"
            )
        for more, workers in PEOPLE_BEGUN:
            done = min(images, done + more)
            self._run("open_campaign", campaign, **options, images=done, quiet=True)
            if first and workers:
                self._begin(campaign, workers)
        self._run("campaign_status", campaign)

    def _begin(self, campaign: str, workers: int) -> None:
        """Let so few workers begin the open images that every question that needs one more answer stays open
        for a visitor."""
        run_campaign_crowd(
            campaign=Campaign.objects.get(name=campaign),
            plan=CrowdPlan(mix={"careful": workers}, seed=SEED + workers, conduct=ORDERLY, patience=0),
            review=False,
        )

    def _run(self, command: str, *args: Any, quiet: bool = False, **options: Any) -> None:
        """Print a command as one would type it, and run it."""
        words = [str(arg) for arg in args]
        for name, value in options.items():
            values = [] if value is True else value if isinstance(value, list) else [value]
            words += [f"--{name.replace('_', '-')}", *map(str, values)]
        self.stdout.write(self.style.MIGRATE_HEADING(f"\n{shlex.join(['manage.py', command, *words])}"))
        self.stdout.flush()
        if quiet:
            with open(os.devnull, "w") as nowhere:
                call_command(command, *args, **options, stdout=nowhere)
        else:
            call_command(command, *args, **options, stdout=self.stdout)

    def _account(self) -> str:
        """Create an account with every role and a new password, which is returned."""
        password = secrets.token_urlsafe(9)
        account, _ = Account.objects.get_or_create(username=USER)
        account.set_password(password)
        account.save(update_fields=["password"])
        for role in ROLES:
            account.roles.get_or_create(role=role, corpus=None, campaign=None)
        return password
