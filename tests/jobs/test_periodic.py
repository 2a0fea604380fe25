"""Periodic work is called by its name, by Celery and by the embedded worker."""

from __future__ import annotations

import re
import sys

import pytest
from django.db import OperationalError

from annotation.common.locks import locked_folder
from annotation.jobs import schedule
from annotation.jobs.schedule import PERIODIC, Periodic
from annotation.models import Assignment, Campaign, Chain, Job, OpenImage
from annotation.queue import leases
from tests import launcher
from tests.factories import some_images
from tests.house.product import PATIENCE, REPOSITORY, environment
from tests.jobs.test_jobs import silent
from tests.queue.test_submission import later
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db


def test_leases_expire(monkeypatch):
    world = World(some_images(1))
    lease = world.held(0)
    later(monkeypatch, 21)
    assert schedule.do("expire_leases")
    assert Assignment.objects.get(pk=lease.id).state == Assignment.EXPIRED


def test_lost_jobs_are_found():
    job = silent()
    assert schedule.do("sweep_jobs")
    job.refresh_from_db()
    assert job.state == Job.QUEUED


def test_layers_follow_the_answers():
    world = World(some_images(3))
    world.work()
    assert schedule.do("refresh_layers")
    layer = world.corpus.layers.get(name=world.campaign.name, published=True)
    assert Chain.objects.filter(layer=layer).exists() and layer.covers.count() == 3
    assert not OpenImage.objects.filter(layer_behind=True).exists()


def test_a_campaign_whose_stop_rule_holds_is_paused():
    world = World(some_images(3), settings={**TRUSTING, "stop": {"images": 1}})
    world.work()
    assert schedule.do("look_after_campaigns")
    world.campaign.refresh_from_db()
    assert world.campaign.state == Campaign.PAUSED and world.campaign.reason


def test_one_campaign_that_fails_does_not_keep_the_next_from_its_turn(monkeypatch, caplog):
    first, second = World(some_images(1), name="first"), World(some_images(1), name="second")
    for world in (first, second):
        world.work()
    first.corpus.layers.create(name="first", source="import", published=True)
    assert schedule.do("refresh_layers")
    assert "campaign first is passed over" in caplog.text and "remove or rename it" in caplog.text
    assert second.corpus.layers.get(name="second").covers.count() == 1


def table(monkeypatch, work) -> str:
    """Add an entry of the table that does `work`; return its name."""
    monkeypatch.setitem(PERIODIC, "entry", Periodic("entry", 1, work))
    return "entry"


def test_what_fails_is_logged_and_raises_nothing(monkeypatch, caplog):
    def fail() -> None:
        raise RuntimeError("the roof fell in")

    assert not schedule.do(table(monkeypatch, fail))
    assert "entry failed" in caplog.text and "the roof fell in" in caplog.text


def test_a_database_that_is_away_is_told_in_one_line(monkeypatch, caplog):
    def lose() -> int:
        raise OperationalError("server closed the connection unexpectedly")

    assert not schedule.do(table(monkeypatch, lose))
    (record,) = caplog.records
    assert "entry waits for its next turn" in record.getMessage() and record.exc_info is None


def test_a_turn_that_is_under_way_is_not_begun_again(monkeypatch):
    name = table(monkeypatch, lambda: leases.end_expired_leases())
    with locked_folder(f"periodic.{name}", busy="under way"):
        assert not schedule.do(name)
    assert schedule.do(name)


def test_the_operators_page_has_the_table():
    text = (REPOSITORY / "docs" / "operation.md").read_text()
    lines = re.findall(r"^\| `(\w+)` \| (\d+) s \|", text, re.M)
    assert dict(lines) == {name: str(entry.every) for name, entry in PERIODIC.items()}


CLOCK = """
from config.celery import app
app.loader.import_default_modules()
app.finalize()
for name, entry in sorted(app.conf.beat_schedule.items()):
    route = app.amqp.router.route({}, entry["task"])
    print(name, entry["schedule"], entry["args"], entry["options"]["expires"], route["queue"].name)
"""


def test_the_clock_of_celery_keeps_the_same_table(tmp_path, redis_url):
    done = launcher.run(
        [sys.executable, "-c", CLOCK],
        env=environment(tmp_path, {"REDIS_URL": redis_url}),
        timeout=PATIENCE,
    )
    assert done.stdout.splitlines() == [
        f"{name} {entry.every} ({name!r},) {entry.every} periodic" for name, entry in sorted(PERIODIC.items())
    ], done.stdout + done.stderr
