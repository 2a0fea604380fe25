"""The pages of notifications, of a webhook and of the server."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from annotation import jobs
from annotation.jobs import schedule, upkeep
from annotation.models import (
    Account,
    AlarmSubscription,
    AuditEntry,
    Corpus,
    Job,
    PeriodicRun,
    RoleGrant,
    Webhook,
    WebhookDelivery,
)
from annotation.notifications import delivering
from annotation.notifications.sending import SendOutcome
from tests.factories import a_corpus, some_images
from tests.queue.world import World
from tests.web import world as web
from tests.web.staff import press

pytestmark = pytest.mark.django_db
FORM = {"name": "our bot", "address": "https://hooks.example.org/x", "events": ["job.ended"]}


def signed_in(name: str, role: str, **scope: Any) -> Client:
    account = web.account(name)
    Account.objects.filter(pk=account.pk).update(email=f"{name}@example.org")
    RoleGrant.objects.create(account=account, role=role, **scope)
    client = Client()
    client.force_login(account)
    return client


def act(client: Client, operation: str, **fields: Any) -> Any:
    """Press the button of an operation."""
    form_data = {"next": reverse("notifications"), **fields}
    return client.post(reverse("operation", args=[operation]), form_data)


@pytest.fixture
def ada() -> Client:
    return signed_in("ada", "researcher")


def page(client: Client, route: str, *args: Any) -> str:
    answer = client.get(reverse(route, args=args))
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_header_leads_researchers_to_the_page(ada: Client) -> None:
    link = f'<a href="{reverse("notifications")}"'
    assert link in page(ada, "campaigns") and f'{link} aria-current="true"' in page(ada, "notifications")
    assert link not in page(signed_in("rob", "reviewer"), "campaigns")


def test_a_webhook_is_made_by_page_and_its_secret_shown_once(ada: Client) -> None:
    response = act(ada, "make_webhook", **FORM).content.decode()
    (secret,) = set(re.findall(r"whsec_[A-Za-z0-9+/=]{44}", response))
    row = Webhook.objects.get()
    assert secret not in page(ada, "notifications") + page(ada, "webhook", row.pk)
    assert not AuditEntry.objects.filter(about__icontains=secret).exists()
    renewed = act(ada, "renew_webhook_secret", webhook=row.pk).content.decode()
    assert secret not in renewed and len(set(re.findall(r"whsec_[A-Za-z0-9+/=]{44}", renewed))) == 1


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"address": "http://hooks.example.org/"}, "must begin with https"),
        ({"address": "https://2130706433/"}, "127.0.0.1, which is not on the internet"),
        ({"events": []}, "Expected at least 1."),
        ({"name": " "}, "This is required."),
        ({"corpus": "nowhere"}, "no corpus “nowhere” here"),
    ],
)
def test_what_is_wrong_with_a_webhook_is_said_and_what_was_typed_stays(
    error: dict[str, Any], message: str, ada: Client
) -> None:
    answer = act(ada, "make_webhook", **FORM | error)
    assert answer.status_code == 400 and message in answer.content.decode()
    assert "address" in error or str(FORM["address"]) in answer.content.decode()
    assert not Webhook.objects.exists()


def test_a_researcher_of_a_corpus_has_webhooks_of_that_corpus_alone(ada: Client) -> None:
    corpus, another = a_corpus("photos", some_images(1)), a_corpus("other", some_images(1))
    bob = signed_in("bob", "researcher", corpus=corpus)
    act(ada, "make_webhook", **FORM | {"name": "all"})
    act(ada, "make_webhook", **FORM | {"name": "theirs", "corpus": "other"})
    for corpus_named, status in (("", 403), ("other", 400), ("photos", 200)):
        answer = act(bob, "make_webhook", **FORM | {"name": "own", "corpus": corpus_named})
        assert answer.status_code == status
    visible = page(bob, "notifications")
    assert ">own</a>" in visible and ">all</a>" not in visible and ">theirs</a>" not in visible
    for row in Webhook.objects.exclude(corpus=corpus):
        assert bob.get(reverse("webhook", args=[row.pk])).status_code == 404
        assert act(bob, "remove_webhook", webhook=row.pk).status_code == 400
    assert Webhook.objects.count() == 3 and Corpus.objects.get(name="other") == another


def test_the_log_says_what_came_of_each_event_and_sends_it_again(ada: Client, monkeypatch) -> None:
    act(ada, "make_webhook", **FORM)
    row = Webhook.objects.get()
    outcomes = [SendOutcome(None, "certificate", "self-signed certificate"), SendOutcome(204)]
    monkeypatch.setattr(delivering, "send", lambda *what: outcomes.pop(0))
    act(ada, "test_webhook", webhook=row.pk)
    assert "waiting" in page(ada, "webhook", row.pk)
    delivering.deliver_webhooks()
    visible = page(ada, "webhook", row.pk)
    assert (
        "the certificate is not valid (self-signed certificate)" in visible and "next attempt at" in visible
    )
    assert "1 not delivered" in page(ada, "notifications")
    line = WebhookDelivery.objects.get()
    act(ada, "send_delivery_again", webhook=row.pk, delivery=line.pk)
    delivering.deliver_webhooks()
    assert "204" in page(ada, "webhook", row.pk) and "delivered" in page(ada, "webhook", row.pk)
    webhook = Webhook.objects.create(name="x", address="https://x.org/", events=[], salt="x")
    assert act(ada, "send_delivery_again", webhook=webhook.pk, delivery=line.pk).status_code == 400


def test_a_webhook_whose_owner_lost_the_role_says_so_and_can_be_taken_over(ada: Client) -> None:
    act(ada, "make_webhook", **FORM)
    row = Webhook.objects.get()
    eve = signed_in("eve", "researcher")
    RoleGrant.objects.filter(account__username="ada").delete()
    assert "its owner is no longer a researcher" in page(eve, "webhook", row.pk)
    act(eve, "test_webhook", webhook=row.pk)
    assert not WebhookDelivery.objects.exists()
    press(eve, reverse("webhook", args=[row.pk]), "Switch on")
    press(eve, reverse("webhook", args=[row.pk]), "Send a test")
    assert WebhookDelivery.objects.count() == 1
    row.refresh_from_db()
    assert row.owner is not None and row.owner.username == "eve"


def test_alarms_by_email_are_begun_and_ended_by_page(ada: Client) -> None:
    campaign = World(some_images(1)).campaign
    act(ada, "subscribe_to_alarms", campaign=campaign.name)
    row = AlarmSubscription.objects.get()
    assert row.campaign == campaign
    act(signed_in("eve", "researcher"), "unsubscribe_from_alarms", subscription=row.pk)
    assert AlarmSubscription.objects.exists()
    act(ada, "unsubscribe_from_alarms", subscription=row.pk)
    assert not AlarmSubscription.objects.exists()


@pytest.fixture
def root(tmp_path, settings, monkeypatch) -> Client:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(upkeep, "_noted", {})
    return signed_in("root", "admin")


def test_the_server_page_shows_jobs_periodic_work_disk_and_backup(root: Client, tmp_path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "x").write_bytes(bytes(3_000_000))
    empty = page(root, "server")
    assert "make one: manage.py backup FILE" in empty and "not yet" in empty and "All clear" in empty
    schedule.do("measure_disk")
    PeriodicRun.objects.create(
        name=PeriodicRun.BACKUP,
        begun_at="2020-02-02T00:00Z",
        ended_at="2020-02-02T00:00Z",
        about={"file": "monday.tar", "bytes": 5_000_000},
    )
    failed = Job.objects.create(kind="refresh_layer", state=Job.FAILED, error="the roof fell in")
    visible = page(root, "server")
    assert "monday.tar" in visible and "2.9" in visible and "the roof fell in" in visible
    assert "nobody has made a backup for" in visible
    act(root, "resume_job", job=failed.pk)
    failed.refresh_from_db()
    assert failed.state == Job.QUEUED


def test_all_jobs_are_paged_by_key_and_chosen_by_state(root: Client) -> None:
    Job.objects.bulk_create(Job(kind="refresh_layer", state=Job.DONE) for _ in range(45))
    Job.objects.create(kind="rank", state=Job.FAILED, error="alone")
    first = page(root, "server")
    assert first.count("<progress") == 0 and first.count("alone") == 1
    seen, later = 20, re.search(r'href="(\?before=\d+)"', first)
    while later:
        response = root.get(reverse("server") + later.group(1)).content.decode()
        seen += len(re.findall(r'<th scope="row">[A-Z]', response))
        later = re.search(r'href="(\?before=\d+)"', response)
    assert seen == 46
    failed = root.get(reverse("server"), {"state": "failed"}).content.decode()
    assert len(re.findall(r'<th scope="row">[A-Z]', failed)) == 1


def test_a_test_email_is_sent_and_the_page_says_so(root: Client) -> None:
    act(root, "send_test_mail")
    due = jobs.due_job()
    assert due is not None and jobs.run_queued_job(due) == Job.DONE
    (email,) = mail.outbox
    assert email.to == ["root@example.org"] and "The last one was sent on" in page(root, "server")
    Account.objects.update(email="")
    answer = act(root, "send_test_mail")
    assert "no e-mail address" in answer.content.decode() and len(mail.outbox) == 1
