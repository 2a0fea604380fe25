"""Signing in and out."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.web import world

pytestmark = pytest.mark.django_db
ADDRESS = "/sign-in/"


def send(client: Client, username: str, password: str, **more: str):
    return client.post(ADDRESS, {"username": username, "password": password, **more})


@pytest.fixture
def ada() -> None:
    world.account("ada", "researcher")


def test_the_right_password_leads_home(ada: None):
    assert send(Client(), "ada", world.PASSWORD)["Location"] == reverse("home")


def test_the_right_password_leads_to_where_one_was_going(ada: None):
    page = Client().get(reverse("corpus", args=["scenes"]), follow=True).content.decode()
    assert 'name="next" value="/corpora/scenes/"' in page
    assert send(Client(), "ada", world.PASSWORD, next="/corpora/scenes/")["Location"] == "/corpora/scenes/"


@pytest.mark.parametrize(
    "elsewhere",
    ["https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere.example", "javascript:alert(1)"],
)
def test_next_does_not_lead_off_this_host(ada: None, elsewhere: str):
    assert send(Client(), "ada", world.PASSWORD, next=elsewhere)["Location"] == reverse("home")


@pytest.mark.parametrize("nowhere", ["campaigns", "a\0b", "0", "Infinity", "+1"])
def test_next_is_an_address_and_no_name_of_a_page(ada: None, nowhere: str):
    assert send(Client(), "ada", world.PASSWORD, next=nowhere)["Location"] == reverse("home")


def test_next_does_not_lead_a_signed_in_visitor_in_a_circle(ada: None):
    client = Client()
    send(client, "ada", world.PASSWORD)
    assert client.get(f"{ADDRESS}?next={ADDRESS}")["Location"] == reverse("home")


def test_what_is_wrong_is_not_told(ada: None):
    lines = []
    for name, password in (("ada", "wrong"), ("nobody-of-this-name", "wrong")):
        answer = send(Client(), name, password)
        assert answer.status_code == 200
        lines.append(answer.content.decode().replace(f'value="{name}"', ""))
        assert 'role="alert"' in lines[-1]
    first, second = ([line for line in page.splitlines() if "csrf" not in line] for page in lines)
    assert first == second


def test_a_suspended_account_gets_the_same_words_as_a_wrong_password():
    account = world.account("sid", "researcher")
    account.is_active = False
    account.save()
    assert "User name or password is wrong" in send(Client(), "sid", world.PASSWORD).content.decode()


def test_a_hostile_user_name_comes_back_escaped():
    page = send(Client(), '"><script>alert(1)</script>', "x").content.decode()
    assert "<script>alert" not in page


def test_without_its_token_the_form_is_refused_calmly(ada: None):
    answer = send(Client(enforce_csrf_checks=True), "ada", world.PASSWORD)
    assert answer.status_code == 403
    assert "Please send that again" in answer.content.decode()


def test_signing_out_ends_the_session(ada: None):
    client = Client()
    send(client, "ada", world.PASSWORD)
    assert client.get(reverse("home")).status_code == 200
    client.post(reverse("sign_out"))
    assert client.get(reverse("home")).status_code == 302
