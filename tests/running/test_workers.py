"""Pseudonyms, and how a person is forgotten."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client

from annotation.common import erasures
from annotation.common.operations import Invalid
from annotation.common.roles import RESEARCHER
from annotation.models import (
    Account,
    Assignment,
    AuditEntry,
    Bonus,
    Flag,
    Identity,
    Judgment,
    RoleGrant,
    StaffInvitation,
    TrustState,
    Worker,
)
from annotation.moderation import worker_status
from annotation.moderation.reopening import CannotReopen, change_answer
from annotation.protocol import questions as q
from annotation.queue import leases
from annotation.queue.image_state import state_of
from annotation.queue.submission import Answer, NotYours
from annotation.workers import bonuses, payments
from annotation.workers import pseudonyms as workers
from annotation.workers.accounts import inviting, worker_tokens
from phrasebox.errors import PhraseboxError
from tests.factories import some_images
from tests.queue.world import TRUSTING, World
from tests.web.world import signed_in

pytestmark = pytest.mark.django_db

PAID = {**TRUSTING, "pay": {"basis": "item", "per_item": {q.COREF_LINK: 0.5}}}


def someone(name: str = "anna") -> Account:
    return Account.objects.create_user(name, email=f"{name}@example.org", password="x")


def at_work(settings=TRUSTING) -> tuple[World, Account, Worker]:
    """A world whose first worker is Anna, who has answered a link and holds a drawing."""
    world = World(some_images(3), settings=settings)
    account = someone()
    worker = workers.worker_of(account)
    world.workers[0] = worker.pk
    world.submit(0, world.held(0), then=False)
    world.held(0, q.BOX_DRAWING)
    return world, account, worker


def restored(worker: Worker) -> Account:
    """What an older backup brings back: the person behind a worker who was erased."""
    account = someone()
    Identity.objects.create(worker=worker, account=account)
    Worker.objects.filter(pk=worker.pk).update(erased_at=None)
    return account


def test_an_account_is_one_worker_for_good():
    anna, ben = someone("anna"), someone("ben")
    assert workers.worker_of(anna) == workers.worker_of(anna) != workers.worker_of(ben)
    assert Worker.objects.count() == Identity.objects.count() == 2


def test_nothing_about_an_account_leads_to_its_pseudonym():
    pseudonyms = set()
    for _ in range(20):
        account = someone()
        pseudonyms.add(workers.worker_of(account).pseudonym)
        Worker.objects.all().delete()
        account.delete()
    assert len(pseudonyms) == 20
    assert all(len(name) == 12 and name.startswith("w-") and "anna" not in name for name in pseudonyms)


def test_a_pseudonym_that_is_taken_is_drawn_again(monkeypatch):
    draws = iter("a" * 10 + "a" * 10 + "b" * 10)
    monkeypatch.setattr("annotation.workers.pseudonyms.secrets.choice", lambda letters: next(draws))
    assert [workers.new_worker().pseudonym for _ in range(2)] == ["w-aaaaaaaaaa", "w-bbbbbbbbbb"]


@pytest.mark.django_db(transaction=True)
def test_two_tabs_that_come_first_at_once_are_one_worker():
    account = someone()
    together = threading.Barrier(4)
    names: list[int] = []

    def work():
        try:
            together.wait(60)
            names.append(workers.worker_of(account).pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(names) == 4 and len(set(names)) == 1 and Worker.objects.count() == 1


def test_a_worker_is_found_by_pseudonym_and_by_account():
    account = someone()
    worker = workers.worker_of(account)
    assert workers.worker_called("anna") == workers.worker_called(worker.pseudonym) == worker
    with pytest.raises(Invalid, match="no worker “nobody”"):
        workers.worker_called("nobody")


def test_erasing_deletes_the_person_and_keeps_the_answers():
    world, account, worker = at_work()
    flagged = world.held(0, q.BOX_REQUIREMENT)
    world.submit(0, flagged, Answer(flag="offensive", comment="my cousin Jo, 5 High Street"), then=False)
    layers = [state_of(image).layer for image in world.images()]
    judgments = list(Judgment.objects.order_by("pk").values())
    client, other_client = Client(), Client()
    client.force_login(account)
    other_client.force_login(someone("ben"))
    worker_tokens.make_worker_token(account)
    Account.objects.filter(pk=account.pk).update(email="anna@example.org")
    for to in ("Anna@example.org", "ben@example.org"):
        inviting.invite_staff(email=to, role=RESEARCHER)
    done = workers.erase_worker(worker=worker)
    assert (done.account, done.sessions, done.comments, done.already) == (True, 1, 1, False)
    worker.refresh_from_db()
    assert worker.erased_at is not None and not Identity.objects.filter(worker=worker).exists()
    assert not Account.objects.filter(username="anna").exists()
    assert StaffInvitation.objects.get().email == "ben@example.org"
    assert Session.objects.count() == 1 and not account.worker_tokens.exists()
    assert Flag.objects.get().comment == ""
    assert list(Judgment.objects.order_by("pk").values()) == judgments
    assert [state_of(image).layer for image in world.images()] == layers
    assert AuditEntry.objects.get(act="erase_worker").about["worker"] == worker.pseudonym


def test_what_an_erased_worker_held_goes_to_others():
    world, _, worker = at_work()
    held = Assignment.objects.get(worker=worker, state=Assignment.LEASED)
    workers.erase_worker(worker=worker)
    held.refresh_from_db()
    assert held.state == Assignment.RETURNED and held.task is not None and held.task.live == 0


def test_nobody_is_erased_while_payment_is_due():
    world, account, worker = at_work(PAID)
    with pytest.raises(PhraseboxError, match="still due 0.50 USD in campaign 'quay'; pay them first$"):
        workers.erase_worker(worker=worker)
    assert Account.objects.filter(pk=account.pk).exists() and not erasures.erasures_file().exists()
    assert Assignment.objects.filter(worker=worker, state=Assignment.LEASED).exists()
    payments.pay(worker=worker.pk, campaign=world.campaign, amount=500_000)
    assert workers.erase_worker(worker=worker).account


def within_erasing(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Let `act` be done while somebody is erased: before the first thing that they hold is returned."""
    back = workers.leases.return_lease
    done: list[Any] = []

    def returned(**about: Any) -> bool:
        if not done:
            done.append(act())
        return back(**about)

    monkeypatch.setattr(workers.leases, "return_lease", returned)


def test_who_earns_something_while_they_are_erased_is_not_erased(monkeypatch: pytest.MonkeyPatch):
    world, account, worker = at_work(PAID)
    payments.pay(worker=worker.pk, campaign=world.campaign, amount=500_000)
    lease = world.held(0)
    within_erasing(monkeypatch, lambda: world.submit(0, lease, then=False))
    with pytest.raises(PhraseboxError, match="still due 0.50 USD"):
        workers.erase_worker(worker=worker)
    worker.refresh_from_db()
    assert worker.erased_at is None and Account.objects.filter(pk=account.pk).exists()
    assert not erasures.erasures_file().exists()


def test_who_gets_a_staff_role_while_they_are_erased_is_not_erased(monkeypatch: pytest.MonkeyPatch):
    _, account, worker = at_work()
    within_erasing(monkeypatch, lambda: RoleGrant.objects.create(account=account, role="reviewer"))
    with pytest.raises(PhraseboxError, match="a staff role"):
        workers.erase_worker(worker=worker)
    assert Account.objects.filter(pk=account.pk).exists()


def test_nothing_is_stored_or_owed_of_somebody_who_was_erased():
    world, _account, worker = at_work(PAID)
    mine = Assignment.objects.get(worker=worker, state=Assignment.SUBMITTED)
    payments.pay(worker=worker.pk, campaign=world.campaign, amount=500_000)
    lease = world.held(0)
    workers.erase_worker(worker=worker)
    with pytest.raises(NotYours):
        world.submit(0, lease, then=False)
    with pytest.raises(CannotReopen):
        change_answer(worker=worker.pk, assignment=mine.pk, answer=Answer("no"))
    with pytest.raises(PhraseboxError, match="for people"):
        bonuses.give_bonus(
            campaign=world.campaign, workers=[worker.pk], amount=1_000_000, reason="Thank you", actor=None
        )
    assert Judgment.objects.count() == 1 and payments.unpaid(worker=worker.pk) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("late", [False, True])
def test_an_answer_that_waits_for_an_erasure_is_not_stored(monkeypatch: pytest.MonkeyPatch, late: bool):
    """A late one waits for the worker alone: erasing has nothing to do with what is not in hand."""
    world, _account, worker = at_work(PAID)
    payments.pay(worker=worker.pk, campaign=world.campaign, amount=500_000)
    lease = world.held(0)
    if late:
        leases.return_lease(worker=worker.pk, assignment=lease.id)
    lines: list[object] = []

    def answer() -> None:
        try:
            lines.append(world.submit(0, lease, then=False))
        except NotYours as error:
            lines.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=answer)
    forget = workers._forget_visits

    def begun(identity: Identity | None) -> list[str]:
        thread.start()
        thread.join(0.5)  # it waits for us
        return forget(identity)

    monkeypatch.setattr(workers, "_forget_visits", begun)
    workers.erase_worker(worker=worker)
    thread.join(60)
    assert [type(item) for item in lines] == [NotYours]
    assert Judgment.objects.count() == 1 and payments.unpaid(worker=worker.pk) == []


@pytest.mark.parametrize("role", ["reviewer", "superuser"])
def test_an_account_of_staff_is_not_erased_as_a_worker(role):
    account = someone()
    worker = workers.worker_of(account)
    RoleGrant.objects.create(account=account, role="annotator")
    if role == "superuser":
        Account.objects.update(is_superuser=True)
    else:
        RoleGrant.objects.create(account=account, role=role)
    with pytest.raises(PhraseboxError, match="a staff role"):
        workers.erase_worker(worker=worker)
    RoleGrant.objects.exclude(role="annotator").delete()
    Account.objects.update(is_superuser=False)
    assert workers.erase_worker(worker=Worker.objects.get()).account


def test_erasing_twice_finds_nothing_to_do():
    _, _, worker = at_work()
    workers.erase_worker(worker=worker)
    assert workers.erase_worker(worker=worker).already
    assert list(erasures.all_erasures()) == [(worker.pseudonym, False, False)]


def test_a_restored_backup_is_run_against_the_list_of_erasures():
    world, _, worker = at_work(PAID)
    payments.pay(worker=worker.pk, campaign=world.campaign, amount=500_000)
    workers.erase_worker(worker=worker)
    assert workers.erase_again() == []
    restored(worker)
    # The backup is older than the payment as well: that must not keep the person.
    world.campaign.payouts.all().delete()
    bystander = workers.worker_of(someone("ben"))
    (done,) = workers.erase_again()
    assert done.pseudonym == worker.pseudonym and done.account
    worker.refresh_from_db()
    bystander.refresh_from_db()
    assert worker.erased_at is not None and bystander.erased_at is None
    assert list(Account.objects.values_list("username", flat=True)) == ["ben"]
    assert list(erasures.all_erasures()) == [(worker.pseudonym, False, False)] and workers.erase_again() == []


def written(worker: Worker, kind: str, content: dict[str, Any]) -> Judgment:
    """An answer of the worker's in their own words."""
    judgment = Judgment.objects.filter(worker=worker).latest("pk")
    Judgment.objects.filter(pk=judgment.pk).update(kind=kind, answer="written", content=content)
    judgment.refresh_from_db()
    return judgment


@pytest.mark.parametrize(
    ("kind", "content", "left"),
    [
        ("caption_writing", {"text": "My son on a beach ."}, {"text": ""}),
        (
            "region_description",
            {"regions": [{"box": [1, 2, 30, 40], "text": "my son", "way": "drag"}]},
            {"regions": [{"box": [1, 2, 30, 40], "text": "", "way": "drag"}]},
        ),
    ],
)
def test_what_somebody_wrote_goes_on_request_and_again_after_a_restored_backup(
    kind: str, content: dict[str, Any], left: dict[str, Any]
):
    _, _, worker = at_work()
    judgment = written(worker, kind, content)
    assert workers.has_written(worker)
    assert workers.erase_worker(worker=worker).texts == 0
    judgment.refresh_from_db()
    assert judgment.content == content
    assert workers.erase_worker(worker=worker, texts=True).texts == 1
    judgment.refresh_from_db()
    assert judgment.content == left and not workers.has_written(worker)
    written(worker, kind, content)
    (done,) = workers.erase_again()
    assert done.texts == 1 and workers.erase_again() == []


def test_what_staff_typed_about_somebody_goes_on_request_and_again_after_a_restored_backup():
    world, _account, worker = at_work(PAID)
    about: dict[str, Any] = {"campaign": world.campaign, "actor": None}
    (bonus,) = bonuses.give_bonus(workers=[worker.pk], amount=1_000_000, reason="As Anna asked", **about)
    bonuses.withdraw_bonus(bonus=bonus.pk, reason="Anna has it", **about)
    worker_status.suspend_worker(worker=worker.pk, reason="Anna is ill", **about)
    worker_status.withdraw_worker_answers(worker=worker.pk, reason="Anna said so", **about)
    payments.pay(worker=worker.pk, campaign=world.campaign, amount=500_000)
    assert workers.erase_worker(worker=worker).reasons == 0 and not anna_is_nowhere()
    # Offered on the worker's page as long as anything is left, and done once.
    page = f"/campaigns/{world.campaign.name}/workers/{worker.pseudonym}/"
    boss = signed_in("boss", "admin")
    assert 'name="reasons"' in boss.get(page).content.decode()
    assert workers.erase_worker(worker=worker, reasons=True).reasons > 2
    assert 'name="reasons"' not in boss.get(page).content.decode()
    assert anna_is_nowhere() and workers.erase_worker(worker=worker, reasons=True).already
    Bonus.objects.update(reason="As Anna asked")
    (done,) = workers.erase_again()
    assert done.reasons == 1 and anna_is_nowhere() and workers.erase_again() == []


def anna_is_nowhere() -> bool:
    """Whether nothing names her that staff typed."""
    rows = [*Bonus.objects.values(), *TrustState.objects.values(), *AuditEntry.objects.values()]
    return "Anna" not in str(rows)


def test_the_list_of_erasures_names_no_person():
    _, _, worker = at_work()
    workers.erase_worker(worker=worker)
    text = erasures.erasures_file().read_text()
    assert text.startswith(worker.pseudonym) and "anna" not in text
    assert erasures.erasures_file().stat().st_mode & 0o077 == 0


def test_the_list_is_written_before_the_person_is_gone(monkeypatch):
    _, account, worker = at_work()

    def full(erasure, erased_at):
        raise OSError("No space left on device")

    monkeypatch.setattr(erasures, "note_erasure", full)
    with pytest.raises(OSError, match="No space"):
        workers.erase_worker(worker=worker)
    assert Account.objects.filter(pk=account.pk).exists() and Identity.objects.filter(worker=worker).exists()
