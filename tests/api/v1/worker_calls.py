"""Valid calls of workers, in the world of `tests.hostile.world`, by their names in the OpenAPI document."""

from __future__ import annotations

from annotation.models import Account, Campaign, Worker
from annotation.protocol import questions as q
from annotation.protocol.questions import Answer
from annotation.queue import leases, submission
from annotation.queue.leases import Lease
from annotation.workers.accounts import worker_tokens
from tests.api.v1.valid import Make, ValidCall, at, nothing, with_body

_KIND = {"campaign": "quay", "kind": q.COREF_LINK}


def worker_headers(role: str) -> dict[str, str]:
    """Return the headers of a worker's client; none for a stranger's."""
    account = Account.objects.filter(username=role).first()
    return {"Authorization": f"Token {worker_tokens.make_worker_token(account)}"} if account else {}


def _assignment() -> ValidCall:
    worker = Worker.objects.get(identity__account__username="annotator")
    lease = leases.take_lease(worker=worker.pk, campaign=Campaign.objects.get(name="quay"), kind=q.COREF_LINK)
    assert isinstance(lease, Lease), lease
    return ValidCall({"assignment": lease.id})


def _answer() -> ValidCall:
    call = _assignment()
    call.body = {"answer": "yes", "token": f"t{call.path_values['assignment']}", "seconds": 1.5}
    return call


def _change() -> ValidCall:
    call = _assignment()
    submission.submit(
        worker=Worker.objects.get(identity__account__username="annotator").pk,
        assignment=int(call.path_values["assignment"]),
        answer=Answer("yes"),
        token=f"c{call.path_values['assignment']}",
        then=False,
    )
    call.body = {"answer": "no"}
    return call


VALID_OF_WORKERS: dict[str, Make] = {
    "worker_tasks": nothing,
    "worker_next": with_body(_KIND),
    "worker_test": with_body({"campaign": "tested", "kind": q.COREF_LINK}),
    "worker_consent": at(name="tested"),
    "worker_agree": with_body({"version": 1}, name="tested"),
    "worker_spelling": with_body({"text": "Two dgos run."}),
    "worker_answer": _answer,
    "worker_recent_answers": with_body(_KIND),
    "worker_change": _change,
    "worker_return": _assignment,
    "worker_heartbeat": _assignment,
}
