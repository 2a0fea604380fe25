"""The number of a page's queries does not grow with the data.

Every page that lists campaigns, corpora, systems, feature sets, runs, qrels, batches, reports, jobs or tasks,
and the pages of single objects, are requested without caches, with little and with much data: the number of
queries must be the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.campaigns.drafts import keeping
from annotation.datasets import uploads
from annotation.models import (
    Account,
    AlarmSubscription,
    AuditEntry,
    Campaign,
    CampaignDraft,
    Caption,
    Control,
    Corpus,
    Identity,
    Image,
    Instructions,
    Item,
    Job,
    OpenImage,
    Task,
    TrustState,
    Webhook,
    WebhookDelivery,
    Worker,
)
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import all_tasks
from annotation.quality.controls import pools
from annotation.selectors import controls
from evaluation.models import (
    Batch,
    BatchRun,
    CaptionSet,
    JudgmentSet,
    LocalizationSet,
    QrelsSnapshot,
    Ranking,
    Report,
    ReportRun,
    Run,
    System,
)
from evaluation.services.reports.building import JSON, report_folder
from tests.web import world

pytestmark = pytest.mark.django_db

#: Settings of the campaigns in turn: with a test at their first question, and without.
SETTINGS: tuple[dict[str, Any], ...] = (
    {"boxes": "always", "pay": {"basis": "item"}},
    {"boxes": "always", "trust": {"qualification": False}},
)
#: Every page that lists objects, by its route: a role that may read it.
LISTS = {
    "home": "researcher",
    "campaigns": "researcher",
    "campaign_drafts": "researcher",
    "roles": "admin",
    "people": "admin",
    "audit": "admin",
    "server": "admin",
    "notifications": "researcher",
    "tasks": "annotator",
    "earnings": "annotator",
    "api_tasks": "annotator",
    "evaluation:systems": "researcher",
    "evaluation:train": "researcher",
    "evaluation:bring": "researcher",
    "evaluation:features": "researcher",
    "evaluation:weak_collections": "researcher",
    "evaluation:runs": "researcher",
    "evaluation:qrels_list": "researcher",
    "evaluation:freeze_qrels": "researcher",
    "evaluation:import_qrels": "researcher",
    "evaluation:compare": "researcher",
    "evaluation:batches": "researcher",
    "evaluation:new_batch": "researcher",
    "evaluation:reports": "researcher",
    "evaluation:new_report": "researcher",
}

#: Pages about the first object of each kind: a role that may read it. Other objects, and its size, must not
#: matter.
PAGES = dict.fromkeys(
    [
        *("dashboard", "payments"),
        *("corpus", "campaign", "campaign_settings", "change_settings", "image_order", "workers", "review"),
        "phrase_rules",
        *(
            "entry",
            "new_control_item",
            "texts",
            "jobs",
            "control_item_list",
            "model_annotators",
            "manage_corpus",
            "tags",
        ),
        *("evaluation:system", "evaluation:run", "evaluation:queries", "evaluation:qrels"),
        *("evaluation:batch", "evaluation:report"),
    ],
    "researcher",
)
#: The first object of each kind again, if its address has more than its name: the rest, and the role.
FIRST = "thing-0000"
DEEPER: dict[str, tuple[Callable[[], list[Any]], str]] = {
    "image": (lambda: [FIRST, f"{FIRST}-0"], "researcher"),
    "phrases": (lambda: [FIRST, f"{FIRST}-0"], "researcher"),
    "review_image": (lambda: [FIRST, f"{FIRST}-0"], "researcher"),
    "mend_image": (lambda: [FIRST, f"{FIRST}-0"], "researcher"),
    "worker": (lambda: [FIRST, "lists-w"], "researcher"),
    "text": (lambda: [FIRST, "consent"], "researcher"),
    "uploads": (list, "researcher"),
    "own_tokens": (list, "researcher"),
    "webhook": (lambda: [Webhook.objects.get(name=FIRST).pk], "researcher"),
    "person": (lambda: [Account.objects.get(username="lists-annotator").pk], "admin"),
    "draft_step": (lambda: [CampaignDraft.objects.order_by("pk")[0].pk, "questions"], "researcher"),
    "evaluation:captions": (lambda: [FIRST], "researcher"),
    "evaluation:localizations": (lambda: [FIRST], "researcher"),
}


def evaluated(corpus: Corpus, name: str, settings: dict[str, Any]) -> tuple[System, Run, Campaign]:
    """Make a system with its run, judgments with qrels, a batch with its campaign, a report, all of one
    name."""
    system = System.objects.create(corpus=corpus, name=name, origin="runs")
    run = Run.objects.create(
        corpus=corpus, name=name, direction="search", system=name, published=True, made_by=system
    )
    judgments = JudgmentSet.objects.create(
        corpus=corpus, name=name, source=f"batch {name}", published=True, scale="yes_no", answer_count=1
    )
    qrels = QrelsSnapshot.objects.create(
        corpus=corpus,
        name=name,
        version=1,
        rule="majority",
        originals=False,
        row_count=0,
        published=True,
        judgments=judgments,
    )
    judged = Campaign.objects.create(
        name=f"{name}-pairs", corpus=corpus, tasks="relevance", settings=settings, state=Campaign.OPEN
    )
    batch = Batch.objects.create(
        corpus=corpus,
        name=name,
        campaign=judged,
        depth=1,
        judges=3,
        seed=1,
        judgments=judgments,
        numbers=dict.fromkeys(BATCH_NUMBERS, 1) | {"runs": []},
    )
    BatchRun.objects.create(batch=batch, run=run, position=0)
    folder = report_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JSON).write_bytes(NO_SECTIONS)
    files = {JSON: hashlib.sha256(NO_SECTIONS).hexdigest()}
    about = {"name": qrels.name, "version": qrels.version, "digest": qrels.digest}
    inputs = {"runs": [], "settings": BUILT_WITH, "qrels": about}
    report = Report.objects.create(corpus=corpus, name=name, qrels=qrels, inputs=inputs, files=files)
    ReportRun.objects.create(report=report, run=run, position=0)
    return system, run, judged


def things(first: int, last: int) -> None:
    """Make one of each listed object, for each number from `first` to `last`, as bare rows.

    The campaigns have all kinds of tasks in turn, with and without a test, an open question and an answer.
    """
    worker = Worker.objects.get(pseudonym="lists-w")
    now = timezone.now()
    tasks = list(all_tasks())
    owner = Account.objects.get(username="lists-researcher")
    for n in range(first, last):
        name = f"thing-{n:04}"
        corpus = Corpus.objects.create(
            name=name, format="test", source=name, image_count=2, caption_count=2, published=True
        )
        corpus.layers.create(name="import", source="import", published=True)
        image = Image.objects.create(corpus=corpus, position=0, key=f"{name}-0", split="train")
        caption = Caption.objects.create(image=image, number=0, text="A man in a hat .")
        settings = settings_of(SETTINGS[n // len(tasks) % 2]).as_dict()
        campaign = Campaign.objects.create(
            name=name,
            corpus=corpus,
            tasks=tasks[n % len(tasks)],
            settings=settings,
            state=Campaign.OPEN,
            open_to_all=True,
        )
        Instructions.objects.create(campaign=campaign, kind="consent", version=1, text="")
        opened = OpenImage.objects.create(
            campaign=campaign,
            image=image,
            position=1,
            state={"chains": [], "merged": []},
            opened_at=now,
            changed_at=now,
        )
        kind = campaign.kinds[0]
        task = Task.objects.create(
            campaign=campaign, image=opened, kind=kind, key=f"{kind}|{n}", rank=1, needed=1, created_at=now
        )
        Item.objects.create(task=task, content={})
        for purpose in (Control.CONTROL, Control.QUALIFICATION):
            Control.objects.create(
                campaign=campaign,
                kind=kind,
                image=image,
                key=purpose,
                content={"mentions": ["0:0-2"], "boxes": [], "pending": None},
                known="yes",
                stratum="yes",
                source="page",
                purpose=purpose,
            )
        for item in campaign.kinds[::2]:
            TrustState.objects.create(campaign=campaign, worker=worker, kind=item, attempt=1, changed_at=now)
        AuditEntry.objects.create(act="campaign_open", campaign=campaign)
        hook = Webhook.objects.create(
            name=name, address="https://x.org/", events=[], salt=name, campaign=campaign, owner=owner
        )
        for line in range(n + 1):
            WebhookDelivery.objects.create(
                webhook=hook, message=f"{n}-{line}", error="timeout", event="x", created_at=now, begun_at=now
            )
        AlarmSubscription.objects.create(account=owner, campaign=campaign, language="en")
        for job_kind, about in FINISHED_JOBS.items():
            Job.objects.create(
                kind=job_kind, corpus=corpus, state="done", arguments={about: name}, result={about: name}
            )
        if n < 9:  # ten is the maximum
            keeping.begin_draft(owner=owner, corpus=corpus)
            uploads.begin_upload(account=owner, name=f"new-{name}", files=[("a.zip", 4)])
        system, run, judged = evaluated(corpus, name, settings)
        CaptionSet.objects.create(corpus=corpus, name=name, made_by=system, published=True)
        LocalizationSet.objects.create(corpus=corpus, name=name, made_by=system, published=True)
        Ranking.objects.create(
            run=run,
            position=0,
            caption_id=caption.pk,
            items=np.array([image.pk], "<i8").tobytes(),
            scores=np.array([1.0], "<f4").tobytes(),
        )
        TrustState.objects.create(campaign=judged, worker=worker, kind=judged.kinds[0], changed_at=now)


#: A batch's numbers at its launch.
BATCH_NUMBERS = ("pooled", "originals", "filtered", "known", "selected", "askable", "task_count", "micros")
#: A report without content.
NO_SECTIONS = b'{"sections": []}'
#: The versions with which a report was built.
BUILT_WITH = {
    "measures": ["R@1"],
    "against": "",
    "seed": 1,
    "rounds": 10,
    "resamples": 10,
    "level": 0.95,
    "missing": "",
    "baseline": {},
    "split": "",
    "images": "",
}
#: Kinds of listed jobs -> the argument that names their result.
FINISHED_JOBS = {
    "rank": "system",
    "train_system": "name",
    "freeze_qrels": "qrels",
    "open_batch": "batch",
    "build_report": "report",
}


def readers() -> dict[str, Client]:
    """Return a client of each role; the annotator is the worker in every campaign."""
    result = {role: world.signed_in(f"lists-{role}", role) for role in ("researcher", "admin", "annotator")}
    worker = Worker.objects.create(pseudonym="lists-w")
    account = world.Account.objects.get(username="lists-annotator")
    Identity.objects.create(worker=worker, account=account)
    return result


def beside_the_first(first: int, last: int) -> None:
    """Add objects to the first corpus, for each number from `first` to `last`: a campaign that has the first
    image open, a layer, a system with its run, judgments with qrels, a batch, a report."""
    corpus, now = Corpus.objects.get(name=FIRST), timezone.now()
    image = corpus.images.order_by("pk")[0]
    owner = Account.objects.get(username="lists-researcher")
    settings, states = settings_of({}).as_dict(), (Campaign.OPEN, Campaign.CLOSED, Campaign.PAUSED)
    tasks = list(all_tasks())
    for n in range(first, last):
        name = f"beside-{n:04}"
        campaign = Campaign.objects.create(
            name=name, corpus=corpus, tasks=tasks[n % len(tasks)], settings=settings, state=states[n % 3]
        )
        OpenImage.objects.create(
            campaign=campaign,
            image=image,
            position=1,
            version=1,
            state={"chains": [], "merged": []},
            opened_at=now,
            changed_at=now,
        )
        corpus.layers.create(name=f"{name}-import", source="import", published=True)
        if n < 8:
            keeping.begin_draft(owner=owner, corpus=corpus)
        evaluated(corpus, name, settings)


def more_images(count: int) -> None:
    """Add `count` images to the first corpus, each with a caption, opened in its campaign, in review."""
    corpus = Corpus.objects.get(name="thing-0000")
    campaign, now = Campaign.objects.get(name="thing-0000"), timezone.now()
    first = corpus.images.count()
    images = Image.objects.bulk_create(
        Image(corpus=corpus, position=n, key=f"more-{n}", split="train") for n in range(first, first + count)
    )
    Caption.objects.bulk_create(Caption(image=image, number=0, text="A man .") for image in images)
    mentions = [[0, 0, 2, ["A", "man"], ["people"]]]
    chain = {"m": ["0:0-2"], "s": "REVIEW", "r": "flagged", "b": []}
    OpenImage.objects.bulk_create(
        OpenImage(
            campaign=campaign,
            image=image,
            position=image.position,
            mentions=mentions,
            state={"chains": [chain], "merged": []},
            in_review=1,
            opened_at=now,
            changed_at=now,
        )
        for image in images
    )
    kind = campaign.kinds[0]
    Task.objects.bulk_create(
        Task(campaign=campaign, image=row, kind=kind, key=str(row.pk), rank=2, needed=1, created_at=now)
        for row in OpenImage.objects.filter(campaign=campaign).order_by("-pk")[:count]
    )


def count_queries(clients: dict[str, Client]) -> dict[str, int]:
    """Return the number of queries of each page without caches."""
    by_name = {}
    pages: dict[str, tuple[list[Any], str]] = {route: ([], role) for route, role in LISTS.items()}
    pages |= {route: ([FIRST], role) for route, role in PAGES.items()}
    pages |= {route: (arguments(), role) for route, (arguments, role) in DEEPER.items()}
    for route, (arguments, role) in pages.items():
        cache.clear()
        pools.control_pool.cache_clear()
        controls.control_metadata.cache_clear()
        address = reverse(route, args=arguments)
        with CaptureQueriesContext(connection) as queries:
            answer = clients[role].get(address)
        assert answer.status_code == 200, (route, answer.status_code)
        by_name[route] = len(queries)
    return by_name


def grown(*sizes: int) -> dict[str, list[int]]:
    """Return the pages with more queries for more objects and images: the numbers, for each of these
    sizes."""
    clients, counts, there = readers(), [], 0
    for size in sizes:
        things(there, size)
        beside_the_first(there, size)
        more_images(size - there)
        there = size
        counts.append(count_queries(clients))
    result = {route: [count[route] for count in counts] for route in counts[0]}
    return {route: of for route, of in result.items() if max(of) > of[0]}


def test_no_page_asks_more_of_the_database_where_there_are_more_things():
    """Dearer than a test may be: reads every page twice. The lists grow alike at all sizes."""
    assert grown(3, 12) == {}


@pytest.mark.slow
def test_no_page_asks_more_of_the_database_where_there_are_a_hundred_times_as_many_things():
    assert grown(3, 30, 300) == {}
