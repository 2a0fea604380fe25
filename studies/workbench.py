"""The researcher's pages where there is much: how long each takes, cold and warm.

    [DATABASE_URL=postgresql://...] python -m studies.workbench [--images 31783] [--scenes 100]
                                    [--workers 200] [--queries 1000] [--campaigns 50] [--warm 30] [--cold 5]

Generated scenes are annotated by simulated workers through the queue, and their rows copied under new ids
until there are as many images, with all answers, as if people had given them over 90 days, and the layer of
all of them. To that come runs of two systems in both directions, qrels, a batch that pools them, more
campaigns, a thousand jobs, and the sums that the periodic work keeps of the campaign. Then each page is asked
for in one process, as a signed-in person does.

Cold: what the process and Django's cache remember of the data is dropped before each request (what the
database keeps stays, and its pages stay in memory). Warm: the same again. Prints p50 and p95 of both in ms,
the median CPU of this process (on a busy machine it says more than the clock), how many queries a cold one
asks, and whether the page is within 300 ms warm and 1 s cold at p95 by the clock. On SQLite in a temporary
folder, or on a database of its own beside the one that DATABASE_URL names; both are gone afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import django
import numpy as np

from annotation.common.plain_text import text_table
from studies.intake import FLICKR30K, database
from studies.refresh import NAME

#: The limits for pages at p95, in ms.
WARM_LIMIT, COLD_LIMIT = 300.0, 1_000.0
SYSTEMS = ("near", "far")
DIRECTIONS = ("annotation", "search")
#: Items of each ranking, pairs that a query is pooled to, and jobs.
DEPTH, POOLED, JOBS = 100, 3, 1_000
#: Days over which the answers came.
DAYS = 90


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--images", type=int, default=FLICKR30K)
    parser.add_argument("--scenes", type=int, default=100, help="images that are annotated, then copied")
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--queries", type=int, default=1_000, help="images that runs rank, with one caption")
    parser.add_argument("--campaigns", type=int, default=50, help="further campaigns in the list")
    parser.add_argument("--warm", type=int, default=30)
    parser.add_argument("--cold", type=int, default=5)
    parser.add_argument("--role", choices=["fill", "ask"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        django.setup()
        print(json.dumps((_fill if options.role == "fill" else _ask)(options)))
        return
    with tempfile.TemporaryDirectory() as name, database(Path(name)) as environment:
        environment["DJANGO_SETTINGS_MODULE"] = "config.settings"

        def result(role: str) -> Any:
            command = [sys.executable, "-m", "studies.workbench", "--role", role, *sys.argv[1:]]
            completed = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            return json.loads(completed.stdout.splitlines()[-1])

        filled = result("fill")
        print(text_table(list(filled), [list(filled.values())]), flush=True)
        pages = result("ask")
    heads = ["cold p50", "cold p95", "warm p50", "warm p95", "cold CPU", "warm CPU"]
    print(text_table(["page", "queries", *heads, "within"], pages))


def _fill(options: argparse.Namespace) -> dict[str, Any]:
    """All rows; counts of what there is."""
    from annotation.models import Caption, Image, Judgment, Layer
    from studies import refresh

    began = time.perf_counter()
    refresh.SCENES = options.scenes
    report = refresh._fill(options)
    _spread()
    _evaluate(options)
    _surround(options)
    return {
        "images": Image.objects.filter(corpus__name=NAME).count(),
        "captions": Caption.objects.count(),
        "judgments": Judgment.objects.count(),
        "covered": Layer.objects.get(name=NAME).covers.count(),
        "seconds": round(time.perf_counter() - began),
        "of these layer": round(report["seconds"]),
    }


def _spread() -> None:
    """Move the answers to the last `DAYS` days: they were copied in one, in which no crowd gives millions."""
    from django.db import connection

    earlier = {
        "postgresql": "{0} - (id % {1}) * interval '1 day'",
        "sqlite": "strftime('%Y-%m-%d %H:%M:%f', {0}, '-' || (id % {1}) || ' days')",
    }[connection.vendor]
    with connection.cursor() as cursor:
        for table, columns in (
            ("annotation_assignment", ("leased_at", "ended_at")),
            ("annotation_judgment", ("created_at",)),
        ):
            moved = ", ".join(f"{column} = {earlier.format(column, DAYS)}" for column in columns)
            cursor.execute(f"UPDATE {table} SET {moved}")


def _evaluate(options: argparse.Namespace) -> None:
    """Runs of two systems in both directions over the first images, qrels of first captions, a batch."""
    from annotation.models import Image
    from evaluation.comparison.subsets import subset_named
    from evaluation.selectors import names_of
    from evaluation.services.batches.launching import launch
    from evaluation.services.batches.planning import BatchRequest, plan
    from evaluation.services.judgments.freezing import freeze_protocol
    from evaluation.services.runs.files import RunMetadata, store_run

    Image.objects.filter(corpus__name=NAME).update(split="train")
    in_order = Image.objects.filter(corpus__name=NAME).order_by("position").values_list("pk", flat=True)
    chosen = list(in_order[: options.queries])
    Image.objects.filter(pk__in=chosen).update(split="test")
    names = names_of(NAME)
    first = {owner: pk for pk, owner in names.owner.items() if names.number[pk] == 0}
    images = [names.image_name[pk] for pk in chosen]
    captions = [names.caption_name[first[pk]] for pk in chosen]
    draw = np.random.default_rng(1)
    for system, skill in zip(SYSTEMS, (2.0, 1.0), strict=True):
        for direction in DIRECTIONS:
            asking, items = (images, captions) if direction == "annotation" else (captions, images)

            def rankings(asking: list[str] = asking, items: list[str] = items, skill: float = skill) -> Any:
                for number, query in enumerate(asking):
                    scores = draw.standard_normal(len(items)).astype(np.float32)
                    scores[number] += skill
                    best = np.argsort(-scores, kind="stable")[:DEPTH]
                    yield query, [items[index] for index in best], scores[best]

            provenance = RunMetadata(f"{system}-{direction}", direction, system, "trec", "made up", "", DEPTH)
            store_run(provenance, rankings(), NAME)
    test = subset_named(NAME, "test")
    freeze_protocol(name="own", corpus=NAME, protocol="first caption", subset=test)
    runs = [f"{system}-{direction}" for system in SYSTEMS for direction in DIRECTIONS]
    batch_request = BatchRequest(corpus=NAME, runs=runs, depth=POOLED, threshold=0)
    launch(plan(batch_request), "pooled")


def _surround(options: argparse.Namespace) -> None:
    """What lists have besides: campaigns and jobs; a researcher, and an annotator of the campaign."""
    from annotation.campaigns.stored_sums import store_sums
    from annotation.models import Account, Campaign, Corpus, Job, RoleGrant
    from annotation.protocol.campaign_settings import settings_of
    from studies import queue_fill

    corpus = Corpus.objects.get(name=NAME)
    corpus.image_count = corpus.images.count()
    corpus.save()
    settings = settings_of({}).as_dict()
    Campaign.objects.bulk_create(
        Campaign(
            name=f"other-{n}", corpus=corpus, tasks="relevance", state=Campaign.CLOSED, settings=settings
        )
        for n in range(options.campaigns)
    )
    campaign = Campaign.objects.get(name=NAME)
    campaign.simulated = False
    campaign.save(update_fields=["simulated"])
    Job.objects.bulk_create(
        Job(campaign=campaign, corpus=corpus, kind="refresh_layer", state=Job.DONE) for _ in range(JOBS)
    )
    researcher = Account.objects.create(username="researcher", password="!")
    RoleGrant.objects.create(account=researcher, role="researcher")
    queue_fill.enrol(1)
    store_sums(campaign)
    queue_fill.vacuum()


def _ask(options: argparse.Namespace) -> list[list[Any]]:
    """Each page's line of the table."""
    from django.conf import settings
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext
    from django.urls import reverse

    from annotation.models import Account, Image, Judgment, Worker

    settings.ALLOWED_HOSTS = ["testserver"]
    clients = {}
    for name in ("researcher", "bench-000"):
        clients[name] = Client(raise_request_exception=True)
        clients[name].force_login(Account.objects.get(username=name))
    some = Image.objects.filter(corpus__name=NAME).order_by("position").values_list("key", flat=True)
    middle = some[some.count() // 2]
    runs = [f"run={system}-annotation" for system in SYSTEMS]
    first_day = Judgment.objects.order_by("created_at").values_list("created_at", flat=True)[0].date()
    pages = {
        "campaigns": ("researcher", reverse("campaigns")),
        "overview": ("researcher", reverse("campaign", args=[NAME])),
        "workers": ("researcher", reverse("workers", args=[NAME])),
        "review": ("researcher", reverse("review", args=[NAME])),
        **{
            f"answers{label}": ("researcher", f"{reverse('answers', args=[NAME])}?{query}")
            for label, query in {
                "": "",
                " of a kind, not reviewed": "kind=box_quality&state=undecided",
                " of a worker": f"worker={Worker.objects.filter(judgments__isnull=False)[0].pseudonym}",
                " about an image": f"image={middle}",
                " of the first day": f"until={first_day}",
                " to control items": "role=control",
                " rejected": "state=rejected",
            }.items()
        },
        "corpus": ("researcher", f"{reverse('corpus', args=[NAME])}?layer={NAME}"),
        "inspector": ("researcher", reverse("image", args=[NAME, middle]) + f"?layer={NAME}"),
        "review of an image": ("researcher", reverse("review_image", args=[NAME, middle])),
        "tasks": ("bench-000", reverse("tasks")),
        "a task": ("bench-000", reverse("task", args=[NAME, "box_quality"])),
        "runs": ("researcher", reverse("evaluation:runs")),
        "compare": ("researcher", f"{reverse('evaluation:compare')}?qrels=own&{'&'.join(runs)}"),
        "batches": ("researcher", reverse("evaluation:batches")),
        "batch": ("researcher", reverse("evaluation:batch", args=["pooled"])),
        "jobs": ("researcher", reverse("jobs", args=[NAME])),
    }
    clients["researcher"].get(reverse("home"))  # what is loaded once for all pages
    lines = []
    for page, (who, address) in pages.items():

        def once(who: str = who, address: str = address) -> tuple[float, float]:
            """What the page took in ms, by the clock and of this process's CPU."""
            began, worked = time.perf_counter(), time.process_time()
            answer = clients[who].get(address, follow=True)
            took = 1000 * (time.perf_counter() - began), 1000 * (time.process_time() - worked)
            if answer.status_code != 200:
                raise SystemExit(f"{address}: {answer.status_code}")
            return took

        _forget()
        with CaptureQueriesContext(connection) as captured:
            once()
        queries = (captured.final_queries or 0) - captured.initial_queries
        cold = []
        for _ in range(options.cold):
            _forget()
            cold.append(once())
        warm = [once() for _ in range(options.warm)]
        by_clock = [[clock for clock, _ in times] for times in (cold, warm)]
        by_cpu = [float(np.median([cpu for _, cpu in times])) for times in (cold, warm)]
        cold95, warm95 = map(_p95, by_clock)
        within = "yes" if cold95 <= COLD_LIMIT and warm95 <= WARM_LIMIT else "NO"
        figures = [float(np.median(by_clock[0])), cold95, float(np.median(by_clock[1])), warm95, *by_cpu]
        lines.append([page, queries, *(round(figure, 1) for figure in figures), within])
        print(*lines[-1], file=sys.stderr, flush=True)
    return lines


def _forget() -> None:
    """Drop what this process and the cache remember about the data."""
    from django.core.cache import cache

    from annotation.quality.controls import pools
    from annotation.selectors import controls

    cache.clear()
    pools.control_pool.cache_clear()
    controls.control_metadata.cache_clear()


def _p95(times: Sequence[float]) -> float:
    return float(np.quantile(times, 0.95))


if __name__ == "__main__":
    main()
