"""Second factors: setting up, signing in, losing one, who must have one; and attempts to bypass it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from threading import Barrier, Thread
from typing import Any

import pyotp
import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.common import database
from annotation.common.roles import ADMIN, ANNOTATOR, RESEARCHER
from annotation.models import Account, ApiToken, AuditEntry, RecoveryCode, SecondFactor
from annotation.web.common import limits, sign_in
from annotation.workers import api_tokens
from annotation.workers.accounts import granting, inviting, second_factor
from phrasebox.errors import PhraseboxError
from tests.web import world as people
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db


class Clock:
    """The time of the codes, advanced by hand."""

    def __init__(self) -> None:
        self.at: datetime = timezone.now()

    def pass_seconds(self, seconds: int) -> None:
        self.at += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    created = Clock()
    monkeypatch.setattr(database, "now", lambda: created.at)
    return created


@pytest.fixture
def ada(clock: Clock) -> Account:
    return people.account("ada", RESEARCHER)


class Phone:
    """An app with a user's secret, and their recovery codes."""

    def __init__(self, account: Account, clock: Clock) -> None:
        self.secret = second_factor.begin_second_factor(account)
        self.clock = clock
        self.recovery = second_factor.confirm_second_factor(account=account, code=self.code())
        clock.pass_seconds(60)

    def code(self, ahead: int = 0) -> str:
        return pyotp.TOTP(self.secret).at(self.clock.at + timedelta(seconds=ahead))


@pytest.fixture
def phone(ada: Account, clock: Clock) -> Phone:
    return Phone(ada, clock)


def by_password(**more: str) -> tuple[Client, Any]:
    """Return a browser in which Ada has entered her password."""
    client = Client()
    return client, client.post(reverse("sign_in"), {"username": "ada", "password": people.PASSWORD, **more})


def is_in(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200


def send(client: Client, code: str) -> Any:
    return client.post(reverse("second_factor"), {"code": code})


# Setting up


def test_an_app_is_set_up_by_a_picture_and_its_first_code(ada: Account, clock: Clock):
    client = Client()
    client.force_login(ada)
    people.confirm(client)
    page = client.get(reverse("set_up_second_factor"))
    assert 'src="data:image/svg+xml' in page.content.decode()
    match = re.search(r'class="key">([A-Z2-7 ]+)<', page.content.decode())
    assert match
    secret = match[1].replace(" ", "")
    response = client.post(reverse("set_up_second_factor"), {"code": "000000"})
    assert response.status_code == 422 and secret[:4] in words(response)
    assert not second_factor.has_second_factor(ada)
    code = pyotp.TOTP(secret).at(clock.at)
    codes = re.findall(
        r"<li>(\w{4}-\w{4}-\w{4}-\w{4})</li>",
        client.post(reverse("set_up_second_factor"), {"code": code}).content.decode(),
    )
    assert len(set(codes)) == second_factor.RECOVERY_CODES and second_factor.has_second_factor(ada)
    again = client.get(reverse("set_up_second_factor"), follow=True)
    assert "already on" in messages_on(again)[0] and secret not in again.content.decode()
    stored = str(
        [*SecondFactor.objects.values(), *RecoveryCode.objects.values(), *AuditEntry.objects.values()]
    )
    assert secret not in stored and not any(item.replace("-", "") in stored for item in codes)


def test_a_secret_is_shown_again_in_the_session_alone_that_began_it(ada: Account, clock: Clock):
    def visible(client: Client) -> str:
        page = client.get(reverse("set_up_second_factor")).content.decode()
        return page.split('class="key">')[1].split("<")[0].replace(" ", "")

    ours, theirs = Client(), Client()
    for client in (ours, theirs):
        client.force_login(ada)
        people.confirm(client)
    first = visible(ours)
    assert visible(ours) == first
    another = visible(theirs)
    assert another != first and visible(theirs) == another
    # The later one counts; the page of the first shows that its code is of another app.
    code = pyotp.TOTP(first).at(clock.at)
    assert ours.post(reverse("set_up_second_factor"), {"code": code}).status_code == 422
    assert not second_factor.has_second_factor(ada)
    mine = pyotp.TOTP(visible(ours)).at(clock.at)
    assert "Recovery codes" in words(ours.post(reverse("set_up_second_factor"), {"code": mine}))


def test_setting_one_up_asks_for_the_password(ada: Account, clock: Clock):
    client = Client()
    client.force_login(ada)
    client.get(reverse("set_up_second_factor"))
    secret = second_factor.unseal(SecondFactor.objects.get().secret)
    response = client.post(reverse("set_up_second_factor"), {"code": pyotp.TOTP(secret).at(clock.at)})
    assert "Confirm your password" in words(response) and not second_factor.has_second_factor(ada)


# Signing in


def test_signing_in_asks_for_a_code_and_nothing_is_open_before(phone: Phone):
    client, answer = by_password(next="/account/tokens/")
    assert answer["Location"] == reverse("second_factor") and not is_in(client)
    assert client.get("/api/v1/me").status_code == 401
    assert send(client, "123456").status_code == 422 and not is_in(client)
    assert send(client, phone.code())["Location"] == "/account/tokens/" and is_in(client)


def test_a_code_is_accepted_once(phone: Phone):
    assert send(by_password()[0], phone.code()).status_code == 302
    client, _answer = by_password()
    assert send(client, phone.code()).status_code == 422 and not is_in(client)
    assert send(client, phone.code(-30)).status_code == 422, "nor one from before it"
    phone.clock.pass_seconds(30)
    assert send(client, phone.code()).status_code == 302 and is_in(client)


def test_codes_of_a_clock_that_is_half_a_minute_wrong_are_accepted_and_no_others(phone: Phone):
    client, _answer = by_password()
    assert send(client, phone.code(90)).status_code == 422
    assert send(client, phone.code(-90)).status_code == 422
    assert send(client, f" {phone.code(30)[:3]} {phone.code(30)[3:]} ").status_code == 302


@pytest.mark.django_db(transaction=True)
def test_of_two_who_send_a_code_at_the_same_moment_one_gets_in():
    account, clock = people.account("ada", RESEARCHER), Clock()
    phone = Phone(account, clock)
    code, together, accepted = phone.code(-60), Barrier(4), []
    # A separate clock: the process's is not changed while others run.
    SecondFactor.objects.update(last_step=0)

    def enter(value: str) -> None:
        together.wait()
        try:
            accepted.append(second_factor.accept_code(account=account, code=value))
        finally:
            connection.close()

    def at_once(value: str) -> int:
        accepted.clear()
        threads = [Thread(target=enter, args=(value,)) for _number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(item is not None for item in accepted)

    assert at_once(code) == 1
    assert at_once(phone.recovery[0]) == 1


def test_a_recovery_code_signs_in_once(phone: Phone):
    client, _answer = by_password()
    page = client.post(reverse("second_factor"), {"code": phone.recovery[0].upper()}, follow=True)
    assert "9 are left" in messages_on(page)[0] and is_in(client)
    again, _answer = by_password()
    assert send(again, phone.recovery[0]).status_code == 422 and not is_in(again)
    assert send(again, phone.recovery[1]).status_code == 302
    used = AuditEntry.objects.filter(act="use_recovery_code")
    assert {entry.about["left"] for entry in used} == {9, 8}


def test_anothers_code_and_recovery_code_are_wrong(phone: Phone, clock: Clock):
    another = Phone(people.account("bob", RESEARCHER), clock)
    client, _answer = by_password()
    assert [send(client, code).status_code for code in (another.code(), another.recovery[0])] == [422, 422]


def test_guessing_codes_is_slow_for_everybody_together(phone: Phone):
    answers = [send(by_password()[0], f"{n:06}").status_code for n in range(6)]
    assert answers == [422] * 5 + [429]
    client, _answer = by_password()
    assert send(client, phone.recovery[0]).status_code == 429, "recovery codes are under the same limit"
    phone.clock.pass_seconds(24 * 60 * 60)
    assert send(by_password()[0], phone.code()).status_code == 302


def test_in_a_known_browser_codes_are_guessed_every_five_minutes_at_most(phone: Phone):
    client, _answer = by_password()
    send(client, phone.code())
    client.post(reverse("sign_out"))
    for number in range(limits.SECOND_FACTOR.free + 10):
        client.post(reverse("sign_in"), {"username": "ada", "password": people.PASSWORD})
        assert send(client, f"{number:06}").status_code == 422
        phone.clock.pass_seconds(limits.SECOND_FACTOR_KNOWN)
    phone.clock.pass_seconds(60 - limits.SECOND_FACTOR_KNOWN)
    client.post(reverse("sign_in"), {"username": "ada", "password": people.PASSWORD})
    response = send(client, phone.recovery[0])
    assert response.status_code == 429 and int(response["Retry-After"]) == limits.SECOND_FACTOR_KNOWN - 60


def test_a_password_counts_for_ten_minutes_and_no_longer_than_it_holds(phone: Phone, ada: Account):
    client, _answer = by_password()
    phone.clock.pass_seconds(sign_in.PENDING_SECONDS + 1)
    assert send(client, phone.code())["Location"] == reverse("sign_in") and not is_in(client)
    client, _answer = by_password()
    ada.set_password("another one entirely")
    ada.save()
    assert send(client, phone.code())["Location"] == reverse("sign_in") and not is_in(client)


def test_who_was_deactivated_between_the_steps_stays_out(phone: Phone):
    client, _answer = by_password()
    Account.objects.update(is_active=False)
    assert send(client, phone.code())["Location"] == reverse("sign_in")


def test_without_a_password_there_is_no_second_step(phone: Phone):
    client = Client()
    assert send(client, phone.code())["Location"] == reverse("sign_in") and not is_in(client)


def test_under_another_key_codes_are_wrong_and_recovery_codes_still_good(phone: Phone, settings: Any):
    settings.SECRET_KEY = "another key of at least fifty characters, for this test alone"
    client, _answer = by_password()
    assert send(client, phone.code()).status_code == 422
    assert send(client, phone.recovery[0]).status_code == 302


# Losing one


def test_new_recovery_codes_replace_the_old_ones(phone: Phone, ada: Account):
    client = Client()
    client.force_login(ada)
    people.confirm(client)
    page = client.post(reverse("renew_recovery_codes"))
    assert "old ones no longer work" in words(page)
    assert second_factor.accept_code(account=ada, code=phone.recovery[0]) is None
    assert second_factor.codes_left(ada) == 10


def test_one_turns_it_off_by_the_password(phone: Phone, ada: Account):
    client = Client()
    client.force_login(ada)
    people.confirm(client)
    press(client, reverse("account"), "Turn off")
    assert is_in(by_password()[0])
    assert not SecondFactor.objects.exists() and not RecoveryCode.objects.exists()


def test_a_reset_is_on_record_and_ends_sessions_and_tokens(phone: Phone, ada: Account):
    client, _answer = by_password()
    send(client, phone.code())
    api_tokens.make_api_token(account=ada, name="x", days=7, writes=True)
    admin = people.account("root", ADMIN)
    people.perform("reset_second_factor", admin, account="ada")
    assert not is_in(client) and not ApiToken.objects.exists()
    entry = AuditEntry.objects.get(act="reset_second_factor")
    assert (entry.actor, entry.about["account"], entry.about["tokens"]) == (admin, "ada", 1)
    assert is_in(by_password()[0]), "the password alone, as nothing is asked for"
    with pytest.raises(PhraseboxError, match="has no second factor"):
        people.perform("reset_second_factor", admin, account="ada")


# Who must have one


@pytest.fixture
def required(clock: Clock) -> Iterator[Account]:
    root = people.account("root", ADMIN)
    with pytest.raises(PhraseboxError, match="your own second factor first"):
        people.perform("set_second_factor_rule", root, who="staff")
    Phone(root, clock)
    yield root


def test_where_staff_must_have_one_who_has_none_sets_it_up_before_anything_else(
    ada: Account, required: Account, clock: Clock
):
    people.account("ann", ANNOTATOR)
    before, _answer = by_password()
    token = api_tokens.make_api_token(account=ada, name="x", days=7, writes=True)
    assert people.perform("set_second_factor_rule", required, who="staff").signed_out == 1
    assert not is_in(before) and not ApiToken.objects.filter(pk=token.token.pk).exists()
    client, answer = by_password(next=reverse("campaigns"))
    assert answer["Location"] == reverse("set_up_second_factor")
    for route in ("home", "campaigns", "account", "own_tokens", "password_change", "tasks"):
        assert client.get(reverse(route))["Location"] == reverse("set_up_second_factor"), route
    assert client.get("/api/v1/me").json()["code"] == "second_factor"
    assert client.get("/api/tasks").json()["code"] == "second_factor"
    client.get(reverse("set_up_second_factor"))
    secret = second_factor.unseal(SecondFactor.objects.get(account=ada).secret)
    codes = client.post(reverse("set_up_second_factor"), {"code": pyotp.TOTP(secret).at(clock.at)})
    assert "Recovery codes" in words(codes) and client.get(reverse("campaigns")).status_code == 200
    response = client.post(reverse("remove_second_factor"), follow=True)
    assert "asks your account for a second factor" in messages_on(response)[0]
    ann = Client()
    ann.post(reverse("sign_in"), {"username": "ann", "password": people.PASSWORD})
    assert ann.get(reverse("tasks")).status_code == 200, "annotators are never asked"


def test_a_session_that_was_to_set_one_up_does_not_get_in_by_one_that_was_set_up_elsewhere(
    ada: Account, required: Account, clock: Clock
):
    people.perform("set_second_factor_rule", required, who="staff")
    thief, _answer = by_password()
    Phone(ada, clock)
    assert thief.get(reverse("set_up_second_factor"))["Location"] == reverse("sign_in")
    assert not is_in(thief)


def test_a_rule_for_admins_asks_nobody_else(ada: Account, required: Account):
    assert people.perform("set_second_factor_rule", required, who="admins").signed_out == 0
    assert is_in(by_password()[0])
    granting.grant(account=ada, role=ADMIN)
    assert by_password()[1]["Location"] == reverse("set_up_second_factor")


def test_a_role_that_needs_one_signs_out_who_has_none(required: Account):
    people.perform("set_second_factor_rule", required, who="staff")
    client = people.signed_in("ann", ANNOTATOR)
    granting.grant(account=Account.objects.get(username="ann"), role=RESEARCHER)
    assert not is_in(client)


def test_who_is_invited_sets_one_up_first(required: Account, clock: Clock):
    people.perform("set_second_factor_rule", required, who="staff")
    link = inviting.staff_invitation_token(inviting.invite_staff(email="eve@example.org", role=RESEARCHER))
    client = Client()
    chosen = {"username": "eve", "password1": "the harbour at six", "password2": "the harbour at six"}
    client.post(reverse("staff_invite", args=[link]), chosen)
    assert client.get(reverse("campaigns"))["Location"] == reverse("set_up_second_factor")
