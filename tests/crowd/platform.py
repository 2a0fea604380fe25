"""Prolific and Mechanical Turk as they meet us: where they send people to, and what Prolific tells."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode

from annotation import visits
from annotation.models import Account, Study, Visit
from annotation.protocol import questions as q
from tests.queue.world import World

SECRET = "what-prolific-made-for-our-workspace"
STUDY = "5f0d6c1f2b3a4c5d6e7f8091"
ANN, BOB = "60a1b2c3d4e5f60718293a4b", "60a1b2c3d4e5f60718293a4c"
FIRST, SECOND = "61c0ffee0000000000000001", "61c0ffee0000000000000002"
TURK = {
    "assignmentId": "3ASSIGNMENT000000000000000000",
    "hitId": "3HIT0000000000000000000000000",
    "workerId": "A2WORKER000000",
    "turkSubmitTo": "https://workersandbox.mturk.com",
}


def prolific_study(work: World, *, wanted: int = 2) -> Study:
    return visits.save_study(
        campaign=work.campaign,
        provider=visits.PROLIFIC,
        external_id=STUDY,
        wanted=wanted,
        completion_code="C0MPLETE",
        screen_out_code="SCREEN0UT",
    )


def turk_study(work: World, *, wanted: int = 1) -> Study:
    return visits.save_study(
        campaign=work.campaign, provider=visits.MTURK, wanted=wanted, completion_code="well-done"
    )


def address(who: str = ANN, submission: str = FIRST, *, study: str = STUDY, name: str = "quay") -> str:
    ids = {"PROLIFIC_PID": who, "STUDY_ID": study, "SESSION_ID": submission}
    return f"{reverse('prolific', args=[name])}?{urlencode(ids)}"


def turk_address(**other: str) -> str:
    return f"{reverse('mturk', args=['quay'])}?{urlencode({**TURK, **other})}"


def come(who: str = ANN, submission: str = FIRST, client: Client | None = None) -> Client:
    """A participant comes from Prolific by a browser of their own, or by `client`'s."""
    client = client or Client()
    answer = client.get(address(who, submission))
    assert answer.status_code == 302, answer.content.decode()
    return client


def account_in(client: Client) -> Account:
    return Account.objects.get(pk=client.session["_auth_user_id"])


def visit(submission: str = FIRST) -> Visit:
    return Visit.objects.select_related("identity", "study__campaign").get(external_id=submission)


def work_as(work: World, submission: str = FIRST, answers: int = 1) -> None:
    """Let the visitor hand in right answers."""
    work.workers.append(visit(submission).identity.worker_id)
    for _ in range(answers):
        work.submit(-1, work.held(-1, q.COREF_LINK), then=False)


def tell(
    status: str,
    submission: str = FIRST,
    who: str = ANN,
    *,
    secret: str = SECRET,
    sent: float | None = None,
    happened: float | None = None,
    event: str = "submission.status.change",
    body: bytes | None = None,
) -> Any:
    """Prolific's webhook: `sent` now unless told otherwise, of what `happened` then."""
    sent = time.time() if sent is None else sent
    if body is None:
        body = json.dumps(
            {"event_type": event, "resource_id": submission, "participant_id": who, "status": status}
        ).encode()
    stamp = str(int(sent))
    signed = base64.b64encode(hmac.new(secret.encode(), stamp.encode() + body, hashlib.sha256).digest())
    headers = {"X-Prolific-Request-Signature": signed.decode(), "X-Prolific-Request-Timestamp": stamp}
    if happened is not None:
        headers["X-Timestamp"] = str(happened)
    client = Client(enforce_csrf_checks=True)
    return client.post(reverse("prolific_webhook"), body, content_type="application/json", headers=headers)
