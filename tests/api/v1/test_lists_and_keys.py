"""Lists and their cursors, idempotency keys, and the format of errors."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Campaign, Corpus, Job, RepeatableCall
from annotation.selectors.campaign import cached
from annotation.workers.repeated_calls import prune_repeated_calls
from tests import worlds
from tests.api.v1.conftest import Caller
from tests.factories import a_corpus, some_images
from tests.web import world as web

pytestmark = pytest.mark.django_db
DRAFT = {"name": "quay", "corpus": "harbour", "tasks": "captions", "unpaid": True}


@pytest.fixture
def harbour(db: None) -> Corpus:
    def build() -> Corpus:
        a_corpus("other", some_images(7))
        return a_corpus("harbour", some_images(7))

    return worlds.again("two corpora of seven images", build)


@pytest.fixture
def ada(harbour: Corpus) -> Caller:
    return Caller(web.account("ada", "researcher"))


def codes(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_a_list_is_read_page_by_page_without_gap_or_repetition(ada: Caller) -> None:
    whole = [result["key"] for result in ada.get("corpora/harbour/images").json()["results"]]
    assert len(whole) == 7
    seen, cursor = [], None
    while True:
        page = ada.get("corpora/harbour/images", limit=3, **({"cursor": cursor} if cursor else {})).json()
        seen += [result["key"] for result in page["results"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == whole


def test_a_list_has_fifty_rows_unless_told_and_two_hundred_at_most(ada: Caller, harbour: Corpus) -> None:
    Campaign.objects.bulk_create(
        Campaign(name=f"c{n:03}", corpus=harbour, tasks="captions", settings={}) for n in range(60)
    )
    assert len(ada.get("campaigns").json()["results"]) == 50
    assert len(ada.get("campaigns", limit=200).json()["results"]) == 60
    for limit in ("201", "0", "-1", "x", "1e3"):
        answer = ada.get("campaigns", limit=limit)
        assert codes(answer) == (400, "bad_request") and answer.json()["errors"][0]["field"] == "limit"


def test_a_cursor_is_good_for_its_own_list_alone(ada: Caller) -> None:
    cursor = ada.get("corpora/harbour/images", limit=2).json()["next"]
    for path, more in (
        ("corpora/other/images", {}),
        ("corpora/harbour/images", {"split": "test"}),
        ("corpora/harbour/layers", {}),
        ("campaigns", {}),
    ):
        answer = ada.get(path, cursor=cursor, **more)
        assert codes(answer) == (400, "bad_cursor"), path
        assert answer.json()["errors"][0]["field"] == "cursor"
    eve = Caller(web.account("eve", "researcher"))
    assert codes(eve.get("corpora/harbour/images", cursor=cursor)) == (400, "bad_cursor")
    for spoilt in (cursor[:-1], f"x{cursor}", "x", "W10:1:2"):
        assert codes(ada.get("corpora/harbour/images", cursor=spoilt)) == (400, "bad_cursor")
    assert ada.get("corpora/harbour/images", cursor=cursor, limit=5).status_code == 200


def test_a_call_under_a_key_is_done_once_and_answered_the_same(ada: Caller) -> None:
    key = {"Idempotency-Key": "k-1"}
    first, again = (ada.post("campaigns", DRAFT, **key) for _ in range(2))
    assert (first.status_code, first.json(), first["Location"]) == (201, again.json(), again["Location"])
    assert again["Idempotent-Replayed"] == "true" and "Idempotent-Replayed" not in first.headers
    assert Campaign.objects.count() == 1 and Job.objects.count() == 1


def test_another_call_under_the_same_key_is_refused(ada: Caller) -> None:
    key = {"Idempotency-Key": "k-1"}
    assert ada.post("campaigns", DRAFT, **key).status_code == 201
    assert codes(ada.post("campaigns", {**DRAFT, "name": "pier"}, **key)) == (409, "key_reused")
    assert ada.post("campaigns", {**DRAFT, "name": "pier"}, **{"Idempotency-Key": "k-2"}).status_code == 201
    assert ada.post("campaigns/quay/close", {}, **key).status_code == 200, "another route has keys of its own"
    assert codes(ada.post("campaigns/pier/close", {}, **key)) == (409, "key_reused"), (
        "another address is another call"
    )


def test_a_key_belongs_to_its_account(ada: Caller) -> None:
    key = {"Idempotency-Key": "k-1"}
    assert ada.post("campaigns", DRAFT, **key).status_code == 201
    eve = Caller(web.account("eve", "researcher"))
    answer = eve.post("campaigns", {**DRAFT, "name": "pier"}, **key)
    assert answer.status_code == 201 and answer.json()["campaign"] == "pier"


def test_a_key_belongs_to_what_its_token_is_for(ada: Caller, harbour: Corpus) -> None:
    key = {"Idempotency-Key": "k-1"}
    assert ada.post("campaigns", DRAFT, **key).status_code == 201
    narrow = Caller(ada.token.account, corpus=Corpus.objects.get(name="other"))
    assert codes(narrow.post("campaigns", DRAFT, **key)) == (400, "bad_request")
    wide = Caller(ada.token.account, corpus=harbour).post("campaigns", DRAFT, **key)
    assert wide.status_code == 201 and "Idempotent-Replayed" not in wide.headers


@pytest.mark.parametrize(
    "address", ["v1/jobs/-1", "assignments/-1/answer", "v1/corpora/a%01b", "v1/corpora/a%0Ab"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_address_of_nothing_is_a_problem(ada: Caller, address: str, method: str) -> None:
    answer = ada.client.generic(method, f"/api/{address}")
    assert (answer.status_code, answer["Content-Type"]) in [
        (status, "application/problem+json") for status in (404, 405)
    ]


def test_a_call_that_failed_leaves_its_key_free(ada: Caller) -> None:
    key = {"Idempotency-Key": "k-1"}
    assert codes(ada.post("campaigns", {**DRAFT, "corpus": "nothing"}, **key)) == (400, "bad_request")
    assert not RepeatableCall.objects.exists()
    assert ada.post("campaigns", DRAFT, **key).status_code == 201


def test_a_key_is_kept_for_a_day(ada: Caller) -> None:
    key = {"Idempotency-Key": "k-1"}
    assert ada.post("campaigns", DRAFT, **key).status_code == 201
    RepeatableCall.objects.update(created_at=timezone.now() - timedelta(hours=23, minutes=59))
    prune_repeated_calls()
    assert codes(ada.post("campaigns", {**DRAFT, "name": "pier"}, **key)) == (409, "key_reused")
    RepeatableCall.objects.update(created_at=timezone.now() - timedelta(hours=24, minutes=1))
    assert ada.post("campaigns", {**DRAFT, "name": "pier"}, **key).status_code == 201
    RepeatableCall.objects.update(created_at=timezone.now() - timedelta(hours=24, minutes=1))
    prune_repeated_calls()
    assert not RepeatableCall.objects.exists()


def test_a_call_that_was_cut_off_is_not_done_again_blindly(ada: Caller) -> None:
    key = {"Idempotency-Key": "k-1"}
    assert ada.post("campaigns", DRAFT, **key).status_code == 201
    RepeatableCall.objects.update(status=0, body="")
    answer = ada.post("campaigns", DRAFT, **key)
    assert codes(answer) == (409, "still_at_work") and answer["Retry-After"]


@pytest.mark.parametrize("key", ["", " ", "a b", "ü", "x" * 101])
def test_a_key_that_is_none_is_told(ada: Caller, key: str) -> None:
    assert codes(ada.post("campaigns", DRAFT, **{"Idempotency-Key": key})) == (400, "bad_key")


def test_every_wrong_field_is_named(ada: Caller) -> None:
    answer = ada.post(
        "campaigns",
        {"name": "two words", "images": 0, "corpus": "harbour", "path": "/etc/passwd", "tasks": "captions"},
    )
    body = answer.json()
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert {error["field"] for error in body["errors"]} == {"name", "images", "path"}
    answer = ada.post("campaigns", {**DRAFT, "path": "/etc/passwd"})
    assert [error["field"] for error in answer.json()["errors"]] == ["path"], (
        "what it does not know it refuses"
    )
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", "campaigns"), ("GET", "campaigns/quay"), ("GET", "me"), ("PATCH", "campaigns/quay")),
        *(("POST", "campaigns/quay/pause"), ("DELETE", "campaigns/quay")),
    ],
)
def test_a_query_that_no_field_is_declared_for_is_refused(ada: Caller, method: str, path: str) -> None:
    assert ada.post("campaigns", DRAFT).status_code == 201
    answer = ada.send(method, f"{path}?limits=2")
    assert codes(answer) == (400, "bad_request")
    assert [error["field"] for error in answer.json()["errors"]] == ["limits"]
    assert Campaign.objects.get().state == Campaign.DRAFT, "nothing was done"


def test_figures_that_are_kept_are_counted_again_where_that_is_asked(
    ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached, "SLOW", 0.0)
    assert ada.post("campaigns", DRAFT).status_code == 201
    first = ada.get("campaigns/quay").json()["counted_at"]
    assert ada.get("campaigns/quay", fresh="false").json()["counted_at"] == first
    assert ada.get("campaigns/quay", fresh="true").json()["counted_at"] > first
    assert codes(ada.get("campaigns/quay", fresh="now")) == (400, "bad_request")


@pytest.mark.parametrize(
    "body",
    ["{", "[]", "null", '"x"', '{"name": NaN}', '{"name": "\\ud800"}', "[" * 100, '{"a": ' + "9" * 30 + "}"],
)
def test_what_is_no_json_of_ours_is_told(ada: Caller, body: str) -> None:
    answer = ada.client.generic("POST", "/api/v1/campaigns", body, "application/json")
    assert codes(answer) == (400, "bad_request")


def test_another_type_and_another_method_are_told(ada: Caller) -> None:
    answer = ada.client.generic("POST", "/api/v1/campaigns", "name=x", "application/x-www-form-urlencoded")
    assert codes(answer) == (415, "bad_type")
    answer = ada.client.post("/api/v1/campaign-plans", {"name": "x"})
    assert codes(answer) == (415, "bad_type")
    answer = ada.send("PUT", "campaigns")
    assert codes(answer) == (405, "bad_method") and "POST" in answer["Allow"]
    assert codes(ada.get("nothing/like/this")) == (404, "unknown")
    assert codes(ada.get(f"jobs/{2**63}")) == (404, "unknown")


def test_money_is_a_decimal_text_and_a_job_says_where_it_is(ada: Caller) -> None:
    assert ada.post("campaigns", DRAFT).json()["job"]["kind"] == "open_images"
    answer = ada.post("campaigns/quay/layer/refresh")
    job = ada.client.get(answer["Location"]).json()
    assert (job["number"], job["kind"], job["campaign"]) == (answer.json()["number"], "refresh_layer", "quay")
    cost = ada.get("campaigns/quay").json()["cost"]
    assert cost["earned"] == "0.00" and isinstance(cost["due"], str)


def test_a_stale_change_of_settings_is_told_from_one_that_cannot_be(ada: Caller) -> None:
    assert ada.post("campaigns", DRAFT).status_code == 201
    form_data = {"base_version": 2, "campaign_settings": {}, "unpaid": True}
    assert codes(ada.send("PATCH", "campaigns/quay/settings", form_data)) == (412, "stale")
    form_data = {"base_version": 1, "campaign_settings": {"nothing": 1}, "unpaid": True}
    assert codes(ada.send("PATCH", "campaigns/quay/settings", form_data)) == (400, "bad_request")


def test_too_many_calls_are_told_to_wait(ada: Caller, settings: Any) -> None:
    settings.API_WRITES_A_MINUTE = 2
    statuses = [ada.post("campaigns/none/close", {}).status_code for _ in range(3)]
    assert statuses == [404, 404, 429]
    settings.API_READS_A_MINUTE = 2
    answers = [ada.get("me") for _ in range(9)]
    assert answers[-1].status_code == 429 and int(answers[-1]["Retry-After"]) > 0
