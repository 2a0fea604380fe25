"""Settings changed after a campaign was opened: which changes apply from when, and which are refused."""

from __future__ import annotations

import threading
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from annotation import campaigns
from annotation.campaigns import StaleSettings, change_campaign_settings
from annotation.common import database
from annotation.datasets import layer_rows
from annotation.datasets.exporting import check_export, notes_on
from annotation.models import (
    Assignment,
    AuditEntry,
    Campaign,
    Item,
    Judgment,
    Layer,
    OpenImage,
    SettingsVersion,
    Task,
    TrustState,
    Worker,
)
from annotation.moderation import control_items, trust_replay
from annotation.moderation.withdrawn_pictures import withdraw_picture
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.contents import ruling_json
from annotation.protocol.rulings import KeepApart
from annotation.protocol.trust import SUSPENDED
from annotation.protocol.work import MICROS
from annotation.quality import worker_trust
from annotation.queue import leases, submission
from annotation.queue.submission import Answer
from annotation.selectors.answers import answers
from annotation.selectors.campaign.cost import in_hand
from annotation.selectors.campaigns import settings_by_version
from annotation.workers import payments
from tests.factories import a_corpus, some_images
from tests.queue.world import TRUSTING, World
from tests.trust.scenes import gold, scenes

pytestmark = pytest.mark.django_db


def change(campaign: Campaign, **settings: Any) -> campaigns.SettingsChange:
    """Change some settings of a campaign; tables are replaced as a whole."""
    campaign.refresh_from_db()
    return change_campaign_settings(campaign=campaign, settings={**campaign.settings, **settings})


def paid(micros_an_item: float) -> dict[str, Any]:
    return {"basis": "item", "per_item": dict.fromkeys(q.QUESTIONS, micros_an_item)}


def opened(tasks: str, images: int = 3, **settings: Any) -> Campaign:
    a_corpus("few", some_images(images))
    return campaigns.open_campaign(
        campaigns.CampaignPlan(
            name="few", corpus="few", tasks=tasks, settings={**TRUSTING, **settings}, open_to_all=True
        )
    )


def test_before_anybody_works_images_are_reopened():
    world = World()
    before = list(OpenImage.objects.order_by("position").values_list("image", "mentions"))
    tasks = set(Task.objects.values_list("pk", flat=True))
    done = change(world.campaign, link_votes=3)
    assert (done.version, done.reopened) == (2, 2)
    assert [
        (difference.name, difference.before, difference.after, difference.when)
        for difference in done.differences
    ] == [("link_votes", 1, 3, "all_images")]
    rows = OpenImage.objects.order_by("position")
    assert list(rows.values_list("image", "mentions")) == before
    assert {(row.settings["link_votes"], row.settings_version) for row in rows} == {(3, 2)}
    links = Task.objects.filter(kind=q.COREF_LINK, state=Task.OPEN)
    assert links and not tasks & set(Task.objects.values_list("pk", flat=True))
    # The fewest votes that can decide: two of three.
    assert set(links.values_list("needed", flat=True)) == {2}
    assert Item.objects.count() == Task.objects.count()
    world.work()
    assert not OpenImage.objects.filter(complete=False).exists()


def test_rulings_and_priorities_outlive_a_change_before_anybody_works():
    world = World()
    row = OpenImage.objects.order_by("-position")[0]
    item, another = (chain["m"][0] for chain in row.state["chains"][:2])
    row.rulings.create(content=ruling_json(KeepApart(item, another)))
    OpenImage.objects.filter(pk=row.pk).update(rulings_version=1, priority=5)
    change(world.campaign, link_votes=3)
    again = OpenImage.objects.get(pk=row.pk)
    assert (again.rulings.count(), again.priority, again.rulings_version) == (1, 5, 1)
    tasks = Task.objects.filter(image=row, kind=q.COREF_LINK).values_list("key", flat=True)
    assert not any({item, another} <= set(key.split("|")) for key in tasks)
    assert Task.objects.order_by("rank")[0].image_id == row.pk


@pytest.mark.parametrize("tasks", ["captions", "regions", "graded", "relevance"])
def test_counted_questions_are_asked_again_of_the_same_pairs(tasks: str):
    campaign = opened(tasks)
    kind = campaign.kinds[0]
    pairs = _pairs(campaign)
    done = change(campaign, answers={kind: 7})
    # A page depends on its first image.
    assert done.reopened == (1 if tasks == "relevance" else 3) and _pairs(campaign) == pairs
    assert set(Task.objects.filter(campaign=campaign).values_list("needed", flat=True)) == {7}
    assert {question[2] for row in OpenImage.objects.all() for question in row.questions} == {7}


@pytest.mark.parametrize("tasks", ["captions", "regions", "graded", "relevance", "entities"])
def test_what_was_withdrawn_does_not_come_back_with_other_settings(tasks: str, settings, tmp_path: Path):
    settings.DATA_DIR = tmp_path
    campaign = opened(tasks)
    for image in campaign.corpus.images.all():
        image.picture = sha256(image.key.encode()).hexdigest() + ".png"
        image.save()
    gone = campaign.corpus.images.order_by("position")[1]
    withdraw_picture(image=gone)
    request = _asked_about(campaign)
    change(campaign, **({"link_votes": 3} if tasks == "entities" else {"answers": {campaign.kinds[0]: 7}}))
    if tasks != "relevance":  # the three images were on one page, which was removed as a whole
        assert _asked_about(campaign) == request != set()
    assert gone.pk not in _asked_about(campaign)
    others = set(campaign.corpus.images.values_list("pk", flat=True)) - {gone.pk}
    assert _asked_about(campaign) <= others
    assert tasks == "entities" or _asked_about(campaign) == others


def _asked_about(campaign: Campaign) -> set[int]:
    """Return the images of open tasks."""
    items = Item.objects.filter(task__campaign=campaign, task__state=Task.OPEN)
    return {
        content.get("image", image) for image, content in items.values_list("task__image__image", "content")
    }


def test_pages_are_laid_out_again_with_the_pairs_and_fillers_that_they_had():
    a_corpus("few", some_images(4))
    campaign = campaigns.create_campaign(name="few", corpus="few", tasks="relevance", settings=TRUSTING)
    keys = list(campaign.corpus.images.order_by("position").values_list("key", flat=True))
    expected = [campaigns.counted.Pair(key, f"{key}#0") for key in keys]
    fillers = {key: [f"{entry}#1" for entry in keys if entry != key] for key in keys}
    campaigns.open_pairs(campaign=campaign, pairs=expected, fillers=fillers)
    before = _pairs(campaign)
    assert any(role == 1 for _, _, role in before)
    campaigns.begin_campaign(campaign=campaign)
    change(campaign, page={"images": 3, "captions": 2, "controls": 1})
    blocks = [item.content for item in Item.objects.filter(task__campaign=campaign)]
    assert {len(block["captions"]) for block in blocks} == {2}
    after = _pairs(campaign)
    assert [pair for pair in after if pair[2] == 0] == [pair for pair in before if pair[2] == 0]
    assert {pair for pair in after if pair[2] == 1} <= {pair for pair in before if pair[2] == 1}


def _pairs(campaign: Campaign) -> list[tuple[int, tuple[int, ...], int]]:
    """Return (image, caption, role) of every entry, sorted."""
    names = []
    for item in Item.objects.filter(task__campaign=campaign).select_related("task__image"):
        content = item.content
        if "captions" in content:
            for caption, role in zip(content["captions"], content["roles"], strict=True):
                names.append((content["image"], tuple(caption), role))
        else:
            names.append((item.task.image.image_id, tuple(content.get("caption", ())), 0))
    return sorted(names)


def test_once_somebody_works_votes_hold_for_images_that_are_not_open_yet():
    a_corpus("quay", some_images(3))
    campaign = campaigns.open_campaign(
        campaigns.CampaignPlan(
            name="some", corpus="quay", tasks="entities", settings={**TRUSTING, "boxes": "always"}, images=2
        )
    )
    worker = Worker.objects.create(pseudonym="one")
    held = leases.take_lease(worker=worker.pk, campaign=campaign, kind=campaign.kinds[0])
    assert isinstance(held, leases.Lease)
    done = change(campaign, link_votes=3, limits={"fruitless": 2})
    assert done.reopened == 0 and {difference.when for difference in done.differences} == {"new_images"}
    campaigns.open_campaign_images(campaign=campaign)
    rows = OpenImage.objects.filter(campaign=campaign).order_by("position")
    assert [(row.settings["link_votes"], row.settings_version) for row in rows] == [(1, 1), (1, 1), (3, 2)]
    assert Assignment.objects.get(pk=held.id).settings_version == 1


def test_what_is_in_hand_is_paid_and_held_as_it_was_handed_out():
    world = World(settings={**TRUSTING, "pay": paid(0.25), "lease": {"minutes": 10.0}})
    early = world.held(0)
    done = change(world.campaign, pay=paid(0.5), lease={"minutes": 60.0})
    assert {difference.when for difference in done.differences} == {"next_lease"}
    late = world.held(1)
    settings = settings_by_version(world.campaign)
    assert in_hand(world.campaign, settings[2].pay) == 0.75 * MICROS
    assert _minutes(leases.renew_lease(worker=world.workers[0], assignment=early.id)) == 10
    assert _minutes(leases.renew_lease(worker=world.workers[1], assignment=late.id)) == 60
    world.submit(0, early)
    world.submit(1, late)
    rows = {row.pk: row for row in Assignment.objects.all()}
    assert (rows[early.id].settings_version, rows[early.id].pay) == (1, 0.25 * MICROS)
    assert (rows[late.id].settings_version, rows[late.id].pay) == (2, 0.5 * MICROS)
    world.work()
    later = Assignment.objects.exclude(pk__in=(early.id, late.id))
    assert set(later.values_list("settings_version", "pay")) == {(2, 0.5 * MICROS)}


def test_a_task_taken_again_after_it_ran_out_is_a_new_lease():
    world = World(workers=1)
    held = world.held(0)
    change(world.campaign, pay=paid(0.5))
    Assignment.objects.filter(pk=held.id).update(expires_at=database.now() - timedelta(minutes=1))
    leases.end_expired_leases()
    taken = [held.id]
    while held.id not in taken[1:]:
        result = world.held(0, holding=taken[1:])
        taken.append(result.id)
        assert len(taken) < 50
        if result.id != held.id:
            world.submit(0, result, then=False)
    assert Assignment.objects.get(pk=held.id).settings_version == 2


def _minutes(until: Any) -> int:
    assert until is not None
    return round((until - database.now()).total_seconds() / 60)


def test_answers_count_for_trust_under_the_rules_of_their_leases():
    trust = {**TRUSTING["trust"], "verdict_known": 2, "window": 4, "bar": 0.9}
    trust |= {"warm_up_known": 30, "warm_up_items": 30}
    world = scenes(5, settings={"trust": trust}, workers=1)
    control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign))
    world.campaign.refresh_from_db()

    def fail(times: int) -> None:
        for _ in range(times):
            lease = world.held(0)
            assert lease.control is not None
            world.submit(0, lease, world.wrong_answer(lease), then=False)

    fail(1)
    change(world.campaign, trust={**trust, "bar": 0.0})
    fail(2)
    row = TrustState.objects.get(kind=q.COREF_LINK)
    assert row.state != SUSPENDED and trust_replay.replay_row(row) == worker_trust.trust_from_row(row)
    change(world.campaign, trust=trust)
    fail(1)
    row.refresh_from_db()
    assert row.state == SUSPENDED and trust_replay.replay_row(row) == worker_trust.trust_from_row(row)
    assert trust_replay.replay_rows([row.pk]) == []


def test_a_stale_edit_changes_nothing_and_is_told_so():
    world = World()
    change(world.campaign, pay=paid(0.5))
    with pytest.raises(StaleSettings, match="you saw version 1, and version 2 is in force"):
        change_campaign_settings(campaign=world.campaign, settings=TRUSTING, seen=1)
    with pytest.raises(StaleSettings):
        campaigns.set_stop_rules(campaign=world.campaign, rules={"images": 3}, seen=1)
    world.campaign.refresh_from_db()
    assert world.campaign.settings_version == 2 and SettingsVersion.objects.count() == 2


def test_every_change_is_a_version_and_a_line_of_the_audit():
    campaign = opened("entities")
    change(campaign, pay=paid(0.5))
    assert change(campaign, pay=paid(0.5)).differences == ()
    campaigns.set_stop_rules(campaign=campaign, rules={"images": 3}, seen=2)
    stored = SettingsVersion.objects.filter(campaign=campaign).order_by("number")
    assert [row.number for row in stored] == [1, 2, 3]
    assert stored[0].settings["pay"]["basis"] == "none" and stored[2].settings == campaign.settings
    audit_entries = AuditEntry.objects.filter(act__in=("change_settings", "set_stop_rules")).order_by("pk")
    assert [(line.act, line.about["version"]) for line in audit_entries] == [
        ("change_settings", 2),
        ("set_stop_rules", 3),
    ]
    assert audit_entries[0].about["changed"]["pay.basis"] == ["none", "item"]


def test_some_settings_stay_once_somebody_has_worked():
    world = World()
    change(world.campaign, pay={**paid(0.5), "currency": "EUR"}, page={"images": 5})
    world.held(0)
    for settings, name in (
        ({"pay": {**paid(0.5), "currency": "GBP"}}, "pay.currency"),
        ({"page": {"images": 4}}, "page.images"),
        ({"answers": {"regions": 2}}, "answers.regions"),
    ):
        with pytest.raises(CampaignError, match=f"{name} can no longer change"):
            change(world.campaign, **settings)
    campaigns.close_campaign(campaign=world.campaign)
    with pytest.raises(CampaignError, match="is closed"):
        change(world.campaign, lease={"minutes": 5.0})
    assert SettingsVersion.objects.count() == 2


def test_the_layer_says_what_is_in_force():
    world = World()
    world.work()
    Layer.objects.create(corpus=world.corpus, name=world.campaign.name, source="campaign", settings={})
    change(world.campaign, lease={"minutes": 5.0})
    assert Layer.objects.get(name=world.campaign.name).settings["lease"]["minutes"] == 5.0
    assert Judgment.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_lease_that_is_just_being_given_comes_before_the_change():
    world = World(workers=1)
    event, done = threading.Event(), threading.Event()

    def work() -> None:
        try:
            with transaction.atomic():
                world.held(0)
                event.set()
                done.wait(1.0)  # the change waits for us, or would not see this lease
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    assert event.wait(30)
    result = change(world.campaign, link_votes=3)
    done.set()
    thread.join(30)
    assert [difference.when for difference in result.differences] == ["new_images"] and result.reopened == 0
    assert {row.settings["link_votes"] for row in OpenImage.objects.all()} == {1}
    assert Assignment.objects.get().task is not None


def test_the_ledger_the_answers_and_the_notes_of_an_export_name_the_version():
    a_corpus("quay", some_images(3))
    campaign = campaigns.open_campaign(
        campaigns.CampaignPlan(
            name="some", corpus="quay", tasks="entities", settings={**TRUSTING, "boxes": "never"}, images=2
        )
    )
    worker = Worker.objects.create(pseudonym="one").pk

    def answer() -> None:
        held = leases.take_lease(worker=worker, campaign=campaign, kind=q.COREF_LINK)
        assert isinstance(held, leases.Lease)
        submission.submit(
            worker=worker, assignment=held.id, answer=Answer("no"), token=f"t{held.id}", then=False
        )

    answer()
    change(campaign, link_votes=3, pay=paid(0.5))
    campaigns.open_campaign_images(campaign=campaign)
    answer()
    assert [(line[6], line[-1]) for line in payments.ledger(campaign)] == [("0", 1), ("0.5", 2)]
    assert [line["settings"] for line in answers(campaign)] == [1, 2]
    layer_rows.refresh_layer_rows(campaign)
    notes = notes_on(
        check_export(corpus=campaign.corpus.name, format="jsonl", layer="some", only_finished=True)
    )
    assert any("2 under version 1, 1 under version 2" in note for note in notes)
