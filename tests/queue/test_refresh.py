"""A campaign's layer grows with its answers."""

from __future__ import annotations

import pytest

from annotation.datasets import layer_rows
from annotation.models import Assignment, Chain, Layer, LayerImage
from annotation.protocol import questions as q
from annotation.queue import image_state
from annotation.selectors.layer_cost import answers_cost
from annotation.selectors.records import layer_of
from tests.factories import some_images
from tests.queue.world import World

pytestmark = pytest.mark.django_db


def layer_named(world):
    return Layer.objects.get(corpus=world.corpus, name=world.campaign.name)


def test_nothing_is_written_before_the_first_answer():
    world = World()
    assert layer_rows.refresh_layer_rows(world.campaign) == 0
    assert not Layer.objects.filter(name=world.campaign.name).exists()


def test_the_layer_of_a_finished_campaign_is_what_its_folds_say():
    world = World(some_images(3))
    world.work()
    assert layer_rows.refresh_layer_rows(world.campaign) == 3
    assert layer_rows.refresh_layer_rows(world.campaign) == 0
    layer = layer_named(world)
    assert layer.published and layer.source == "campaign"
    gold = world.corpus.layers.get(name="import")
    for row in world.images():
        ours, theirs = layer_of(row.image, layer), layer_of(row.image, gold)
        assert {frozenset(m.id for m in c.mentions) for c in ours.chains} == {
            frozenset(m.id for m in c.mentions) for c in theirs.chains
        }
        assert {o.box for o in ours.objects} == {o.box for o in theirs.objects}
    assert answers_cost(world.campaign)["judgments"][q.COREF_LINK] == 3
    # Answers of a test are not work, and are not paid.
    of_link = Assignment.objects.filter(kind=q.COREF_LINK)
    of_link.filter(pk=of_link.earliest("pk").pk).update(role="qualification", seconds=60.0)
    cost = answers_cost(world.campaign)
    assert cost["judgments"][q.COREF_LINK] == 2 and not cost["controls"]
    assert cost["seconds"][q.COREF_LINK] < 60


def test_only_images_with_new_answers_are_written_again():
    world = World(some_images(3))
    world.submit(0, world.held(0), then=False)
    assert layer_rows.refresh_layer_rows(world.campaign) == 1
    assert LayerImage.objects.filter(layer=layer_named(world)).count() == 1
    world.submit(1, world.held(1), then=False)
    assert layer_rows.refresh_layer_rows(world.campaign) == 1
    assert LayerImage.objects.filter(layer=layer_named(world)).count() == 2


def test_chains_of_different_images_have_different_numbers():
    world = World(some_images(3))
    world.work()
    layer_rows.refresh_layer_rows(world.campaign)
    labels = list(Chain.objects.filter(layer=layer_named(world)).values_list("key", flat=True))
    assert len(labels) == len(set(labels)) == 9


def test_an_image_folded_again_while_its_share_is_written_is_written_once_more():
    world = World(some_images(1))
    world.submit(0, world.held(0), then=False)
    (row,) = world.images()
    image_state.refold_image(row.pk)
    assert layer_rows.refresh_layer_rows(world.campaign) == 1
    image_state.refold_image(row.pk)
    assert layer_rows.refresh_layer_rows(world.campaign, images=[row.pk]) == 1
