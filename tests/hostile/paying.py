"""Calls of the pages of payments, of several workers at once, of messages, and of the dashboard.

Importing this adds them to `operations.OPERATIONS`.
"""

from __future__ import annotations

from annotation.models import Bonus, Campaign, Payout, Worker, WorkerMessage
from annotation.workers.approvals import BONUSES, MTURK, PROLIFIC, SUBMISSIONS
from tests.hostile.operations import READERS, RUNNERS, SIGNED_IN, STRANGER, At, get, post

#: A worker of the campaign.
WORKER = "quay-w0"


def _worker_id() -> int:
    return Worker.objects.get(pseudonym=WORKER).pk


def _payout(at: At) -> int:
    """Return a payment that can be voided."""
    quay = Campaign.objects.get(name="quay")
    payout = Payout.objects.create(
        campaign=quay, worker_id=_worker_id(), amount=10_000, reference=at.new("paid")
    )
    return payout.pk


def _bonus(at: At) -> int:
    """Return an unpaid bonus."""
    quay = Campaign.objects.get(name="quay")
    bonus = Bonus.objects.create(campaign=quay, worker_id=_worker_id(), amount=10_000, reason="=1+1")
    return bonus.pk


def _amount(at: At) -> str:
    """Return the worker's amount due, or an invalid amount."""
    _bonus(at)
    return at.choice("0.01", "0.01", "0.01", "1e30", "1e999999", "-1", "x")


def _message(at: At) -> int:
    """Return a message to the caller, or to somebody else if they do not work."""
    quay = Campaign.objects.get(name="quay")
    worker = _worker_id() if at.role == STRANGER else at.worker
    return WorkerMessage.objects.create(campaign=quay, worker_id=worker, text="<b>Draw tighter.</b>").pk


get("earnings", SIGNED_IN)
post("operation", SIGNED_IN, "read_message", message=_message)
get("dashboard", READERS, "quay", part=lambda at: at.choice("", "1"))
get("payments", RUNNERS, "quay", after=lambda at: at.choice("", "1", "x"))
get("operation_file", RUNNERS, "export_ledger", campaign="quay")
post(
    "operation",
    RUNNERS,
    "export_platform_list",
    campaign="quay",
    platform=lambda at: at.choice(PROLIFIC, MTURK, "none"),
    list=lambda at: at.choice(SUBMISSIONS, BONUSES, "nothing"),
)
for _name in ("pay_workers", "give_bonus", "suspend_workers", "reinstate_workers", "withdraw_answers"):
    post(
        "operation",
        RUNNERS,
        _name,
        called=f"{_name} of several",
        campaign="quay",
        workers=WORKER,
        everyone=lambda at: at.choice("", "true"),
        state=lambda at: at.choice("", "trusted", "%00"),
        amount=_amount,
        reference=lambda at: at.new("ref"),
        reason="@x",
        next=lambda at: at.choice("", "/campaigns/quay/workers/"),
    )
for _name in ("message_workers", "export_workers"):
    post("operation", RUNNERS, _name, campaign="quay", workers=WORKER, text="<script>alert(1)</script>")
post(
    "operation",
    RUNNERS,
    "pay_worker",
    campaign="quay",
    worker=WORKER,
    amount=_amount,
    reference=lambda at: at.new("ref"),
)
post("operation", RUNNERS, "void_payment", campaign="quay", payment=_payout, reason="sent back")
post("operation", RUNNERS, "withdraw_bonus", campaign="quay", bonus=_bonus, reason="a mistake")
