"""Invitation links: who can use them, and when they stop working."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation import instructions
from annotation.common import database
from annotation.models import Account, AuditEntry, Campaign, Consent, Invitation, Worker
from annotation.web.common import limits
from annotation.workers import invitations
from phrasebox.errors import PhraseboxError
from tests.queue.world import World
from tests.web import world as people
from tests.web.staff import forms, messages_on, press, words

pytestmark = pytest.mark.django_db
PASSWORD = "a-Rather-good-one-5"
AT_ONCE, OWN_ACCOUNT = "I agree: begin at once", "I agree: create my account"


@pytest.fixture
def work() -> World:
    world = World()
    instructions.publish_text(
        campaign=world.campaign, kind=instructions.CONSENT, text="You agree to be kind."
    )
    return world


def link(work: World, **about: Any) -> str:
    invitation = invitations.make_invitation(campaign=work.campaign, **about)
    return reverse("invite", args=[invitations.invitation_token(invitation)])


def begin_at_once(address: str) -> Client:
    client = Client()
    page = press(client, address, AT_ONCE)
    assert page.status_code == 200, words(page)
    return client


def newest() -> Account:
    account = Account.objects.order_by("pk").last()
    assert account
    return account


def test_one_agrees_and_begins_at_once(work: World):
    client = Client()
    address = link(work)
    assert "You agree to be kind." in words(client.get(address))
    page = press(client, address, AT_ONCE)
    account = newest()
    worker = Worker.objects.get(identity__account=account)
    assert account.username == worker.pseudonym and worker.pseudonym in words(page)
    assert list(account.roles.values_list("role", flat=True)) == ["annotator"]
    assert Consent.objects.get().worker == worker
    tasks = client.get(reverse("tasks"))
    assert tasks.status_code == 200 and "quay" in words(tasks)


def test_the_return_code_leads_back_from_another_browser(work: World):
    client = Client()
    page = press(client, link(work), AT_ONCE)
    code = re.search(r"(?:[2-9a-z]{4}-){3}[2-9a-z]{4}", words(page))
    assert code
    again = Client().post(reverse("sign_in"), {"username": newest().username, "password": code[0]})
    assert again["Location"] == reverse("home")
    assert code[0] not in newest().password


def test_who_began_at_once_is_signed_out_with_the_browser(work: World):
    assert begin_at_once(link(work)).session.get_expire_at_browser_close()


def test_one_makes_an_account_of_ones_own(work: World):
    client = Client()
    page = press(client, link(work), OWN_ACCOUNT, username="olga", password1=PASSWORD, password2=PASSWORD)
    assert page.request["PATH_INFO"] == reverse("tasks")
    worker = Worker.objects.get(identity__account__username="olga")
    assert worker.pseudonym != "olga" and Consent.objects.get().worker == worker
    assert Client().login(username="olga", password=PASSWORD)


@pytest.mark.parametrize("name", ["Ann", "w-somebody", "W-somebody", "a b", ""])
def test_a_name_that_cannot_be_is_refused_and_the_link_is_not_used(work: World, name: str):
    people.account("ann", "annotator")
    address = link(work, uses=1)
    fields = {
        "act": "account",
        "username": name,
        "password1": PASSWORD,
        "password2": PASSWORD,
        "version": "1",
    }
    answer = Client().post(address, fields)
    assert answer.status_code == 422 and 'role="alert"' in answer.content.decode()
    assert Invitation.objects.get().used == 0 and Account.objects.count() == 1


def test_a_weak_password_is_refused(work: World):
    answer = Client().post(
        link(work), {"act": "account", "username": "olga", "password1": "12345678", "password2": "12345678"}
    )
    assert answer.status_code == 422 and not Account.objects.exists()


def test_a_text_that_changed_meanwhile_is_read_again(work: World):
    address = link(work, uses=1)
    instructions.publish_text(
        campaign=work.campaign, kind=instructions.CONSENT, text="You agree to be very kind."
    )
    answer = Client().post(address, {"act": "once", "version": "1"})
    assert answer.status_code == 409 and "You agree to be very kind." in words(answer)
    assert Invitation.objects.get().used == 0 and not Account.objects.exists()


def test_a_campaign_without_consent_asks_for_none(work: World):
    instructions.publish_text(campaign=work.campaign, kind=instructions.CONSENT, text="")
    press(Client(), link(work), "Begin at once")
    assert Account.objects.count() == 1 and not Consent.objects.exists()


# When it stops working


def test_a_used_up_link_says_so_and_whom_to_ask(work: World):
    address = link(work, uses=1)
    begin_at_once(address)
    answer = Client().get(address)
    assert answer.status_code == 410
    assert "used as often as it may be. Ask the sender" in words(answer)
    assert Client().post(address, {"act": "once", "version": "1"}).status_code == 410
    assert Account.objects.count() == 1


def test_of_two_who_come_for_the_last_place_one_gets_it(work: World):
    row = invitations.make_invitation(campaign=work.campaign, uses=1)
    invitations.accept_invitation(invitation=row, version=1)
    with pytest.raises(PhraseboxError, match="used as often as it may be"):
        invitations.accept_invitation(invitation=row, version=1)
    assert Account.objects.count() == 1


def test_an_expired_link_says_so(work: World, monkeypatch: pytest.MonkeyPatch):
    address = link(work, expires_at=database.now() + timedelta(days=1))
    assert Client().get(address).status_code == 200
    tomorrow = database.now() + timedelta(days=1, seconds=1)
    monkeypatch.setattr(database, "now", lambda: tomorrow)
    answer = Client().get(address)
    assert answer.status_code == 410 and "has expired" in words(answer)


def test_a_revoked_link_says_so_and_who_came_stays(work: World):
    address = link(work)
    client = begin_at_once(address)
    invitations.revoke_invitation(invitation=Invitation.objects.get())
    assert "was revoked" in words(Client().get(address))
    assert client.get(reverse("tasks")).status_code == 200


def test_a_link_to_a_closed_campaign_says_so(work: World):
    address = link(work)
    Campaign.objects.update(state=Campaign.CLOSED)
    assert "is closed" in words(Client().get(address))


def test_a_link_cannot_be_made_up(work: World):
    link(work)
    row = Invitation.objects.get()
    for token in (str(row.pk), f"{row.pk}:forged", "nothing", f"{row.pk + 1}:{'a' * 43}"):
        answer = Client().get(reverse("invite", args=[token]))
        assert answer.status_code == 410 and "incomplete" in words(answer)


def test_who_is_signed_in_keeps_the_account_they_have(work: World):
    address = link(work, uses=1)
    client = people.signed_in("ann", "annotator")
    page = client.get(address)
    assert "signed in already, as ann" in words(page)
    out = press(client, address, "Sign out and open the invitation")
    assert out.request["PATH_INFO"] == address and AT_ONCE in words(out)
    assert Account.objects.count() == 1 and Invitation.objects.get().used == 0


def test_who_is_signed_in_may_work_on_the_campaign_with_the_account_they_have(work: World):
    work.campaign.open_to_all = False
    work.campaign.save()
    address, client = link(work, uses=1), people.signed_in("ann", "annotator")
    assert client.get(reverse("task_consent", args=[work.campaign.name])).status_code == 404
    press(client, address, "Work on it with this account")
    client.post(address)  # a second use has no effect
    assert client.get(reverse("task_consent", args=[work.campaign.name])).status_code == 200
    assert Account.objects.count() == 1 and Invitation.objects.get().used == 1
    late = people.signed_in("bob", "annotator")
    assert late.post(address).status_code == 410
    assert not late.get("/api/tasks").json()["tasks"]


def test_the_language_of_a_link_is_kept_by_the_browser(work: World, settings: Any):
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    answer = Client().get(link(work, language="de"))
    assert answer.cookies[settings.LANGUAGE_COOKIE_NAME].value == "de"
    assert '<html lang="de">' in answer.content.decode()


def test_accounts_are_not_made_without_end(work: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "ENTRY_ADDRESS", limits.ENTRY_ADDRESS._replace(most=2))
    address = link(work)
    begin_at_once(address)
    begin_at_once(address)
    assert Client().post(address, {"act": "once", "version": "1"}).status_code == 429
    assert Account.objects.count() == 2


# Researchers


@pytest.fixture
def ada() -> Client:
    return people.signed_in("ada", "researcher")


def test_a_researcher_makes_a_link_and_copies_it(work: World, ada: Client):
    page = press(ada, reverse("entry", args=["quay"]), "Create a link", label="course 7", uses="30")
    row = Invitation.objects.get()
    assert (row.label, row.uses, row.created_by.username) == ("course 7", 30, "ada")  # type: ignore[union-attr]
    address = f"http://testserver{reverse('invite', args=[invitations.invitation_token(row)])}"
    assert address in words(page)
    assert "course 7" not in words(Client().get(address))


def test_a_researcher_takes_a_link_back(work: World, ada: Client):
    address = link(work)
    page = press(ada, reverse("entry", args=["quay"]), "Revoke")
    assert messages_on(page) == ["Link revoked."]
    assert Client().get(address).status_code == 410
    assert set(AuditEntry.objects.values_list("act", flat=True)) >= {"invite", "revoke_invitation"}


def test_a_link_holds_until_the_end_of_its_day(work: World, ada: Client):
    press(ada, reverse("entry", args=["quay"]), "Create a link", until="2999-12-31")
    until = Invitation.objects.get().expires_at
    assert until and until.isoformat().startswith("2999-12-31T23:59:59")


@pytest.mark.parametrize(
    ("field", "value", "message", "status"),
    [
        ("uses", "many", "Expected a whole number", 400),
        ("uses", "0", "Expected 1 or more", 400),
        ("until", "tomorrow", "Expected a date", 400),
        ("until", "2020-01-01", "expired already", 409),
        ("language", "xx", "Expected one of", 400),
    ],
)
def test_what_makes_no_sense_is_said(
    work: World, ada: Client, field: str, value: str, message: str, status: int
):
    form_data = {"campaign": "quay", "label": "course <7>", field: value}
    page = ada.post(reverse("operation", args=["make_invitation"]), form_data)
    assert page.status_code == status and message in words(page)
    (form,) = (item for item in forms(page) if "label" in item.fields)
    assert form.fields["label"] == ["course <7>"]
    assert not Invitation.objects.exists()


def test_a_refused_study_keeps_what_was_typed(work: World, ada: Client):
    entry = reverse("entry", args=["quay"])
    form_data = {"platform": "mturk", "study": "5f", "answers": "30"}
    form_data |= {"completion_code": "XY", "screen_out_code": "Z"}
    page = press(ada, entry, "Save the study", **form_data)
    assert page.status_code == 409 and "has no id" in words(page)
    (study,) = (form for form in forms(page) if "study" in form.fields)
    assert {name: study.fields[name] for name in form_data} == {
        name: [typed] for name, typed in form_data.items()
    }


def test_a_link_of_another_campaign_is_not_taken_back(work: World, ada: Client):
    world = World(name="other")
    row = invitations.make_invitation(campaign=world.campaign)
    form_data = {"campaign": "quay", "invitation": row.pk}
    assert ada.post(reverse("operation", args=["revoke_invitation"]), form_data).status_code == 400


def command(name: str, *arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(name, *arguments, "--json", stdout=out)
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def test_commands_make_list_and_revoke_links(work: World):
    created = command("make_invitation", "quay", "--uses", "2", "--until", "2999-12-31")
    assert created["address"].startswith("http://testserver/invite/") and created["uses"] == 2
    begin_at_once(created["address"].removeprefix("http://testserver"))
    (listed,) = command("list_invitations", "quay")["results"]
    assert (listed["used"], listed["over"]) == (1, "")
    command("revoke_invitation", "quay", str(created["number"]))
    (revoked,) = command("list_invitations", "quay")["results"]
    assert "revoked" in revoked["over"]
    with pytest.raises(CommandError, match="no invitation “99”"):
        command("revoke_invitation", "quay", "99")
