"""Webhooks are delivered at least once, signed, and abandoned after three days."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, hmac

from annotation import jobs
from annotation.common import database
from annotation.models import Account, RoleGrant, Webhook, WebhookDelivery
from annotation.notifications import delivering, hooks
from annotation.notifications.delivering import deliver_webhooks, prune_webhook_log, undelivered
from annotation.notifications.events import announce
from annotation.notifications.sending import ADDRESS, NO_ANSWER, STATUS, SendOutcome
from tests.notifications.conftest import hook, seconds
from tests.notifications.receiver import Got, listening
from tests.web import world as people

pytestmark = pytest.mark.django_db


def check_signature(got: Got, secret: str) -> None:
    """Verify a signature like a receiver, with another library; raises InvalidSignature."""
    headers = got.headers
    check = hmac.HMAC(base64.b64decode(secret.removeprefix("whsec_")), hashes.SHA256())
    check.update(headers["webhook-id"].encode() + b"." + headers["webhook-timestamp"].encode() + b".")
    check.update(got.body)
    version, _comma, payload = headers["webhook-signature"].partition(",")
    assert version == "v1"
    check.verify(base64.b64decode(payload))


def announce_event(about: str = "e") -> None:
    assert announce(hooks.JOB_ENDED, data={"job": 1, "kind": about, "state": "done"})


def test_a_receiver_that_is_down_for_an_hour_gets_it_once_it_is_back(
    researcher: Account, to_loopback: None, certificate: Path, advance_clock: Callable[..., None]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    secret = hook(researcher, f"https://localhost:{port}/hook").secret
    announce_event("ü")
    row = WebhookDelivery.objects.get()
    begun = database.now()
    for _minute in range(60):
        deliver_webhooks()
        advance_clock(minutes=1)
    row.refresh_from_db()
    assert row.state == row.WAITING and row.error == f"{NO_ANSWER}: ConnectionRefusedError"
    # The first at once, then 30 seconds, 1, 2, 4, 8, 16 and 32 minutes later, as the job runs every minute.
    assert row.attempts == 7
    with listening(certificate, port) as receiver:
        for _minute in range(60):
            deliver_webhooks()
            advance_clock(minutes=1)
    (got,) = receiver.got
    check_signature(got, secret)
    row.refresh_from_db()
    assert (row.state, row.attempts, row.status, row.error) == (row.DELIVERED, 8, 204, "")
    assert got.body == row.body.encode() and got.headers["webhook-id"] == row.message
    assert got.headers["content-type"] == "application/json"
    assert seconds(begun) + 3600 <= int(got.headers["webhook-timestamp"]) <= seconds(begun) + 7200
    assert json.loads(got.body)["data"]["kind"] == "ü" and json.loads(got.body)["type"] == "job.ended"


def test_what_nobody_takes_is_given_up_after_three_days_and_can_be_sent_again(
    researcher: Account, to_loopback: None, certificate: Path, advance_clock: Callable[..., None]
) -> None:
    with listening(certificate) as receiver:
        receiver.status = 500
        created = hook(researcher, receiver.address).webhook
        announce_event()
        row = WebhookDelivery.objects.get()
        for _hour in range(71):
            deliver_webhooks()
            advance_clock(hours=1)
        row.refresh_from_db()
        assert (row.state, row.error, row.status) == (row.WAITING, STATUS, 500)
        advance_clock(hours=1)
        deliver_webhooks()
        row.refresh_from_db()
        assert row.state == row.GIVEN_UP and row.attempts == 72
        assert undelivered([created]) == {created.pk: 1}
        advance_clock(days=1)
        assert not deliver_webhooks()
        receiver.status = 200
        people.perform("send_delivery_again", researcher, webhook=row.webhook_id, delivery=row.pk)
        deliver_webhooks()
    row.refresh_from_db()
    assert row.state == row.DELIVERED and not undelivered([created])
    assert {got.headers["webhook-id"] for got in receiver.got} == {row.message}
    assert len({got.headers["webhook-timestamp"] for got in receiver.got}) == 73


def test_what_was_sent_by_a_process_that_died_then_is_sent_again(
    researcher: Account, to_loopback: None, certificate: Path, advance_clock: Callable[..., None], monkeypatch
) -> None:
    def die(row: WebhookDelivery, outcome: object) -> None:
        raise KeyboardInterrupt

    with listening(certificate) as receiver:
        hook(researcher, receiver.address)
        announce_event()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(delivering, "_save_outcome", die)
            deliver_webhooks()
        assert not deliver_webhooks()  # claimed by another delivery
        advance_clock(minutes=2)
        assert deliver_webhooks() == 1
    assert len({got.headers["webhook-id"] for got in receiver.got}) == 1 and len(receiver.got) == 2


def test_a_name_that_leads_to_this_machine_is_refused_at_the_attempt(
    researcher: Account, certificate: Path, monkeypatch, advance_clock: Callable[..., None]
) -> None:
    real = socket.getaddrinfo

    def rebound(host, port, *rest, **about):
        return real("127.0.0.1" if host == "hooks.example.org" else host, port, *rest, **about)

    with listening(certificate) as receiver:
        hook(researcher, f"https://hooks.example.org:{receiver.port}/")
        monkeypatch.setattr(socket, "getaddrinfo", rebound)
        announce_event()
        deliver_webhooks()
        assert not receiver.got
    row = WebhookDelivery.objects.get()
    assert row.state == row.WAITING and row.error.startswith(f"{ADDRESS}: ") and "127.0.0.1" in row.error


@pytest.mark.parametrize("end", ["role", "account", "owner", "off"])
def test_nothing_is_sent_for_an_owner_who_is_no_researcher_any_more(
    end: str, researcher: Account, to_loopback: None, certificate: Path
) -> None:
    with listening(certificate) as receiver:
        created = hook(researcher, receiver.address).webhook
        announce_event()
        if end == "role":
            RoleGrant.objects.all().delete()
        elif end == "account":
            Account.objects.update(is_active=False)
        elif end == "owner":
            researcher.delete()
        else:
            Webhook.objects.update(active=False)
        deliver_webhooks()
        assert not receiver.got and not announce(hooks.JOB_ENDED, data={})
    row = WebhookDelivery.objects.get(webhook=created)
    assert (row.state, row.error) == (row.GIVEN_UP, delivering.OFF)


def test_one_slow_webhook_does_not_fill_a_turn(researcher: Account, monkeypatch) -> None:
    messages: list[str] = []

    def send(address: str, *rest: object) -> SendOutcome:
        messages.append(address)
        return SendOutcome(204)

    monkeypatch.setattr(delivering, "send", send)
    monkeypatch.setattr(delivering, "_save_outcome", lambda row, outcome: None)
    first = hook(researcher, "https://slow.example.org/").webhook
    people.perform("test_webhook", webhook=first.pk)
    row = WebhookDelivery.objects.get()
    WebhookDelivery.objects.bulk_create(_again(row, f"again-{number}") for number in range(1_000))
    people.perform("test_webhook", webhook=hook(researcher, "https://other.example.org/").webhook.pk)
    deliver_webhooks()
    assert (
        messages.count("https://slow.example.org/") == 4 and messages.count("https://other.example.org/") == 1
    )


def _again(row: WebhookDelivery, message: str) -> WebhookDelivery:
    same = {
        name: getattr(row, name) for name in ("webhook", "event", "body", "created_at", "begun_at", "next_at")
    }
    return WebhookDelivery(message=message, **same)


def test_the_log_forgets_after_a_month(
    researcher: Account, to_loopback: None, certificate: Path, advance_clock: Callable[..., None]
) -> None:
    with listening(certificate) as receiver:
        people.perform("test_webhook", webhook=hook(researcher, receiver.address).webhook.pk)
        deliver_webhooks()
    advance_clock(days=29)
    prune_webhook_log()
    assert WebhookDelivery.objects.count() == 1
    advance_clock(days=2)
    prune_webhook_log()
    assert not WebhookDelivery.objects.exists()


def test_a_job_that_ended_is_told_with_its_number_and_an_email_is_not(researcher: Account) -> None:
    hook(researcher, "https://hooks.example.org/")
    job = jobs.enqueue(kind="open_images")
    jobs.cancel_job(job_id=job.pk)
    mail = jobs.enqueue(kind="send_test_mail", arguments={"account": researcher.pk, "language": "en"})
    assert jobs.run_queued_job(mail.pk) == "done"
    failing = jobs.enqueue(kind="open_images")
    assert jobs.run_queued_job(failing.pk) == "failed"
    document = [json.loads(row.body)["data"] for row in WebhookDelivery.objects.order_by("pk")]
    assert [(item["job"], item["state"]) for item in document] == [
        (job.pk, "cancelled"),
        (failing.pk, "failed"),
    ]
    assert set(document[0]) == {"corpus", "campaign", "job", "kind", "state"}
