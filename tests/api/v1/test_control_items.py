"""Control items in the API: listed with their numbers, created as on the page, retired."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.common import database
from annotation.models import Assignment, Campaign, Control
from annotation.protocol import questions as q
from annotation.workers.accounts import granting
from tests.api.v1.conftest import Caller
from tests.factories import a_corpus, some_images
from tests.review.world import HAT, MAN, THE_MAN, a_man, the_world
from tests.web import world as people

pytestmark = pytest.mark.django_db

ITEMS = "campaigns/review/control-items"
LINK = {
    "kind": q.COREF_LINK,
    "purpose": "control",
    "image": "man",
    "mentions": [MAN, THE_MAN],
    "answer": "yes",
}
BOX = [30, 10, 60, 30]


@pytest.fixture
def world() -> Any:
    return the_world([a_man("man"), a_man("other")])


@pytest.fixture
def ada(world: Any) -> Caller:
    return Caller(people.account("ada", "researcher"))


def test_an_item_made_by_hand_is_listed_with_the_number_by_which_it_is_retired(ada: Caller) -> None:
    drawing = {"kind": q.BOX_DRAWING, "purpose": "qualification", "image": "man", "mentions": [HAT]}
    form_data = {"items": [{**LINK, "explanation": "one man"}, {**drawing, "drawn": [BOX]}]}
    assert ada.post(ITEMS, form_data).json() == {"added": 2, "there": 0, "skipped": []}
    assert ada.post(ITEMS, form_data).json() == {"added": 0, "there": 2, "skipped": []}
    row = Control.objects.get(kind=q.COREF_LINK)
    assert (row.known, row.source, row.explanation, str(row.created_by)) == ("yes", "api", "one man", "ada")
    drawn, link = ada.get(ITEMS).json()["results"]
    assert (link["number"], link["answer"], link["mentions"]) == (row.pk, "yes", [MAN, THE_MAN])
    assert (drawn["answer"], drawn["drawn"], drawn["image"], drawn["in_use"]) == ("drawn", [BOX], "man", True)
    assert [result["number"] for result in ada.get(ITEMS, kind=q.COREF_LINK).json()["results"]] == [row.pk]
    assert ada.get(ITEMS, purpose="qualification").json()["results"] == [drawn]
    assert ada.post(f"{ITEMS}/{link['number']}/retire", {}).status_code == 200
    assert ada.get(ITEMS).json()["results"] == [drawn]
    assert ada.get(ITEMS, retired="true").json()["results"] == [{**link, "in_use": False}]
    (count,) = ada.get(f"{ITEMS}/counts").json()["counts"]
    assert (count["kind"], count["items"]) == (q.BOX_DRAWING, 1)


def test_the_list_says_how_many_answers_were_right(ada: Caller, world: Any) -> None:
    assert ada.post(ITEMS, {"items": [LINK]}).status_code == 200
    item, at = Control.objects.get(), database.now()
    for worker, right in zip(world.workers, (True, False, True), strict=False):
        Assignment.objects.create(
            campaign=item.campaign,
            worker_id=worker,
            kind=item.kind,
            control=item,
            role="control",
            state=Assignment.SUBMITTED,
            right=right,
            leased_at=at,
            expires_at=at,
            ended_at=at,
        )
    (result,) = ada.get(ITEMS).json()["results"]
    assert (result["right"], result["answers"]) == (2, 3)


def test_items_that_cannot_be_are_named_and_nothing_is_added(ada: Caller) -> None:
    invalid = [
        LINK,
        {**LINK, "image": "nobody"},
        {**LINK, "answer": "perhaps"},
        {**LINK, "kind": q.BOX_QUALITY, "mentions": [HAT], "answer": "good", "pending": [9, 1, 2, 4]},
    ]
    answer = ada.post(ITEMS, {"items": invalid})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    body = {error["field"]: error["detail"] for error in answer.json()["errors"]}
    assert list(body) == ["items.1", "items.2", "items.3"]
    assert "nobody" in body["items.1"] and "perhaps" in body["items.2"] and "9,1,2,4" in body["items.3"]
    assert not Control.objects.exists()


def test_a_campaign_about_no_chains_takes_none_by_hand_as_on_its_page(ada: Caller) -> None:
    Campaign.objects.create(
        name="writing", corpus=a_corpus("c", some_images(1)), tasks="captions", settings={}
    )
    answer = ada.post("campaigns/writing/control-items", {"items": [LINK]})
    assert answer.status_code == 409 and "cannot be added by hand" in answer.json()["detail"]


def test_who_may_not_run_the_campaign_reads_no_gold_answer(ada: Caller, world: Any) -> None:
    account = people.account("eve")
    granting.grant(account=account, role="reviewer", campaign=Campaign.objects.get(name="review"))
    eve = Caller(account)
    for path in (ITEMS, f"{ITEMS}/counts"):
        assert (eve.get(path).status_code, eve.get(path).json()["code"]) == (403, "no_role")
