"""Unreadable requests from anybody are rejected with 400, without further errors."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import reverse

from annotation.common.files import LARGEST_FORM
from annotation.datasets.uploads import PART_BYTES
from annotation.images.decoding import MAX_BYTES
from annotation.models import Account, Flag
from annotation.protocol import questions as q
from config.bodies import LARGEST_BODY, LARGEST_FROM_ANYBODY
from config.middleware import ReadableForms
from config.wsgi import application
from tests.crowd import platform
from tests.hostile.attack import Visitor
from tests.queue.world import World
from tests.review.world import report, the_world
from tests.web import desk
from tests.web import world as people

pytestmark = pytest.mark.django_db

NEXT = "/api/tasks/next"
QUESTION = {"campaign": "quay", "kind": "coref_link"}


@pytest.fixture
def ann(work: World) -> Client:
    """A client of ann's, with all checks enabled."""
    client = Visitor()
    client.force_login(Account.objects.get(username="ann"))
    return client


@pytest.fixture
def work(tmp_path: Any) -> World:
    return desk.campaign(tmp_path)


def post(client: Client, address: str, body: bytes | str, kind: str = "application/json") -> tuple[int, Any]:
    answer = client.post(address, body, content_type=kind, headers={"X-CSRFToken": "c" * 32})
    held = json.loads(answer.content) if "json" in answer["Content-Type"] else answer.content.decode()
    return answer.status_code, held


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"campaign": "\\ud800", "kind": "coref_link"}', "half a character"),
        (b'{"campaign": "quay", "kind": "coref_link", "\\uDFFF": 1}', "half a character"),
        (b'{"campaign": "\xed\xa0\x80", "kind": "coref_link"}', "not JSON"),
        (b'{"holding": [9223372036854775808]}', "too large"),
        (b'{"seconds": ' + b"9" * 400 + b"}", "too large"),
        (b'{"seconds": ' + b"9" * 9000 + b"}", "too large"),
        (b"[" * 100_000, "not JSON"),
        (b'{"form": ' + b"[" * 200 + b"]" * 200 + b"}", "too deeply"),
        (json.dumps(QUESTION).encode("utf-16"), "not JSON"),
        (b'{"seconds": NaN}', "not JSON"),
        (b"x" * 3_000_000, "too large"),
    ],
)
def test_json_that_nothing_can_store_is_refused(ann: Client, body: bytes, says: str) -> None:
    status, text = post(ann, NEXT, body)
    assert (status, text["code"]) == (400, "bad_request")
    assert says in text["detail"]


def test_an_emoji_written_as_two_halves_is_one_character(ann: Client) -> None:
    status, text = post(ann, "/api/spelling", b'{"text": "A \\ud83d\\udc36 runs \\\\ud800 ."}')
    assert status == 200, text


def test_brackets_within_a_text_do_not_make_it_deep(ann: Client) -> None:
    status, text = post(ann, "/api/spelling", json.dumps({"text": "[" * 390 + '"]'}).encode())
    assert status == 200, text


def test_parts_of_a_form_are_no_call_of_the_api(ann: Client) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="campaign"\r\n\r\nquay\r\n--x--\r\n'
    status, text = post(ann, NEXT, body, "multipart/form-data; boundary=x")
    assert (status, text["code"]) == (400, "bad_request")
    assert post(ann, reverse("prolific_webhook"), body, "multipart/form-data; boundary=x")[0] == 400


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"a=1&" * 2_000, "application/x-www-form-urlencoded"),
        (b"a=" + b"x" * 3_000_000, "application/x-www-form-urlencoded"),
        (b"a=1", "application/x-www-form-urlencoded; charset=utf-16"),
        (b"--x", "multipart/form-data"),
        (b"a", "multipart/form-data; boundary=" + "b" * 300),
    ],
)
@pytest.mark.parametrize("address", ["/sign-in/", "/nothing/here/", NEXT])
def test_a_form_that_cannot_be_read_is_refused_with_a_page(
    ann: Client, body: bytes, kind: str, address: str
) -> None:
    status, text = post(ann, address, body, kind)
    assert status == (404 if address == "/nothing/here/" and "charset" not in kind else 400)
    assert "went wrong on our side" not in text


def test_null_characters_are_left_out_of_forms_and_addresses(rf: Any) -> None:
    seen: list[Any] = []

    def store(request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse()

    layer = ReadableForms(store)
    layer(rf.post("/?a=%00x&a=y&%00b=1", {"reason": "\0over", "na\0me": ["1", "\0"], "plain": "z"}))
    assert dict(seen[0].POST.lists()) == {"reason": ["over"], "name": ["1", ""], "plain": ["z"]}
    assert dict(seen[0].GET.lists()) == {"a": ["x", "y"], "b": ["1"]}


def test_a_null_character_where_a_row_is_written_or_looked_for_breaks_nothing(work: World) -> None:
    """On PostgreSQL, which takes none."""
    client = people.signed_in("ada", "researcher")
    pause = {"campaign": "quay", "reason": "\0", "next": "/"}
    assert client.post(reverse("operation", args=["pause_campaign"]), pause).status_code == 302
    opening = {"campaign": "new", "corpus": "\0"}
    assert client.post(reverse("operation", args=["open_campaign"]), opening).status_code == 400
    export = {"campaign": "quay", "format": "\0"}
    assert client.post(reverse("operation", args=["export_campaign"]), export).status_code == 400


@pytest.mark.parametrize("charset", ["undefined", "hex", "rot13", "utf-16", "idna"])
def test_an_address_is_read_as_utf_8_whatever_a_body_calls_its_charset(charset: str) -> None:
    lines: list[str] = []
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/healthz",
        "QUERY_STRING": "a=%41",
        "CONTENT_TYPE": f"application/json; charset={charset}",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
    }
    answer = application(environ, lambda status, headers, *rest: lines.append(status))
    assert lines == ["400 Bad Request"] and b"UTF-8" in b"".join(answer)


def test_what_prolific_would_never_write_is_no_event(work: World, settings: Any) -> None:
    settings.PROLIFIC_WEBHOOK_SECRET = platform.SECRET
    platform.prolific_study(work)
    for resource in ("\ud800", "\0"):
        about = {"event_type": "submission.status.change", "resource_id": resource, "participant_id": "x"}
        body = json.dumps({**about, "status": "RETURNED"}).encode()
        assert platform.report_state("", body=body).status_code == 400


@pytest.mark.parametrize("payload", ["https://evil.example/", "//evil.example", "x", ""])
def test_an_operation_leads_on_to_pages_of_this_server_alone(payload: str) -> None:
    report(the_world(), q.COREF_LINK)
    client = people.signed_in("rea", "reviewer")
    address = reverse("operation", args=["resolve_flag"])
    about = {"campaign": "review", "flag": Flag.objects.get().pk, "next": payload}
    assert client.post(address, about)["Location"] == address


@pytest.mark.parametrize(
    "fields",
    [
        {"campaign_settings": "x = " + "9" * 5_000},
        {"campaign_settings": "x = " + "[" * 20_000},
        {"images": "9" * 5_000},
    ],
)
def test_what_no_campaign_can_be_opened_with_is_said_on_the_form(work: World, fields: dict[str, str]) -> None:
    client = people.signed_in("ada", "researcher")
    form_data = {"campaign": "new", "corpus": "quay", "tasks": "captions", **fields}
    assert client.post(reverse("operation", args=["open_campaign"]), form_data).status_code == 400


@pytest.mark.parametrize(
    "fields",
    [
        {"act": "keep", "chain": "0:0-2 0:0-2"},
        {"act": "regroup", "chain": "0:0-2 1:0-2", "to:1:0-2": " \n "},
    ],
)
def test_a_ruling_that_cannot_be_is_refused_on_its_page(fields: dict[str, str]) -> None:
    the_world()
    client = people.signed_in("rea", "reviewer")
    assert client.post(reverse("rule", args=["review", "man"]), fields).status_code == 409


def test_runs_are_not_uploaded_without_a_name() -> None:
    client = people.signed_in("ada", "researcher")
    assert client.post("/evaluation/add-system/", {"act": "import_run", "name": ""}).status_code == 400


class Endless(io.RawIOBase):
    """An endless body; `taken` is the number of bytes read."""

    taken = 0

    def read(self, size: int = -1) -> bytes:
        assert 0 <= size <= 2**24, "somebody wants all of it"
        self.taken += size
        return b"x" * size


def raw_request(path: str, length: int | None, **headers: str) -> tuple[str, dict[str, str], bytes, int]:
    """Send a form with a file and a declared length of `length` bytes: return status, headers, body, and the
    number of bytes read."""
    lines: list[tuple[str, dict[str, str]]] = []
    body = Endless()
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "CONTENT_TYPE": "multipart/form-data; boundary=b",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "HTTP_HOST": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": body,
        **({"CONTENT_LENGTH": str(length)} if length is not None else {"HTTP_TRANSFER_ENCODING": "chunked"}),
        **headers,
    }
    for signal in (request_started, request_finished):  # which close the connection of a test
        signal.disconnect(close_old_connections)
    try:
        answer: Any = application(environ, lambda status, value, *rest: lines.append((status, dict(value))))
        text = b"".join(answer)
        answer.close()
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)
    return lines[0][0][:3], lines[0][1], text, body.taken


def with_session() -> dict[str, str]:
    """Return the header of a request in a signed-in session."""
    return {"HTTP_COOKIE": f"session={people.signed_in('ada', 'researcher').session.session_key}"}


@pytest.mark.parametrize("path", ["/sign-in/", "/evaluation/systems/upload/", "/prolific/webhook/", "/"])
def test_nothing_is_read_of_a_form_that_is_larger_than_anybody_may_send(path: str) -> None:
    status, headers, text, taken = raw_request(path, LARGEST_FROM_ANYBODY + 1)
    assert (status, taken) == ("413", 0)
    assert "Sign in, then send it again" in text.decode() and headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("path", ["/sign-in/", "/evaluation/systems/upload/"])
def test_nothing_is_read_of_a_form_that_is_larger_than_any_page_takes(path: str) -> None:
    session = with_session()
    status, _headers, text, taken = raw_request(path, LARGEST_BODY + 1, **session)
    assert (status, taken) == ("413", 0) and "imported by command" in text.decode()
    assert raw_request(path, 2**20, **session)[0] != "413"


@pytest.mark.parametrize(
    "forged",
    [
        {"HTTP_COOKIE": "session=anybodycanwritethis"},
        {"HTTP_AUTHORIZATION": "Bearer any"},
        {"HTTP_AUTHORIZATION": "Token any"},
    ],
)
def test_what_only_looks_like_a_session_or_a_token_lets_no_large_body_in(forged: dict[str, str]) -> None:
    status, _headers, _text, taken = raw_request("/sign-in/", LARGEST_FROM_ANYBODY + 1, **forged)
    assert (status, taken) == ("413", 0)


@pytest.mark.parametrize("path", [NEXT, "/api/v1/corpora", "/api/v1/systems"])
def test_a_call_that_is_too_large_is_refused_as_a_problem(path: str) -> None:
    for length, headers in [(LARGEST_FROM_ANYBODY + 1, {}), (LARGEST_BODY + 1, with_session())]:
        status, about, text, taken = raw_request(path, length, **headers)
        assert (status, taken) == ("413", 0) and about["Content-Type"] == "application/problem+json"
        assert json.loads(text)["code"] == "too_large"


def test_of_a_body_that_does_not_say_how_long_it_is_nothing_is_read() -> None:
    status, _headers, _body, taken = raw_request("/sign-in/", None)
    assert status != "413" and taken == 0


def test_whatever_a_page_or_a_call_takes_may_be_sent(settings: Any) -> None:
    assert max(LARGEST_FORM, PART_BYTES, MAX_BYTES) + settings.DATA_UPLOAD_MAX_MEMORY_SIZE < LARGEST_BODY
