"""Stand-ins for Prolific and Mechanical Turk: links for participants, and Prolific's signatures and API."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode

from annotation.models import Account, Study, Visit
from annotation.protocol import questions as q
from annotation.workers import platform_visits
from tests.queue.world import World

SECRET = "what-prolific-made-for-our-workspace"
API_TOKEN = "what-we-ask-their-api-with"
STUDY = "5f0d6c1f2b3a4c5d6e7f8091"
ANN, BOB = "60a1b2c3d4e5f60718293a4b", "60a1b2c3d4e5f60718293a4c"
FIRST, SECOND = "61c0ffee0000000000000001", "61c0ffee0000000000000002"
#: Prolific's key, and a forged one with the same id.
THEIRS, FORGED = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
KEY_SET = {
    "keys": [
        {
            **jwt.algorithms.RSAAlgorithm.to_jwk(THEIRS.public_key(), as_dict=True),
            "kid": "theirs",
            "alg": "RS256",
            "use": "sig",
        }
    ]
}
TURK = {
    "assignmentId": "3ASSIGNMENT000000000000000000",
    "hitId": "3HIT0000000000000000000000000",
    "workerId": "A2WORKER000000",
    "turkSubmitTo": "https://workersandbox.mturk.com",
}


def prolific_study(work: World, *, expected: int = 2) -> Study:
    return platform_visits.save_study(
        campaign=work.campaign,
        provider=platform_visits.PROLIFIC,
        external_id=STUDY,
        answers_required=expected,
        completion_code="C0MPLETE",
        screen_out_code="SCREEN0UT",
    )


def turk_study(work: World, *, expected: int = 1) -> Study:
    return platform_visits.save_study(
        campaign=work.campaign,
        provider=platform_visits.MTURK,
        answers_required=expected,
        completion_code="well-done",
    )


def address(who: str = ANN, submission: str = FIRST, *, study: str = STUDY, name: str = "quay") -> str:
    ids = {"PROLIFIC_PID": who, "STUDY_ID": study, "SESSION_ID": submission}
    return f"{reverse('prolific', args=[name])}?{urlencode(ids)}"


def token(
    who: str = ANN, submission: str = FIRST, *, study: str = STUDY, key: Any = THEIRS, **changes: Any
) -> str:
    """Return Prolific's signed token of a participant; `changes` replace its usual claims, None removes
    one."""
    claims: dict[str, Any] = {
        "iss": "https://www.prolific.com",
        "aud": "http://testserver/prolific/quay/",
        "exp": int(time.time()) + 300,
        "jti": uuid4().hex,
        "prolific": {
            "PROLIFIC_PID": who,
            "STUDY_ID": study,
            "SESSION_ID": submission,
            "workspace_id": "64c0ffee",
        },
    }
    claims = {name: value for name, value in (claims | changes).items() if value is not None}
    return jwt.encode(claims, key, algorithm="RS256", headers={"kid": "theirs"})


def signed(who: str = ANN, submission: str = FIRST, *, study: str = STUDY, name: str = "quay") -> str:
    """Return the same address with Prolific's signature, as for one opening of the study."""
    reference = address(who, submission, study=study, name=name)
    return f"{reference}&{urlencode({'prolific_token': token(who, submission, study=study)})}"


@contextmanager
def prolific_itself() -> Iterator[Server]:
    """Run a stand-in for Prolific's API; `Server.submissions` is its data."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Server(ThreadingHTTPServer):
    """`submissions`: participant by id. `status`: of every response. `asked`: the requested paths."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.submissions: dict[str, dict[str, Any]] = {}
        self.requested_paths: list[str] = []
        self.status = 200

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def knows(self, submission: str, who: str, *, study: str = STUDY, status: str = "ACTIVE") -> None:
        """Add a submission, in the format of Prolific's reference."""
        self.submissions[submission] = {
            "id": submission,
            "participant": who,
            "study_id": study,
            "status": status,
            "started_at": "2026-11-22T10:00:00Z",
        }


class _Answers(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requested_paths.append(self.path)
        result: Any = None
        if self.path == "/.well-known/study/jwks.json":
            result = KEY_SET
        elif self.headers["Authorization"] == f"Token {API_TOKEN}":
            result = self.server.submissions.get(self.path.split("/")[-2])
        self.send_response(self.server.status if result else 404)
        self.end_headers()
        self.wfile.write(json.dumps(result or {"error": "not found"}).encode())

    def log_message(self, *_about: Any) -> None:
        """Log nothing."""


def turk_address(**another: str) -> str:
    return f"{reverse('mturk', args=['quay'])}?{urlencode({**TURK, **another})}"


def come(who: str = ANN, submission: str = FIRST, client: Client | None = None) -> Client:
    """Open Prolific's signed link as a participant, in a new browser or in `client`."""
    return _come(signed(who, submission), client)


def arrive(who: str = ANN, submission: str = FIRST, client: Client | None = None) -> Client:
    """Open an unsigned address, which anybody can write."""
    return _come(address(who, submission), client)


def _come(address: str, client: Client | None) -> Client:
    client = client or Client()
    answer = client.get(address)
    assert answer.status_code == 302, answer.content.decode()
    return client


def account_in(client: Client) -> Account:
    return Account.objects.get(pk=client.session["_auth_user_id"])


def visit(submission: str = FIRST, who: str = "") -> Visit:
    visits = Visit.objects.select_related("identity", "study__campaign").filter(external_id=submission)
    return visits.get(participant=who) if who else visits.get()


def work_as(work: World, submission: str = FIRST, answers: int = 1) -> None:
    """Submit correct answers of the visitor."""
    work.workers.append(visit(submission).identity.worker_id)
    for _ in range(answers):
        work.submit(-1, work.held(-1, q.COREF_LINK), then=False)


def report_state(
    status: str,
    submission: str = FIRST,
    who: str = ANN,
    *,
    secret: str = SECRET,
    sent_at: float | None = None,
    happened: float | None = None,
    event: str = "submission.status.change",
    body: bytes | None = None,
) -> Any:
    """Send Prolific's webhook: `sent_at` is now by default, about what `happened` at that time."""
    sent_at = time.time() if sent_at is None else sent_at
    if body is None:
        body = json.dumps(
            {"event_type": event, "resource_id": submission, "participant_id": who, "status": status}
        ).encode()
    stamp = str(int(sent_at))
    signed = base64.b64encode(hmac.new(secret.encode(), stamp.encode() + body, hashlib.sha256).digest())
    headers = {"X-Prolific-Request-Signature": signed.decode(), "X-Prolific-Request-Timestamp": stamp}
    if happened is not None:
        headers["X-Timestamp"] = str(happened)
    client = Client(enforce_csrf_checks=True)
    return client.post(reverse("prolific_webhook"), body, content_type="application/json", headers=headers)
