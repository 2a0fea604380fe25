"""Staff pages of campaigns whose votes are only counted."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client

from annotation import campaigns
from annotation.models import Control, Identity, Judgment, OpenImage
from annotation.queue.submission import Answer
from annotation.simulation_driver import CrowdPlan, run_campaign_crowd
from tests.factories import a_corpus, an_image, some_images
from tests.queue.test_counted import held, submit, workers
from tests.web import world as people
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = ("", "workers/", "settings/", "review/", "control-items/", "texts/", "jobs/")
ITEMS = "/campaigns/judging/control-items/"


@pytest.fixture
def ada() -> Client:
    return people.signed_in("ada", "researcher")


@pytest.mark.parametrize("tasks", ["graded", "relevance", "captions", "regions"])
def test_every_page_of_such_a_campaign_can_be_read(ada: Client, tasks: str):
    a_corpus("quay", some_images(4))
    campaign = campaigns.open_campaign(
        campaigns.CampaignPlan(
            name="judging", corpus="quay", tasks=tasks, settings={"trust": {"qualification": False}}
        )
    )
    (worker,) = workers(1)
    # One of the simulated crowd: it is never mixed with people's answers.
    Identity.objects.create(worker_id=worker, provider=Identity.SIMULATED, external_id="one")
    submit(worker, held(campaign, worker), Answer(flag="offensive"), then=False)
    image = Judgment.objects.values_list("image__image__key", flat=True).get()
    run_campaign_crowd(campaign=campaign, plan=CrowdPlan(mix={"careful": 10}, seed=1, patience=0))
    cache.clear()
    for page in (*PAGES, f"texts/{campaign.kinds[0]}/", f"images/{image}/"):
        response = ada.get(f"/campaigns/judging/{page}")
        assert response.status_code == 200, page
        # All settings are listed, including those without questions.
        assert page == "settings/" or "verification" not in words(response), page
    assert image in words(ada.get("/campaigns/judging/review/"))
    assert ada.get("/campaigns/judging/texts/coref_link/").status_code == 404
    home = words(ada.get("/campaigns/judging/"))
    # A page depends on its first image.
    number = OpenImage.objects.count()
    called = "first images of pages" if campaign.tasks == "relevance" else "images"
    assert f" {called} complete {number} of {number} 100 %" in home


@pytest.mark.parametrize("tasks", ["graded", "relevance"])
def test_control_items_are_made_of_captions_by_page_and_shown(ada: Client, tasks: str):
    settings = {"trust": {"qualification": False}, "page": {"images": 3, "captions": 4}}
    # A caption that another image also has is wrong for neither.
    captions = ("thing{n} crosses the street .", "thing{n} walks .")
    images = [
        an_image(str(n), *(text.format(n=n) for text in captions), split="train" if n % 2 else "test")
        for n in range(60)
    ]
    a_corpus("quay", images)
    campaigns.open_campaign(
        campaigns.CampaignPlan(name="judging", corpus="quay", tasks=tasks, settings=settings, split="test")
    )
    page = ada.get(ITEMS)
    assert "From captions" in words(page) and "From a correct layer" not in words(page)
    done = press(ada, ITEMS, "Add from captions", split="train")
    count = Control.objects.count()
    assert count and messages_on(done) == [f"{count} control items added."]
    assert set(Control.objects.values_list("image__split", flat=True)) == {"train"}
    form_data = {"campaign": "judging", "split": "moon", "next": ITEMS}
    response = ada.post("/operations/add_controls_from_captions/", form_data)
    assert response.status_code == 409 and "unknown split" in words(response)
    assert Control.objects.count() == count


def test_the_sentences_of_the_test_of_spelling_are_listed(ada: Client):
    a_corpus("quay", some_images(2))
    campaigns.open_campaign(campaigns.CampaignPlan(name="judging", corpus="quay", tasks="captions"))
    page = words(ada.get(ITEMS))
    assert "A small boat is tied to the pier." in page and "well written 18" in page
