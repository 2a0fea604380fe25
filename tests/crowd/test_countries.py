"""Campaigns for people from certain countries: said once by them or their platform, counted, and erased."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from annotation import instructions
from annotation.common import database
from annotation.common.operations import OperationContext, read_request
from annotation.models import Account, AuditEntry, Identity, RoleGrant, Worker
from annotation.protocol import questions as q
from annotation.protocol.countries import COUNTRIES
from annotation.queue.available_tasks import available_tasks
from annotation.queue.leases import Lease, NoTask
from annotation.selectors.datasheet.figures import datasheet_figures
from annotation.simulation.workers import PERFECT, SimulatedWorker
from annotation.simulation_driver.people import enrol
from annotation.workers import platform_visits, pseudonyms
from annotation.workers.accounts import country
from annotation.workers.joining import merge_workers
from tests.crowd import platform
from tests.crowd.platform import ANN, account_in, come
from tests.factories import some_images
from tests.queue.world import TRUSTING, World
from tests.web.staff import messages_on, words

pytestmark = pytest.mark.django_db
TASK = ["quay", q.COREF_LINK]


@pytest.fixture
def work() -> World:
    settings = {**TRUSTING, "trust": {**TRUSTING["trust"], "entry_countries": ["US", "CA"]}}
    world = World(some_images(4), settings=settings)
    instructions.publish_text(campaign=world.campaign, kind=instructions.CONSENT, text="")
    return world


def annotator(world: World, name: str) -> tuple[Client, Worker]:
    account = Account.objects.create_user(name)
    RoleGrant.objects.create(account=account, role="annotator", campaign=world.campaign)
    client = Client()
    client.force_login(account)
    return client, pseudonyms.worker_of(account)


def test_a_worker_says_their_country_once_before_the_first_task(work: World) -> None:
    for name, said, works in (("ann", "US", True), ("bob", "DE", False)):
        client, worker = annotator(work, name)
        assert "Say your country" in words(client.get(reverse("tasks")))
        page = client.get(reverse("task", args=TASK), follow=True)
        assert page.redirect_chain == [(f"{reverse('task_country', args=['quay'])}?kind={TASK[1]}", 303)]
        assert "Which country are you from?" in words(page)
        address = page.request["PATH_INFO"] + f"?kind={TASK[1]}"
        assert client.post(address, {"country": "XX"}).status_code == 400
        page = client.post(address, {"country": said}, follow=True)
        assert ("for people from other countries" in words(page)) != works
        assert (available_tasks(worker=worker)[0].nothing is None) == works
        other = client.post(reverse("operation", args=["say_country"]), {"country": "CA"})
        assert "Your country is stored already" in words(other)
        assert Identity.objects.get(worker=worker).country == said


def test_nobody_gets_a_task_without_the_country(work: World) -> None:
    nothing = work.take(0)
    assert isinstance(nothing, NoTask) and nothing.code == "no_country"
    row = Worker.objects.get(pk=work.workers[0])
    Identity.objects.create(worker=row, country="CA")
    lease = work.take(0)
    assert isinstance(lease, Lease)
    # An admin corrects it; what is in hand may be answered, and nothing more is handed out.
    request = read_request(country.CorrectCountryRequest, {"worker": row.pseudonym, "country": "DE"})
    country.correct_country(request, OperationContext())
    receipt = work.submit(0, lease)
    assert isinstance(receipt.next, NoTask) and receipt.next.code == "other_country"
    assert AuditEntry.objects.get(act="correct_country").about == {"worker": row.pseudonym}


def test_a_platform_says_where_it_sends_people_from(work: World, settings: Any) -> None:
    settings.PROLIFIC_JWKS = platform.KEY_SET
    about: dict[str, Any] = {"provider": "prolific", "external_id": platform.STUDY, "answers_required": 2}
    platform_visits.save_study(campaign=work.campaign, country="US", **about)
    client = come(ANN)
    assert Identity.objects.get(account=account_in(client)).country == "US"
    assert client.get(reverse("task_country", args=["quay"])).content.count(b"United States") == 1


def test_countries_are_counted_in_the_datasheet_and_erased_with_the_person(work: World) -> None:
    for number, code in enumerate(("US", "US", "CA")):
        worker = Worker.objects.get(pk=work.workers[number])
        Identity.objects.create(worker=worker, external_id=f"w{number}", country=code)
        work.submit(number, work.held(number), then=False)

    def counted() -> dict[str, int]:
        images = work.corpus.images.all()
        figures = datasheet_figures(work.corpus, None, images, work.campaign)
        counts: dict[str, int] = figures["campaign"]["people"]["by_country"]
        return counts

    assert counted() == {"CA": 1, "US": 2}
    pseudonyms.erase_worker(worker=Worker.objects.get(pk=work.workers[0]))
    assert counted() == {"CA": 1, "US": 1, "unknown": 1}
    Identity.objects.update(country="")
    assert counted() == {}


def test_the_account_page_asks_for_the_country(work: World) -> None:
    client, worker = annotator(work, "ann")
    assert "You can say it once" in words(client.get(reverse("account")))
    form_data = {"country": "DE", "next": reverse("account")}
    page = client.post(reverse("operation", args=["say_country"]), form_data, follow=True)
    assert messages_on(page) == ["Your country is stored."] and "Germany" in words(page)


def test_every_country_has_a_name_in_each_language() -> None:
    with translation.override("de"):
        names = country.country_names()
    assert set(names) == COUNTRIES and len(COUNTRIES) == 249
    assert names["DE"] == "Deutschland" and list(names).index("AT") < list(names).index("PL")


def test_the_country_of_a_provisional_worker_is_that_of_the_known_one(work: World) -> None:
    identities = [annotator(work, name)[1].identity for name in ("came", "known")]
    Identity.objects.filter(pk=identities[0].pk).update(country="CA")
    identities[0].refresh_from_db()
    with database.writing():
        merge_workers(provisional=identities[0], known=identities[1])
    assert Identity.objects.get().country == "CA"


def test_simulated_workers_are_from_where_a_campaign_wants_them(work: World) -> None:
    (person,) = enrol([SimulatedWorker("careful-1", PERFECT, 1)], campaign=work.campaign, accounts=False)
    assert Identity.objects.get(worker=person.row).country == "US"
