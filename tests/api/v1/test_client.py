"""The client package, and its example against a live server."""

from __future__ import annotations

import importlib
import io
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError

import pytest
from django import test as django_test
from django.db import transaction

from annotation import jobs
from annotation.models import Account, Campaign
from annotation.notifications.receivers import secret_of, webhook_signature
from annotation.workers import api_tokens
from evaluation.models import Report, Run
from evaluation.services.reports import building
from tests.api.v1.conftest import names_for_admins
from tests.api.v1.valid import VALID
from tests.api.v1.worker_calls import VALID_OF_WORKERS, worker_headers
from tests.browser.gate import before
from tests.conftest import REPOSITORY
from tests.intake.uploading import SOUND, forty, zipped
from tests.web import world as web

pytestmark = pytest.mark.django_db(transaction=True)
CLIENT = REPOSITORY / "clients" / "python"


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The client as its users import it; while it waits, queued jobs are done."""
    monkeypatch.syspath_prepend(str(CLIENT))
    client = importlib.import_module("phrasebox_client.client")

    def work(_seconds: float) -> None:
        while (due := jobs.due_job()) is not None:
            jobs.run_queued_job(due)

    monkeypatch.setattr(client.time, "sleep", work)
    yield client
    for name in [name for name in sys.modules if name.startswith("phrasebox_client") or name == "example"]:
        del sys.modules[name]


@pytest.fixture
def secret(data: Path) -> str:
    web.corpus(data / "made", name="drawn")
    account = web.account("ada", "researcher")
    return api_tokens.make_api_token(account=account, name="example", days=1, writes=True).secret


@pytest.fixture(autouse=True)
def let_in(live_server: Any) -> None:
    """Open the server's gate, which browser tests may have closed."""
    before(live_server).open()


def test_the_example_runs_against_a_server(
    package: Any,
    secret: str,
    live_server: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dearer than a test may be: a server, and all jobs of an afternoon."""
    monkeypatch.setattr(building, "as_svg", lambda plot: '<svg class="figure" role="img"></svg>')
    monkeypatch.setattr(building, "as_pdf", lambda plot: b"%PDF-")
    files = []
    for name, order in (("good", (0, 1, 2)), ("bad", (2, 1, 0))):
        file = tmp_path / f"{name}.trec"
        file.write_text(
            "".join(
                f"scene-{asking}.png Q0 scene-{item}.png#0 {rank} {3 - rank}.5 {name}\n"
                for asking in range(3)
                for rank, item in enumerate(order if order[0] else (asking, *({0, 1, 2} - {asking})), 1)
            )
        )
        files.append(str(file))
    importlib.import_module("example").main(live_server.url, secret, "drawn", *files)
    text = capsys.readouterr().out
    assert "I am ada" in text and "afternoon is open: 2 images, due 0.00" in text
    assert "refused: unknown" in text and "campaigns: ['afternoon']" in text
    assert Campaign.objects.get(name="afternoon").state == Campaign.OPEN
    assert set(Run.objects.filter(published=True).values_list("name", flat=True)) == {"good", "bad"}
    assert Report.objects.get(name="afternoon").files


class Opener:
    """Sends a client's requests to the application, in this process."""

    def open(self, request: Any, timeout: float) -> Any:
        payload = {name: value for name, value in request.header_items() if name != "Content-type"}
        answer = django_test.Client(headers=payload).generic(
            request.get_method(),
            request.full_url.removeprefix("http://testserver"),
            request.data or b"",
            request.get_header("Content-type", ""),
        )
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
        if answer.status_code >= 400:
            headers: Any = answer.headers
            raise HTTPError(request.full_url, answer.status_code, "", headers, io.BytesIO(body))
        return nullcontext(SimpleNamespace(status=answer.status_code, read=lambda: body))


@pytest.mark.django_db(transaction=False)
def test_the_client_lacks_no_operation_of_the_document(
    package: Any, everything: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dearer than a test may be: one world, and a call of each operation in it."""
    secrets = {
        name: api_tokens.make_api_token(
            account=Account.objects.get(username=name), name="client", days=1, writes=True
        ).secret
        for name in ("researcher", "admin")
    }
    secrets["annotator"] = worker_headers("annotator")["Authorization"].removeprefix("Token ")
    clients = {name: package.Client("http://testserver", secret) for name, secret in secrets.items()}
    for client in clients.values():
        client._opener = Opener()
    valid = {**VALID, **VALID_OF_WORKERS}
    assert clients["admin"].operations.keys() == valid.keys()
    for name in clients["admin"].operations:
        who = (
            "annotator"
            if name in VALID_OF_WORKERS
            else "admin"
            if name in names_for_admins()
            else "researcher"
        )
        with transaction.atomic():
            call = valid[name]()
            body = dict(call.body or {})
            for field, (called, held) in call.files.items():
                body[field] = tmp_path / called
                body[field].write_bytes(held)
            clients[who].call(name, body, **call.path_values, **call.query)
            transaction.set_rollback(True)


def test_a_call_that_got_no_answer_is_sent_again_and_done_once(
    package: Any, secret: str, live_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = package.Client(live_server.url, secret)
    opened = client._opener.open
    lost: list[bytes] = []

    def losing(request: Any, **more: Any) -> Any:
        answer = opened(request, **more)
        if request.get_method() == "POST" and not lost:
            lost.append(answer.read())
            raise ConnectionResetError("the answer was lost on its way")
        return answer

    monkeypatch.setattr(client._opener, "open", losing)
    plan = {"name": "once", "corpus": "drawn", "tasks": "captions", "unpaid": True}
    job = client.post("campaigns", plan)["job"]
    assert lost and job["campaign"] == "once" and Campaign.objects.count() == 1


def test_a_problem_has_all_that_the_server_said(package: Any, secret: str, live_server: Any) -> None:
    client = package.Client(live_server.url, secret)
    with pytest.raises(package.Problem) as caught:
        client.post("campaigns", {"name": "two words"})
    assert (caught.value.status, caught.value.code) == (400, "bad_request")
    assert {error["field"] for error in caught.value.errors} == {"name"}
    with pytest.raises(package.Problem) as caught:
        package.Client(live_server.url, "phrasebox_nothing").get("me")
    assert caught.value.status == 401


def test_a_corpus_is_sent_in_parts_that_go_on_after_a_cut_line(
    package: Any, secret: str, live_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dearer than a test may be: a server, the check and the import of forty pictures."""
    monkeypatch.setattr("annotation.datasets.uploads.PART_BYTES", 2_000)
    monkeypatch.setattr(package, "TRIES", 1)
    source = tmp_path / "forty.zip"
    source.write_bytes(zipped(forty()))
    client = package.Client(live_server.url, secret)
    opened, parts = client._opener.open, 0

    def cut(request: Any, **more: Any) -> Any:
        nonlocal parts
        answer = opened(request, **more)
        if "/files/" in request.full_url:
            parts += 1
            if parts in (2, 5, 6):  # the last two in a row, which is one too many
                raise ConnectionResetError("the line was cut")
        return answer

    monkeypatch.setattr(client._opener, "open", cut)
    with pytest.raises(ConnectionResetError):
        client.send_corpus("forty", source)
    (half,) = client.rows("uploads")
    assert 0 < half["received"] < half["size"] and not half["complete"]
    upload = client.send_corpus("forty", source)
    assert upload["key"] == half["key"] and upload["complete"]
    whole = -(-source.stat().st_size // 2_000)
    assert parts == whole and parts > 6
    checked = client.finished(client.post(f"uploads/{upload['key']}/check"))
    assert checked["result"]["problem_count"] == 2 and len(
        client.download(f"uploads/{upload['key']}/problems")
    )
    how = {"skip_problems": True, "leave_unused": True}
    client.finished(client.post(f"uploads/{upload['key']}/import", how))
    assert client.get("corpora/forty")["images"] == SOUND


def test_the_client_takes_what_the_server_signed_and_nothing_else(package: Any) -> None:
    webhooks = importlib.import_module("phrasebox_client.webhooks")
    secret, body, at = secret_of("salt"), b'{"type": "webhook.test"}', int(time.time())
    signed = webhook_signature(secret=secret, message="msg_1", at=at, body=body)
    headers = {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(at), "Webhook-Signature": f"v1,eA== {signed}"}
    assert webhooks.verified_webhook(secret, headers, body)["type"] == "webhook.test"
    old = {**headers, "Webhook-Timestamp": str(at - 600)}
    by_name = {**headers, "Webhook-Id": "msg_2"}
    for item in ({}, old, by_name, {**headers, "Webhook-Signature": "v1,ü"}):
        with pytest.raises(webhooks.NotSigned):
            webhooks.verified_webhook(secret, item, body)
    with pytest.raises(webhooks.NotSigned):
        webhooks.verified_webhook(secret_of("other"), headers, body)
    with pytest.raises(webhooks.NotSigned):
        webhooks.verified_webhook(secret, headers, body + b" ")
