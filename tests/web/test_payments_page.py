"""The page of payments, actions on several workers, messages, and workers' view of their own pay."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from annotation import jobs
from annotation.common import database
from annotation.jobs import emails
from annotation.models import (
    AuditEntry,
    Bonus,
    Identity,
    Job,
    Judgment,
    Payout,
    Study,
    TrustState,
    Visit,
    Worker,
    WorkerMessage,
)
from annotation.protocol import questions as q
from annotation.selectors.workers.earnings import earnings_of
from annotation.workers import bonuses, messages, payments
from phrasebox.errors import PhraseboxError
from tests import worlds
from tests.factories import some_images
from tests.queue.world import TRUSTING, World
from tests.web import desk
from tests.web import world as people
from tests.web.staff import Form, forms, messages_on, press, words

pytestmark = pytest.mark.django_db

PAY = {"basis": "item", "currency": "EUR", "per_item": {q.COREF_LINK: 0.02, q.BOX_DRAWING: 0.05}}
PAGE = "/campaigns/quay/payments/"
WORKERS = "/campaigns/quay/workers/"


def _build() -> World:
    world = World(some_images(3), settings={**TRUSTING, "pay": PAY})
    world.submit(0, world.held(0), seconds=9.0, then=False)
    world.submit(0, world.held(0, q.BOX_DRAWING), seconds=9.0, then=False)
    world.submit(1, world.held(1, q.BOX_DRAWING), seconds=9.0, then=False)
    return world


@pytest.fixture
def world(db) -> World:
    return worlds.again("three answers, paid by item", _build)


@pytest.fixture
def ada():
    return people.signed_in("ada", "researcher")


def worker(world: World, index: int) -> Worker:
    return Worker.objects.get(pk=world.workers[index])


def annotator(world: World, index: int = 0, **account):
    row, client = people.account("wanda", "annotator"), Client()
    client.force_login(row)
    for name, value in account.items():
        setattr(row, name, value)
    row.save()
    Identity.objects.filter(account=row).delete()
    Identity.objects.update_or_create(worker=worker(world, index), defaults={"account": row})
    return client


def dues(world: World) -> dict[str, int]:
    return {due.pseudonym: due.due for due in payments.due_accounts(campaign=world.campaign)}


def test_those_who_are_ticked_are_paid_under_a_reference_and_the_audit_says_so(world, ada):
    page = press(ada, PAGE, "Record those chosen as paid", workers=["quay-w0"], reference="march")
    assert messages_on(page) == ["Recorded: 0.07 EUR paid to 1 worker."]
    assert dues(world) == {"quay-w0": 0, "quay-w1": 50_000}
    page = press(ada, PAGE, "Record all as paid", reference="march")
    assert messages_on(page) == ["Recorded: 0.05 EUR paid to 1 worker."]
    assert "Nobody is due anything." in words(page) and Payout.objects.count() == 2
    assert [str(audit_entry.actor) for audit_entry in AuditEntry.objects.filter(act="pay_worker")] == [
        "ada",
        "ada",
    ]


def test_nobody_chosen_and_no_reference_change_nothing_and_say_why(world, ada):
    for page in (
        press(ada, PAGE, "Record those chosen as paid"),
        press(ada, PAGE, "Record all as paid", reference=" "),
    ):
        assert page.status_code == 400 and "This is required." in words(page)
    address, form_data = (
        reverse("operation", args=["pay_workers"]),
        {"campaign": "quay", "reference": "march"},
    )
    assert "no worker “a” here" in words(ada.post(address, {**form_data, "workers": ["quay-w0", "a"]}))
    assert not Payout.objects.exists()


def test_a_voided_payment_is_due_again_and_its_reference_is_free(world, ada):
    press(ada, PAGE, "Record all as paid", reference="march")
    page = press(ada, PAGE, "Void this payment", reason="the bank sent it back")
    voided = Payout.objects.get(voided_at__isnull=False)
    assert "voided: it is due again" in messages_on(page)[0] and voided.void_reason == "the bank sent it back"
    assert dues(world)[voided.worker.pseudonym] == voided.amount
    assert str(voided.voided_by) == "ada" and AuditEntry.objects.filter(act="void_payment").count() == 1
    press(ada, PAGE, "Record all as paid", reference="march")
    assert set(dues(world).values()) == {0}
    with pytest.raises(PhraseboxError, match="Give a reason"):
        payments.void_payout(campaign=world.campaign, payout=voided.pk, reason=" ")
    again = payments.void_payout(campaign=world.campaign, payout=voided.pk, reason="twice")
    assert again.void_reason == "the bank sent it back"


def test_a_bonus_is_due_until_it_is_paid_and_may_be_withdrawn_before(world, ada):
    page = press(
        ada, PAGE, "Give the bonus", workers=["quay-w0", "quay-w1"], amount="1.50", reason="well done"
    )
    assert messages_on(page) == ["Bonus of 1.50 EUR given to each of 2 workers: it is due from now on."]
    assert dues(world) == {"quay-w0": 1_570_000, "quay-w1": 1_550_000}
    assert messages_on(press(ada, PAGE, "Withdraw this bonus", reason="wrong person")) == ["Bonus withdrawn."]
    assert sorted(dues(world).values()) == [50_000, 1_570_000]
    payments.pay_all_due(campaign=world.campaign, reference="all")
    paid = Bonus.objects.get(withdrawn_at__isnull=True)
    with pytest.raises(PhraseboxError, match="void the payment first"):
        bonuses.withdraw_bonus(campaign=world.campaign, bonus=paid.pk, reason="no")
    for amount in (0, -1, bonuses.HIGHEST_BONUS + 1):
        with pytest.raises(PhraseboxError, match="is no bonus"):
            bonuses.give_bonus(campaign=world.campaign, workers=world.workers[:1], amount=amount, reason="x")


def test_a_bonus_whose_form_is_sent_twice_is_given_once(world, ada):
    fields: dict[str, Any] = {"workers": ["quay-w0"], "amount": "1.50", "reason": "well done"}
    press(ada, PAGE, "Give the bonus", **fields)
    again = press(ada, PAGE, "Give the bonus", **{**fields, "workers": ["quay-w0", "quay-w1"]})
    assert again.status_code == 409 and "a moment ago" in words(again) and Bonus.objects.count() == 1
    press(ada, PAGE, "Give the bonus", **{**fields, "reason": "well done again"})
    assert Bonus.objects.count() == 2
    Bonus.objects.update(given_at=database.now() - timedelta(minutes=2))
    press(ada, PAGE, "Give the bonus", **fields)
    assert Bonus.objects.count() == 3


def test_a_message_by_api_is_not_stored_where_its_email_cannot_be_asked_for(world, ada, monkeypatch):
    def fail(**_about):
        raise RuntimeError("the queue is away")

    monkeypatch.setattr(emails, "ask_for_messages", fail)
    with pytest.raises(RuntimeError):
        ada.post(
            reverse("v1_message_workers", args=["quay"]),
            {"workers": ["quay-w0"], "text": "Hello"},
            content_type="application/json",
        )
    assert not WorkerMessage.objects.exists()


def test_the_ledger_adds_up_with_bonuses_and_what_was_voided(world, ada):
    bonuses.give_bonus(campaign=world.campaign, workers=world.workers[:2], amount=500_000, reason="=cmd")
    stored, gone = Bonus.objects.order_by("pk")
    bonuses.withdraw_bonus(campaign=world.campaign, bonus=gone.pk, reason="no")
    created = payments.pay(worker=world.workers[0], campaign=world.campaign, amount=20_000, reference="m")
    payments.void_payout(campaign=world.campaign, payout=created.pk, reason="not sent")
    payments.pay(worker=world.workers[0], campaign=world.campaign, amount=30_000, reference="m")
    file = ada.get(reverse("operation_file", args=["export_ledger"]), {"campaign": "quay"})
    text = b"".join(file).decode()
    lines = list(csv.DictReader(io.StringIO(text)))
    sums: dict[str, float] = {}
    for line in lines:
        sums[line["worker"]] = round(sums.get(line["worker"], 0) + float(line["amount"]), 6)
    assert {name: round(1_000_000 * total) for name, total in sums.items()} == dues(world)
    assert [line["entry"] for line in lines[3:]] == [
        *("bonus", "bonus", "bonus withdrawn", "payout", "payout voided", "payout"),
    ]
    assert lines[3]["reference"] == "'=cmd"


def test_a_worker_reads_what_they_earned_what_is_due_and_what_was_paid(world, ada):
    wanda = annotator(world)
    bonuses.give_bonus(campaign=world.campaign, workers=world.workers[:1], amount=500_000, reason="patience")
    payments.pay(worker=world.workers[0], campaign=world.campaign, amount=70_000, reference="bank 17")
    page = words(wanda.get(reverse("earnings")))
    for item in ("due to you 0.50 EUR", "earned 0.07 EUR", "2 answers", "patience", "bank 17"):
        assert item in page
    (account,) = earnings_of(worker(world, 0))
    (due,) = payments.due_accounts(campaign=world.campaign, worker=world.workers[0])
    assert (account.earned, account.bonus_total, account.paid, account.due) == (
        *(due.earned, due.bonuses, due.paid, due.due),
    )


def test_platforms_get_the_ids_of_confirmed_and_completed_visits_alone_and_the_audit_knows(world, ada):
    study = Study.objects.create(
        campaign=world.campaign, provider="prolific", external_id="s1", answers_required=1
    )
    begun = world.campaign.created_at
    for index, (verification, outcome) in enumerate(
        [
            (Visit.CONFIRMED, Visit.COMPLETE),
            (Visit.REFUSED, Visit.COMPLETE),
            (Visit.CONFIRMED, Visit.SCREENED_OUT),
        ]
    ):
        row, _created = Identity.objects.update_or_create(
            worker=worker(world, index), defaults={"provider": "prolific", "external_id": f"person{index}"}
        )
        Visit.objects.create(
            identity=row,
            study=study,
            external_id=f"sub{index}",
            participant=f"person{index}",
            begun_at=begun,
            verification=verification,
            outcome=outcome,
            ended_at=begun,
        )
    assert b"".join(press(ada, PAGE, "Submissions to approve")) == b"sub0\n"
    assert b"".join(press(ada, PAGE, "What is due, as bonuses")) == b"person0,0.07\n"
    entries = AuditEntry.objects.filter(act="download_identities").order_by("pk")
    assert [entry.about["list"] for entry in entries] == ["submissions", "bonuses"]
    form_data = {"campaign": "quay", "platform": "mturk", "list": "bonuses"}
    page = ada.post(reverse("operation", args=["export_platform_list"]), form_data)
    assert page.status_code == 409 and "no study on this platform" in words(page)


def test_several_workers_are_suspended_reinstated_and_withdrawn_at_once(world, ada):
    page = press(ada, WORKERS, "Suspend", workers=["quay-w0", "quay-w1"], reason="at random")
    assert messages_on(page) == ["Suspended: 2 workers."]
    blocked = TrustState.objects.filter(blocked=True, reason="at random").values_list("worker", flat=True)
    assert set(blocked) == set(world.workers[:2])
    page = press(ada, WORKERS + "?find=quay-w0", "Suspend", workers=["quay-w0"])
    assert messages_on(page) == ["Suspended: 0 workers. (already suspended: 1)"]
    assert page.request["QUERY_STRING"] == "find=quay-w0"
    assert messages_on(press(ada, WORKERS, "Reinstate", workers=["quay-w0"])) == ["Reinstated: 1 worker."]
    press(ada, WORKERS, "Withdraw their answers", workers=["quay-w0", "quay-w1"])
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE
    assert not Judgment.objects.filter(withdrawn=False).exists()


def test_all_of_a_filtered_list_are_meant_whatever_page_shows_them(world, ada):
    form_data = {**acting(ada.get(WORKERS, {"find": "w1"})).fields, "everyone": "true"}
    address = reverse("operation", args=["suspend_workers"])
    assert messages_on(ada.post(address, form_data, follow=True)) == ["Suspended: 1 worker."]
    assert set(TrustState.objects.filter(blocked=True).values_list("worker", flat=True)) == {world.workers[1]}


def test_the_chosen_workers_are_a_table_for_a_spreadsheet(world, ada):
    page = press(ada, WORKERS, "Download as CSV", workers=["quay-w0"])
    (line,) = csv.DictReader(io.StringIO(b"".join(page).decode()))
    assert (line["worker"], line["answers"], line["earned"], line["due"], line["currency"]) == (
        *("quay-w0", "2", "0.07", "0.07", "EUR"),
    )


def test_a_message_is_on_every_page_of_a_worker_until_they_have_read_it(world, ada):
    wanda = annotator(world)
    page = press(ada, WORKERS, "Send", workers=["quay-w0"], text="Draw tighter boxes, please.\n\n<b>Ada</b>")
    assert messages_on(page) == ["Message sent to 1 worker: it is on their next page."]
    task = reverse("task", args=["quay", q.COREF_LINK])
    for address in (reverse("tasks"), task, reverse("earnings"), reverse("account")):
        response = wanda.get(address, follow=True).content.decode()
        assert "Draw tighter boxes, please." in response and "<b>Ada</b>" not in response, address
    assert words(ada.get(f"{WORKERS}quay-w0/")).count("not read yet") == 1
    page = press(wanda, reverse("tasks"), "I have read this")
    assert "Draw tighter" not in words(page) and "Draw tighter" not in words(wanda.get(reverse("earnings")))
    assert "not read yet" not in words(ada.get(f"{WORKERS}quay-w0/"))
    assert AuditEntry.objects.get(act="message_workers").about == {"workers": ["quay-w0"]}


def acting(page: Any) -> Form:
    """Return the form of the page of workers for the selected ones."""
    return forms_to(page, "suspend_workers")[0]


def forms_to(page: Any, operation: str) -> list[Form]:
    """Return the forms of a page for an operation."""
    return [form for form in forms(page) if form.action == reverse("operation", args=[operation])]


def test_a_message_to_nobody_is_still_there_to_be_sent(world, ada):
    page = press(ada, WORKERS + "?find=quay", "Send", text="Draw <tighter> boxes.")
    assert page.status_code == 400 and "This is required." in words(page)
    (form,) = (form for form in forms(page) if "Send workers a message" in form.buttons)
    assert form.fields["text"] == ["Draw <tighter> boxes."]
    form_data = {**form.fields, "workers": ["quay-w0"]}
    page = ada.post(reverse("operation", args=["message_workers"]), form_data, follow=True)
    assert messages_on(page) == ["Message sent to 1 worker: it is on their next page."]
    assert page.request["QUERY_STRING"] == "find=quay"


def test_a_message_that_is_too_long_is_still_there(world, ada):
    long = "x" * 2001
    page = press(ada, f"{WORKERS}quay-w0/", "Send", text=long)
    assert page.status_code == 400 and long in page.content.decode()


def test_a_refused_bonus_or_payment_keeps_what_was_ticked_and_typed(world, ada):
    page = press(ada, PAGE, "Give the bonus", workers=["quay-w0", "quay-w1"], amount="much", reason="A & b")
    assert page.status_code == 400 and "Expected a decimal number, as 12.00" in words(page)
    (form,) = (form for form in forms(page) if "Give workers a bonus" in form.buttons)
    assert form.fields["workers"] == ["quay-w0, quay-w1"]
    assert (form.fields["amount"], form.fields["reason"]) == (["much"], ["A & b"])
    page = press(ada, f"{WORKERS}quay-w0/", "Record as paid", amount="9", reference="bank 7")
    (form,) = (form for form in forms(page) if "Record that a worker was paid" in form.buttons)
    assert page.status_code == 409 and form.fields["amount"] == ["9"]
    assert form.fields["reference"] == ["bank 7"]


def test_a_message_comes_with_the_next_task_of_a_page_that_is_open(work):
    ann = desk.at_work(work)
    ann.get(desk.address())  # before the first visit she is not yet a worker of the campaign
    messages.send_messages(campaign=work.campaign, workers=work.workers[:1], text="Draw tighter boxes.")
    part = ann.get(desk.address() + "?part=task").content.decode()
    assert part.strip().startswith('<div class="task" data-task') and "Draw tighter boxes." in part


def test_nobody_reads_or_dismisses_the_message_of_somebody_else(world, ada):
    wanda = annotator(world, 1)
    (message,) = messages.send_messages(
        campaign=world.campaign, workers=world.workers[:1], text="For w0 alone."
    )
    assert "For w0 alone." not in words(wanda.get(reverse("tasks")))
    assert wanda.post("/operations/read_message/", {"message": message.pk}).status_code == 400
    assert WorkerMessage.objects.get().read_at is None


def test_a_message_goes_by_mail_only_to_those_who_asked_for_that(world, ada, settings):
    settings.SENDS_MAIL = True
    wanda = annotator(world, email="wanda@example.org")
    press(ada, WORKERS, "Send", workers=["quay-w0"], text="Hello")
    assert not Job.objects.filter(kind="mail_messages").exists()
    wanda.post(reverse("account_mail"), {"email": "wanda@example.org", "messages": "yes"})
    page = press(ada, WORKERS, "Send", workers=["quay-w0", "quay-w1"], text="Hello again")
    assert "1 gets it by e-mail too." in messages_on(page)[0]
    job = Job.objects.get(kind="mail_messages")
    assert jobs.run_queued_job(job.pk) == Job.DONE and job.campaign is None
    (letter,) = mail.outbox
    assert letter.to == ["wanda@example.org"] and "Hello again" in letter.body
    assert WorkerMessage.objects.filter(mailed_at__isnull=False).count() == 1
