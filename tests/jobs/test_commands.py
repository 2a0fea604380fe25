"""Commands about jobs."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from annotation import jobs
from annotation.common import database
from annotation.management.commands import run_jobs
from annotation.models import Account, Campaign, Job
from tests.factories import a_corpus, some_images
from tests.house.product import NO_BROKER
from tests.jobs.test_jobs import silent

pytestmark = pytest.mark.django_db


def test_jobs_are_listed_newest_first_with_share_phase_and_time_left(capsys):
    corpus = a_corpus("small", some_images(1))
    campaign = Campaign.objects.create(name="boxes", corpus=corpus, tasks="entities")
    jobs.enqueue(kind="refresh_layer", arguments={"campaign": campaign.name}, campaign=campaign)
    Job.objects.create(
        kind="count",
        state=Job.RUNNING,
        share=0.25,
        phase="counting",
        started_at=database.now() - timedelta(seconds=100),
    )
    call_command("list_jobs", "--limit", "2")
    head, _, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:6] == ["number", "kind", "title", "state", "stopping", "phase"]
    assert "count" in lines[0] and "running" in lines[0] and "300" in lines[0]
    assert "refresh_layer" in lines[1] and "boxes" in lines[1] and "queued" in lines[1]


def test_jobs_can_be_had_as_json(capsys):
    account = Account.objects.create(username="researcher")
    job = jobs.enqueue(kind="count", arguments={"upto": 3}, actor=account)
    jobs.run_queued_job(job.pk)
    call_command("list_jobs", "--json", "--state", "done")
    (document,) = json.loads(capsys.readouterr().out)["results"]
    assert (document["number"], document["requested_by"], document["result"]) == (
        job.pk,
        "researcher",
        {"counted": 3},
    )
    assert document["finished_at"] and document["seconds_left"] is None
    call_command("list_jobs", "--state", "failed")
    assert capsys.readouterr().out == "none\n"


def test_a_job_is_cancelled_and_taken_up_again(capsys):
    job = jobs.enqueue(kind="count", arguments={"upto": 3})
    call_command("cancel_job", str(job.pk))
    assert "cancelled" in capsys.readouterr().out
    call_command("resume_job", str(job.pk))
    assert "queued" in capsys.readouterr().out
    with pytest.raises(CommandError, match=f"job {job.pk} is queued; only failed and cancelled ones"):
        call_command("resume_job", str(job.pk))


def test_a_running_job_that_is_being_cancelled_says_so(capsys):
    job = Job.objects.create(kind="count", state=Job.RUNNING, cancel=True)
    call_command("show_job", str(job.pk))
    assert "stopping: True" in capsys.readouterr().out


def test_a_sweep_says_what_it_did(capsys):
    silent()
    call_command("sweep_jobs", "--json")
    assert json.loads(capsys.readouterr().out) == {"again": 1, "failed": 0, "cancelled": 0, "resent": 0}


def test_with_a_broker_no_embedded_worker_is_started(settings, monkeypatch):
    monkeypatch.setattr(run_jobs.embedded_worker, "work", lambda **options: None)  # it would not end
    settings.REDIS_URL = NO_BROKER
    with pytest.raises(CommandError, match="^REDIS_URL is set, so Celery's workers do this:"):
        call_command("run_jobs")
