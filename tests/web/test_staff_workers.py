"""The table of workers, and the actions on a worker, on pages."""

from __future__ import annotations

import re

import pytest
from django.core.cache import cache
from django.urls import reverse

from annotation import jobs
from annotation.models import Account, AuditEntry, Identity, Job, Judgment, TrustState, Worker
from annotation.protocol import questions as q
from annotation.queue import image_state
from annotation.queue.leases import Lease
from annotation.selectors.workers.worker_table import WorkerTableRequest, worker_page
from tests.factories import some_images
from tests.queue.world import TRUSTING, World
from tests.web import world as people
from tests.web.staff import answered, forms, messages_on, press, words

pytestmark = pytest.mark.django_db

TABLE = "/campaigns/quay/workers/"
WORKER = f"{TABLE}quay-w0/"


@pytest.fixture
def world(db):
    return answered()


@pytest.fixture
def ada():
    return people.signed_in("ada", "researcher")


@pytest.fixture
def boss():
    return people.signed_in("boss", "admin")


def names(page):
    return re.findall(r'<th scope="row"><a href="[^"]*">([^<]+)</a>', page.content.decode())


def stand(worker, **values):
    TrustState.objects.filter(worker__pseudonym=f"quay-w{worker}").update(**values)
    cache.clear()


def test_the_table_sorts_by_every_column_and_says_how(world, ada):
    for worker in range(4):
        stand(worker, known=10, right=9 - worker, last="1" * (9 - worker) + "0" * (worker + 1))
    page = ada.get(TABLE, {"sort": "accuracy"})
    assert names(page) == ["quay-w0", "quay-w1", "quay-w2", "quay-w3"]
    assert re.search(
        r'aria-sort="descending"><a href="\?sort=accuracy&amp;way=up">Control items correct',
        page.content.decode(),
    )
    assert names(ada.get(TABLE, {"sort": "accuracy", "way": "up"})) == [f"quay-w{i}" for i in (3, 2, 1, 0)]
    assert names(ada.get(TABLE, {"sort": "worker", "way": "up"})) == [f"quay-w{i}" for i in range(4)]
    by_answers = [row.figures.answers for row in ada.get(TABLE).context["rows"]]
    assert by_answers == sorted(by_answers, reverse=True) and sum(by_answers) == Judgment.objects.count()


def test_those_of_whom_nothing_is_known_come_last_whichever_way_one_sorts(world, ada):
    TrustState.objects.update(known=0, right=0, last="")
    stand(2, known=10, right=5)
    for way in ("up", ""):
        assert names(ada.get(TABLE, {"sort": "accuracy", "way": way}))[0] == "quay-w2"


def test_the_table_filters_by_kind_trust_state_and_pseudonym(world, ada):
    TrustState.objects.filter(worker__pseudonym="quay-w1", kind=q.BOX_DRAWING).update(state="suspended")
    TrustState.objects.filter(worker__pseudonym="quay-w2", kind=q.COREF_LINK).update(blocked=True)
    assert names(ada.get(TABLE, {"state": "suspended"})) == ["quay-w1"]
    assert names(ada.get(TABLE, {"state": "suspended", "kind": q.COREF_LINK})) == []
    assert names(ada.get(TABLE, {"state": "blocked"})) == ["quay-w2"]
    assert names(ada.get(TABLE, {"find": "W3"})) == ["quay-w3"]
    links = ada.get(TABLE, {"kind": q.COREF_LINK}).context["rows"]
    assert sum(link.figures.answers for link in links) == Judgment.objects.filter(kind=q.COREF_LINK).count()
    assert "No worker matches" in words(ada.get(TABLE, {"find": "nobody"}))
    assert (
        ada.get(TABLE, {"sort": "x", "kind": "x", "state": "x", "after": "x", "find": "\0"}).status_code
        == 200
    )


def test_the_table_pages_by_key_and_keeps_its_order(world):
    values, after = [], 0
    for _ in range(3):
        page = worker_page(world.campaign, WorkerTableRequest(sort="worker", up=True, after=after), size=2)
        values += [row.pseudonym for row, _figures in page.rows]
        after = page.after or 0
    assert values[:4] == [f"quay-w{i}" for i in range(4)] and page.total == 4


def test_what_nobody_earns_is_no_column(world, ada):
    assert "Earned" not in words(ada.get(TABLE))
    paying = World(some_images(1), settings={**TRUSTING, "pay": {"basis": "item"}}, name="paying")
    paying.submit(0, paying.held(0))
    assert "Earned" in words(ada.get("/campaigns/paying/workers/"))


def test_a_worker_is_taken_off_one_kind_and_let_back_by_page(world, ada):
    page = press(ada, WORKER, "Suspend", kind=q.BOX_DRAWING, reason="boxes far too large")
    assert messages_on(page) == ["Suspended: 1 worker."]
    assert "drawing suspended by a researcher boxes far too large" in words(page)
    blocked = TrustState.objects.filter(blocked=True).values_list("worker__pseudonym", "kind")
    assert list(blocked) == [("quay-w0", q.BOX_DRAWING)]
    page = press(ada, WORKER, "Suspend", kind=q.BOX_DRAWING)
    assert messages_on(page) == ["Suspended: 0 workers. (already suspended: 1)"]
    assert messages_on(press(ada, WORKER, "Reinstate")) == ["Reinstated: 1 worker."]
    assert not TrustState.objects.filter(blocked=True).exists()
    assert [str(e.actor) for e in AuditEntry.objects.filter(act__endswith="_worker")] == ["ada", "ada"]


def test_answers_are_withdrawn_and_restored_by_page_as_jobs(world, ada):
    before = [image_state.state_of(row).layer for row in world.images()]
    page = press(ada, WORKER, "Withdraw their answers", reason="clicks at random")
    assert "Their answers are being withdrawn." in messages_on(page)[0]
    job = Job.objects.get()
    assert (job.kind, job.campaign, str(job.created_by)) == ("withdraw_answers", world.campaign, "ada")
    assert jobs.run_queued_job(job.pk) == Job.DONE
    mine = Judgment.objects.filter(worker__pseudonym="quay-w0")
    assert mine.exists() and not mine.filter(withdrawn=False).exists()
    assert any(not row.complete for row in world.images())
    assert "answers withdrawn" in words(ada.get(WORKER))
    assert "restore them first" in words(press(ada, WORKER, "Reinstate"))
    press(ada, WORKER, "Restore their answers")
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    assert not mine.filter(withdrawn=True).exists()
    assert [image_state.state_of(row).layer for row in world.images()] == before


def test_a_kind_that_is_none_is_refused(world, ada):
    form_data = {"campaign": "quay", "workers": "quay-w0", "kind": "x"}
    page = ada.post(reverse("operation", args=["withdraw_answers"]), form_data)
    assert page.status_code == 400 and "Expected one of: " in words(page) and not Job.objects.exists()
    form_data["kind"] = "relevance"
    page = ada.post(reverse("operation", args=["withdraw_answers"]), form_data)
    assert "no kind of question “relevance” here" in words(page) and not Job.objects.exists()


def test_a_refused_act_keeps_what_was_chosen_and_typed(world, ada):
    page = press(ada, WORKER, "Suspend", kind=q.BOX_DRAWING, reason="x" * 201)
    assert page.status_code == 400
    (form,) = (form for form in forms(page) if "Suspend workers" in form.buttons)
    assert (form.fields["kind"], form.fields["reason"]) == ([q.BOX_DRAWING], ["x" * 201])
    assert (form.fields["workers"], form.fields["next"]) == (["quay-w0"], [WORKER])


def identified(world, index=0):
    account = people.account("wanda", "annotator")
    Identity.objects.create(worker=Worker.objects.get(pk=world.workers[index]), account=account)


def test_a_worker_is_erased_by_page_only_by_an_admin_who_means_it(world, ada, boss, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    identified(world)
    assert not any("Erase" in form.buttons for form in forms(ada.get(WORKER)))
    count = Judgment.objects.filter(worker__pseudonym="quay-w0").count()
    page = press(boss, WORKER, "Erase", sure="on")
    assert "nothing links the pseudonym" in messages_on(page)[0]
    assert "erased" in words(page) and not any("Erase" in form.buttons for form in forms(page))
    assert not Account.objects.filter(username="wanda").exists() and not Identity.objects.exists()
    assert Judgment.objects.filter(worker__pseudonym="quay-w0").count() == count


def test_a_worker_who_is_due_payment_is_not_erased(boss, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    world = World(
        some_images(1), settings={**TRUSTING, "pay": {"basis": "item", "per_item": {q.COREF_LINK: 1.0}}}
    )
    lease = world.take(0)
    assert isinstance(lease, Lease)
    world.submit(0, lease)
    identified(world)
    assert "still due 1.00 USD" in words(press(boss, WORKER, "Erase", sure="on"))
    assert Account.objects.filter(username="wanda").exists()
