"""A simulated crowd on the real queue, in this process: it misbehaves, and the campaign is completed."""

from __future__ import annotations

from datetime import timedelta
from unittest import mock

import pytest

from annotation.common import database
from annotation.models import Account, Assignment, Campaign, Judgment, Task, TrustState
from annotation.moderation.control_items.from_layer import from_gold
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.trust import QUALIFICATION
from annotation.queue import leases
from annotation.simulation.visits import ORDERLY, Conduct
from annotation.simulation_driver import CrowdPlan, mix_of, run_campaign_crowd, simulate_campaign
from annotation.simulation_driver.soundness import MET_TWICE, VIOLATION_QUERIES, violations
from tests.browser.gate import before
from tests.queue.world import World
from tests.rehearsal.script import pictured

pytestmark = pytest.mark.django_db

LEASE = {"minutes": 0.1}
NO_QUALIFICATION = {"trust": {"qualification": False}, "lease": LEASE}
UNRULY = Conduct(clicked_twice=0.1, answered_twice=0.1, answered_late=0.1, returned=0.1, flagged=0.02)


class Clock:
    """A clock for the queue that advances when the crowd waits, and a little at each reading."""

    def __init__(self) -> None:
        self.at = database.now()

    def read(self):
        self.at += timedelta(milliseconds=20)
        return self.at

    def wait(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@pytest.fixture
def clock():
    clock = Clock()
    with mock.patch.object(database, "now", clock.read):
        yield clock


@pytest.fixture(autouse=True)
def data_dir(tmp_path, settings):
    settings.DATA_DIR = tmp_path


def test_an_unruly_crowd_with_leavers_finishes_and_nothing_is_amiss(clock):
    world = World([pictured(i) for i in range(6)], settings=NO_QUALIFICATION, workers=0)
    from_gold(campaign=world.campaign, layer=world.corpus.layers.get(name="import"))
    mix = {"careful": 6, "leaver": 4}
    done = run_campaign_crowd(
        campaign=world.campaign,
        plan=CrowdPlan(mix=mix, seed=3, conduct=UNRULY, patience=3600, sleep=clock.wait),
    )
    assert done.tally.amiss == [] and set(done.violations.values()) == {0}
    assert (done.open_tasks, done.cost["unfinished"]) == (0, 0)
    # The tasks of a worker who left expire after the others are done.
    clock.wait(60 * LEASE["minutes"])
    leases.end_expired_leases()
    assert not Assignment.objects.filter(state=Assignment.LEASED).exists()
    assert done.scores is not None and done.scores.f1 > 0.8
    tally = done.tally
    met = (tally.repeated, tally.refused_twice, tally.late_counted, tally.returned, tally.flagged, tally.left)
    assert 0 not in met
    assert Assignment.objects.filter(role=q.CONTROL, state=Assignment.SUBMITTED).exists()
    count = Judgment.objects.filter(campaign=world.campaign).count()
    assert tally.answered.total() == count
    last = Judgment.objects.latest("pk").pk
    again = run_campaign_crowd(
        campaign=world.campaign,
        plan=CrowdPlan(mix=mix, seed=3, conduct=UNRULY, patience=3600, sleep=clock.wait),
    )
    assert again.scores == done.scores
    votes = Judgment.objects.filter(campaign=world.campaign).exclude(role=q.CONTROL)
    assert votes.count() == votes.filter(pk__lte=last).count()


@pytest.mark.slow  # the default run has `trust/test_qualification`, answer by answer
def test_tests_are_taken_before_work_and_who_fails_one_does_none_of_it(clock):
    world = World([pictured(i) for i in range(4)], settings={"lease": LEASE}, workers=0)
    from_gold(campaign=world.campaign, layer=world.corpus.layers.get(name="import"))
    done = run_campaign_crowd(
        campaign=world.campaign,
        plan=CrowdPlan(
            mix={"perfect": 4, "random": 1}, seed=1, conduct=ORDERLY, patience=3600, sleep=clock.wait
        ),
    )
    assert done.cost["unfinished"] == 0
    tested = TrustState.objects.filter(campaign=world.campaign, examined_items__isnull=False)
    failed = tested.filter(state=QUALIFICATION)
    assert failed.exists() and not failed.exclude(worker__pseudonym__contains="random").exists()
    votes = Judgment.objects.filter(campaign=world.campaign, role=q.VOTE)
    assert votes.exists()
    assert not any(votes.filter(worker=row.worker_id, kind=row.kind).exists() for row in failed)


@pytest.mark.django_db(transaction=True)
def test_a_crowd_over_http_finishes_and_nothing_is_amiss(live_server):
    """By the pages alone, as people would; with a server that is killed in between, among the slow tests."""
    before(live_server).open()  # browser tests close it
    world = World([pictured(0)], settings=NO_QUALIFICATION, workers=0)
    plan = CrowdPlan(mix={"perfect": 5}, seed=1, through="http", url=live_server.url, conduct=ORDERLY)
    done = run_campaign_crowd(campaign=world.campaign, plan=plan)
    assert done.tally.amiss == [] and set(done.violations.values()) == {0}
    assert (done.open_tasks, done.leased, done.cost["unfinished"]) == (0, 0, 0)
    assert done.tally.answered.total() == Judgment.objects.filter(campaign=world.campaign).count() > 0
    assert done.scores is not None and done.scores.f1 > 0.8


def test_leases_that_nobody_waits_for_are_told_as_left_over(clock):
    world = World([pictured(0)], settings={"trust": NO_QUALIFICATION["trust"]}, workers=1)
    held = leases.take_lease(worker=world.workers[0], campaign=world.campaign, kind=q.BOX_DRAWING)
    assert isinstance(held, leases.Lease)
    done = run_campaign_crowd(
        campaign=world.campaign,
        plan=CrowdPlan(mix={"perfect": 5}, seed=1, patience=1, sleep=clock.wait, conduct=ORDERLY),
    )
    assert done.leased == 1 and done.open_tasks >= 1 and done.cost["unfinished"] == 1
    assert done.tally.nothing["busy"] > 0


def test_what_cannot_be_rehearsed_is_refused_with_its_remedy():
    world = World([pictured(0)], workers=0)
    with pytest.raises(CampaignError, match="expected the address of a server"):
        run_campaign_crowd(campaign=world.campaign, plan=CrowdPlan(mix=mix_of(5), seed=1, through="http"))
    with pytest.raises(CampaignError, match="not an address; expected http://HOST:PORT"):
        run_campaign_crowd(
            campaign=world.campaign, plan=CrowdPlan(mix=mix_of(5), seed=1, through="http", url="localhost")
        )
    Campaign.objects.update(state=Campaign.PAUSED)
    world.campaign.refresh_from_db()
    with pytest.raises(CampaignError, match="is paused .*; open or resume it first"):
        run_campaign_crowd(campaign=world.campaign, plan=CrowdPlan(mix=mix_of(5), seed=1))
    assert not Account.objects.filter(username__startswith="sim").exists()


def test_a_simulation_never_replaces_the_layer_of_real_answers():
    world = World([pictured(0)], workers=1)
    world.submit(0, world.held(0))
    with pytest.raises(CampaignError, match="send the crowd through the queue"):
        simulate_campaign(campaign=world.campaign, mix=mix_of(5), seed=1)


@pytest.mark.parametrize(
    ("what", "harm"),
    [
        ("open tasks that miscount", lambda: Task.objects.filter(state="open").update(needed=9, live=5)),
        ("answers without", lambda: Judgment.objects.order_by("pk")[0].delete()),
        ("judgments on what", lambda: Assignment.objects.update(state="returned", ended_at=database.now())),
        ("tasks given to more", lambda: Task.objects.filter(state="settled").update(needed=0, live=0)),
        ("boxes judged", lambda: _bar_the_judges()),
        ("keys judged twice", lambda: Judgment.objects.update(key="coref_link|a|b", worker=_somebody())),
    ],
)
def test_what_may_never_be_is_noticed(what, harm):
    world = World([pictured(i) for i in range(2)], workers=4)
    world.work()
    assert set(violations(world.campaign).values()) == {0}
    if what.startswith("open"):
        Task.objects.filter(pk=Task.objects.filter(campaign=world.campaign)[0].pk).update(state="open")
    harm()
    counts = {name: count for name, count in violations(world.campaign).items() if count}
    assert any(name.startswith(what) for name in counts), counts
    assert set(counts) <= {*VIOLATION_QUERIES, MET_TWICE}


def _somebody() -> int:
    return int(Judgment.objects.values_list("worker", flat=True)[0])


def _bar_the_judges() -> None:
    judgment = Judgment.objects.filter(kind=q.BOX_QUALITY)[0]
    Task.objects.filter(image=judgment.image_id, key=judgment.key).update(barred=judgment.worker_id)
