"""Headers of every response, and what requires signing in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from annotation.api.urls import urlpatterns as api_urls
from config.urls import V1_PATTERNS as operation_urls
from tests.house.product import NO_BROKER, PRODUCTION, REPOSITORY, Server, manage, migrated, serving

OPEN = {
    *("healthz", "readyz", "sign_in", "sign_out", "choose_language", "picture", "model_picture"),
    *("second_factor", "oidc_sign_in", "openid_connect_callback"),
    *("reset", "reset_sent", "password_reset_confirm", "invite", "first_account", "staff_invite"),
    *("prolific", "prolific_webhook", "mturk", "mturk_begin"),
    *("v1_openapi", "v1_docs", "api_nothing"),
}


def routes(url_patterns: list[URLPattern | URLResolver]) -> list[URLPattern]:
    return [
        pattern
        for entry in url_patterns
        for pattern in (routes(entry.url_patterns) if isinstance(entry, URLResolver) else [entry])
    ]


def test_no_page_may_run_or_style_inline_code_or_be_framed(client: Client) -> None:
    headers = client.get(reverse("sign_in")).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert not {"'unsafe-inline'", "'unsafe-eval'", "*"} & set(headers["Content-Security-Policy"].split())
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_every_other_view_asks_for_a_sign_in() -> None:
    asking = {
        pattern.name or str(pattern.pattern)
        for pattern in routes(get_resolver().url_patterns)
        if getattr(pattern.callback, "login_required", True)
    }
    everything = {pattern.name or str(pattern.pattern) for pattern in routes(get_resolver().url_patterns)}
    api = {pattern.name for pattern in routes([*api_urls, *operation_urls])}
    assert everything - asking <= OPEN | api
    assert "home" in asking


@pytest.mark.django_db
def test_the_api_tells_a_stranger_to_sign_in(client: Client) -> None:
    for route in routes([*api_urls, *operation_urls]):
        if route.name in OPEN:
            continue
        address = reverse(route.name, args=["1"] * len(route.pattern.converters))
        calls = (client.get, client.post, client.patch, client.delete)
        statuses = {call(address).status_code for call in calls}
        assert 401 in statuses <= {401, 405}, address


def test_a_stranger_is_led_to_the_sign_in_and_back(client: Client) -> None:
    answer = client.get(reverse("home"))
    assert (answer.status_code, answer["Location"]) == (302, f"{reverse('sign_in')}?next={reverse('home')}")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which production can start: our static files collected, database migrated. Those of the
    API's documentation, which no page here loads, are most of the bytes (tests/house/test_serve.py collects
    them too)."""
    folder = tmp_path_factory.mktemp("production")
    ignored = ("--ignore", "drf_spectacular_sidecar", "--ignore", "rest_framework")
    assert manage(folder, "collectstatic", "--no-input", *ignored, **PRODUCTION).returncode == 0
    migrated(folder)
    return folder


@pytest.fixture(scope="module")
def production(collected: Path) -> Iterator[Server]:
    """A server in production; starting it takes three seconds of CPU."""
    with serving(collected, port=None, **PRODUCTION, REDIS_URL=NO_BROKER) as server:
        yield server


def test_production_leads_to_tls_and_binds_its_cookies_to_this_host(production: Server) -> None:
    sign_in = reverse("sign_in")
    plain_value = production.get(sign_in, Host="phrasebox.example")
    assert (plain_value.status, plain_value.headers["Location"]) == (
        301,
        f"https://phrasebox.example{sign_in}",
    )
    page = production.get(sign_in, Host="phrasebox.example", X_Forwarded_Proto="https")
    assert page.status == 200
    assert page.headers["Strict-Transport-Security"] == "max-age=31536000"
    cookie = page.headers["Set-Cookie"]
    assert cookie.startswith("__Host-csrf=")
    assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert production.get("/healthz", Host="phrasebox.example").status == 200
    assert production.get(sign_in, Host="elsewhere.example", X_Forwarded_Proto="https").status == 400


def test_production_logs_each_request_as_json_with_its_id(production: Server) -> None:
    """The last test of this server: its log is whole once it has ended."""
    production.get("/healthz", X_Request_ID="mine")
    lines = [json.loads(line) for line in production.stop().splitlines()]
    (requested,) = [line for line in lines if line.get("request") == "mine"]
    assert (requested["logger"], requested["message"]) == ("phrasebox.access", "GET /healthz 200")
    assert requested["milliseconds"] >= 0


def test_no_code_makes_an_address_of_the_host_that_a_request_names() -> None:
    """Full addresses begin with SITE_URL (annotation/common/addresses.py)."""
    for app in ("annotation", "evaluation", "config"):
        for file in REPOSITORY.glob(f"{app}/**/*.py"):
            assert "build_absolute_uri" not in file.read_text(encoding="utf-8"), file
