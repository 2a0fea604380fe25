"""Pages about people: the list, one account and its actions, and the audit."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation import jobs
from annotation.audit import record
from annotation.common.roles import ADMIN, ANNOTATOR, RESEARCHER, REVIEWER
from annotation.models import Account, ApiToken, AuditEntry, Campaign, Job, SignInRules
from annotation.web.staff.people import accounts, audit
from annotation.workers import api_tokens
from annotation.workers.accounts import granting, second_factor
from phrasebox.errors import PhraseboxError
from tests.factories import a_corpus, some_images
from tests.web import world as people
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    return people.signed_in("ada", ADMIN)


def page_of(account: Account) -> str:
    return reverse("person", args=[account.pk])


def names(client: Client, query: str = "") -> list[str]:
    text = client.get(reverse("people") + query).content.decode()
    return re.findall(r'<a href="/people/\d+/">([^<]+)</a>', text)


# The list


def test_accounts_are_searched_and_filtered_by_the_address(admin: Client):
    bob = people.account("bob", REVIEWER)
    Account.objects.filter(pk=bob.pk).update(email="bob@harbour.example", is_active=False)
    people.account("ann", ANNOTATOR)
    people.account("nobody")
    assert names(admin) == ["ada", "bob"], "staff, unless told"
    assert names(admin, "?who=annotators") == ["ann", "nobody"]
    assert names(admin, "?who=everybody&find=HARBOUR") == ["bob"]
    assert names(admin, "?state=deactivated") == ["bob"]
    assert names(admin, "?who=everybody&state=no_second_factor") == ["ada", "ann", "nobody"]
    assert "reviewer for the whole server" in words(admin.get(reverse("people")))


def test_the_list_pages_by_key_and_asks_as_many_queries_for_many_accounts(
    admin: Client, monkeypatch: pytest.MonkeyPatch
):
    corpus = a_corpus("quay", some_images(1))

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as caught:
            assert admin.get(reverse("people")).status_code == 200
        return len(caught)

    few = queries()
    for number in range(12):
        granting.grant(account=people.account(f"bob-{number:02}", REVIEWER), role=RESEARCHER, corpus=corpus)
    assert queries() == few
    monkeypatch.setattr(accounts, "PEOPLE_PER_PAGE", 5)
    values, query = [], ""
    while True:
        page = admin.get(reverse("people") + query).content.decode()
        values += names(admin, query)
        later = re.search(r'rel="next" href="([^"]+)"', page)
        if later is None:
            break
        query = later[1].replace("&amp;", "&")
    assert values == ["ada", *(f"bob-{number:02}" for number in range(12))]


def test_only_admins_of_the_whole_server_see_people(admin: Client):
    corpus = a_corpus("quay", some_images(1))
    bob = people.account("bob", RESEARCHER)
    granting.grant(account=bob, role=ADMIN, corpus=corpus)
    client = Client()
    client.force_login(bob)
    people.confirm(client)
    for address in (reverse("people"), page_of(bob), reverse("audit")):
        assert client.get(address).status_code == 403
    assert (
        client.post(reverse("operation", args=["reactivate_account"]), {"account": "bob"}).status_code == 403
    )


# Actions


def test_a_deactivated_account_is_out_at_once_and_comes_back_with_its_roles(admin: Client):
    bob = people.signed_in("bob", RESEARCHER)
    account = Account.objects.get(username="bob")
    secret = api_tokens.make_api_token(account=account, name="x", days=7, writes=True).secret
    bearer = {"Authorization": f"Bearer {secret}"}
    assert Client().get("/api/v1/me", headers=bearer).status_code == 200
    assert messages_on(press(admin, page_of(account), "Deactivate the account")) == ["Account deactivated."]
    assert bob.get(reverse("campaigns")).status_code == 302
    assert Client().get("/api/v1/me", headers=bearer).status_code == 401 and not ApiToken.objects.exists()
    entered = {"username": "bob", "password": people.PASSWORD}
    assert "is wrong" in words(Client().post(reverse("sign_in"), entered))
    assert messages_on(press(admin, page_of(account), "Reactivate the account")) == ["Account reactivated."]
    back = Client()
    back.post(reverse("sign_in"), entered)
    assert back.get(reverse("campaigns")).status_code == 200
    assert Client().get("/api/v1/me", headers=bearer).status_code == 401, "tokens do not come back"
    assert {"deactivate_account", "reactivate_account"} <= set(
        AuditEntry.objects.values_list("act", flat=True)
    )


def test_nobody_deactivates_themselves_or_the_last_admin(admin: Client):
    ada = Account.objects.get(username="ada")
    page = admin.get(page_of(ada))
    assert "This is your own account" in words(page) and "Deactivate" not in words(page)
    again = admin.post(reverse("operation", args=["deactivate_account"]), {"account": "ada"})
    assert again.status_code == 409 and "ask another admin" in words(again)
    with pytest.raises(PhraseboxError, match="the last admin"):
        people.perform("deactivate_account", account="ada")
    assert Account.objects.get(username="ada").is_active


def test_a_link_to_a_new_password_is_handed_over_and_works_once(admin: Client):
    bob = people.account("bob", RESEARCHER)
    page = press(admin, page_of(bob), "Make a link to a new password")
    match = re.search(r"http://testserver(/forgotten/\S+?/)<", page.content.decode())
    assert match and AuditEntry.objects.filter(act="make_password_link").exists()
    chosen = {"new_password1": "the harbour at six", "new_password2": "the harbour at six"}
    client = Client()
    form = client.get(match[1], follow=True).redirect_chain[-1][0]
    client.post(form, chosen)
    entered = Client().post(reverse("sign_in"), {"username": "bob", "password": "the harbour at six"})
    assert entered.status_code == 302
    assert "no longer works" in words(Client().get(match[1], follow=True))


def test_with_a_mail_server_the_link_is_sent(admin: Client, settings: Any):
    settings.SENDS_MAIL, settings.EMAIL_BACKEND = True, "django.core.mail.backends.locmem.EmailBackend"
    bob = people.account("bob", RESEARCHER)
    Account.objects.filter(pk=bob.pk).update(email="bob@harbour.example")
    page = press(admin, page_of(bob), "Send a link to a new password")
    assert "on its way" in messages_on(page)[0]
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE
    assert [email.to for email in mail.outbox] == [["bob@harbour.example"]]


def test_no_letter_or_link_begins_with_the_host_that_a_request_names(admin: Client, settings: Any):
    settings.SENDS_MAIL, settings.EMAIL_BACKEND = True, "django.core.mail.backends.locmem.EmailBackend"
    settings.ALLOWED_HOSTS = ["*"]
    settings.SITE_URL = "https://phrasebox.example"
    admin.defaults["HTTP_HOST"] = "forged.example"
    bob = people.account("bob", RESEARCHER)
    page = press(admin, page_of(bob), "Make a link to a new password")
    assert "https://phrasebox.example/forgotten/" in page.content.decode()
    Account.objects.filter(pk=bob.pk).update(email="bob@harbour.example")
    press(admin, page_of(bob), "Send a link to a new password")
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE
    assert "https://phrasebox.example/forgotten/" in mail.outbox[0].body
    letter = f"{mail.outbox[0].subject} {mail.outbox[0].body} {page.content.decode()}"
    assert "forged.example" not in letter


def test_without_a_mail_server_nothing_is_offered_that_needs_one(admin: Client, settings: Any):
    settings.SENDS_MAIL = False
    bob = people.account("bob", RESEARCHER)
    Account.objects.filter(pk=bob.pk).update(email="bob@harbour.example")
    page = words(admin.get(page_of(bob)))
    assert "Send a link" not in page and "This server sends no e-mail" in page
    again = admin.post(reverse("operation", args=["send_password_link"]), {"account": "bob"})
    assert again.status_code == 409 and "make a link" in words(again)


def test_an_admin_resets_a_second_factor_by_page(admin: Client):
    bob = people.account("bob", RESEARCHER)
    second_factor.begin_second_factor(bob)
    second_factor.SecondFactor.objects.update(confirmed_at="2026-01-01T00:00Z")
    assert "Second factor reset" in messages_on(press(admin, page_of(bob), "Reset the second factor"))[0]
    assert not second_factor.has_second_factor(bob)


def test_roles_are_granted_and_revoked_on_the_page_of_an_account(admin: Client):
    bob = people.account("bob")
    page = press(admin, page_of(bob), "Grant", role=REVIEWER)
    assert messages_on(page) == ["They have this role now."] and "reviewer for the whole server" in words(
        page
    )
    page = press(admin, page_of(bob), "Revoke")
    assert messages_on(page) == ["Role revoked."] and not bob.roles.exists()


def test_an_admin_without_a_second_factor_cannot_ask_others_for_one(admin: Client):
    page = press(admin, reverse("people"), "Save", who="staff")
    assert "your own second factor first" in words(page) and not SignInRules.objects.exists()


def test_every_act_asks_for_the_password(admin: Client):
    people.account("bob", RESEARCHER)
    later = Client()
    later.force_login(Account.objects.get(username="ada"))
    for name, payload in (
        ("deactivate_account", {"account": "bob"}),
        ("make_password_link", {"account": "bob"}),
        ("set_second_factor_rule", {"who": "staff"}),
    ):
        assert "Confirm your password" in words(later.post(reverse("operation", args=[name]), payload))
    assert not AuditEntry.objects.filter(act__in=["deactivate_account", "make_password_link"]).exists()


# The audit


def test_the_audit_is_filtered_by_what_it_is_about_and_by_whom(admin: Client):
    ada, bob = Account.objects.get(username="ada"), people.account("bob", RESEARCHER)
    corpus = a_corpus("quay", some_images(1))
    campaign = Campaign.objects.create(name="harbour", corpus=corpus, tasks="entities", settings={})
    record(actor=bob, act="pause_campaign", campaign=campaign, reason="<b>rain</b>")
    record(actor=bob, act="remove_run", run="BM25")
    record(actor=bob, act="make_token", name="nightly")
    record(actor=bob, act="download_identities", campaign=campaign, study="x")
    record(actor=None, act="restore", made_at="x")
    granting.grant(account=bob, role=ADMIN, corpus=corpus, actor=ada)

    def message(query: str) -> set[str]:
        text = admin.get(reverse("audit") + query).content.decode()
        cells = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)[1:]
        return {re.findall(r'<td class="wraps">([^<]*)</td>', row)[0] for row in cells}

    everything = {"paused the campaign", "deleted a run", "made an API token", "granted a role"}
    assert everything < message("")
    assert message("?group=people") == {"granted a role"}
    assert message("?group=evaluation") == {"deleted a run"}
    assert message("?group=tokens") == {"made an API token"}
    assert message("?group=campaigns") == {"paused the campaign"}
    assert len(message("?group=identities")) == 1
    assert message("?group=server") == {"restored a backup"}
    assert message("?account=ada") == {"granted a role"}
    assert "granted a role" in message("?account=bob") and "deleted a run" in message("?account=bob")
    assert "paused the campaign" in message("?campaign=harbour") and "deleted a run" not in message(
        "?campaign=harbour"
    )
    page = admin.get(reverse("audit")).content.decode()
    assert "<b>rain" not in page and "&lt;b&gt;rain" in page


def test_the_audit_pages_by_key(admin: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(audit, "AUDIT_PER_PAGE", 3)
    for number in range(8):
        record(actor=None, act="remove_run", run=f"run-{number}")
    values, query = [], "?group=evaluation"
    while query:
        page = admin.get(reverse("audit") + query).content.decode()
        values += re.findall(r"run-\d", page)
        later = re.search(r'rel="next" href="([^"]+)"', page)
        query = later[1].replace("&amp;", "&") if later else ""
    assert values == [f"run-{number}" for number in reversed(range(8))]
