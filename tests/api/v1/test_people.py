"""Accounts and the audit in the API, for admins of the whole server."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from annotation.common.roles import ADMIN, ANNOTATOR, RESEARCHER, REVIEWER
from annotation.models import Account, AuditEntry, Corpus
from annotation.workers.accounts import granting
from tests.api.v1.conftest import Caller
from tests.factories import a_corpus, some_images
from tests.web import world as web

pytestmark = pytest.mark.django_db


@pytest.fixture
def root() -> Caller:
    return Caller(web.account("root", ADMIN))


@pytest.fixture
def harbour() -> Corpus:
    return a_corpus("harbour", some_images(1))


def codes(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_accounts_are_listed_with_their_roles_and_filtered(root: Caller, harbour: Corpus) -> None:
    bob = web.account("bob", REVIEWER)
    granting.grant(account=bob, role=RESEARCHER, corpus=harbour)
    web.account("ann", ANNOTATOR)
    rows = {row["username"]: row for row in root.get("people").json()["results"]}
    assert set(rows) == {"root", "bob", "ann"}
    assert rows["bob"]["roles"] == [
        {"role": REVIEWER, "corpus": None, "campaign": None},
        {"role": RESEARCHER, "corpus": "harbour", "campaign": None},
    ]
    assert (rows["bob"]["active"], rows["bob"]["second_factor"]) == (True, False)
    assert not any("password" in name or "secret" in name for name in rows["bob"])
    assert [row["username"] for row in root.get("people", who="annotators").json()["results"]] == ["ann"]
    assert root.get("people/bob").json() == rows["bob"]
    assert codes(root.get("people/nobody")) == (404, "unknown")


def test_an_account_is_deactivated_and_let_in_again(root: Caller) -> None:
    bob = Caller(web.account("bob", RESEARCHER))
    assert bob.get("me").status_code == 200
    assert root.post("people/bob/deactivate", {}).json()["changed"] is True
    assert root.post("people/bob/deactivate", {}).json()["changed"] is False
    assert codes(bob.get("me")) == (401, "signed_out")
    assert root.post("people/bob/reactivate", {}).json()["changed"] is True
    assert codes(root.post("people/root/deactivate", {})) == (409, "refused")
    response = root.get("audit", group="people", account="bob").json()["results"]
    assert [row["act"] for row in response] == ["reactivate_account", "deactivate_account"]
    assert {row["actor"] for row in response} == {"root"}


def test_a_session_is_asked_for_the_password_first() -> None:
    client = Client()
    client.force_login(web.account("root", ADMIN))
    web.account("bob", RESEARCHER)
    address = "/api/v1/people/bob/deactivate"
    assert codes(client.post(address, "{}", content_type="application/json")) == (403, "not_confirmed")
    web.confirm(client)
    assert client.post(address, "{}", content_type="application/json").json()["changed"] is True


def test_admins_of_less_than_the_server_and_limited_tokens_see_nobody(root: Caller, harbour: Corpus) -> None:
    eve = web.account("eve")
    granting.grant(account=eve, role=ADMIN, corpus=harbour)
    web.account("bob", RESEARCHER)
    limited = Caller(Account.objects.get(username="root"), corpus=harbour)
    for caller in (Caller(eve), limited):
        for path in ("people", "people/bob", "audit"):
            assert codes(caller.get(path)) == (403, "no_role"), path
        assert codes(caller.post("people/bob/deactivate", {})) == (403, "no_role")
    assert not AuditEntry.objects.filter(act="deactivate_account").exists()
