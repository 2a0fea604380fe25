"""Secrets of access leave no trace in logs or in the table of sessions."""

from __future__ import annotations

import io
import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import get_resolver, reverse

from annotation.common.session_store import stored_key
from annotation.models import Account
from annotation.workers import invitations, sessions
from annotation.workers.accounts import worker_tokens
from config.logs import Discreet, JsonFormatter, without_secrets
from tests.queue.world import World
from tests.web import desk
from tests.web import world as people
from tests.web.staff import words
from tests.web.test_pictures import address_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def drawn(tmp_path: Path) -> World:
    """A campaign over pictures, in which the account ann works."""
    return desk.campaign(tmp_path)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("GET /invite/12:abc-def/ 200", "GET /invite/... 200"),
        ("GET /invite/12:abc-def 301", "GET /invite/... 301"),
        ("Forbidden: /pictures/full-1-ab.png:1a:xyz", "Forbidden: /pictures/..."),
        ("POST /forgotten/Mg/abc-123/ 200", "POST /forgotten/... 200"),
        ("GET /mturk/quay/begin/eyJ:1:x/ 302", "GET /mturk/quay/begin/... 302"),
        (
            "'GET /prolific/quay/?PROLIFIC_PID=60a1&SESSION_ID=2 HTTP/1.1'",
            "'GET /prolific/quay/... HTTP/1.1'",
        ),
        ("/sign-in/?next=%2Finvite%2F12%3Aabc", "/sign-in/?next=%2Finvite%2F..."),
        ("GET /campaigns/invite/ 200", "GET /campaigns/invite/ 200"),
        ('File "/app/annotation/crowd/invite.py", line 3', 'File "/app/annotation/crowd/invite.py", line 3'),
    ],
)
def test_a_line_of_a_log_is_cut_where_an_address_lets_somebody_in(text: str, left: str) -> None:
    assert without_secrets(text) == left
    created = logging.LogRecord("x", logging.INFO, "file", 1, "%s", (text,), None)
    assert (
        json.loads(JsonFormatter().format(created))["message"]
        == left
        == Discreet("%(message)s").format(created)
    )


def test_nothing_that_is_logged_of_a_visit_lets_anybody_in(work: World, caplog: Any) -> None:
    token = invitations.invitation_token(invitations.make_invitation(campaign=work.campaign))
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    logging.getLogger().addHandler(handler)
    try:
        with caplog.at_level(logging.INFO):
            for address in (
                f"/invite/{token}/",
                f"/invite/{token}",
                f"/invite/{token}/x/",
                f"/pictures/{token}",
            ):
                Client().get(address)
                Client(enforce_csrf_checks=True).post(address)
    finally:
        logging.getLogger().removeHandler(handler)
    assert written.getvalue().count("\n") > 8 and token.rpartition(":")[2] not in written.getvalue()


def test_the_code_with_which_one_comes_back_is_shown_and_is_readable_in_no_table(work: World) -> None:
    client = Client()
    link = reverse(
        "invite", args=[invitations.invitation_token(invitations.make_invitation(campaign=work.campaign))]
    )
    client.post(link, {"act": "once", "version": "1"})
    page = words(client.get(reverse("invite_begun")))
    name = Account.objects.latest("pk").username
    code = next(word for word in page.split() if word.count("-") == 3)
    assert Client().login(username=name, password=code)
    assert code not in str(Session.objects.get(pk=stored_key(client.session.session_key)).get_decoded())
    # Half of it is useless.
    del client.cookies["return-code"]
    assert client.get(reverse("invite_begun"))["Location"] == reverse("tasks")


# Access that ends


def test_ending_access_ends_sessions_tokens_and_addresses_of_pictures_at_once(drawn: World) -> None:
    ann, another = desk.at_work(drawn), people.signed_in("bob", "annotator")
    again = Client()
    again.force_login(Account.objects.get(username="ann"))
    account = Account.objects.get(username="ann")
    program = Client(headers={"Authorization": f"Token {worker_tokens.make_worker_token(account)}"})
    form_data = {"campaign": "quay", "kind": "coref_link"}
    held = program.post("/api/tasks/next", form_data, content_type="application/json").json()
    picture = held["image"]["picture"]
    assert program.get(picture).status_code == 200
    assert sessions.end_access(account) == (2, 1)
    assert program.get(picture).status_code == 403
    assert program.get("/api/tasks").status_code == again.get("/api/tasks").status_code == 401
    for client in (ann, again):
        assert client.get("/tasks/").status_code == 302
    assert another.get("/tasks/").status_code == 200


@pytest.mark.parametrize("lost", ["role", "account", "session"])
def test_an_address_of_a_picture_ends_with_what_it_was_made_under(tmp_path: Path, lost: str) -> None:
    people.corpus(tmp_path)
    reader = people.signed_in("rea", "researcher")
    address = address_in(reader)
    assert reader.get(address).status_code == 200
    account = Account.objects.get(username="rea")
    if lost == "role":
        account.roles.all().delete()
    elif lost == "account":
        Account.objects.update(is_active=False)
    else:
        Session.objects.all().delete()
    assert reader.get(address).status_code == 403


def test_who_reads_the_table_of_sessions_signs_in_as_nobody(drawn: World) -> None:
    client = desk.at_work(drawn)
    key = str(client.session.session_key)
    stored = Session.objects.get()
    assert key not in (stored.pk, stored.session_data)
    thief = Client()
    for address, status in (("/tasks/", 302), ("/api/tasks", 401)):
        thief.cookies["session"] = stored.pk
        assert thief.get(address).status_code == status
        thief.cookies["session"] = key
        assert thief.get(address).status_code == 200
    client.logout()
    assert not Session.objects.filter(pk=stored.pk).exists()


def test_sessions_that_are_over_go(drawn: World) -> None:
    desk.at_work(drawn)
    over = Client()
    over.force_login(Account.objects.get(username="ann"))
    of_over = stored_key(over.session.session_key)
    Session.objects.filter(pk=of_over).update(expire_date="2020-01-01T00:00:00Z")
    sessions.prune_sessions()
    assert Session.objects.count() == 1 and not Session.objects.filter(pk=of_over).exists()


def test_no_page_that_asks_for_a_sign_in_is_kept(tmp_path: Path) -> None:
    people.corpus(tmp_path)
    reader = people.signed_in("rea", "researcher")
    for address in (
        "/",
        "/campaigns/",
        "/corpora/scenes/",
        "/evaluation/",
        "/campaigns/none/",
        "/operations/open_campaign/",
    ):
        assert "no-store" in reader.get(address)["Cache-Control"], address
    assert "no-store" not in reader.get(address_in(reader))["Cache-Control"]


def ways_in() -> list[str]:
    """Return every address that contains a secret of access, made with the secret SESAME."""
    names, left = [], [("/", pattern) for pattern in get_resolver().url_patterns]
    while left:
        before, pattern = left.pop()
        route = before + re.sub(r"<(?:str:)?(?:token|way)>", "SESAME", str(pattern.pattern))
        if hasattr(pattern, "url_patterns"):
            left += [(route, item) for item in pattern.url_patterns]
        elif "SESAME" in route:
            names.append(re.sub(r"<[^>]*>", "x", route))
    return sorted(names)


def test_no_address_that_lets_its_reader_in_is_logged() -> None:
    assert len(ways_in()) >= 6
    assert [way for way in ways_in() if "SESAME" in without_secrets(f"GET {way} 200")] == []
