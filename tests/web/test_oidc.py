"""Signing in with another server (OpenID Connect), here a real one on this machine."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pyotp
import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.urls import reverse

from annotation.common.roles import RESEARCHER
from annotation.models import Account, AuditEntry, RoleGrant
from annotation.web.common import limits
from annotation.workers.accounts import second_factor
from tests.web import world as people
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db


class Elsewhere:
    """The other server: its user's `claims`, and the requests that it received."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {"sub": "1001"}
        self.issuer = ""
        self.says_issuer = ""
        self.away = False
        self.challenges: dict[str, str] = {}
        self.requested_paths: list[str] = []

    def answer(self, path: str, payload: dict[str, list[str]]) -> dict[str, Any]:
        self.requested_paths.append(path)
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.says_issuer or self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "jwks_uri": f"{self.issuer}/keys",
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            }
        assert path == "/token", path
        code = payload["code"][0]
        digest = hashlib.sha256(payload["code_verifier"][0].encode()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == self.challenges[code]
        assert payload["client_secret"] == ["hush"]
        about = {"iss": self.issuer, "aud": "phrasebox", "iat": time.time(), "exp": time.time() + 60}
        token = jwt.encode({**about, **self.claims}, "a key that nobody knows, long enough", "HS256")
        return {"access_token": "x", "token_type": "Bearer", "id_token": token}

    def consent(self, address: str) -> tuple[str, dict[str, str]]:
        """Return the redirect of a user who consents there."""
        request = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{self.issuer}/authorize?")
        assert (request["scope"], request["code_challenge_method"]) == ("openid", "S256")
        code = f"code-{len(self.challenges)}"
        self.challenges[code] = request["code_challenge"]
        return urlsplit(request["redirect_uri"]).path, {"code": code, "state": request["state"]}


@pytest.fixture
def there(settings: Any) -> Iterator[Elsewhere]:
    elsewhere = Elsewhere()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if elsewhere.away:
                self.send_error(503)
                return
            length = int(self.headers.get("Content-Length", 0))
            payload = parse_qs(self.rfile.read(length).decode())
            body = json.dumps(elsewhere.answer(urlsplit(self.path).path, payload)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_about: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    elsewhere.issuer = f"http://127.0.0.1:{server.server_port}"
    settings.OIDC = {
        "issuer": elsewhere.issuer,
        "client_id": "phrasebox",
        "secret": "hush",
        "name": "Harbour University",
        "login_origin": elsewhere.issuer,
    }
    yield elsewhere
    server.shutdown()
    server.server_close()


@pytest.fixture
def ada() -> Account:
    account = people.account("ada", RESEARCHER)
    Account.objects.filter(pk=account.pk).update(email="ada@harbour.example")
    return account


def trip(client: Client, there: Elsewhere, route: str = "oidc_sign_in", **payload: str) -> Any:
    """Sign in there, and return the response to the redirect."""
    address, query = there.consent(client.post(reverse(route), payload)["Location"])
    return client.get(address, query)


def connect(account: Account, there: Elsewhere) -> Client:
    client = Client()
    client.force_login(account)
    trip(people.confirm(client), there, "connect_oidc")
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200


def test_an_account_is_connected_by_its_owner_and_signed_in_there(there: Elsewhere, ada: Account):
    client = connect(ada, there)
    page = client.get(reverse("account"))
    assert "Connected: you can sign in" in words(page)
    another = Client()
    assert "Sign in with Harbour University" in words(another.get(reverse("sign_in")))
    assert trip(another, there, next="/account/tokens/")["Location"] == "/account/tokens/" and is_in(another)
    social_account = SocialAccount.objects.get()
    assert (social_account.user, social_account.uid, social_account.extra_data) == (ada, "1001", {})
    assert set(there.requested_paths) == {"/.well-known/openid-configuration", "/token"}, (
        "nothing is asked about them"
    )
    press(client, reverse("account"), "Disconnect")
    assert not SocialAccount.objects.exists()
    last = Client()
    trip(last, there)
    assert not is_in(last)
    acts = AuditEntry.objects.order_by("pk").values_list("act", flat=True)
    assert list(acts) == ["connect_sign_in", "disconnect_sign_in"]


def test_connecting_asks_for_the_password_and_signing_in_there_is_none(there: Elsewhere, ada: Account):
    client = Client()
    client.force_login(ada)
    assert "Confirm your password" in words(client.post(reverse("connect_oidc")))
    connect(ada, there)
    another = Client()
    trip(another, there)
    assert "Confirm your password" in words(another.post(reverse("disconnect_oidc")))
    assert SocialAccount.objects.count() == 1


def test_who_bears_anothers_address_there_is_nobody_here(there: Elsewhere, ada: Account):
    there.claims = {
        "sub": "666",
        "email": "ada@harbour.example",
        "email_verified": True,
        "preferred_username": "ada",
        "groups": ["admin"],
        "roles": ["admin"],
    }
    client = Client()
    answer = trip(client, there)
    assert answer["Location"] == reverse("sign_in") and not is_in(client)
    assert "No account here is connected" in words(client.get(reverse("sign_in")))
    assert not SocialAccount.objects.exists() and not EmailAddress.objects.exists()
    assert Account.objects.count() == 1 and RoleGrant.objects.count() == 1


def test_a_connection_grants_no_role_and_is_one_accounts(there: Elsewhere, ada: Account):
    connect(ada, there)
    there.claims = {"sub": "1001", "roles": ["admin"]}
    before = set(RoleGrant.objects.values_list("account", "role"))
    bob = connect(people.account("bob"), there)
    assert "another account here" in messages_on(bob.get(reverse("account")))[0]
    assert SocialAccount.objects.get().user == ada
    assert set(RoleGrant.objects.values_list("account", "role")) == before


def test_the_second_factor_is_asked_for_and_the_rule_holds(there: Elsewhere, ada: Account):
    connect(ada, there)
    secret = second_factor.begin_second_factor(ada)
    second_factor.confirm_second_factor(account=ada, code=pyotp.TOTP(secret).now())
    client = Client()
    assert trip(client, there)["Location"] == reverse("second_factor") and not is_in(client)
    for n in range(5):
        assert client.post(reverse("second_factor"), {"code": f"{n:06}"}).status_code == 422
    assert client.post(reverse("second_factor"), {"code": "000009"}).status_code == 429
    assert second_factor.unseal(second_factor.SecondFactor.objects.get().secret) == secret
    people.perform("reset_second_factor", account=ada.username)
    people.perform("set_second_factor_rule", who="staff")
    again = Client()
    assert trip(again, there)["Location"] == reverse("set_up_second_factor")
    assert again.get(reverse("campaigns"))["Location"] == reverse("set_up_second_factor")


def test_a_password_that_was_forgotten_ends_the_connection(there: Elsewhere, ada: Account):
    connect(ada, there)
    ada.refresh_from_db()
    address = people.perform("make_password_link", account=ada.username).link
    client = Client()
    form = client.get(address, follow=True).redirect_chain[-1][0]
    chosen = {"new_password1": "the harbour at six", "new_password2": "the harbour at six"}
    assert client.post(form, chosen).status_code == 302
    assert not SocialAccount.objects.exists()
    assert AuditEntry.objects.filter(act="disconnect_sign_in").count() == 1


def test_a_deactivated_account_stays_out(there: Elsewhere, ada: Account):
    connect(ada, there)
    Account.objects.update(is_active=False)
    client = Client()
    assert trip(client, there)["Location"] == reverse("sign_in") and not is_in(client)


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": "1001", "iss": "https://elsewhere.example"},
        {"sub": "1001", "aud": "another"},
        {"sub": "1001", "exp": 1_000_000},
        {"sub": ""},
        {"sub": "1" * 300},
    ],
)
def test_a_word_that_is_not_for_us_or_names_nobody_lets_nobody_in(
    there: Elsewhere, ada: Account, claims: dict[str, Any]
):
    connect(ada, there)
    there.claims = claims
    client = Client()
    trip(client, there)
    assert not is_in(client)


def test_an_issuer_that_calls_itself_otherwise_lets_nobody_in(there: Elsewhere, ada: Account):
    connect(ada, there)
    there.says_issuer = "https://elsewhere.example"
    there.claims = {"sub": "1001", "iss": "https://elsewhere.example"}
    client = Client()
    trip(client, there)
    assert not is_in(client)


def test_another_issuer_knows_nobody_of_the_one_before(there: Elsewhere, ada: Account, settings: Any):
    connect(ada, there)
    settings.OIDC = {**settings.OIDC, "issuer": there.issuer.replace("127.0.0.1", "localhost")}
    there.issuer = settings.OIDC["issuer"]
    client = Client()
    trip(client, there)
    assert not is_in(client)


def test_coming_back_without_having_gone_lets_nobody_in(there: Elsewhere, ada: Account):
    connect(ada, there)
    address, query = there.consent(Client().post(reverse("oidc_sign_in"))["Location"])
    stranger = Client()
    assert stranger.get(address, query)["Location"] == reverse("sign_in") and not is_in(stranger)
    assert stranger.get(address, {"error": "access_denied"})["Location"] == reverse("sign_in")
    client = Client()
    address, query = there.consent(client.post(reverse("oidc_sign_in"))["Location"])
    assert client.get(address, query).status_code == 302 and is_in(client)
    client.post(reverse("sign_out"))
    client.get(address, query)
    assert not is_in(client), "a way back is good once"


def test_too_many_ways_back_from_one_address_wait(
    there: Elsewhere, ada: Account, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(limits, "SIGN_IN_ADDRESS", limits.SIGN_IN_ADDRESS._replace(most=3))
    address, _query = there.consent(Client().post(reverse("oidc_sign_in"))["Location"])
    answers = [Client().get(address, {"code": "x", "state": "y"}).status_code for _n in range(4)]
    assert answers == [302, 302, 302, 429]


def test_a_request_has_no_say_in_where_the_way_back_leads(there: Elsewhere, ada: Account, settings: Any):
    settings.ALLOWED_HOSTS = ["*"]
    forged = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    location = Client().post(reverse("oidc_sign_in"), headers=forged)["Location"]
    (back,) = parse_qs(urlsplit(location).query)["redirect_uri"]
    assert back.startswith(f"{settings.SITE_URL}/sign-in/elsewhere/")


def test_next_does_not_lead_off_this_host(there: Elsewhere, ada: Account):
    connect(ada, there)
    assert trip(Client(), there, next="https://elsewhere.example/")["Location"] == reverse("home")


def test_a_server_that_is_away_is_told_of(there: Elsewhere, ada: Account):
    there.away = True
    answer = Client().post(reverse("oidc_sign_in"))
    assert answer.status_code == 502 and "does not answer" in words(answer)


def test_the_policy_is_widened_for_the_redirect_alone(there: Elsewhere, ada: Account, settings: Any):
    def forms_lead_to(answer: Any) -> str:
        match = re.search(r"form-action ([^;]+)", answer["Content-Security-Policy"])
        assert match
        return match[1]

    client = Client()
    client.force_login(ada)
    wide = f"'self' {there.issuer}"
    assert forms_lead_to(Client().get(reverse("sign_in"))) == wide
    assert forms_lead_to(client.get(reverse("account"))) == wide
    assert forms_lead_to(client.post(reverse("connect_oidc"))) == wide
    for route in ("campaigns", "own_tokens", "set_up_second_factor", "tasks"):
        assert forms_lead_to(client.get(reverse(route))) == "'self'"
    policy = Client().get(reverse("sign_in"))["Content-Security-Policy"]
    assert policy.count(there.issuer) == 1
    settings.OIDC = None
    assert forms_lead_to(Client().get(reverse("sign_in"))) == "'self'"


def test_none_of_allauths_own_pages_is_there_and_without_a_server_none_of_ours(ada: Account, settings: Any):
    client = Client()
    client.force_login(ada)
    for address in ("/accounts/signup/", "/accounts/login/", "/accounts/social/signup/", "/oidc/x/login/"):
        assert Client().get(address).status_code == client.get(address).status_code == 404
    assert settings.OIDC is None
    assert Client().post(reverse("oidc_sign_in")).status_code == 404
    assert Client().get(reverse("openid_connect_callback", args=["x"])).status_code == 404
    assert people.confirm(client).post(reverse("connect_oidc")).status_code == 404
    assert "Sign in with" not in words(Client().get(reverse("sign_in")))
