"""The number of queries of a list depends neither on the size of the database, nor on the rows of its
page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from annotation.api.rest.endpoints import endpoints
from annotation.models import (
    Account,
    AlarmSubscription,
    AuditEntry,
    Campaign,
    Control,
    Corpus,
    CorpusTag,
    Image,
    Job,
    Layer,
    ModelAddress,
    ModelAnnotator,
    ModelCall,
    OpenImage,
    TagList,
    TrustState,
    Webhook,
    WebhookDelivery,
    Worker,
)
from evaluation.models import Batch, JudgmentSet, QrelsSnapshot, Ranking, Report, Run, System
from tests.api.v1.conftest import Caller, names_for_admins
from tests.web import world as web

pytestmark = pytest.mark.django_db


def grow(first: int, end: int) -> None:
    """Add `end - first` objects of everything that a list can contain."""
    corpora = Corpus.objects.bulk_create(
        Corpus(name=f"c{n}", format="jsonl", source="x", published=True) for n in range(first, end)
    )
    corpus = Corpus.objects.get(name="c0")
    Image.objects.bulk_create(
        Image(corpus=corpus, position=n, key=f"i{n}", filename=f"i{n}.png") for n in range(first, end)
    )
    Layer.objects.bulk_create(
        Layer(corpus=corpus, name=f"l{n}", source="import", published=True) for n in range(first, end)
    )
    # One of each corpus, and the same number of the first one.
    of = [(f"{n}", item) for n, item in enumerate(corpora, first)]
    of += [(f"{n}-of-one", corpus) for n in range(first, end)]
    campaigns = Campaign.objects.bulk_create(
        Campaign(name=f"p{n}", corpus=item, tasks="captions", settings={}, state="open") for n, item in of
    )
    jobs = [Job(kind="rank", corpus=item, state="done") for item in corpora]
    Job.objects.bulk_create([*jobs, *(Job(kind="open_images", campaign=item) for item in campaigns)])
    busy = Campaign.objects.get(name="p0")
    kind = busy.kinds[0]
    Control.objects.bulk_create(
        Control(
            campaign=busy, kind=kind, image=corpus.images.get(key=f"i{n}"), key=f"{n}", content={}, known="x"
        )
        for n in range(first, end)
    )
    workers = Worker.objects.bulk_create(Worker(pseudonym=f"w{n}") for n in range(first, end))
    TrustState.objects.bulk_create(
        TrustState(campaign=busy, worker=item, kind=busy.kinds[0], state="trusted", changed_at=now())
        for item in workers
    )
    systems = System.objects.bulk_create(System(name=f"s{n}", corpus=item, origin="runs") for n, item in of)
    Run.objects.bulk_create(
        Run(name=f"r{item.name}", corpus=item.corpus, made_by=item, direction="search", published=True)
        for item in systems
    )
    JudgmentSet.objects.bulk_create(
        JudgmentSet(name=f"j{n}", corpus=item, format="table", published=True) for n, item in of
    )
    qrels = QrelsSnapshot.objects.bulk_create(
        QrelsSnapshot(
            name=f"q{n}", version=1, corpus=item, pool="x", originals=False, row_count=0, published=True
        )
        for n, item in of
    )
    Batch.objects.bulk_create(
        Batch(
            name=f"b{item.name}",
            corpus=item.corpus,
            campaign=item,
            depth=1,
            judges=1,
            seed=1,
            numbers={"selected": 0},
        )
        for item in campaigns
    )
    Report.objects.bulk_create(
        Report(name=f"t{item.name}", corpus=item.corpus, qrels=item, inputs={"runs": []}, files={})
        for item in qrels
    )
    owner = Account.objects.get(username="ada")
    hooks = Webhook.objects.bulk_create(
        Webhook(name=f"h{n}", address="https://x.org/", events=[], salt="s", campaign=item, owner=owner)
        for (n, _corpus), item in zip(of, campaigns, strict=True)
    )
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(
            webhook=Webhook.objects.get(name="h0"),
            message=f"m{item.pk}",
            event="job.ended",
            body="{}",
            created_at=now(),
            begun_at=now(),
        )
        for item in hooks
    )
    people = Account.objects.bulk_create(Account(username=f"person-{n}") for n in range(first, end))
    AuditEntry.objects.bulk_create(AuditEntry(actor=corpus, act="sign_in", about={}) for corpus in people)
    AlarmSubscription.objects.bulk_create(
        AlarmSubscription(account=owner, campaign=item, language="en") for item in campaigns
    )

    looked_at(corpus, first, end)
    busiest = Campaign.objects.get(name="p0")
    image = Image.objects.get(corpus=busiest.corpus, position=0)
    shown, _created = OpenImage.objects.get_or_create(
        campaign=busiest, image=image, position=0, defaults={"opened_at": now(), "changed_at": now()}
    )
    called(busiest, shown, first, end)


def called(campaign: Campaign, image: OpenImage, first: int, end: int) -> None:
    """Add calls of a model at an address, of the campaign's model annotator of the same name."""
    worker, _created = Worker.objects.get_or_create(pseudonym="model", kind=Worker.MODEL)
    annotator, _created = ModelAnnotator.objects.get_or_create(
        campaign=campaign, worker=worker, name=campaign.name
    )
    about = {"address": "https://x.org/", "settings": {}, "seconds": 1, "parallel": 1, "a_minute": 1}
    for _number in range(first, end):
        address = ModelAddress.objects.create(model_annotator=annotator, **about)
        ModelCall.objects.create(address=address, image=image, reserved_micros=0, cost_micros=0)


def looked_at(corpus: Corpus, first: int, end: int) -> None:
    """Add tags of a corpus, and queries of a run without qrels."""
    stored, _created = TagList.objects.get_or_create(corpus=corpus, unit="nouns", alpha=0.5, published=True)
    CorpusTag.objects.bulk_create(CorpusTag(tag_list=stored, text=f"tag {n}") for n in range(first, end))
    request, _created = Corpus.objects.get_or_create(name="asked", format="jsonl", source="x", published=True)
    run, _created = Run.objects.get_or_create(
        name="look", corpus=request, direction="annotation", published=True, system="s"
    )
    images = Image.objects.bulk_create(
        Image(corpus=request, position=n, key=f"a{n}", filename=f"a{n}.png") for n in range(first, end)
    )
    Ranking.objects.bulk_create(
        Ranking(run=run, position=image.position, image=image, items=b"", scores=b"") for image in images
    )


#: The object in the address of a list that belongs to an object.
PLACES = {"corpora": "c0", "campaigns": "p0", "runs": "look"}


def counted(researcher: Caller, admin: Caller) -> dict[str, int]:
    """Return the number of queries of each list; only an admin may list the server's accounts."""
    by_name = {}
    for_admins = names_for_admins()
    for endpoint in endpoints():
        if endpoint.operation.listed:
            caller = admin if endpoint.name in for_admins else researcher
            path = endpoint.rest.path.replace("<int:webhook>", str(Webhook.objects.order_by("pk")[0].pk))
            path = re.sub(r"<\w+:\w+>", PLACES.get(path.partition("/")[0], ""), path)
            caller.get(path, limit=200)
            with CaptureQueriesContext(connection) as queries:
                answer = caller.get(path, limit=200)
            assert answer.status_code == 200, answer.content
            by_name[endpoint.name] = len(queries)
    return by_name


def check(data: Any, sizes: tuple[int, ...]) -> None:
    caller, before, by_name = Caller(web.account("ada", "researcher")), 0, {}
    admin = Caller(web.account("grace", "admin"))
    for size in sizes:
        grow(before, size)
        before = size
        by_name[size] = counted(caller, admin)
        assert len(caller.get("campaigns", limit=200).json()["results"]) == min(2 * size, 200)
    print(by_name[sizes[-1]])
    few = by_name[sizes[0]]
    for size in sizes[1:]:
        grown = {name: (few[name], number) for name, number in by_name[size].items() if number > few[name]}
        assert grown == {}, f"at {size}"
    assert max(few.values()) <= 20


def test_no_list_costs_more_queries_at_thirty_of_everything_than_at_three(data: Any) -> None:
    check(data, (3, 30))


@pytest.mark.slow
def test_no_list_costs_more_queries_at_three_hundred_of_everything_than_at_three(data: Any) -> None:
    check(data, (3, 30, 300))
