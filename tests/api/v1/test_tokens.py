"""Tokens: stored as digests, shown once, limited to the account's current roles, and ended with them."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from annotation.models import (
    Account,
    ApiToken,
    AuditEntry,
    Bonus,
    Campaign,
    Corpus,
    Job,
    WorkerMessage,
)
from annotation.web.common.confirm import PASSWORD_FIELD
from annotation.workers import api_tokens, pseudonyms, sessions
from annotation.workers.accounts import granting
from phrasebox.errors import PhraseboxError
from tests import worlds
from tests.api.v1.conftest import Caller
from tests.factories import a_corpus, some_images
from tests.web import world as web

#: The page on which a token is made.
MAKE = "/operations/make_token/"

pytestmark = pytest.mark.django_db


@pytest.fixture
def harbour(db: None) -> Campaign:
    """A campaign of one corpus, and one of another."""

    def build() -> Campaign:
        values = [
            Campaign.objects.create(
                name=name, corpus=a_corpus(corpus, some_images(1)), tasks="captions", settings={}
            )
            for name, corpus in (("quay", "harbour"), ("apart", "other"))
        ]
        return values[0]

    return worlds.again("two campaigns of two corpora", build)


def codes(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def names(answer: Any) -> list[str]:
    return [result["name"] for result in answer.json()["results"]]


def test_a_secret_is_stored_as_its_digest_alone(harbour: Campaign) -> None:
    token = api_tokens.make_api_token(
        account=web.account("ada", "researcher"), name="script", days=7, writes=True
    )
    row = ApiToken.objects.get()
    assert row.digest == hashlib.sha256(token.secret.encode()).hexdigest()
    held = [str(value) for value in vars(row).values()] + [str(AuditEntry.objects.get().about)]
    assert not any(token.secret in item for item in held)
    assert AuditEntry.objects.get().act == "make_token"


def test_who_only_annotates_cannot_make_one(harbour: Campaign) -> None:
    for roles in ((), ("annotator",)):
        account = web.account(f"ann{len(roles)}", *roles)
        with pytest.raises(PhraseboxError):
            api_tokens.make_api_token(account=account, name="x", days=1, writes=False)
    client = web.confirm(web.signed_in("bob", "annotator"))
    assert client.post(MAKE, {"name": "x"}).status_code == 403
    assert not ApiToken.objects.exists()


def test_a_token_that_is_none_was_revoked_or_has_expired_is_told_so(harbour: Campaign) -> None:
    caller = Caller(web.account("ada", "researcher"))
    assert caller.get("me").json() == {
        "username": "ada",
        "roles": [{"role": "researcher", "corpus": None, "campaign": None}],
    }
    for header in (
        "",
        "Bearer",
        "Bearer x",
        f"Token {caller.secret}",
        f"Bearer {caller.secret}x",
        "Bearer \x7f",
    ):
        answer = Client(headers={"Authorization": header}).get("/api/v1/me")
        assert codes(answer) == (401, "signed_out") and answer["WWW-Authenticate"] == "Bearer"
    ApiToken.objects.update(expires_at=timezone.now())
    assert codes(caller.get("me")) == (401, "signed_out")
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(days=1))
    assert caller.get("me").status_code == 200
    assert caller.send("DELETE", f"tokens/{caller.token.pk}").status_code == 204
    assert codes(caller.get("me")) == (401, "signed_out")


def test_a_token_for_reading_changes_nothing(harbour: Campaign) -> None:
    caller = Caller(web.account("ada", "researcher"), writes=False)
    assert caller.get("campaigns/quay").status_code == 200
    assert codes(caller.post("campaigns/quay/close", {})) == (403, "read_only")
    assert codes(caller.send("DELETE", "campaigns/quay")) == (403, "read_only")
    ids = {"platform": "prolific", "list": "bonuses"}
    assert codes(caller.post("campaigns/quay/platform-list", ids)) == (403, "read_only")
    assert codes(caller.get("campaigns/quay/platform-list", **ids)) == (405, "bad_method")
    assert not AuditEntry.objects.filter(act="download_identities").exists()
    assert Campaign.objects.get(name="quay").state == Campaign.DRAFT


def test_a_role_that_is_lost_ends_the_token_with_the_next_call(harbour: Campaign) -> None:
    account = web.account("ada", "researcher", "reviewer")
    caller = Caller(account)
    assert caller.get("campaigns").status_code == 200
    granting.revoke_role(account=account, role="researcher")
    assert codes(caller.get("campaigns")) == (401, "signed_out"), "all of an account's tokens end"
    again = Caller(account)
    assert again.get("campaigns").status_code == 200
    assert codes(again.get("systems")) == (403, "no_role"), "a new one opens what is left"


def test_a_role_that_is_gone_without_a_word_is_gone_for_tokens_too(harbour: Campaign) -> None:
    """Roles are read at every call, no matter who took them away."""
    account = web.account("ada", "researcher")
    caller = Caller(account)
    account.roles.all().delete()
    assert codes(caller.get("campaigns")) == (403, "no_role")
    account.roles.create(role="researcher")
    Account.objects.filter(pk=account.pk).update(is_active=False)
    assert codes(caller.get("campaigns")) == (401, "signed_out")


def test_a_token_for_a_corpus_opens_that_corpus_alone(harbour: Campaign) -> None:
    caller = Caller(web.account("ada", "researcher"), corpus=harbour.corpus)
    assert names(caller.get("corpora")) == ["harbour"] and names(caller.get("campaigns")) == ["quay"]
    assert codes(caller.get("campaigns/apart")) == (404, "unknown")
    assert codes(
        caller.post("campaigns", {"name": "x", "corpus": "other", "tasks": "captions", "unpaid": True})
    ) == (
        400,
        "bad_request",
    )
    assert caller.get("campaigns/quay").status_code == 200


def test_a_token_for_a_campaign_opens_that_campaign_alone(harbour: Campaign) -> None:
    caller = Caller(web.account("ada", "admin"), campaign=harbour)
    assert names(caller.get("campaigns")) == ["quay"] and names(caller.get("corpora")) == []
    assert codes(caller.get("corpora/harbour")) == (404, "unknown")
    assert codes(caller.get("systems")) == (403, "no_role")


def test_a_token_for_a_corpus_knows_of_no_other_token(harbour: Campaign) -> None:
    account = web.account("ada", "researcher")
    whole, limited = Caller(account), Caller(account, corpus=harbour.corpus)
    assert [result["number"] for result in limited.get("tokens").json()["results"]] == [limited.token.pk]
    assert codes(limited.send("DELETE", f"tokens/{whole.token.pk}")) == (404, "unknown")
    assert len(whole.get("tokens").json()["results"]) == 2
    assert limited.send("DELETE", f"tokens/{limited.token.pk}").status_code == 204


@pytest.mark.parametrize("of", ["campaign", "corpus"])
def test_a_token_with_a_limit_tells_of_no_earnings_and_messages_elsewhere(harbour: Campaign, of: str) -> None:
    account = web.account("ada", "researcher")
    worker = pseudonyms.worker_of(account)
    form_data = {}
    for campaign in (harbour, Campaign.objects.get(name="apart")):
        Bonus.objects.create(campaign=campaign, worker=worker, amount=1_000_000, reason="Patience")
        form_data[campaign.name] = WorkerMessage.objects.create(
            campaign=campaign, worker=worker, text="Thanks."
        )
    limit: dict[str, Any] = {of: {"campaign": harbour, "corpus": harbour.corpus}[of]}
    whole, limited = Caller(account), Caller(account, **limit)
    for path in ("me/earnings", "me/messages"):
        assert {result["campaign"] for result in whole.get(path).json()["results"]} == {"quay", "apart"}
        assert [result["campaign"] for result in limited.get(path).json()["results"]] == ["quay"]
    assert codes(limited.post(f"me/messages/{form_data['apart'].pk}/read")) == (404, "unknown")
    assert limited.post(f"me/messages/{form_data['quay'].pk}/read").status_code == 204
    assert WorkerMessage.objects.filter(read_at__isnull=False).get() == form_data["quay"]


def test_a_limit_never_widens_what_the_account_may(harbour: Campaign) -> None:
    corpus = Corpus.objects.get(name="other")
    account = web.account("ada")
    granting.grant(account=account, role="researcher", campaign=harbour)
    with pytest.raises(PhraseboxError):
        api_tokens.make_api_token(account=account, name="x", days=1, writes=True, corpus=corpus)
    caller = Caller(account, corpus=harbour.corpus)
    assert names(caller.get("campaigns")) == ["quay"]
    assert codes(caller.get("corpora/harbour")) == (404, "unknown"), "the role is for the campaign alone"


def test_a_superuser_under_a_limit_is_none(harbour: Campaign) -> None:
    root = Account.objects.create_superuser("root", password=web.PASSWORD)
    caller = Caller(root, corpus=harbour.corpus)
    assert names(caller.get("corpora")) == ["harbour"]
    assert codes(caller.get("corpora/other")) == (404, "unknown")
    assert Account.objects.get(username="root").is_superuser, "narrowed for the call, never stored"


def test_erasing_a_person_ends_their_tokens(harbour: Campaign) -> None:
    account = web.account("ada", "reviewer")
    worker = pseudonyms.worker_of(account)
    caller = Caller(account)
    account.roles.all().delete()  # staff cannot be erased
    pseudonyms.erase_worker(worker=worker, actor=None)
    assert not ApiToken.objects.exists() and codes(caller.get("me")) == (401, "signed_out")


def test_signing_out_everywhere_ends_tokens(harbour: Campaign) -> None:
    account = web.account("ada", "reviewer")
    caller = Caller(account)
    assert sessions.end_access(account).tokens == 1
    assert codes(caller.get("me")) == (401, "signed_out")


def test_a_password_that_is_set_by_e_mail_ends_tokens(harbour: Campaign) -> None:
    """Somebody who knew the old password may have made them."""
    account = web.account("ada", "reviewer")
    caller, browser = Caller(account), Client()
    values = [urlsafe_base64_encode(force_bytes(account.pk)), default_token_generator.make_token(account)]
    browser.get(reverse("password_reset_confirm", args=values))
    new = {"new_password1": "a-quay-in-the-rain-7", "new_password2": "a-quay-in-the-rain-7"}
    browser.post(reverse("password_reset_confirm", args=[values[0], "set-password"]), new)
    account.refresh_from_db()
    assert account.check_password("a-quay-in-the-rain-7")
    assert codes(caller.get("me")) == (401, "signed_out")


def test_an_upload_is_its_accounts_alone(harbour: Campaign) -> None:
    ada, eve = web.account("ada", "researcher"), web.account("eve", "researcher")
    job = Job.objects.create(kind="check_upload", created_by=ada, state=Job.DONE, result={"rows": ["secret"]})
    assert Caller(ada).get(f"jobs/{job.pk}").status_code == 200
    assert codes(Caller(eve).get(f"jobs/{job.pk}")) == (404, "unknown")
    assert codes(Caller(eve).post(f"jobs/{job.pk}/cancel")) == (404, "unknown")
    assert Caller(eve).get("jobs").json()["results"] == []


@pytest.mark.parametrize(
    "kind", ["send_letter", "send_staff_invitation", "send_alarms", "mail_messages", "send_test_mail"]
)
def test_the_servers_own_jobs_are_steered_by_its_admins_alone(harbour: Campaign, kind: str) -> None:
    """As on pages: the person who runs evaluations is not to keep somebody's new password from them."""
    job = Job.objects.create(kind=kind)
    ada = Caller(web.account("ada", "researcher"))
    assert ada.get("jobs", kind=kind).json()["results"] == []
    for answer in (ada.get(f"jobs/{job.pk}"), ada.post(f"jobs/{job.pk}/cancel")):
        assert codes(answer) == (404, "unknown")
    job.refresh_from_db()
    assert job.state == Job.QUEUED
    # An admin of a part of the server is not an admin of the server.
    of_corpus = web.account("carl")
    granting.grant(account=of_corpus, role="admin", corpus=harbour.corpus)
    granting.grant(account=of_corpus, role="researcher")
    assert codes(Caller(of_corpus).post(f"jobs/{job.pk}/cancel")) == (404, "unknown")
    boss = Caller(web.account("boss", "admin"))
    assert [result["number"] for result in boss.get("jobs", kind=kind).json()["results"]] == [job.pk]
    assert boss.post(f"jobs/{job.pk}/cancel").json()["state"] == Job.CANCELLED
    assert codes(ada.post(f"jobs/{job.pk}/resume")) == (404, "unknown")
    assert boss.post(f"jobs/{job.pk}/resume").json()["state"] == Job.QUEUED


def test_of_jobs_about_no_corpus_researchers_of_the_server_cancel_evaluations_and_their_own(
    harbour: Campaign,
) -> None:
    eve = web.account("eve", "researcher")
    ada = web.account("ada", "researcher")
    weak = Job.objects.create(kind="import_weak_collection", created_by=eve)
    ours, anothers = (Job.objects.create(kind="delete_corpus", created_by=item) for item in (ada, eve))
    seen = Caller(ada).get("jobs").json()["results"]
    assert [item["number"] for item in seen] == [ours.pk, weak.pk]
    for job in (ours, weak):
        assert Caller(ada).post(f"jobs/{job.pk}/cancel").json()["state"] == Job.CANCELLED
    assert codes(Caller(ada).post(f"jobs/{anothers.pk}/cancel")) == (404, "unknown")
    # A user's own jobs also need the role for the whole server.
    narrow = Caller(ada, corpus=harbour.corpus)
    assert codes(narrow.get(f"jobs/{ours.pk}")) == (404, "unknown")


def test_nobody_revokes_the_token_of_another(harbour: Campaign) -> None:
    ada, eve = Caller(web.account("ada", "researcher")), Caller(web.account("eve", "admin"))
    assert codes(eve.send("DELETE", f"tokens/{ada.token.pk}")) == (404, "unknown")
    assert [result["number"] for result in eve.get("tokens").json()["results"]] == [eve.token.pk]
    assert ada.get("me").status_code == 200


def test_the_page_shows_a_secret_once_and_asks_for_the_password(harbour: Campaign) -> None:
    client = Client()
    client.force_login(web.account("ada", "researcher"))
    form = {
        "name": "script",
        "days": "30",
        "access": "write",
        "corpus": "harbour",
        "next": "/account/tokens/",
    }
    for more, status in (({}, 200), ({PASSWORD_FIELD: "wrong"}, 422)):
        assert client.post(MAKE, {**form, **more}).status_code == status and not ApiToken.objects.exists()
    answer = client.post(MAKE, {**form, PASSWORD_FIELD: web.PASSWORD})
    row = ApiToken.objects.get()
    secret = next(part for part in answer.content.decode().split() if api_tokens.TOKEN_PREFIX in part)
    secret = secret[secret.index(api_tokens.TOKEN_PREFIX) :].partition("<")[0]
    assert hashlib.sha256(secret.encode()).hexdigest() == row.digest
    assert "no-store" in answer["Cache-Control"]
    assert (row.writes, row.corpus, row.name) == (True, harbour.corpus, "script")
    assert timedelta(days=29) < row.expires_at - timezone.now() <= timedelta(days=30)
    page = client.get("/account/tokens/").content.decode()
    assert secret not in page and "script" in page
    client.post("/operations/revoke_token/", {"token": row.pk})
    assert not ApiToken.objects.exists()


def test_guessing_the_password_is_slowed_down(harbour: Campaign) -> None:
    client = Client()
    client.force_login(web.account("ada", "researcher"))
    form = {"name": "x", PASSWORD_FIELD: "wrong"}
    statuses = [client.post(MAKE, form).status_code for _ in range(8)]
    assert statuses[0] == 422 and 429 in statuses


def test_a_session_needs_the_csrf_token_to_write(harbour: Campaign) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(web.account("ada", "researcher"))
    assert client.get("/api/v1/campaigns").status_code == 200
    answer = client.post("/api/v1/campaigns/quay/close", b"{}", content_type="application/json")
    assert codes(answer) == (403, "csrf")
    client.cookies["csrf"] = "c" * 32
    answer = client.post(
        "/api/v1/campaigns/quay/close",
        b"{}",
        content_type="application/json",
        headers={"X-CSRFToken": "c" * 32},
    )
    assert answer.status_code == 200 and Campaign.objects.get(name="quay").state == Campaign.CLOSED


def test_a_session_that_came_by_a_platform_opens_nothing(harbour: Campaign) -> None:
    client = web.signed_in("ada", "admin")
    session = client.session
    session[sessions.VISIT] = 1
    session.save()
    assert codes(client.get("/api/v1/me")) == (403, "only_work")


def test_no_answer_lets_another_site_read_it(harbour: Campaign) -> None:
    caller = Caller(web.account("ada", "researcher"))
    answer = caller.client.get("/api/v1/me", headers={"Origin": "https://evil.example"})
    request = caller.client.options("/api/v1/me", headers={"Origin": "https://evil.example"})
    for item in (answer, request):
        assert not [name for name in item.headers if name.lower().startswith("access-control")]
    assert request.status_code == 405


def test_a_token_of_the_api_opens_the_pictures_that_it_was_told_of(data: Any) -> None:
    web.corpus(data / "made", name="drawn")
    caller = Caller(web.account("ada", "researcher"))
    response = caller.get("corpora/drawn/images").json()["results"][0]
    assert caller.client.get(response["picture"]).status_code == 200
    assert Client().get(response["picture"]).status_code == 403
    ApiToken.objects.all().delete()
    assert caller.client.get(response["picture"]).status_code == 403
