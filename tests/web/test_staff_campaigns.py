"""Campaigns on pages: the list, an overview of one, pausing during a task, stop rules, opening one."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.urls import reverse

from annotation import campaigns, instructions, jobs
from annotation.models import AuditEntry, Campaign, Job, Judgment, OpenImage
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import as_toml, settings_of
from annotation.queue.dispatch import NoTask
from tests.factories import a_corpus, some_images
from tests.queue.world import TRUSTING, World
from tests.review.world import a_man, lose_the_hat, the_world
from tests.web import world as people
from tests.web.staff import forms, messages_on, press, words

pytestmark = pytest.mark.django_db

OPENING = "/operations/open_campaign/"
PAGE = "/campaigns/review/"


@pytest.fixture
def world():
    return the_world()


@pytest.fixture
def ada():
    return people.signed_in("ada", "researcher")


def test_the_list_names_every_campaign_and_what_waits(world, ada):
    the_world([a_man("other")], name="elsewhere")
    lose_the_hat(world)
    page = words(ada.get(reverse("campaigns")))
    assert "elsewhere open elsewhere · 0 % 0 of 1 image complete (0 %)" in page
    assert "review open review · 0 % 0 of 1 image complete (0 %) Review 1 chain" in page


def test_without_a_campaign_the_list_says_what_one_is(ada):
    page = ada.get(reverse("campaigns"))
    assert "There is no campaign yet" in words(page)
    assert reverse("campaign_drafts") in page.content.decode()
    reviewer = people.signed_in("rev", "reviewer").get(reverse("campaigns"))
    assert reverse("campaign_drafts") not in reviewer.content.decode()


def test_a_campaign_tells_figures_stages_questions_and_who_did_what(ada):
    world = World(
        some_images(2), settings={**TRUSTING, "pay": {"basis": "item", "per_item": {q.COREF_LINK: 0.05}}}
    )
    world.work()
    cache.clear()
    page = words(ada.get("/campaigns/quay/"))
    assert "images complete 2 of 2 100 %; 2 begun" in page
    assert "trust unchecked no gold answers, so accuracy is not measured: links" in page
    assert "cost so far 0.10 USD 0.10 USD due" in page
    assert "boxed 4" in page and "nothing to box 2" in page
    assert "links 0 0 2" in page
    assert "Every image is complete: there is nothing left to ask" in page and "Export" in page


def test_alarms_of_one_sort_stand_together_with_the_page_that_helps(ada):
    world = World(some_images(1), settings={}, name="review")
    page = ada.get(PAGE)
    assert "and 5 more like it" in words(page)
    assert (
        f'href="{reverse("control_item_list", args=[world.campaign.name])}">Add control items'
        in page.content.decode()
    )


def test_a_campaign_is_paused_in_mid_task_by_page_and_what_is_in_hand_still_counts(world, ada):
    lease = world.held(0)
    page = press(ada, PAGE, "Pause", reason="lunch")
    assert "workers get no new tasks" in messages_on(page)[0]
    assert "paused" in words(page) and "lunch" in words(page)
    nothing = world.take(1)
    assert isinstance(nothing, NoTask) and nothing.code == "paused" and "lunch" in nothing.text
    receipt = world.submit(0, lease)
    assert receipt.counted and isinstance(receipt.next, NoTask) and receipt.next.code == "paused"
    assert Judgment.objects.count() == 1
    assert messages_on(press(ada, PAGE, "Resume")) == ["Campaign resumed."]
    assert not isinstance(world.take(1, q.CHAIN_VERIFICATION), NoTask)


def test_a_campaign_is_closed_by_page(world, ada):
    page = press(ada, PAGE, "Close", sure="on")
    assert messages_on(page) == ["Campaign closed."]
    assert Campaign.objects.get().state == Campaign.CLOSED
    assert "Closed: workers get no more questions" in words(page)
    assert not any({"Pause", "Resume", "Close"} & form.buttons.keys() for form in forms(page))


def test_an_act_that_cannot_be_is_said_in_one_line(world, ada):
    campaigns.close_campaign(campaign=world.campaign)
    page = ada.post(reverse("operation", args=["pause_campaign"]), {"campaign": "review"})
    assert page.status_code == 409 and "only an open one can be paused" in words(page)


def test_settings_say_what_they_are_their_value_their_default_and_where_it_is_from(world, ada):
    page = words(ada.get(reverse("campaign_settings", args=["review"])))
    assert "fruitless Rounds in a row without a new box" in page
    assert "a reviewer decides 0 default: 3 decided" in page
    assert "boxes of two chains become one 0.8 Plummer et al. 2015, section 2.3" in page
    assert (
        "overlap people + clothing, people + bodyparts Plummer et al. 2015, section 2.3; bodyparts decided"
        in page
    )
    assert "where it has test items no default: yes" in page


def test_stop_rules_are_set_by_page_and_nothing_else(world, ada):
    address = reverse("campaign_settings", args=["review"])
    before = Campaign.objects.get().settings
    page = press(ada, address, "Set", budget="12.5", until="2030-01-31", images="10")
    assert messages_on(page) == ["Stop rules saved."]
    after = Campaign.objects.get().settings
    assert after["stop"] == {"budget": 12.5, "until": "2030-01-31", "images": 10}
    assert {**after, "stop": None} == {**before, "stop": None}
    press(ada, address, "Set", budget="", until="", images="")
    assert Campaign.objects.get().settings["stop"] == {"budget": None, "until": None, "images": None}


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"budget": "lots"}, "Expected a number."),
        ({"until": "2030-02-31"}, "Expected a date"),
        ({"images": "-1"}, "Expected 0 or more."),
    ],
)
def test_a_stop_rule_that_cannot_be_is_refused_and_kept_for_mending(world, ada, values, error):
    page = press(ada, reverse("campaign_settings", args=["review"]), "Set", **values)
    assert page.status_code == 400 and error in words(page)
    (name, value), *_rest = values.items()
    assert [value] in [form.fields.get(name) for form in forms(page)]
    assert Campaign.objects.get().settings["stop"]["budget"] is None


def test_a_campaign_is_opened_by_page_as_a_job(ada):
    a_corpus("streets", some_images(3))
    page = press(
        ada,
        OPENING,
        "Open a campaign",
        name="first",
        corpus="streets",
        tasks="entities",
        images="2",
        campaign_settings="link_votes = 3\n[pay]\nbasis = 'hour'\nhourly = 12.5",
    )
    assert messages_on(page) == ["Opening the images. The campaign opens after that."]
    campaign = Campaign.objects.get()
    assert (campaign.state, str(campaign.created_by)) == (Campaign.DRAFT, "ada")
    assert campaign.settings["link_votes"] == 3 and campaign.settings["pay"]["hourly"] == 12.5
    jobs.run_queued_job(Job.objects.get().pk)
    campaign.refresh_from_db()
    assert campaign.state == Campaign.OPEN and OpenImage.objects.count() == 2


def test_what_earns_nothing_needs_a_word(ada):
    a_corpus("streets", some_images(1))
    form_data = {"name": "first", "corpus": "streets", "tasks": "entities"}
    page = press(ada, OPENING, "Open a campaign", **form_data)
    assert page.status_code == 400 and "No pay is set for coref_link, chain_verification" in words(page)
    some = "[pay]\nbasis = 'item'\nper_item = { coref_link = 0.02 }"
    page = press(ada, OPENING, "Open a campaign", **form_data, campaign_settings=some)
    assert "No pay is set for chain_verification, box_requirement" in words(page)
    assert not Campaign.objects.exists() and not Job.objects.exists()
    press(ada, OPENING, "Open a campaign", **form_data, unpaid="on")
    assert Campaign.objects.get().name == "first"


def test_a_campaign_is_opened_like_another_with_what_is_changed(world, ada):
    instructions.publish_text(campaign=world.campaign, kind=q.COREF_LINK, text="Look twice.")
    settings = as_toml(settings_of(world.campaign.settings))
    settings = f"verification_votes = 3\n{settings}"
    address = f"{OPENING}?like=review"
    press(ada, address, "Open a campaign", name="again", campaign_settings=settings, unpaid="on")
    campaign = Campaign.objects.get(name="again")
    assert campaign.settings == {**world.campaign.settings, "verification_votes": 3}
    assert instructions.current_text(campaign=campaign, kind=q.COREF_LINK).text == "Look twice."
    assert "duplicated another campaign of review" in words(ada.get("/campaigns/again/"))


def test_a_campaign_is_deleted_by_page_while_nobody_has_come(world, ada):
    unsure = press(ada, PAGE, "Delete")
    assert unsure.status_code == 400 and "This field is required." in words(unsure)
    page = press(ada, PAGE, "Delete", sure="on")
    assert messages_on(page) == ["Campaign deleted. Its history stays in the audit log."]
    assert not Campaign.objects.exists()
    line = AuditEntry.objects.get(act="delete_campaign")
    assert (line.campaign, line.campaign_name, line.actor_name) == (None, "review", "ada")


def test_a_campaign_that_somebody_holds_a_task_of_is_not_deleted(world, ada):
    world.held(0)
    assert not any("Delete" in form.buttons for form in forms(ada.get(PAGE)))
    page = ada.post(reverse("operation", args=["delete_campaign"]), {"campaign": "review", "sure": "on"})
    assert "somebody has begun to work on it" in words(page) and Campaign.objects.exists()


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"name": "gold"}, "choose another name"),
        ({"name": "a b"}, "no valid name"),
        ({"name": "x", "campaign_settings": "link_votes = 2"}, "2"),
        ({"name": "x", "campaign_settings": "nonsense"}, "not valid TOML"),
        ({"name": "x", "campaign_settings": "unknown = 1"}, "unknown setting"),
        ({"name": "x", "images": "many"}, "Expected a whole number."),
    ],
)
def test_a_campaign_that_cannot_be_opened_says_why_and_keeps_what_was_typed(ada, value, error):
    a_corpus("streets", some_images(1))
    also = {"corpus": "streets", "tasks": "entities", "unpaid": "on"}
    page = press(ada, OPENING, "Open a campaign", **also, **value)
    assert page.status_code in (400, 409) and error in words(page)
    (form,) = [form for form in forms(page) if "Open a campaign" in form.buttons]
    assert form.fields["name"] == [value["name"]]
    assert not Campaign.objects.exists() and not Job.objects.exists()
