"""Nobody judges a question twice, as a task and as a control item: in every way, in every form."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from django.db import connection

from annotation import campaigns
from annotation.common import database
from annotation.models import Assignment, Campaign, Control, Image, Item, OpenImage, PageControl, Task
from annotation.moderation import control_items
from annotation.protocol import questions as q
from annotation.protocol.paging import Pair
from annotation.protocol.terms import Box, Mention
from annotation.quality import controls, qualification
from annotation.quality.controls.authoring import raise_revision
from annotation.queue import dispatch, leases
from annotation.queue.dispatch import NoTask
from annotation.queue.leases import Lease
from annotation.selectors.campaign import watch
from annotation.selectors.same_question import asked_before
from annotation.simulation_driver.soundness import MET_TWICE, violations
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.relevance.rules import RELEVANCE
from tests.factories import a_corpus, an_image, some_images
from tests.queue.test_counted import take, workers
from tests.queue.test_leases import known_link
from tests.queue.test_submission import later
from tests.queue.world import TRUSTING, World
from tests.trust.scenes import gold, scenes

pytestmark = pytest.mark.django_db
TWICE: dict[str, Any] = {"trust": {**TRUSTING["trust"], "double_check_share": 1.0}}


def met(
    control: Control, worker: int, *, role: str = "control", state: str = Assignment.SUBMITTED
) -> Assignment:
    """Record that a worker had a control item, possibly in a test."""
    at = database.now()
    return Assignment.objects.create(
        campaign=control.campaign,
        worker_id=worker,
        kind=control.kind,
        control=control,
        role=role,
        state=state,
        leased_at=at,
        expires_at=at,
        ended_at=at,
    )


def one_link(settings: dict[str, Any] = TRUSTING, workers: int = 6) -> tuple[World, Control]:
    """Return a campaign with one link, which is a control item too."""
    world = World(some_images(1), settings=settings, workers=workers)
    control = known_link(world, world.images()[0].image_id)
    assert control.key == Task.objects.get(kind=q.COREF_LINK).key
    return world, control


def test_a_question_met_as_a_control_item_or_in_a_test_does_not_come_as_a_task():
    world, control = one_link()
    for worker, state in enumerate((Assignment.SUBMITTED, Assignment.RETURNED, Assignment.EXPIRED)):
        met(control, world.workers[worker], state=state)
    test = known_link(world, control.image_id, purpose=Control.QUALIFICATION, active=False)
    met(test, world.workers[3], role=qualification.QUALIFICATION_ROLE)
    met(test, world.workers[4], role=qualification.QUALIFICATION_ROLE, state=Assignment.PLANNED)
    for worker in range(4):
        result = world.take(worker)
        assert isinstance(result, NoTask) and result.code == "all_judged", worker
        assert "answered every open question" in result.text
    # If the item was not shown, they have not seen the question.
    assert world.held(4).task is not None
    assert violations(world.campaign)[MET_TWICE] == 0


def test_what_the_list_of_tasks_and_the_alarms_say_of_such_a_question():
    world, control = one_link(workers=2)
    met(control, world.workers[0])
    knows, does_not = world.workers
    kinds = [q.COREF_LINK]
    stuck = watch.stuck(world.campaign, {q.COREF_LINK: [knows]}, kinds)
    assert stuck == {q.COREF_LINK: watch.Stuck(1, 1)}
    assert watch.stuck(world.campaign, {q.COREF_LINK: world.workers}, kinds) == {}
    index = (world.campaign.pk, q.COREF_LINK)
    with connection.cursor() as cursor:
        for worker, there in ((knows, set()), (does_not, {index})):
            assert dispatch.places_with_work(cursor, worker, {q.COREF_LINK: [world.campaign.pk]}) == there


def test_where_nothing_is_left_but_what_was_met_no_control_item_stands_in_for_a_task():
    always = {"trust": {**TRUSTING["trust"], "warm_up_items": 1, "warm_up_known": 1}}
    world, control = one_link(always)
    assert world.held(0).control == control.pk
    world.submit(0, world.held(0), then=False)
    more = {"key": "coref_link|0:0-1|1:0-1", "content": control.content, "known": "yes", "stratum": "yes"}
    Control.objects.create(
        campaign=world.campaign, kind=q.COREF_LINK, image_id=control.image_id, source="page", **more
    )
    raise_revision(world.campaign)
    assert isinstance(world.take(0), NoTask)


def test_the_task_after_an_answer_is_none_that_was_met_as_a_control_item():
    world = World(some_images(3))
    *others, last = [image.image_id for image in world.images()]
    met(known_link(world, last), world.workers[0])
    lease = world.held(0)
    following = world.submit(0, lease).next
    assert isinstance(following, Lease) and {lease.image, following.image} == set(others)
    assert isinstance(world.submit(0, following).next, NoTask)


def test_a_lease_that_ran_out_does_not_come_back_once_its_question_was_met(monkeypatch):
    world, control = one_link()
    world.held(0)
    later(monkeypatch, 21)
    leases.end_expired_leases()
    met(control, world.workers[0])
    assert isinstance(world.take(0), NoTask)


def test_a_double_check_is_not_asked_of_who_met_the_question_as_a_control_item():
    world, control = one_link(TWICE)
    world.submit(0, world.held(0), then=False)
    assert Task.objects.get(kind=q.COREF_LINK).role == q.DOUBLE_CHECK
    met(control, world.workers[1])
    assert isinstance(world.take(1), NoTask)
    assert world.held(2).role == q.DOUBLE_CHECK


def test_a_control_item_is_nothing_new_to_who_had_its_question_in_a_test():
    world, control = one_link()
    test = known_link(world, control.image_id, purpose=Control.QUALIFICATION)
    met(test, world.workers[0], role=qualification.QUALIFICATION_ROLE)
    index: dict[str, Any] = {"campaign": world.campaign.pk, "kind": q.COREF_LINK}
    assert controls.controls_seen(worker=world.workers[0], **index) == {str(control.pk), str(test.pk)}
    assert controls.controls_seen(worker=world.workers[1], **index) == frozenset()


def test_a_test_asks_nothing_that_its_worker_had_as_a_task_or_a_control_item():
    world = World(some_images(2), settings={"trust": {"verdict_known": 4}}, workers=2)
    spans = ["0:0-1", "0:0-2", "0:3-4", "0:3-5", "0:4-5", "0:6-7"]
    items = [
        controls.ControlItem(q.COREF_LINK, purpose, "1000", ("1:0-1", span), ("yes", "no")[n % 2])
        for n, span in enumerate(spans)
        for purpose in Control.PURPOSES
        if purpose == Control.QUALIFICATION or n == 0
    ]
    controls.add_control_items(campaign=world.campaign, items=enumerate(items, 1), source="page")
    as_control = Control.objects.get(purpose=Control.CONTROL)
    met(as_control, world.workers[0])
    as_task = Task.objects.get(kind=q.COREF_LINK, image__image__key="1000")
    at = database.now()
    Assignment.objects.create(
        campaign=world.campaign,
        worker_id=world.workers[0],
        kind=q.COREF_LINK,
        task=as_task,
        role="vote",
        state=Assignment.RETURNED,
        leased_at=at,
        expires_at=at,
        ended_at=at,
    )
    begun = qualification.begin_qualification(
        worker=world.workers[0], campaign=world.campaign, kind=q.COREF_LINK
    )
    assert isinstance(begun, qualification.QualificationTest) and begun.items == 4
    keys = set(
        Assignment.objects.filter(role=qualification.QUALIFICATION_ROLE).values_list(
            "control__key", flat=True
        )
    )
    assert not keys & {as_control.key, as_task.key} and len(keys) == 4


# Other forms


def test_a_box_that_was_judged_as_a_control_item_is_judged_by_others_no_matter_who_drew_it():
    world = World(some_images(1), workers=6)
    while not Task.objects.filter(kind=q.BOX_QUALITY, state=Task.OPEN).exists():
        for kind in q.QUESTIONS[:4]:
            if isinstance(lease := world.take(5, kind), Lease):
                world.submit(5, lease, then=False)
    Task.objects.exclude(pk=Task.objects.filter(kind=q.BOX_QUALITY)[0].pk).update(state=Task.WITHDRAWN)
    (task,) = Task.objects.filter(kind=q.BOX_QUALITY, state=Task.OPEN)
    content = Item.objects.get(task=task).content

    def control(key: str, **other_control: Any) -> Control:
        return Control.objects.create(
            campaign=world.campaign,
            kind=q.BOX_QUALITY,
            image=task.image.image,
            key=key,
            content={**content, **other_control},
            known="good",
            stratum="good",
            source="gold",
        )

    nobody, box, another = q.judgment_name("nobody", "drew", "it"), Box(*content["pending"]), Box(1, 1, 2, 2)
    same = control(q.quality_key(nobody, box, ()))
    elsewhere = control(q.quality_key(nobody, box, (another,)), boxes=[[1, 1, 2, 2]])
    larger = control(q.quality_key(nobody, Box(1, 1, 499, 374), ()), pending=[1, 1, 499, 374])
    other_control = control(q.quality_key(nobody[1:] + "0", box, ()), mentions=["0:0-1"])
    for worker, item in enumerate((same, elsewhere, larger, other_control)):
        met(item, world.workers[worker])
    assert isinstance(world.take(0, q.BOX_QUALITY), NoTask)
    for worker in (1, 2, 3):
        lease = world.held(worker, q.BOX_QUALITY)
        assert lease.task == task.pk
        result = asked_before(worker=world.workers[worker], campaign=world.campaign.pk, kind=q.BOX_QUALITY)
        assert result == {same.pk}
        leases.return_lease(worker=world.workers[worker], assignment=lease.id)
    twin = control(q.quality_key(nobody[2:] + "00", box, ()))
    assert asked_before(worker=world.workers[0], campaign=world.campaign.pk, kind=q.BOX_QUALITY) == {twin.pk}


def pairs_campaign(tasks: str) -> Campaign:
    a_corpus("quay", [an_image(f"i{n}", "a .", "b .", "c .", "d .", layered=False) for n in range(8)])
    campaign = campaigns.create_campaign(
        name="work", corpus="quay", tasks=tasks, settings={**TRUSTING, "page": {"images": 3, "captions": 2}}
    )
    campaigns.open_pairs(
        campaign=campaign, pairs=[Pair(f"i{n}", f"i{n}#{k}") for n in range(4) for k in (0, 1)]
    )
    campaigns.begin_campaign(campaign=campaign)
    return campaign


def known_block(campaign: Campaign, image: str, *places: int) -> Control:
    keys = dict(Image.objects.values_list("key", "pk"))
    return Control.objects.create(
        campaign=campaign,
        kind=RELEVANCE,
        image_id=keys[image],
        key=f"relevance|known|{image}{places}",
        content={"blocks": [{"image": keys[image], "captions": [[keys[image], n] for n in places]}]},
        known=[True, *[False] * (len(places) - 1)],
        stratum="1",
        source="csv",
    )


@pytest.mark.django_db(transaction=True)
def test_a_page_with_a_pair_that_was_judged_on_a_known_image_goes_to_others():
    created = pairs_campaign("relevance")
    page = Task.objects.order_by("rank", "pk")[0]
    Task.objects.exclude(pk=page.pk).update(state=Task.WITHDRAWN)
    second = page.items.get(position=1).content["image"]
    key = Image.objects.get(pk=second).key
    shared, apart = known_block(created, key, 2, 1), known_block(created, key, 2, 3)
    on_page, in_test, free = workers(3)
    first = met(known_block(created, "i7", 0), on_page)
    PageControl.objects.create(assignment=first, control=shared, captions=1)
    met(shared, in_test, role=qualification.QUALIFICATION_ROLE)
    met(apart, free)
    for worker in (on_page, in_test):
        result = take(created, worker)
        assert isinstance(result, NoTask) and result.code == "all_judged"
    result = take(created, free)
    assert isinstance(result, Lease) and result.task == page.pk
    index: dict[str, Any] = {"campaign": created.pk, "kind": RELEVANCE}
    # A worker with the page gets none of its pairs as control items; two control images may share a pair,
    # too.
    assert asked_before(worker=free, **index) == {shared.pk}
    assert asked_before(worker=in_test, **index) == {apart.pk}
    assert violations(created)[MET_TWICE] == 0


@pytest.mark.django_db(transaction=True)
def test_a_pair_that_was_graded_as_a_control_item_is_graded_by_others():
    created = pairs_campaign("graded")
    task = Task.objects.order_by("rank", "pk")[0]
    Task.objects.exclude(pk=task.pk).update(state=Task.WITHDRAWN)
    control = Control.objects.create(
        campaign=created,
        kind=GRADED_RELEVANCE,
        image=task.image.image,
        key=task.key,
        content=Item.objects.get(task=task).content,
        known="4",
        stratum="4",
        source="csv",
    )
    first, second = workers(2)
    met(control, first)
    assert isinstance(take(created, first), NoTask)
    assert isinstance(take(created, second), Lease)


def test_keys_hold_the_boxes_where_the_comparison_of_boxes_expects_them():
    beside = (Box(5, 6, 7, 8), Box(1, 2, 3, 4))
    key = q.quality_key(q.judgment_name("i", "w", "k"), Box(9, 9, 10, 10), beside)
    assert key[31:] == "9,9,10,10|1,2,3,4;5,6,7,8"
    assert q.chain_key(q.BOX_COVERAGE, [Mention(0, 0, 1, ("a",), ("other",))]).endswith("|")


# All together


def test_control_items_are_made_of_images_that_the_campaign_does_not_open_as_far_as_there_are_such():
    world = scenes(8)
    opened = world.images()
    OpenImage.objects.filter(pk__in=[row.pk for row in opened[3:]]).delete()
    apart = {row.image_id for row in opened[3:]}
    layer = gold(world.campaign)
    control_items.from_gold(campaign=world.campaign, layer=layer, images=4)
    created = Control.objects.filter(campaign=world.campaign)
    assert 2 <= created.values("image").distinct().count() <= 4
    assert set(created.values_list("image", flat=True)) <= apart
    control_items.from_gold(campaign=world.campaign, layer=layer, images=7)
    everything = set(created.values_list("image", flat=True))
    assert len(everything & apart) >= 4 and 1 <= len(everything - apart) <= 2


@pytest.mark.parametrize("seed", range(2))
def test_whatever_a_crowd_does_nobody_has_a_question_as_a_task_and_as_a_control_item(seed: int):
    """Control items from the images that the campaign asks about: without the rule dozens are met twice."""
    rng = Random(seed)
    trust = {"qualification": False, "double_check_share": 0.3, "warm_up_items": 3, "warm_up_known": 1}
    world = scenes(4, settings={"trust": trust, "link_votes": 3, "verification_votes": 3}, workers=4)
    control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign))
    for _ in range(260):
        worker = rng.randrange(4)
        result = world.take(worker, rng.choice(q.QUESTIONS))
        if not isinstance(result, Lease):
            continue
        if rng.random() < 0.15:
            leases.return_lease(worker=world.workers[worker], assignment=result.id)
        elif rng.random() < 0.1:
            Assignment.objects.filter(pk=result.id).update(expires_at=database.now())
            leases.end_expired_leases()
        if rng.random() < 0.9:
            world.submit(worker, result, then=rng.random() < 0.5)
    assert Assignment.objects.filter(role="control").count() > 20
    assert not any(violations(world.campaign).values()), violations(world.campaign)
