"""The commands by which a campaign is watched, stopped, paid and told about."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation import instructions
from annotation.models import Account, Campaign, Identity, Payout, Worker
from annotation.protocol import questions as q
from annotation.workers import pseudonyms
from tests.factories import some_images
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db

PAID = {**TRUSTING, "pay": {"basis": "item", "per_item": {q.COREF_LINK: 0.5, q.BOX_DRAWING: 0.25}}}


def text_of(*command: Any, **options: Any) -> str:
    out = StringIO()
    call_command(*command, stdout=out, **options)
    return out.getvalue()


def report_of(*command: Any, **options: Any) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(text_of(*command, "--json", **options).splitlines()[-1])
    return report


def at_work() -> World:
    world = World(some_images(3), settings=PAID)
    world.submit(0, world.held(0), seconds=0.0, then=False)
    world.submit(1, world.held(1, q.BOX_DRAWING), seconds=0.0, then=False)
    return world


def test_the_status_tells_images_chains_pace_cost_and_alarms():
    world = at_work()
    begun = sum(image.version > 0 for image in world.images())
    text = text_of("campaign_status", "quay")
    assert "campaign 'quay' over corpus 'quay': open" in text
    assert f"images 3: begun {begun}, complete 0, waiting for a reviewer 0" in text
    assert "earned 0.75 USD, paid 0.00 USD, due 0.75 USD, in progress 0.00 USD" in text
    assert "ALARM: 2 workers were active" in text and "quay-w0" not in text
    assert "too few images are finished" in text


def test_a_campaign_is_paused_resumed_and_closed_by_command():
    at_work()
    paused = report_of("pause_campaign", "quay", "--reason", "lunch")
    assert (paused["state"], paused["reason"]) == (Campaign.PAUSED, "lunch")
    assert report_of("resume_campaign", "quay")["state"] == Campaign.OPEN
    closed = report_of("close_campaign", "quay", "--reason", "done")
    assert (closed["state"], closed["reason"]) == (Campaign.CLOSED, "done")


def test_what_is_due_is_told_and_only_recorded_on_request():
    at_work()
    assert "due in all: 0.75 USD" in text_of("list_dues", "quay")
    assert not Payout.objects.exists()
    assert "paid 0.50 USD to quay-w0" in text_of("pay_workers", "quay", "--everyone", "--reference=march")
    assert report_of("pay_workers", "quay", "--everyone", "--reference=march")["payments"] == []
    assert Payout.objects.count() == 2 and "due in all: 0.00 USD" in text_of("list_dues", "quay")


def test_one_worker_is_paid_in_part_and_the_same_again_changes_nothing():
    at_work()
    for _ in range(2):
        (paid,) = report_of("pay_worker", "quay", "quay-w0", "--amount=0.30", "--reference=a")["payments"]
        assert (paid["worker"], paid["amount"], paid["reference"]) == ("quay-w0", "0.30", "a")
    for left in ["0.20"], []:
        report = report_of("pay_workers", "quay", "--workers", "quay-w0", "--reference=b")
        assert [payment["amount"] for payment in report["payments"]] == left
    assert Payout.objects.count() == 2 and report_of("list_dues", "quay")["results"][0]["due"] == "0.00"


def test_the_ledger_is_written_whole(tmp_path, monkeypatch):
    at_work()
    path = tmp_path / "ledger.csv"
    text_of("export_ledger", "quay", "--out", str(path))
    assert [line["amount"] for line in csv.DictReader(path.open())] == ["0.5", "0.25"]
    path.write_text("an earlier one\n")

    def breaking(campaign: Campaign, file: Any) -> int:
        file.write("half")
        raise OSError("No space left on device")

    monkeypatch.setattr("annotation.workers.payments.write_ledger", breaking)
    with pytest.raises(CommandError, match="No space left"):
        text_of("export_ledger", "quay", "--out", str(path))
    assert path.read_text() == "an earlier one\n" and [p.name for p in tmp_path.glob("*.csv*")] == [
        "ledger.csv"
    ]
    assert not list(tmp_path.glob(".ledger*"))


def test_a_worker_is_erased_by_command_and_again_after_a_restore():
    account = Account.objects.create_user("anna")
    worker = pseudonyms.worker_of(account)
    text = text_of("erase_worker", "anna")
    assert f"worker {worker.pseudonym} is erased: account deleted, sessions 0, comments 0" in text
    assert "was erased before" in text_of("erase_worker", worker.pseudonym)
    assert "nobody on the list" in text_of("erase_again")
    Identity.objects.create(worker=worker, account=Account.objects.create_user("anna"))
    assert report_of("erase_again")["erased"][0]["account"] is True
    assert not Account.objects.exists() and Worker.objects.get().erased_at is not None


def test_texts_are_printed_and_published_by_command():
    world = at_work()
    assert "-- box_quality, version 0" in text_of("list_texts", "quay")
    for changed in (True, False):
        report = report_of("publish_text", "quay", "--kind", q.BOX_QUALITY, "--text", "Is it tight?")
        assert (report["version"], report["changed"]) == (1, changed)
    assert instructions.current_text(campaign=world.campaign, kind=q.BOX_QUALITY).text == "Is it tight?"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["campaign_status", "none"], "There is no campaign “none” here"),
        (["set_stop_rules", "quay", "--budget", "much"], "--budget: Expected a number."),
        (["set_stop_rules", "quay", "--budget", "-1"], "--budget: Expected 0.0 or more."),
        (["set_stop_rules", "quay", "--until", "2026-02-30"], "--until: Expected a date"),
        (["pay_workers", "quay", "--reference=a"], "--workers: This is required"),
        (["pay_workers", "quay", "--everyone"], "required: --reference"),
        (["pay_workers", "quay", "--workers", "zoe", "--reference=a"], "no worker “zoe” here"),
        (["pay_worker", "quay", "quay-w0", "--reference=a", "--amount", "9"], "0.50 USD is due"),
        (["pay_worker", "quay", "quay-w0", "--reference=a", "--amount", "much"], "--amount: Expected a deci"),
        (["export_ledger", "quay", "--out", "/no/such/folder/file.csv"], "No such file"),
        (["erase_worker", "nobody"], "no worker “nobody” here"),
        (["erase_worker", "quay-w0"], "still due 0.50 USD"),
        (["publish_text", "quay", "--kind", "poetry"], "--kind: Expected one of: 'consent'"),
        (["publish_text", "quay", "--kind", q.BOX_QUALITY], "are empty"),
        (
            ["open_campaign", "x", "--corpus", "quay", "--tasks", "entities", "--images", "0"],
            "--images: Expected 1",
        ),
        (["open_campaign", "x", "--corpus", "quay", "--tasks", "entities", "--split", "z"], "no split “z”"),
    ],
)
def test_commands_refuse_in_one_line(command, message):
    at_work()
    with pytest.raises(CommandError, match=message) as caught:
        text_of(*command)
    assert "\n" not in str(caught.value)
