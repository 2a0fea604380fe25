"""Images opened in portions: a limited number of unfinished ones is open at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.campaigns import (
    CampaignPlan,
    close_campaign,
    create_campaign,
    monitoring,
    open_campaign,
    open_campaign_images,
    opening,
    pause_campaign,
    planned_images,
    resume_campaign,
)
from annotation.campaigns.drafts.opening import images_after_pilot, pilot_of
from annotation.campaigns.opening import open_next_portion
from annotation.datasets import layers
from annotation.datasets.exporting import ExportError, check_export
from annotation.datasets.tags import save_tags
from annotation.jobs import schedule
from annotation.models import AuditEntry, Campaign, OpenImage, PlannedImage, Task
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.model_annotators import ModelAnnotatorSettings
from annotation.selectors.campaign import progress
from annotation.selectors.campaigns import campaigns_listed
from tests.factories import a_corpus, an_image, some_images
from tests.web import world as people
from tests.web.staff import press, words

pytestmark = pytest.mark.django_db


def opened_campaign(at_once: int = 4, images: int | None = None) -> Campaign:
    settings = {"model_annotator": {"images_at_once": at_once}}
    return open_campaign(CampaignPlan("streets", "streets", "entities", settings, images=images))


def opened(images: int = 10, *, at_once: int = 4, first: int | None = None) -> Campaign:
    a_corpus("streets", some_images(images))
    return opened_campaign(at_once, first)


def tagged() -> Campaign:
    """A campaign over 6 of 12 images with a tag, at most 2 open at once."""
    corpus = a_corpus("streets", some_images(20))
    some = corpus.images.order_by("position").values_list("key", flat=True)[:12]
    save_tags(corpus=corpus, images=[(key, [("dog", 0.5)]) for key in some], unit="nouns", alpha=0.5)
    settings = {"model_annotator": {"images_at_once": 2}}
    return open_campaign(CampaignPlan("dogs", "streets", "entities", settings, images=6, tags=("dog",)))


def count_to_open(campaign: Campaign) -> int:
    return planned_images.count_planned(campaign)


def keys(campaign: Campaign) -> list[str]:
    rows = OpenImage.objects.filter(campaign=campaign).order_by("pk")
    return list(rows.values_list("image__key", flat=True))


def finish(campaign: Campaign, number: int) -> None:
    rows = OpenImage.objects.filter(campaign=campaign, complete=False).order_by("pk")[:number]
    assert len(rows) == number
    OpenImage.objects.filter(pk__in=[row.pk for row in rows]).update(complete=True)


def turns(campaign: Campaign, finished: Sequence[int]) -> list[int]:
    """Return how many images are opened each time after `finished` images were finished."""
    names = []
    for number in finished:
        finish(campaign, number)
        names.append(open_next_portion(campaign))
    return names


@pytest.mark.parametrize(
    ("at_once", "unfinished", "expected"),
    [
        (0, 0, None),
        (0, 900, None),
        (40, 0, 40),
        (40, 10, 30),
        (40, 11, 0),
        (40, 70, 0),
        (1, 0, 1),
        (1, 1, 0),
        (3, 1, 0),
    ],
)
def test_a_quarter_is_left_when_the_next_images_are_opened(at_once, unfinished, expected):
    assert ModelAnnotatorSettings(images_at_once=at_once).images_to_open(unfinished) == expected


def test_images_are_opened_as_others_are_finished_in_the_order_of_the_corpus():
    campaign = opened()
    everything = [image.key for image in campaign.corpus.images.order_by("position")]
    assert campaign.state == Campaign.OPEN
    assert keys(campaign) == everything[:4]
    assert count_to_open(campaign) == 6
    assert turns(campaign, [0, 2, 1, 3, 0]) == [0, 0, 3, 3, 0]
    assert keys(campaign) == everything
    assert count_to_open(campaign) == 0


def test_opening_it_again_by_its_name_opens_no_more_than_are_asked_about_at_once():
    campaign = opened()
    opened_campaign()
    assert len(keys(campaign)) == 4
    finish(campaign, 4)
    opened_campaign()
    assert len(keys(campaign)) == 8
    assert count_to_open(campaign) == 2


@pytest.mark.parametrize("unfinished", [4, 0])
def test_a_closed_campaign_plans_no_images(unfinished: int):
    """Nothing would take them back: exports would wait for them for ever."""
    campaign = opened(10, first=4)
    finish(campaign, 4 - unfinished)
    close_campaign(campaign=campaign)
    with pytest.raises(CampaignError, match="campaign 'streets' is closed"):
        opened_campaign()
    assert count_to_open(campaign) == 0 and len(keys(campaign)) == 4


def test_an_image_that_waits_for_a_reviewer_alone_holds_no_others_up():
    campaign = opened()
    Task.objects.filter(image__campaign=campaign).update(state=Task.WITHDRAWN)
    assert not OpenImage.objects.filter(campaign=campaign, complete=True).exists()
    assert open_next_portion(campaign) == 4


def test_the_list_of_campaigns_counts_images_that_are_to_come():
    campaign = opened()
    finish(campaign, 4)
    (row,) = campaigns_listed([campaign])
    assert (row.images, row.complete, row.percent) == (10, 4, 40)


def test_who_planned_images_is_audited():
    boss = people.account("boss", "admin")
    campaign = opened(10, first=4)
    assert not AuditEntry.objects.filter(act="plan_images", actor=boss).exists()
    done = open_campaign_images(campaign=campaign, actor=boss)
    assert (done.opened, done.there, done.planned) == (0, 4, 6)
    assert AuditEntry.objects.get(act="plan_images", actor=boss).about["images"] == 6


def test_the_periodic_work_opens_so_many_in_a_turn(monkeypatch):
    campaign = opened(10)
    monkeypatch.setattr(opening, "_OPENED_AT_ONCE", 4)
    Campaign.objects.filter(pk=campaign.pk).update(settings={**campaign.settings, "model_annotator": {}})
    assert [open_next_portion(campaign) for _ in range(3)] == [4, 2, 0]


def test_each_choice_of_images_is_opened_to_its_end():
    campaign = opened(first=6)
    open_campaign_images(campaign=campaign, images=9)
    open_campaign_images(campaign=campaign, images=9)
    assert count_to_open(campaign) == 5
    assert turns(campaign, [4, 2, 1]) == [4, 0, 1]
    assert len(keys(campaign)) == 9
    assert count_to_open(campaign) == 0


def test_images_wanted_in_all_are_those_open_and_those_planned():
    campaign = opened(first=10, images=30, at_once=2)
    assert (len(keys(campaign)), count_to_open(campaign)) == (2, 8)
    open_campaign_images(campaign=campaign, images=12)
    assert (len(keys(campaign)), count_to_open(campaign)) == (2, 10)
    open_campaign_images(campaign=campaign, images=5)
    assert (len(keys(campaign)), count_to_open(campaign)) == (2, 10)


def test_images_drawn_by_tags_are_opened_as_they_were_drawn_whatever_becomes_of_the_tags():
    campaign = tagged()
    planned = list(campaign.planned_images.values_list("image__key", flat=True))
    assert len(planned) == 4
    campaign.corpus.tag_lists.all().delete()
    assert turns(campaign, [2, 2]) == [2, 2]
    assert keys(campaign)[2:] == planned
    page = people.signed_in("ada", "researcher").get(reverse("campaign", args=[campaign.name]))
    assert page.status_code == 200


def test_a_pilots_page_is_there_when_its_images_can_no_longer_be_drawn():
    campaign = tagged()
    campaign.pilot = {"split": None, "images": 12, "tags": ["dog"]}
    campaign.save()
    ada = people.signed_in("ada", "researcher")
    page = partial(ada.get, reverse("campaign", args=[campaign.name]))
    assert "other images are not asked about yet" in words(page())
    campaign.corpus.tag_lists.all().delete()
    assert "Its other images can no longer be drawn: corpus 'streets' has no tags" in words(page())


def test_a_pilot_that_is_opened_in_portions_leaves_out_what_it_has_not_planned():
    a_corpus("streets", some_images(30))
    settings = {"model_annotator": {"images_at_once": 8}}
    campaign = create_campaign(name="pilot", corpus="streets", tasks="entities", settings=settings)
    whole: dict[str, Any] = {"split": None, "images": 28, "tags": []}
    open_campaign_images(campaign=campaign, images=pilot_of(campaign=campaign, whole=whole)["images"])
    assert (len(keys(campaign)), count_to_open(campaign), images_after_pilot(campaign)) == (8, 12, 8)


def test_images_that_gold_does_not_cover_do_not_keep_it_waiting():
    covered = some_images(6)
    others = [an_image(f"later-{n}", "A man walks .", layered=False) for n in range(3)]
    a_corpus("streets", [*covered, *others])
    campaign = opened_campaign()
    assert count_to_open(campaign) == 2
    assert turns(campaign, [4]) == [2]
    assert count_to_open(campaign) == 0


def test_the_periodic_work_opens_them_unless_the_campaign_is_paused():
    campaign = opened()
    finish(campaign, 4)
    pause_campaign(campaign=campaign, reason="lunch")
    assert schedule.do("open_next_images")
    assert len(keys(campaign)) == 4
    resume_campaign(campaign=campaign)
    assert schedule.do("open_next_images")
    assert len(keys(campaign)) == 8
    # Without a limit the others are opened at once.
    Campaign.objects.filter(pk=campaign.pk).update(settings={"model_annotator": {"images_at_once": 0}})
    assert schedule.do("open_next_images")
    assert len(keys(campaign)) == 10
    assert count_to_open(campaign) == 0


def test_an_opening_that_was_stopped_goes_on():
    class Stopped(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stopped

    campaign = opened(120, at_once=1)
    Campaign.objects.filter(pk=campaign.pk).update(settings={"model_annotator": {"images_at_once": 60}})
    campaign.refresh_from_db()
    finish(campaign, 1)
    with pytest.raises(Stopped):
        open_campaign_images(campaign=campaign, progress=stop)
    assert len(keys(campaign)) == 51
    assert turns(campaign, [0, 40]) == [0, 50]
    assert turns(campaign, [60]) == [19]
    assert count_to_open(campaign) == 0


def test_the_campaigns_page_says_how_many_are_to_come():
    campaign = opened()
    ada = people.signed_in("ada", "researcher")
    page = words(ada.get(reverse("campaign", args=[campaign.name])))
    assert "images complete 0 of 10" in page
    assert "6 further images are opened as others are finished." in page
    assert "At most 4 unfinished images are asked about at once" in page
    assert turns(campaign, [4, 4]) == [4, 2]
    assert "further image" not in words(ada.get(reverse("campaign", args=[campaign.name])))


def test_images_that_are_to_come_can_be_left_out(capsys):
    """By page, and by command in a campaign that is closed, of which nothing else could free exports."""
    campaign = opened()
    ada, address = people.signed_in("ada", "researcher"), reverse("campaign", args=["streets"])
    page = press(ada, address, "Open no further images")
    assert "6 images are left out: no further ones are opened." in words(page)
    assert count_to_open(campaign) == 0 and "Open no further images" not in words(ada.get(address))
    assert AuditEntry.objects.get(act="drop_planned_images").about["images"] == 6
    finish(campaign, 4)
    assert open_next_portion(campaign) == 0
    opened_campaign()
    close_campaign(campaign=campaign)
    call_command("drop_planned_images", "streets")
    assert "2" in capsys.readouterr().out
    assert count_to_open(campaign) == 0 and Campaign.objects.get().state == Campaign.CLOSED


def test_nobody_is_told_that_all_is_done_while_images_are_to_come():
    campaign = opened()
    finish(campaign, 4)
    Task.objects.filter(image__campaign=campaign).update(state=Task.SETTLED)
    assert "complete" not in {alarm.code for alarm in monitoring.alarms(campaign)}
    PlannedImage.objects.filter(campaign=campaign).delete()
    assert "complete" in {alarm.code for alarm in monitoring.alarms(campaign)}


def test_images_to_come_count_among_those_that_are_to_be_done(monkeypatch):
    monkeypatch.setattr(progress, "TELLING", 2)
    campaign = opened()
    finish(campaign, 2)
    OpenImage.objects.filter(campaign=campaign).update(version=1)
    OpenImage.objects.filter(campaign=campaign, complete=True).update(answers=50)
    now, tasks_by_kind = (
        progress.funnel(campaign, fresh=True),
        progress.open_tasks_by_kind(campaign, fresh=True),
    )
    assert (now.images, now.planned, now.complete) == (4, 6, 2)
    assert progress.to_come(campaign, now, tasks_by_kind) == 50 * 8
    finish(campaign, 2)
    Task.objects.filter(image__campaign=campaign).update(state=Task.SETTLED)
    now, tasks_by_kind = (
        progress.funnel(campaign, fresh=True),
        progress.open_tasks_by_kind(campaign, fresh=True),
    )
    assert progress.to_come(campaign, now, tasks_by_kind), "no more answers needed, with six images to come"


def test_a_layer_is_unfinished_while_images_are_to_come():
    campaign = opened()
    finish(campaign, 3)
    OpenImage.objects.filter(campaign=campaign, complete=True).update(layer_behind=True, version=1)
    layers.update_layer(campaign)
    export = partial(check_export, corpus="streets", format="jsonl", layer=campaign.name)
    with pytest.raises(ExportError, match="7 images are not done, and nobody has begun 7 of these"):
        export()
    finish(campaign, 1)
    with pytest.raises(ExportError, match="6 images are not done, and nobody has begun 6 of these"):
        export()
    PlannedImage.objects.filter(campaign=campaign).delete()
    assert export().unfinished == 0
