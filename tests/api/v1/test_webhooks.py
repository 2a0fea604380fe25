"""Webhooks in the API: the secret is returned once and not stored, and a token's rights limit what it may
create."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import Account, RepeatableCall, RoleGrant, Webhook
from annotation.notifications.receivers import secret_of
from tests.api.v1.conftest import Caller
from tests.factories import a_corpus, some_images
from tests.web import world as web

pytestmark = pytest.mark.django_db
WEBHOOK = {"name": "bot", "address": "https://hooks.example.org/", "events": ["job.ended"]}


@pytest.fixture
def ada(data: Any) -> Caller:
    return Caller(web.account("ada", "researcher"))


def test_the_secret_is_answered_once_and_not_kept_with_the_key_of_the_call(ada: Caller) -> None:
    first = ada.post("webhooks", WEBHOOK, **{"Idempotency-Key": "one"})
    secret = first.json()["secret"]
    assert first.status_code == 201 and secret == secret_of(Webhook.objects.get().salt)
    assert secret not in RepeatableCall.objects.get().body
    again = ada.post("webhooks", WEBHOOK, **{"Idempotency-Key": "one"})
    assert again["Idempotent-Replayed"] == "true" and Webhook.objects.count() == 1
    assert again.json() == {**first.json(), "secret": None}
    assert "secret" not in ada.get(f"webhooks/{first.json()['number']}").json()


def test_a_token_for_one_corpus_makes_and_sees_webhooks_of_that_alone(ada: Caller) -> None:
    corpus = a_corpus("photos", some_images(1))
    a_corpus("other", some_images(1))
    reply = ada.post("webhooks", {**WEBHOOK, "corpus": "other"}).json()
    narrow = Caller(Account.objects.get(username="ada"), corpus=corpus)
    assert narrow.post("webhooks", WEBHOOK).status_code == 403
    assert narrow.post("webhooks", {**WEBHOOK, "corpus": "other"}).status_code == 400
    response = narrow.post("webhooks", {**WEBHOOK, "corpus": "photos"}).json()
    assert [result["number"] for result in narrow.get("webhooks").json()["results"]] == [response["number"]]
    assert narrow.get(f"webhooks/{reply['number']}").status_code == 404
    assert narrow.send("DELETE", f"webhooks/{reply['number']}").status_code == 404


def test_a_webhook_is_shown_as_one_that_sends_nothing_once_its_owner_lost_the_role(ada: Caller) -> None:
    number = ada.post("webhooks", WEBHOOK).json()["number"]
    eve = Caller(web.account("eve", "researcher"))
    RoleGrant.objects.filter(account__username="ada").delete()
    assert eve.get(f"webhooks/{number}").json()["sends"] is False
    assert eve.post(f"webhooks/{number}/test").status_code == 409
    assert eve.send("PATCH", f"webhooks/{number}", {"active": True}).json()["owner"] == "eve"
    assert eve.post(f"webhooks/{number}/test").json()["state"] == "waiting"


@pytest.mark.parametrize("address", ["http://x.org/", "https://10.0.0.1/", "https://[::ffff:7f00:1]/"])
def test_an_address_that_is_not_on_the_internet_is_refused(ada: Caller, address: str) -> None:
    answer = ada.post("webhooks", {**WEBHOOK, "address": address})
    assert (answer.status_code, answer.json()["field"]) == (400, "address")


def test_the_state_of_the_server_is_for_admins(ada: Caller) -> None:
    assert ada.get("server").status_code == 403
    root = Caller(web.account("root", "admin"))
    response = root.get("server").json()
    assert response["disk_free"] > 0 and {"deliver_webhooks", "sweep_jobs"} <= {
        item["name"] for item in response["periodic"]
    }
    assert root.post("server/test-mail").status_code == 409  # without an address
