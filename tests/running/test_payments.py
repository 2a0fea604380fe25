"""What workers are due, what they were paid, and the ledger."""

from __future__ import annotations

import csv
import io
import threading
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from annotation.common.operations import Invalid
from annotation.models import AuditEntry, Payout
from annotation.protocol import questions as q
from annotation.protocol.money import amount_text, currency_digits
from annotation.selectors.campaign.cost import cents, money
from annotation.workers import payments
from phrasebox.errors import PhraseboxError
from tests.factories import some_images
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db

RATES = {q.COREF_LINK: 0.02, q.BOX_DRAWING: 0.05, q.BOX_REQUIREMENT: 0.01}
BY_ITEM = {**TRUSTING, "pay": {"basis": "item", "currency": "EUR", "per_item": RATES}}
BY_HOUR = {**TRUSTING, "pay": {"basis": "hour", "hourly": 12.0, "idle_after": 30.0}}


def answered(settings=BY_ITEM, *, seconds: float = 9.0) -> World:
    """Worker 0 linked and drew, worker 1 drew."""
    world = World(some_images(3), settings=settings)
    world.submit(0, world.held(0), seconds=seconds, then=False)
    world.submit(0, world.held(0, q.BOX_DRAWING), seconds=seconds, then=False)
    world.submit(1, world.held(1, q.BOX_DRAWING), seconds=seconds, then=False)
    return world


def due(world: World) -> dict[int, int]:
    return {account.worker: account.due for account in payments.due_accounts(campaign=world.campaign)}


def test_by_item_an_account_is_the_sum_of_its_answers():
    world = answered()
    first, second = payments.due_accounts(campaign=world.campaign)
    assert (first.worker, first.answers, first.earned, first.due) == (world.workers[0], 2, 70_000, 70_000)
    assert {kind: of.earned for kind, of in first.kinds.items()} == {
        q.COREF_LINK: 20_000,
        q.BOX_DRAWING: 50_000,
    }
    assert (second.worker, second.due) == (world.workers[1], 50_000)
    assert payments.due_accounts(campaign=world.campaign, worker=world.workers[1]) == [second]


def test_the_hourly_rate_is_told_over_idle_trimmed_seconds(clock):
    world = World(settings=BY_HOUR)
    for seconds in (10.0, None):
        lease = world.held(0, q.BOX_DRAWING if seconds else q.COREF_LINK)
        clock.advance(minutes=15)
        world.submit(0, lease, seconds=seconds, then=False)
    (account,) = payments.due_accounts(campaign=world.campaign)
    # Fifteen minutes without a report of activity count as the thirty seconds of idle_after.
    assert account.seconds == 40.0 and account.earned == 33_333 + 100_000
    assert account.hourly == pytest.approx(12_000_000, rel=1e-4)
    assert account.kinds[q.BOX_DRAWING].seconds == 10.0


def test_time_that_was_not_counted_has_no_rate():
    world = answered(BY_ITEM, seconds=0.0)
    assert payments.due_accounts(campaign=world.campaign)[0].hourly is None


def test_what_is_paid_is_due_no_more():
    world = answered()
    payout = payments.pay(worker=world.workers[0], campaign=world.campaign, amount=60_000, reference="march")
    assert (payout.amount, payout.reference) == (60_000, "march")
    assert due(world) == {world.workers[0]: 10_000, world.workers[1]: 50_000}
    entry = AuditEntry.objects.get(act="pay_worker")
    assert entry.about == {"worker": "quay-w0", "amount": 60_000, "reference": "march"}
    payments.void_payout(campaign=world.campaign, payout=payout.pk, reason="not sent")
    assert AuditEntry.objects.get(act="void_payment").about["worker"] == "quay-w0"
    payments.pay_all_due(campaign=world.campaign, reference="april")
    paid = AuditEntry.objects.filter(act="pay_worker").order_by("pk").values_list("about__worker", flat=True)
    assert list(paid) == ["quay-w0", "quay-w0", "quay-w1"]


@pytest.mark.parametrize("amount", [70_001, 0, -1])
def test_nobody_is_paid_more_than_is_due_or_nothing(amount):
    world = answered()
    with pytest.raises(PhraseboxError, match="0.07 EUR is due to this worker in campaign “quay”"):
        payments.pay(worker=world.workers[0], campaign=world.campaign, amount=amount)
    assert not Payout.objects.exists()


def test_the_same_reference_is_the_same_payment():
    world = answered()
    how: dict[str, Any] = {"worker": world.workers[0], "campaign": world.campaign, "reference": "march"}
    assert payments.pay(amount=30_000, **how) == payments.pay(amount=30_000, **how)
    assert Payout.objects.count() == 1
    with pytest.raises(
        PhraseboxError, match="“march” is already used for 0.03 EUR paid before, not 0.04 EUR"
    ):
        payments.pay(amount=40_000, **how)
    payments.pay(worker=world.workers[1], campaign=world.campaign, amount=40_000, reference="march")
    assert Payout.objects.count() == 2


def test_everybody_is_paid_once_under_a_reference():
    world = answered()
    assert [p.amount for p in payments.pay_all_due(campaign=world.campaign, reference="march")] == [
        70_000,
        50_000,
    ]
    assert set(due(world).values()) == {0}
    world.submit(0, world.held(0, q.BOX_REQUIREMENT), then=False)
    assert payments.pay_all_due(campaign=world.campaign, reference="march") == []
    assert len(payments.pay_all_due(campaign=world.campaign, reference="april")) == 1
    with pytest.raises(PhraseboxError, match="needs a reference"):
        payments.pay_all_due(campaign=world.campaign, reference="")


def test_all_are_paid_whole_cents_and_a_fraction_stays_due_and_blocks_nothing():
    rates = {q.COREF_LINK: 0.0262, q.BOX_DRAWING: 0.005}
    world = answered({**TRUSTING, "pay": {"basis": "item", "currency": "EUR", "per_item": rates}})
    first, second = world.workers[:2]
    assert due(world) == {first: 31_200, second: 5_000}
    assert [row.amount for row in payments.pay_all_due(campaign=world.campaign, reference="march")] == [
        30_000
    ]
    assert due(world) == {first: 1_200, second: 5_000}
    assert payments.unpaid(worker=first) == [] and payments.unpaid(worker=second) == []


@pytest.mark.parametrize(
    ("currency", "paid", "text"),
    [("JPY", 31_000_000, "31 JPY"), ("USD", 31_210_000, "31.21 USD"), ("KWD", 31_213_000, "31.213 KWD")],
)
def test_amounts_are_paid_and_written_in_the_digits_of_their_currency(currency, paid, text):
    rates = {q.COREF_LINK: 31.2134, q.BOX_DRAWING: 0.0}
    world = answered({**TRUSTING, "pay": {"basis": "item", "currency": currency, "per_item": rates}})
    (payout,) = payments.pay_all_due(campaign=world.campaign, reference="march")
    assert payout.amount == paid
    assert cents(due(world)[world.workers[0]] + paid, currency) == text
    assert payments.unpaid(worker=world.workers[0]) == []


@pytest.mark.django_db(transaction=True)
def test_two_who_pay_at_once_pay_once():
    world = answered()
    together = threading.Barrier(2)
    results: list[str] = []

    def work():
        try:
            together.wait(60)
            payments.pay(worker=world.workers[0], campaign=world.campaign, amount=70_000)
            results.append("paid")
        except PhraseboxError:
            results.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == ["paid", "refused"] and due(world)[world.workers[0]] == 0


def test_a_campaign_that_owes_nothing_is_not_among_those_that_owe():
    world = answered()
    work = World(name="other", settings=BY_ITEM)
    assert [(c.name, a) for c, a in payments.unpaid(worker=world.workers[0])] == [("quay", 70_000)]
    assert payments.unpaid(worker=work.workers[0]) == []


def test_the_ledger_adds_up_to_what_is_due(monkeypatch):
    monkeypatch.setattr(payments, "LEDGER_LINES_PER_QUERY", 1)
    world = answered()
    payments.pay(worker=world.workers[0], campaign=world.campaign, amount=60_000, reference="=march")
    file = io.StringIO()
    assert payments.write_ledger(world.campaign, file) == 4
    lines = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert [line["entry"] for line in lines] == ["answer", "answer", "answer", "payout"]
    sums: dict[str, Decimal] = {}
    for line in lines:
        sums[line["worker"]] = sums.get(line["worker"], Decimal()) + Decimal(line["amount"])
    assert sums == {"quay-w0": Decimal("0.01"), "quay-w1": Decimal("0.05")}
    assert lines[0]["kind"] == q.COREF_LINK and lines[0]["role"] == q.VOTE and lines[0]["currency"] == "EUR"
    assert lines[0]["at"].endswith("+00:00")
    # A spreadsheet runs no reference; amounts stay numbers.
    assert lines[3]["reference"] == "'=march" and lines[3]["amount"].startswith("-")


@pytest.mark.parametrize(
    ("text", "micros"),
    [("12.50", 12_500_000), ("0.01", 10_000), ("3", 3_000_000), ("1e1", 10_000_000), ("1e12", 10**18)],
)
def test_amounts_are_read_exactly(text, micros):
    assert payments.micros_of(text, "USD") == micros


@given(
    st.decimals(min_value=-(10**6), max_value=10**6, places=6).map(lambda amount: amount.normalize()),
    st.sampled_from(["JPY", "EUR", "KWD", "CLF"]),
)
def test_an_amount_is_read_where_its_currency_has_its_digits_and_written_as_it_was(amount, currency):
    decimals = max(0, -amount.as_tuple().exponent)
    if decimals > currency_digits(currency):
        with pytest.raises(Invalid, match=f"{currency} has {currency_digits(currency)} decimals"):
            payments.micros_of(f"{amount:f}", currency)
        return
    text = amount_text(payments.micros_of(f"{amount:f}", currency), currency)
    assert Decimal(text) == amount and len(text.partition(".")[2]) == currency_digits(currency)


@pytest.mark.parametrize(
    "text", ["", "ten", "0.001", "0.0000001", "nan", "inf", "1e13", "-1e13", "1e999999", "1e-999999"]
)
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(Invalid, match="Expected a decimal number, as 12.00"):
        payments.micros_of(text, "USD")


@pytest.mark.parametrize(
    ("micros", "text"),
    [(0, "0.00"), (12_500_000, "12.50"), (1, "0.000001"), (2_125_000, "2.125"), (-50_000, "-0.05")],
)
def test_amounts_are_written_without_loss(micros, text):
    assert money(micros, "USD") == f"{text} USD"
