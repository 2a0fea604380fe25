"""Campaigns with simulated workers: marked permanently, and separate from people's work and pay."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation import jobs
from annotation.campaigns.states import mark_simulated
from annotation.datasets.exporting import Chosen, is_simulated, notes_on
from annotation.jobs import job_numbered
from annotation.models import AuditEntry, Identity, Image, Job, RoleGrant, Worker
from annotation.moderation import rulings
from annotation.protocol.campaign_settings import CampaignError
from annotation.queue.available_tasks import available_tasks
from annotation.selectors.corpora import campaigns_to_work_on
from annotation.simulation_driver import CrowdPlan, queue_driver, run_campaign_crowd
from annotation.simulation_driver.truths import Truths
from annotation.workers import bonuses, payments
from annotation.workers.pseudonyms import worker_of
from phrasebox.errors import PhraseboxError
from tests.factories import some_images
from tests.queue.world import TRUSTING, World
from tests.web import world as people
from tests.web.staff import press, words

pytestmark = pytest.mark.django_db

PAID = {**TRUSTING, "pay": {"basis": "item"}}


@pytest.fixture
def simulated(db) -> World:
    """Two images answered by a crowd of four."""
    world = World(some_images(2), settings=PAID, workers=0)
    run_campaign_crowd(campaign=world.campaign, plan=CrowdPlan(mix={"perfect": 4}, seed=1, patience=0))
    world.campaign.refresh_from_db()
    return world


@pytest.mark.parametrize("response", [0, 1, 3])
def test_a_ruling_that_an_earlier_one_of_the_image_made_impossible_waits(db, monkeypatch, response):
    world = World(some_images(2), settings=TRUSTING, workers=0)
    truths = Truths(world.campaign, world.corpus.layers.get(name="import"), seed=1)
    values: list[int] = []

    def make_ruling(*, image, ruling, comment):
        if ruling == response:
            raise rulings.CannotRule("workers are still deciding")
        values.append(ruling)

    monkeypatch.setattr(queue_driver, "rulings_of", lambda state, truth: [0, 1, 2])
    monkeypatch.setattr(rulings, "make_ruling", make_ruling)
    if response == 0:
        with pytest.raises(rulings.CannotRule):
            queue_driver._rule(world.campaign, truths)
        return
    assert queue_driver._rule(world.campaign, truths)
    assert values == [0, 1, 2][:response] * 2


def test_the_first_simulated_answer_marks_a_campaign_for_good_and_the_audit_says_so(simulated):
    assert simulated.campaign.simulated
    run_campaign_crowd(campaign=simulated.campaign, plan=CrowdPlan(mix={"perfect": 4}, seed=2, patience=0))
    assert AuditEntry.objects.filter(act="mark_simulated", campaign=simulated.campaign).count() == 1


def test_a_campaign_in_which_people_have_answered_is_not_simulated():
    world = World(some_images(1), settings=PAID)
    world.submit(0, world.held(0), then=False)
    with pytest.raises(CampaignError, match="simulate a copy"):
        run_campaign_crowd(campaign=world.campaign, plan=CrowdPlan(mix={"perfect": 4}, seed=1))
    world.campaign.refresh_from_db()
    assert not world.campaign.simulated and not Identity.objects.filter(provider="simulated").exists()


def test_a_simulated_campaign_is_handed_to_no_worker_but_to_its_staff(simulated):
    simulated.campaign.open_to_all = True
    simulated.campaign.save()
    worker = worker_of(people.account("wanda", "annotator"))
    invited = people.account("ines")
    RoleGrant.objects.create(account=invited, role="annotator", campaign=simulated.campaign)
    for item in (worker, worker_of(invited)):
        assert available_tasks(worker=item) == []
    researcher = people.account("ada", "researcher", "annotator")
    assert campaigns_to_work_on(worker_of(researcher).pk).count() == 1
    crowd = Worker.objects.filter(identity__provider=Identity.SIMULATED)[0]
    RoleGrant.objects.create(account=people.account("sim"), role="annotator", campaign=simulated.campaign)
    Identity.objects.filter(worker=crowd).update(account=RoleGrant.objects.latest("pk").account)
    assert campaigns_to_work_on(crowd.pk).count() == 1
    client = people.signed_in("other", "annotator")
    assert client.get(reverse("task", args=["quay", simulated.campaign.kinds[0]])).status_code == 404


def test_nobody_is_paid_for_simulated_answers(simulated):
    worker = Worker.objects.filter(trust_states__campaign=simulated.campaign)[0]
    for pay in (
        lambda: payments.pay_all_due(campaign=simulated.campaign, reference="march"),
        lambda: payments.pay(worker=worker.pk, campaign=simulated.campaign, amount=1),
        lambda: bonuses.give_bonus(
            campaign=simulated.campaign, workers=[worker.pk], amount=1_000_000, reason="x"
        ),
    ):
        with pytest.raises(PhraseboxError, match="are simulated: nobody is paid"):
            pay()
    assert payments.unpaid(worker=worker.pk) == []


def test_simulated_answers_go_out_only_where_they_are_asked_for_as_such(simulated, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    ada = people.signed_in("ada", "researcher")
    jobs_page = "/campaigns/quay/jobs/"
    response = press(ada, jobs_page, "Export", format="jsonl")
    assert "“quay” are simulated: no person gave them" in words(response)
    form_data = {"format": "jsonl", "unfinished": "include"}
    for how, status in (({}, 409), ({"simulated": True}, 202)):
        body = {**form_data, **how}
        answer = ada.post("/api/v1/campaigns/quay/exports", body, content_type="application/json")
        assert answer.status_code == status
    press(ada, jobs_page, "Export", format="jsonl", unfinished="include", simulated="on")
    (job,) = Job.objects.all()  # both requested the same
    assert jobs.run_queued_job(job.pk) == Job.DONE
    assert job_numbered(job.pk).result["path"].endswith(f"jsonl-simulated-{job.pk}.zip")
    for address in ("campaigns/quay/judgments.arrow", "corpora/quay/layers/quay/mentions.arrow"):
        assert ada.get(f"/api/v1/{address}").status_code == 409
        reply = ada.get(f"/api/v1/{address}?simulated=true")
        assert reply.status_code == 200 and "-simulated.arrow" in reply["Content-Disposition"]


def test_people_s_answers_are_exported_without_such_a_tick():
    World(some_images(1), settings=PAID)
    page = people.signed_in("ada", "researcher").get("/campaigns/quay/jobs/")
    assert "simulated answers" not in words(page)


def test_pages_show_neither_speed_nor_pay_of_simulated_answers(simulated):
    ada = people.signed_in("ada", "researcher")
    overview = words(ada.get("/campaigns/quay/dashboard/"))
    assert "Simulated: error models answer this campaign." in overview
    for absent in (
        "answers in the last hour",
        "expected end",
        "cost so far",
        "Answers an hour",
        "Cost against",
    ):
        assert absent not in overview
    table = words(ada.get("/campaigns/quay/workers/"))
    assert "Earned" not in table and "Record what is due" not in table
    assert "nobody is paid" in words(ada.get("/campaigns/quay/payments/"))


def test_what_is_exported_of_a_simulation_says_so(simulated):
    layer = simulated.campaign.corpus.layers.get(name="quay")
    chosen = Chosen(simulated.campaign.corpus, layer, Image.objects.all(), simulated.campaign)
    assert is_simulated(chosen) and any(note.startswith("Simulated:") for note in notes_on(chosen))
    real = World(some_images(1), name="real", settings=PAID)
    assert not is_simulated(Chosen(real.corpus, None, Image.objects.all(), real.campaign))


def test_marking_twice_changes_nothing(simulated):
    before = simulated.campaign.revision
    mark_simulated(campaign=simulated.campaign)
    simulated.campaign.refresh_from_db()
    assert simulated.campaign.revision == before
