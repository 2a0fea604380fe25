"""Which images of a campaign come first: on the page and by command, and what is refused."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation import campaigns
from annotation.models import AuditEntry, Image, OpenImage, Task
from annotation.protocol.campaign_settings import CampaignError
from annotation.queue import dispatch
from tests.factories import some_images
from tests.queue.world import World
from tests.web import world as people
from tests.web.staff import forms, messages_on, press, words

pytestmark = pytest.mark.django_db

PAGE, FORM = "/campaigns/quay/order/", "/operations/prioritise_images/"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    # The worker gets the very first task, not one of the first.
    monkeypatch.setattr(dispatch, "FIRST_LOOK", 1)
    return World(some_images(4))


@pytest.fixture
def ada() -> Client:
    return people.signed_in("ada", "researcher")


def run(*command: str) -> dict[str, Any]:
    out = StringIO()
    call_command("prioritise_images", *command, "--json", stdout=out)
    report: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1])
    return report


def text(*command: str) -> str:
    out = StringIO()
    call_command("prioritise_images", *command, stdout=out)
    return out.getvalue().strip()


def priorities() -> dict[str, int]:
    return dict(OpenImage.objects.order_by("position").values_list("image__key", "priority"))


def images_in_order() -> list[str]:
    """Return the images in the order of their questions."""
    ranks = Task.objects.order_by("rank").values_list("image__image__key", flat=True)
    return list(dict.fromkeys(ranks))


def state() -> tuple[Any, ...]:
    """Return everything that the action writes."""
    acts = AuditEntry.objects.filter(act="prioritise_images").count()
    return priorities(), list(Task.objects.order_by("pk").values_list("pk", "rank")), acts


def test_images_named_by_page_come_first_until_they_are_put_back(world: World, ada: Client):
    assert "none has a priority" in words(ada.get(PAGE))
    assert PAGE in ada.get("/campaigns/quay/").content.decode()
    page = press(ada, PAGE, "Set their priority", images="1003\n\n 1002.jpg \n1003\n", priority="7")
    assert messages_on(page) == ["2 images have priority 7 now."]
    assert "7 2 2 1002.jpg, 1003.jpg" in words(page)
    assert images_in_order() == ["1002", "1003", "1000", "1001"]
    assert Image.objects.get(pk=world.held(0).image).key == "1002"
    entry = AuditEntry.objects.get(act="prioritise_images")
    assert (entry.actor_name, entry.about) == ("ada", {"images": 2, "priority": 7})
    assert "changed which images come first images 2, priority 7" in words(ada.get("/campaigns/quay/"))
    page = press(ada, PAGE, "Set their priority", images="1002\n1003", priority="0")
    assert messages_on(page) == ["2 images come in their usual turn."] and "none has a priority" in words(
        page
    )
    assert images_in_order() == ["1000", "1001", "1002", "1003"]


def test_images_below_the_usual_come_last_and_what_is_held_stays(world: World):
    lease = world.held(0)
    assert campaigns.prioritise_images(campaign=world.campaign, images=["1000", "1001"], priority=-1) == 2
    assert images_in_order() == ["1002", "1003", "1000", "1001"]
    assert world.submit(0, lease).counted


@pytest.mark.parametrize(
    ("images", "priority", "status", "error"),
    [
        ("1000\nharbour.jpg", "1", 409, "The corpus has no image “harbour.jpg”: correct the name"),
        ("a\nb\n1000\nc\nd", "1", 409, "no such 4 images: “a”, “b”, “c”, …. Correct the names"),
        (" \n ", "1", 400, "This is required."),
        ("1000", "often", 400, "Expected a whole number."),
        ("1000", "1001", 400, "Expected 1000 or less."),
    ],
)
def test_what_cannot_be_is_named_with_its_remedy_and_kept_for_mending(
    world: World, ada: Client, images: str, priority: str, status: int, error: str
):
    before = state()
    page = ada.post(FORM, {"campaign": "quay", "images": images, "priority": priority, "next": PAGE})
    assert page.status_code == status and error in words(page)
    (form,) = (form for form in forms(page) if "Set which images come first" in form.buttons)
    assert form.fields["images"] == [images] and form.fields["priority"] == [priority]
    assert form.fields["next"] == [PAGE] and state() == before


def test_many_images_are_moved_some_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("annotation.queue.image_rows._TOGETHER", 2)
    assert campaigns.prioritise_images(campaign=world.campaign, images=["1003", "1001", "1000"]) == 3
    assert images_in_order() == ["1000", "1001", "1003", "1002"]
    assert priorities() == {"1000": 1, "1001": 1, "1002": 0, "1003": 1}


def test_images_that_are_not_open_are_refused(world: World):
    OpenImage.objects.filter(image__key="1003").delete()
    before = state()
    with pytest.raises(CampaignError, match=r"Image “1003.jpg” is not open in this campaign: open it first"):
        campaigns.prioritise_images(campaign=world.campaign, images=["1000", "1003.jpg"])
    assert state() == before


def test_a_closed_campaign_has_no_order_any_more(world: World, ada: Client):
    campaigns.close_campaign(campaign=world.campaign)
    before = state()
    page = ada.post(FORM, {"campaign": "quay", "images": "1000", "priority": "1"})
    assert page.status_code == 409 and "is closed: nobody is asked any more" in words(page)
    assert not any("Set their priority" in form.buttons for form in forms(ada.get(PAGE)))
    assert state() == before


def test_a_name_that_means_two_images_is_refused_with_both(world: World):
    Image.objects.filter(key="1002").update(filename="1000")
    with pytest.raises(CampaignError, match="the key of '1000.jpg' and the file name of '1000'"):
        campaigns.prioritise_images(campaign=world.campaign, images=["1000"])
    assert set(priorities().values()) == {0}


def test_by_command_images_are_named(world: World):
    assert run("quay", "--images", "1000", "1003.jpg") == {"images": 2, "priority": 1}
    assert priorities() == {"1000": 1, "1001": 0, "1002": 0, "1003": 1}


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["none", "--images", "1000"], "There is no campaign “none” here"),
        (["quay", "--images", "1000", "nowhere.txt"], "The corpus has no image “nowhere.txt”"),
        (["quay", "--images", "1000", "--priority", "40000"], "--priority: Expected 1000 or less."),
    ],
)
def test_the_command_refuses_in_one_line_and_changes_nothing(world: World, command: list[str], error: str):
    before = state()
    with pytest.raises(CommandError, match=error) as caught:
        text(*command)
    assert "\n" not in str(caught.value) and state() == before


def test_the_page_counts_what_it_does_not_name(ada: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("annotation.selectors.image_order.MOST_LISTED", 2)
    world = World(some_images(4))
    campaigns.prioritise_images(campaign=world.campaign, images=["1000", "1001", "1003"])
    assert "1 3 3 1000.jpg, 1001.jpg and 1 more" in words(ada.get(reverse("image_order", args=["quay"])))
