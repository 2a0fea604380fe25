"""Control items whose answers something contradicts later are passed over, retired, and named."""

from __future__ import annotations

from copy import copy
from typing import Any

import pytest
from django.urls import reverse

from annotation import campaigns
from annotation.datasets import layers
from annotation.models import Campaign, Control, OpenImage
from annotation.moderation import control_items, rulings
from annotation.moderation.worker_status import restore_worker_answers, withdraw_worker_answers
from annotation.protocol import questions as q
from annotation.protocol.gold import Truth
from annotation.protocol.questions import Answer
from annotation.protocol.rulings import Boxes, Closure
from annotation.protocol.terms import Box
from annotation.quality import controls
from annotation.queue import leases
from phrasebox.errors import PhraseboxError
from tests import worlds
from tests.queue.world import TRUSTING, World
from tests.review.world import HAT, HAT_BOX, MAN, THE_MAN, answer, held, the_world
from tests.trust.scenes import crowd_works, scenes
from tests.web import world as people
from tests.web.staff import messages_on

pytestmark = pytest.mark.django_db


def test_what_a_ruling_overruled_is_not_promoted_and_what_was_is_retired_and_named():
    world = the_world(verification_votes=3)
    answer(world, q.COREF_LINK, "yes")
    for worker in (1, 2):
        answer(world, q.CHAIN_VERIFICATION, "true", worker=worker)
    row = world.images()[0]
    chain = Boxes((MAN, THE_MAN), (Box(*HAT_BOX),))
    ruled = rulings.make_ruling(image=row.pk, ruling=chain)
    done = control_items.promote(campaign=world.campaign, kind=q.CHAIN_VERIFICATION, at_least=2)
    assert (done.added, done.passed_over) == (
        0,
        (controls.ControlItemName(q.CHAIN_VERIFICATION, "man", "true"),),
    )
    assert not Control.objects.exists()

    rulings.withdraw_ruling(campaign=world.campaign, ruling=ruled.ruling.pk)
    assert control_items.promote(campaign=world.campaign, kind=q.CHAIN_VERIFICATION, at_least=2).added == 1
    again = rulings.make_ruling(image=row.pk, ruling=chain)
    assert list(map(str, control_items.names_of_items(again.retired))) == [
        "chain_verification about image man: true"
    ]
    assert not Control.objects.get().active
    # To take the ruling back does not put the item back: it can be promoted again.
    assert not rulings.withdraw_ruling(campaign=world.campaign, ruling=again.ruling.pk).retired


def promoted_and_duplicated() -> tuple[World, Campaign]:
    """A campaign with one promoted item, and its duplicate, open, with the same workers."""
    world = the_world(verification_votes=3)
    answer(world, q.COREF_LINK, "yes")
    for worker in (1, 2):
        answer(world, q.CHAIN_VERIFICATION, "true", worker=worker)
    control_items.promote(campaign=world.campaign, kind=q.CHAIN_VERIFICATION, at_least=2)
    created = campaigns.duplicate_campaign(campaign=world.campaign, name="again", open_to_all=True)
    campaigns.open_campaign(
        campaigns.CampaignPlan(
            name="again",
            corpus=created.corpus.name,
            tasks=created.tasks,
            settings=created.settings,
            open_to_all=True,
        )
    )
    again = copy(world)
    again.campaign = Campaign.objects.get(pk=created.pk)
    return again, world.campaign


def test_a_promoted_item_of_a_duplicated_campaign_is_not_held_against_its_own_answers():
    again, first = promoted_and_duplicated()
    answer(again, q.COREF_LINK, "yes")
    ruled = rulings.make_ruling(image=again.images()[0].pk, ruling=Boxes((HAT,), (Box(*HAT_BOX),)))
    assert not ruled.retired
    answer(again, q.CHAIN_VERIFICATION, "false", worker=1)
    withdraw_worker_answers(campaign=again.campaign, worker=again.workers[0])
    copied = Control.objects.get(campaign=again.campaign)
    assert (copied.active, copied.source) == (True, "copied")
    assert Control.objects.get(campaign=first).source == "promoted"


def test_what_somebody_may_still_answer_late_is_not_promoted():
    world = the_world(verification_votes=3)
    answer(world, q.COREF_LINK, "yes")
    given_back = held(world, 3, q.CHAIN_VERIFICATION)
    leases.return_lease(worker=world.workers[3], assignment=given_back.id)
    for worker in (1, 2):
        answer(world, q.CHAIN_VERIFICATION, "true", worker=worker)

    def promoted() -> int:
        return control_items.promote(campaign=world.campaign, kind=q.CHAIN_VERIFICATION, at_least=2).added

    assert promoted() == 0
    world.submit(3, given_back, Answer("true"), then=False)
    assert promoted() == 1


def test_a_ruling_names_the_items_that_it_retires_on_its_page():
    world = the_world(verification_votes=3)
    answer(world, q.COREF_LINK, "yes")
    for worker in (1, 2):
        answer(world, q.CHAIN_VERIFICATION, "true", worker=worker)
    control_items.promote(campaign=world.campaign, kind=q.CHAIN_VERIFICATION, at_least=2)
    reviewer = people.signed_in("rita", "reviewer")
    address = reverse("rule", args=[world.campaign.name, "man"])
    page = reviewer.post(address, {"act": "close", "chain": f"{MAN} {THE_MAN}", "as": "none"}, follow=True)
    assert any("1 control item contradicts the ruling and was retired" in text for text in messages_on(page))


@pytest.fixture
def people_world() -> World:
    """Images that careful workers have finished; their layer serves as gold for another campaign."""

    def build() -> World:
        world = scenes(4, settings=TRUSTING, workers=4, name="people")
        crowd_works(world, ["perfect"] * 4)
        return world

    return worlds.again("four images that perfect workers have finished", build)


def another(world: World) -> Campaign:
    return Campaign.objects.create(
        name="other", corpus=world.corpus, tasks="entities", settings=world.campaign.settings
    )


def own_layer(world: World) -> Any:
    layer = layers.layer_to_read(world.corpus, world.campaign.name)
    assert layer is not None
    return layer


def test_items_are_made_from_what_the_layer_is_now_and_of_finished_images_alone(people_world: World):
    layer = own_layer(people_world)
    withdraw_worker_answers(
        campaign=people_world.campaign, worker=people_world.workers[0], kind=q.BOX_QUALITY
    )
    unfinished = set(OpenImage.objects.filter(complete=False).values_list("image", flat=True))
    assert unfinished
    campaign = another(people_world)
    try:
        control_items.from_gold(campaign=campaign, layer=layer)
    except PhraseboxError:
        assert len(unfinished) == 4
    created = Control.objects.filter(campaign=campaign)
    assert not created.filter(image__in=unfinished).exists()
    assert {item.layer_id for item in created} <= {layer.pk}


def test_items_whose_gold_is_taken_back_are_retired_and_named(people_world: World):
    campaign = another(people_world)
    control_items.from_gold(campaign=campaign, layer=own_layer(people_world))
    assert Control.objects.filter(active=True).count() > 10
    done = withdraw_worker_answers(campaign=people_world.campaign, worker=people_world.workers[0])
    for row in people_world.images():
        active = Control.objects.filter(image=row.image_id, active=True)
        row.refresh_from_db()
        assert row.complete or not active.exists()
    assert done.retired == Control.objects.filter(active=False).count() == len(done.items) > 0
    assert all("about image" in item for item in done.items)
    campaign.refresh_from_db()
    assert campaign.revision > 0  # every process sees it
    # Restored, the gold is as it was: nothing else goes, and what is added again comes back.
    assert restore_worker_answers(campaign=people_world.campaign, worker=people_world.workers[0]).retired == 0
    assert control_items.from_gold(campaign=campaign, layer=own_layer(people_world)).added == done.retired
    assert not Control.objects.filter(active=False).exists()


def test_items_that_a_ruling_about_their_gold_contradicts_go_and_others_stay(people_world: World):
    campaign = another(people_world)
    control_items.from_gold(campaign=campaign, layer=own_layer(people_world))
    item = Control.objects.filter(kind=q.BOX_REQUIREMENT, known="box").order_by("pk")[0]
    row = OpenImage.objects.get(campaign=people_world.campaign, image=item.image)
    before = {control.pk: control for control in Control.objects.filter(image=row.image_id)}
    (chain,) = [c["m"] for c in row.state["chains"] if set(item.content["mentions"]) & set(c["m"])]
    ruled = rulings.make_ruling(image=row.pk, ruling=Closure(tuple(chain), "none"))
    gone = {item.pk for item in ruled.retired}
    truth = Truth(ruled.state.layer, size=(row.image.width, row.image.height))
    for pk, control in before.items():
        about = control.content.get("mentions", [])
        if control.kind == q.BOX_REQUIREMENT:
            expected = "box" if truth.boxes[truth.chain(about)] else "none"
            assert (pk in gone) == (control.known == "box" and expected == "none")
    assert item.pk in gone and gone < before.keys()
    # Gold says something else about these now: they are passed over, and named.
    again = control_items.from_gold(campaign=campaign, layer=own_layer(people_world))
    assert not Control.objects.filter(pk__in=gone, active=True).exists()
    assert all(name.image == row.image.key for name in again.passed_over)


def test_a_worker_who_is_withdrawn_elsewhere_takes_no_items_along(people_world: World):
    campaign = another(people_world)
    gold = people_world.corpus.layers.get(name="import")
    control_items.from_gold(campaign=campaign, layer=gold)
    before = Control.objects.filter(active=True).count()
    withdraw_worker_answers(campaign=people_world.campaign, worker=people_world.workers[0])
    assert Control.objects.filter(active=True).count() == before


def test_what_the_box_loop_may_come_back_to_is_not_promoted_yet():
    world = the_world(limits={"fruitless": 3})
    answer(world, q.COREF_LINK, "yes")
    answer(world, q.CHAIN_VERIFICATION, "true", worker=1)
    world.submit(0, held(world, 0, q.BOX_DRAWING, mention=MAN), then=False)
    answer(world, q.BOX_QUALITY, "good", worker=1, mention=MAN)
    # Two say that a box is missing, one after the other, and the drawer between them finds no other thing.
    answer(world, q.BOX_COVERAGE, "more", worker=1, mention=MAN)
    answer(world, q.BOX_DRAWING, "none", worker=2, mention=MAN)
    answer(world, q.BOX_COVERAGE, "more", worker=3, mention=MAN)
    assert control_items.promote(campaign=world.campaign, kind=q.BOX_COVERAGE, at_least=2).added == 0
