"""Events: which are sent to which webhooks and by e-mail to whom, each once."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core import mail
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from annotation import campaigns, jobs
from annotation.common import database
from annotation.common.operations import Forbidden
from annotation.jobs import emails, schedule, upkeep
from annotation.models import Account, AlarmSubscription, Job, PeriodicRun, RoleGrant, WebhookDelivery
from annotation.notifications import alarms
from annotation.notifications.alarms import DetectedAlarm, note_alarms
from annotation.notifications.hooks import ALARM_RAISED, CAMPAIGN_FINISHED
from phrasebox.errors import PhraseboxError
from tests.factories import a_corpus, some_images
from tests.notifications.conftest import hook
from tests.queue.world import TRUSTING, World
from tests.web import world as people

pytestmark = pytest.mark.django_db
ADDRESS = "https://hooks.example.org/"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, settings, monkeypatch) -> None:
    cache.clear()
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(upkeep, "_noted", {})


def messages_of(event: str) -> list[dict]:
    rows = WebhookDelivery.objects.filter(event=event).order_by("pk")
    return [json.loads(row.body)["data"] for row in rows]


def test_a_webhook_is_told_of_what_it_is_for_and_nothing_else(researcher: Account) -> None:
    first, second = World(some_images(1), name="first"), World(some_images(1), name="second")
    by_name = {
        "server": hook(researcher, ADDRESS),
        "corpus": hook(researcher, ADDRESS, corpus=first.corpus.name),
        "campaign": hook(researcher, ADDRESS, campaign=first.campaign.name),
        "other corpus": hook(researcher, ADDRESS, corpus=second.corpus.name),
        "other campaign": hook(researcher, ADDRESS, campaign=second.campaign.name),
    }
    campaigns.close_campaign(campaign=first.campaign, reason="enough")
    names = {created.webhook.pk: name for name, created in by_name.items()}
    rows = WebhookDelivery.objects.filter(event=CAMPAIGN_FINISHED)
    assert {names[row.webhook_id] for row in rows} == {"server", "corpus", "campaign"}
    assert messages_of(CAMPAIGN_FINISHED)[0] == {
        "corpus": "first",
        "campaign": "first",
        "why": "closed",
        "reason": "enough",
    }
    campaigns.close_campaign(campaign=first.campaign)
    assert len(messages_of(CAMPAIGN_FINISHED)) == 3  # closed already


def test_a_webhook_takes_the_role_for_what_it_tells_of(researcher: Account) -> None:
    corpus = a_corpus("photos", some_images(1))
    RoleGrant.objects.update(role="reviewer")
    reviewer = Account.objects.get(pk=researcher.pk)
    with pytest.raises(Forbidden):
        hook(reviewer, ADDRESS, corpus=corpus.name)


def test_a_campaign_whose_last_image_is_complete_is_told_once(researcher: Account) -> None:
    world = World(some_images(2), settings=TRUSTING)
    hook(researcher, ADDRESS, campaign=world.campaign.name)
    world.work()
    for _round in range(2):
        cache.clear()
        assert schedule.do("look_after_campaigns")
    assert [item["why"] for item in messages_of(CAMPAIGN_FINISHED)] == ["complete"]
    assert "complete" not in {item["code"] for item in messages_of(ALARM_RAISED)}


def test_an_alarm_is_told_once_while_it_lasts_and_again_when_it_comes_back(
    researcher: Account, advance_clock: Callable[..., None]
) -> None:
    campaign = World(some_images(1)).campaign
    hook(researcher, ADDRESS)
    low = DetectedAlarm("controls_low", "coref_link", "few are left")
    for minute in range(120):
        # It comes and goes, like alarms near their limit.
        note_alarms([low] if minute % 2 else [], campaign=campaign)
        advance_clock(minutes=1)
    assert [item["code"] for item in messages_of(ALARM_RAISED)] == ["controls_low"]
    assert messages_of(ALARM_RAISED)[0]["text"] == "few are left"
    for _minute in range(70):
        note_alarms([], campaign=campaign)
        advance_clock(minutes=1)
    note_alarms([low], campaign=campaign)
    assert len(messages_of(ALARM_RAISED)) == 2


def test_a_stop_rule_that_pauses_a_campaign_is_an_alarm(researcher: Account) -> None:
    world = World(some_images(3), settings={**TRUSTING, "stop": {"images": 1}})
    hook(researcher, ADDRESS, corpus=world.corpus.name)
    world.work()
    assert schedule.do("look_after_campaigns")
    assert "stopped" in {item["code"] for item in messages_of(ALARM_RAISED)}


def test_subscribers_get_one_email_in_their_language_and_only_with_the_role(researcher: Account) -> None:
    campaign = World(some_images(1)).campaign
    other_campaign = World(some_images(1), name="other").campaign
    with translation.override("de"):
        people.perform("subscribe_to_alarms", researcher, campaign=campaign.name)
        people.perform("subscribe_to_alarms", researcher, corpus=campaign.corpus.name)
    assert not emails.request_alarm_mails(note_alarms([DetectedAlarm("x", "", "y")], campaign=other_campaign))
    raised = note_alarms(
        [DetectedAlarm("x", "", "something"), DetectedAlarm("z", "", "else")], campaign=campaign
    )
    assert emails.request_alarm_mails(raised) == 1
    _work()
    (payload,) = mail.outbox
    assert payload.to == ["ada@example.org"] and campaign.name in payload.subject
    assert (
        "- something\n- else" in payload.body
        and f"http://testserver/campaigns/{campaign.name}/" in payload.body
    )
    assert emails.request_alarm_mails(raised) == 1
    RoleGrant.objects.all().delete()
    _work()
    assert len(mail.outbox) == 1 and not emails.request_alarm_mails(raised)


def test_an_email_about_alarms_asks_for_the_roles_of_its_reader_alone(researcher: Account) -> None:
    campaign = World(some_images(1)).campaign
    for name in ("bob", "eve"):
        account = Account.objects.create_user(name, email=f"{name}@example.org", password="p")
        RoleGrant.objects.create(account=account, role="researcher")
        people.perform("subscribe_to_alarms", account, campaign=campaign.name)
    mine = people.perform("subscribe_to_alarms", researcher, campaign=campaign.name)
    raised = note_alarms([DetectedAlarm("x", "", "something")], campaign=campaign)
    assert len(alarms.subscribers(raised[0])) == 3
    with CaptureQueriesContext(connection) as queries:
        assert emails.send_alarms(subscription=mine.number, alarms=[raised[0].pk], named=lambda campaign: [])
    assert sum("annotation_rolegrant" in query["sql"] for query in queries) == 1


def test_alarms_of_the_server_are_for_its_admins(researcher: Account, settings) -> None:
    people.perform("subscribe_to_alarms", researcher)
    settings.DISK_RESERVE = 2**60
    assert schedule.do("look_after_server")
    assert not emails.request_alarm_mails(note_alarms([DetectedAlarm("a", "", "b")]))
    RoleGrant.objects.update(role="admin")
    settings.DISK_RESERVE = 0
    PeriodicRun.objects.create(
        name=PeriodicRun.BACKUP,
        begun_at=database.now() - timedelta(days=9),
        ended_at=database.now() - timedelta(days=9),
    )
    assert schedule.do("look_after_server")
    _work()
    (email,) = mail.outbox
    assert "nobody has made a backup for 9 days" in email.body and "disk" not in email.body


def _work() -> None:
    while (due := jobs.due_job()) is not None:
        assert jobs.run_queued_job(due) == "done"


def test_somebody_who_has_no_address_is_told_to_add_one(researcher: Account) -> None:
    researcher.email = ""
    with pytest.raises(PhraseboxError, match="add one first"):
        people.perform("subscribe_to_alarms", researcher)
    assert not AlarmSubscription.objects.exists()


def test_the_periodic_work_keeps_when_it_was_done_and_that_it_failed(monkeypatch) -> None:
    def fail() -> None:
        raise RuntimeError("the roof fell in")

    assert schedule.do("sweep_jobs") and schedule.do("sweep_jobs")
    row = PeriodicRun.objects.get(name="sweep_jobs")
    assert not row.failed and row.ended_at >= row.begun_at
    monkeypatch.setitem(schedule.PERIODIC, "sweep_jobs", schedule.Periodic("sweep_jobs", 15, fail))
    assert not schedule.do("sweep_jobs")
    (state,) = upkeep.periodic_states({"sweep_jobs": 15})
    assert state.failed and state.next_at == PeriodicRun.objects.get().begun_at + timedelta(seconds=15)
    assert [(a.code, a.kind) for a in upkeep.server_alarms({"sweep_jobs": 15})] == [
        ("periodic", "sweep_jobs")
    ]


def test_jobs_that_failed_today_are_an_alarm_of_the_server() -> None:
    for hours in (1, 2, 25):
        at = database.now() - timedelta(hours=hours)
        Job.objects.create(kind="rank", state=Job.FAILED, finished_at=at)
    (alarm,) = upkeep.server_alarms({})
    assert (alarm.code, alarm.text) == ("jobs_failed", "2 jobs failed in the last 24 hours")


def test_the_disk_is_measured_folder_by_folder(tmp_path) -> None:
    (tmp_path / "pictures" / "a").mkdir(parents=True)
    (tmp_path / "pictures" / "a" / "b").write_bytes(bytes(100_000))
    (tmp_path / "pictures" / "link").symlink_to("/")
    assert schedule.do("measure_disk")
    used = PeriodicRun.objects.get(name=PeriodicRun.MEASURE_DISK).about["bytes"]
    assert 100_000 <= used["pictures"] < 120_000
