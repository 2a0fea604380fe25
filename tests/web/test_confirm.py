"""Actions that require the password again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.common import database
from annotation.common.roles import ADMIN, REVIEWER
from annotation.models import Account, AuditEntry, RoleGrant
from annotation.web.common.confirm import PASSWORD_FIELD
from annotation.workers import sessions
from annotation.workers.sessions import CONFIRM_SECONDS
from tests.web import world as people
from tests.web.staff import forms, messages_on, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    """An admin who signed in some time ago."""
    people.account("bob")
    client = Client()
    client.force_login(people.account("ada", ADMIN))
    return client


def grant(client: Client, **more: str) -> Any:
    form_data = {"account": "bob", "role": REVIEWER, "next": reverse("roles"), **more}
    return client.post(reverse("operation", args=["grant_role"]), form_data)


def granted() -> bool:
    return RoleGrant.objects.filter(account__username="bob").exists()


def test_an_act_asks_for_the_password_and_does_what_was_sent_once_it_is_right(admin: Client):
    response = grant(admin)
    assert response.status_code == 200 and not granted()
    form = next(form for form in forms(response) if PASSWORD_FIELD in form.fields)
    assert (form.fields["role"], form.fields["account"]) == ([REVIEWER], ["bob"])
    payload = {name: values[0] for name, values in form.fields.items()}
    response = admin.post(form.action, {**payload, PASSWORD_FIELD: "wrong"})
    assert response.status_code == 422 and "This is not your password" in words(response) and not granted()
    done = admin.post(form.action, {**payload, PASSWORD_FIELD: people.PASSWORD}, follow=True)
    assert messages_on(done) == ["They have this role now."] and granted()


def test_it_is_asked_once_in_five_minutes(admin: Client, monkeypatch: pytest.MonkeyPatch):
    assert grant(admin, confirm_password=people.PASSWORD).status_code == 302
    assert grant(admin).status_code == 302
    later = timezone.now() + timedelta(seconds=CONFIRM_SECONDS + 1)
    monkeypatch.setattr(database, "now", lambda: later)
    assert grant(admin).status_code == 200


def test_who_has_just_signed_in_is_not_asked(admin: Client):
    client = Client()
    client.post(reverse("sign_in"), {"username": "ada", "password": people.PASSWORD})
    assert grant(client).status_code == 302 and granted()


def test_guessing_at_it_is_as_slow_as_at_the_sign_in(admin: Client):
    answers = [grant(admin, confirm_password=f"guess {n}").status_code for n in range(6)]
    assert answers == [422] * 5 + [429]
    assert grant(admin, confirm_password=people.PASSWORD).status_code == 429 and not granted()


def test_a_session_from_a_platform_never_passes(admin: Client):
    session = people.confirm(admin).session
    session[sessions.VISIT] = 1
    session.save()
    assert grant(admin, confirm_password=people.PASSWORD).status_code == 403 and not granted()


def test_who_may_not_act_is_not_asked():
    client = Client()
    client.force_login(people.account("eve", REVIEWER))
    assert grant(client, confirm_password=people.PASSWORD).status_code == 403


def test_the_password_goes_nowhere_else(admin: Client):
    assert grant(admin, account="nobody", confirm_password=people.PASSWORD).status_code == 400
    page = admin.get(reverse("roles")).content.decode()
    assert people.PASSWORD not in page
    assert people.PASSWORD not in str(list(AuditEntry.objects.values()))


def test_staff_without_a_password_are_told_to_set_one(admin: Client):
    account = Account.objects.get(username="ada")
    account.set_unusable_password()
    account.save()
    admin.force_login(account)
    answer = grant(admin)
    assert answer.status_code == 409 and "set one first" in words(answer) and not granted()


def change_address(client: Client, email: str, **more: str) -> Any:
    return client.post(reverse("account_mail"), {"email": email, **more})


def test_another_email_address_asks_for_the_password_and_is_on_record_without_the_address(admin: Client):
    response = change_address(admin, "thief@example.org")
    assert "Confirm your password" in words(response) and Account.objects.get(username="ada").email == ""
    done = change_address(admin, "ada@example.org", confirm_password=people.PASSWORD)
    assert done.status_code == 302 and Account.objects.get(username="ada").email == "ada@example.org"
    entry = AuditEntry.objects.get(act="change_email")
    assert (entry.actor_name, entry.about) == ("ada", {"account": "ada"})


def test_who_keeps_the_address_is_asked_for_nothing(admin: Client):
    Account.objects.filter(username="ada").update(email="ada@example.org")
    assert change_address(admin, " ada@example.org", messages="yes").status_code == 302
    assert Account.objects.get(username="ada").mails_messages
    assert not AuditEntry.objects.filter(act="change_email").exists()
