"""A campaign estimates the probability of links: from its finished images, or from an existing layer."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation import campaigns
from annotation.campaigns.training import link_chances
from annotation.campaigns.training.link_chances import learn_links
from annotation.models import AuditEntry, Campaign, Judgment, OpenImage, Task
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.link_chances import LinkChances, chances_from, learn_chances
from annotation.protocol.state import ImageSettings
from annotation.protocol.terms import Chain, LayerRecord, Mention
from annotation.queue.image_state import state_of
from annotation.queue.leases import Lease
from annotation.selectors.records import stream_records
from tests.queue.world import TRUSTING, World
from tests.trust.scenes import crowd_works

pytestmark = pytest.mark.django_db


def test_before_work_begins_all_images_are_asked_about_by_what_was_learned_from_a_layer() -> None:
    world = World()
    learned = learn_links(campaign=world.campaign, corpus=world.corpus.name)
    protocol = settings_of(world.campaign.settings).protocol
    assert (learned.images, learned.change.version, learned.change.reopened) == (2, 2, 2)
    assert protocol.order == "learned"
    records = stream_records(corpus=world.corpus, layer=world.corpus.layers.get(name="import"))
    assert chances_from(protocol.saving.link_chances) == learn_chances(r.layer for r in records if r.layer)
    for image in OpenImage.objects.filter(campaign=world.campaign):
        assert settings_of(image.settings).protocol == protocol
    entry = AuditEntry.objects.get(act="learn_links")
    assert entry.about["changed"]["order"] == ["likely_first", "learned"]
    assert learn_links(campaign=world.campaign, corpus=world.corpus.name).change.differences == ()


def test_what_is_learned_from_finished_images_leaves_open_images_as_they_are() -> None:
    world = World()
    out = StringIO()
    with pytest.raises(
        CommandError, match="no image to learn from: finish some images of campaign “quay” first"
    ):
        call_command("learn_links", "quay")
    crowd_works(world, ["perfect"] * 4)
    before = [state_of(image) for image in OpenImage.objects.order_by("pk")]
    assert all(state.complete for state in before)
    call_command("learn_links", "quay", stdout=out)
    assert out.getvalue().startswith("learned from 2 images: ")
    assert "version 2 of the settings holds for images that are not open yet" in out.getvalue()
    assert [state_of(image) for image in OpenImage.objects.order_by("pk")] == before
    for image in OpenImage.objects.filter(campaign=world.campaign):
        assert settings_of(image.settings).protocol == ImageSettings(boxes="always")
    world.campaign.refresh_from_db()
    assert settings_of(world.campaign.settings).protocol.order == "learned"
    with pytest.raises(CommandError, match="version 2 is in force"):
        call_command("learn_links", "quay", "--base-version", "1")


def test_settings_saved_while_chances_are_counted_stay_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    counted = link_chances.learn_chances

    def count_and_save(layers: Iterator[LayerRecord]) -> LinkChances:
        result = counted(layers)
        saved = Campaign.objects.get(pk=world.campaign.pk)
        pay = {"basis": "item", "per_item": {"coref_link": 0.05}}
        saving = {**saved.settings["saving"], "coverage_by_count": True}
        campaigns.change_campaign_settings(
            campaign=saved,
            settings={**saved.settings, "pay": {**saved.settings["pay"], **pay}, "saving": saving},
        )
        campaigns.set_stop_rules(campaign=saved, rules={"budget": 5.0})
        return result

    with monkeypatch.context() as patch:
        patch.setattr(link_chances, "learn_chances", count_and_save)
        learned = learn_links(campaign=world.campaign, corpus=world.corpus.name)
    settings = settings_of(world.campaign.settings)
    assert {difference.name for difference in learned.change.differences} == {"order", "saving.link_chances"}
    assert learned.change.version == 4 and settings.protocol.order == "learned"
    assert settings.protocol.saving.link_chances and settings.protocol.saving.coverage_by_count
    assert (settings.pay.basis, settings.pay.per_item["coref_link"]) == ("item", 0.05)
    assert settings.stop.budget == 5.0


def test_a_campaign_with_all_savings_on_goes_through_the_queue_to_the_gold() -> None:
    world = World()
    learn_links(campaign=world.campaign, corpus=world.corpus.name)
    reference = world.campaign.settings
    saving = {**reference["saving"], "fullest_caption_first": True, "coverage_by_count": True}
    campaigns.change_campaign_settings(campaign=world.campaign, settings={**reference, "saving": saving})
    crowd_works(world, ["perfect"] * 4)
    gold = [
        r.layer for r in stream_records(corpus=world.corpus, layer=world.corpus.layers.get(name="import"))
    ]
    for image, layer in zip(OpenImage.objects.order_by("position"), gold, strict=True):
        state = state_of(image)
        assert state.complete and layer is not None
        chains = {frozenset(m.id for m in chain.mentions) for chain in state.layer.chains}
        assert chains == {frozenset(m.id for m in chain.mentions) for chain in layer.chains}


def test_of_coverage_by_count_only_what_one_worker_settled_is_checked_twice() -> None:
    """Where the first answer is not what the count lets expect, two people have to agree: they are checked
    already."""
    saving = {"coverage_by_count": True}
    world = World(settings={"trust": {**TRUSTING["trust"], "double_check_share": 1.0}, "saving": saving})
    image, values = world.images()[0].image_id, set()
    open_ = True
    while open_:
        open_ = False
        for worker in range(len(world.workers)):
            for kind in q.QUESTIONS:
                lease = world.take(worker, kind)
                if isinstance(lease, Lease):
                    open_ = True
                    first = kind == q.BOX_COVERAGE and lease.image == image and lease.key not in values
                    if lease.image == image:
                        values.add(lease.key)
                    world.submit(worker, lease, world.wrong_answer(lease) if first else None, then=False)
    votes = Counter(Judgment.objects.filter(kind=q.BOX_COVERAGE, role=q.VOTE).values_list("image", "key"))
    checked = set(Task.objects.filter(kind=q.BOX_COVERAGE, role=q.DOUBLE_CHECK).values_list("image", "key"))
    alone = {index for index, number in votes.items() if number == 1}
    assert checked and checked <= alone and len(alone) < len(votes)


def test_images_are_learned_from_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    class Watched(LayerRecord):
        __slots__ = ("__weakref__",)

    held: list[weakref.ref[LayerRecord]] = []
    most = 0

    def watched(*args: object) -> Iterator[LayerRecord]:
        nonlocal most
        for number in range(20):
            layer = Watched((Chain(str(number), (Mention(0, 0, 1, ("man",), ("people",)),)),))
            held.append(weakref.ref(layer))
            most = max(most, sum(item() is not None for item in held))
            yield layer

    monkeypatch.setattr(link_chances, "_layers", watched)
    assert learn_links(campaign=world.campaign, corpus=world.corpus.name).images == 20
    assert most < 5
