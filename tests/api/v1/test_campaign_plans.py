"""Campaigns in the API before they are opened: the same checks and estimates as on the pages."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from annotation import jobs
from annotation.campaigns.drafts.estimate import estimate_draft
from annotation.campaigns.drafts.readiness import readiness
from annotation.campaigns.drafts.reading import PILOT_IMAGES, read_draft
from annotation.datasets.tags import save_tags
from annotation.models import Account, Campaign, CampaignDraft, Control, Corpus, Job, OpenImage
from annotation.protocol.campaign_settings import settings_of, settings_of_tasks
from tests import worlds
from tests.api.v1.conftest import Caller
from tests.factories import a_corpus, some_images
from tests.web import world as people

pytestmark = pytest.mark.django_db
PLAN = {"name": "quay", "corpus": "streets", "tasks": "entities", "unpaid": True}


@pytest.fixture
def ada(db: None) -> Caller:
    worlds.again("24 streets", lambda: a_corpus("streets", some_images(24)))
    return Caller(people.account("ada", "researcher"))


def fields(answer: Any) -> list[str]:
    assert answer.status_code == 400, answer.content
    return [error["field"] for error in answer.json()["errors"]]


def test_a_plan_says_what_the_page_of_a_draft_with_the_same_choices_says(ada: Caller) -> None:
    form_data = {**PLAN, "tasks": "captions", "images": 22, "pilot": True}
    response = ada.post("campaign-plans", form_data).json()
    draft = CampaignDraft.objects.create(
        owner=Account.objects.get(username="ada"),
        corpus=Corpus.objects.get(name="streets"),
        settings=settings_of_tasks("captions", {}).as_dict(),
        fields={"name": "quay", "tasks": "captions", "images": "22", "unpaid": "yes", "entry": "practice"},
    )
    plan = read_draft(draft)
    page = estimate_draft(plan, pilot=PILOT_IMAGES)
    assert page is not None
    result = response["estimate"]
    assert (result["hours"], result["answers"]) == (asdict(page.hours), asdict(page.answers))
    assert (result["images"], result["pilot_images"], result["sampled"]) == (22, 20, 0)
    assert response["readiness"] == [asdict(line) for line in readiness(plan)] and response["ready"] is True
    assert response["workers"] == {"least": 5, "enough": 6} == asdict(plan.crowd_size())
    assert not Campaign.objects.exists() and not Job.objects.exists()


def test_hours_and_cost_have_an_interval_and_follow_the_pay(ada: Caller) -> None:
    settings = {"pay": {"basis": "hour", "hourly": 12.0, "currency": "EUR"}}
    response = ada.post("campaign-plans", {**PLAN, "campaign_settings": settings}).json()["estimate"]
    hours, cost = response["hours"], {name: float(text) for name, text in response["cost"].items()}
    assert 0 < hours["low"] < hours["value"] < hours["high"] and response["sampled"] >= 4
    assert cost["value"] == pytest.approx(12 * hours["value"], abs=0.01) and response["currency"] == "EUR"


def test_what_is_missing_is_a_line_of_its_own(ada: Caller) -> None:
    response = ada.post("campaign-plans", {**PLAN, "unpaid": False}).json()
    assert response["ready"] is False
    assert [line["step"] for line in response["readiness"] if line["state"] == "missing"] == ["pay"]
    response = ada.post("campaign-plans", {**PLAN, "known": "nothing", "split": "nothing"}).json()
    assert {line["step"] for line in response["readiness"] if line["state"] == "missing"} == {
        "corpus",
        "test",
    }
    assert fields(ada.post("campaign-plans", {**PLAN, "corpus": "nothing"})) == ["corpus"]


def test_gold_answers_make_a_test_and_control_items_and_the_campaign_is_open_to_all(ada: Caller) -> None:
    answer = ada.post("campaigns", {**PLAN, "known": "import", "open_to_all": True, "images": 3})
    assert answer.status_code == 201, answer.content
    jobs.run_queued_job(answer.json()["job"]["number"])
    campaign = Campaign.objects.get()
    assert (campaign.state, campaign.open_to_all) == ("open", True)
    assert settings_of(campaign.settings).trust.qualification
    assert set(Control.objects.values_list("source", "purpose")) == {
        ("gold", "control"),
        ("gold", "qualification"),
    }
    assert OpenImage.objects.count() == 3


def test_images_are_drawn_by_tags(ada: Caller) -> None:
    corpus = Corpus.objects.get(name="streets")
    keys = list(corpus.images.order_by("position").values_list("key", flat=True))
    tags = [(key, [("dog", 0.5)] if number < 3 else []) for number, key in enumerate(keys)]
    save_tags(corpus=corpus, images=tags, unit="nouns", alpha=0.75)
    form_data = {**PLAN, "tags": ["dog"], "known": "import"}
    assert ada.post("campaign-plans", form_data).json()["estimate"]["images"] == 3
    jobs.run_queued_job(ada.post("campaigns", form_data).json()["job"]["number"])
    assert set(OpenImage.objects.values_list("image__key", flat=True)) == set(keys[:3])
    assert fields(ada.post("campaigns", {**PLAN, "tags": ["dog", "zebra"]})) == ["tags"]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"tags": ["dog and"]}, ["tags"]),
        ({"known": "nothing"}, ["known"]),
        ({"split": "nothing", "known": "nothing"}, ["split", "known"]),
        ({"tasks": "nothing"}, ["tasks"]),
    ],
)
def test_what_the_pages_refuse_the_call_refuses_and_names(
    ada: Caller, more: dict[str, Any], error: list[str]
) -> None:
    assert fields(ada.post("campaigns", {**PLAN, **more})) == error
    assert not Campaign.objects.exists() and not Job.objects.exists()


def test_a_test_is_not_asked_for_and_switched_off_at_once(ada: Caller) -> None:
    off = {"trust": {"qualification": False}}
    form_data = {**PLAN, "known": "import", "campaign_settings": off}
    assert fields(ada.post("campaigns", form_data)) == ["known"]
    assert not Campaign.objects.exists()
