"""`manage.py jobs` and `manage.py run_jobs`."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from annotation import jobs
from annotation.common import database
from annotation.models import Account, Campaign, Job
from tests.factories import a_corpus, some_images
from tests.house.product import manage
from tests.jobs.test_jobs import silent

pytestmark = pytest.mark.django_db


def test_jobs_are_listed_newest_first_with_share_phase_and_time_left(capsys):
    corpus = a_corpus("small", some_images(1))
    campaign = Campaign.objects.create(name="boxes", corpus=corpus, tasks="entities")
    jobs.enqueue(kind="refresh_layer", campaign=campaign)
    Job.objects.create(
        kind="count",
        state=Job.RUNNING,
        share=0.25,
        phase="counting",
        started_at=database.now() - timedelta(seconds=100),
    )
    call_command("jobs")
    head, _, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["id", "kind", "campaign", "state", "share", "phase", "left", "error"]
    assert lines[0].split()[1:] == ["count", "running", "25%", "counting", "5", "min"]
    assert lines[1].split()[1:] == ["refresh_layer", "boxes", "queued", "0%"]


def test_jobs_can_be_had_as_json(capsys):
    account = Account.objects.create(username="researcher")
    job = jobs.enqueue(kind="count", arguments={"upto": 3}, actor=account)
    jobs.run_queued_job(job.pk)
    call_command("jobs", "--json", "--state", "done")
    (told,) = json.loads(capsys.readouterr().out)["jobs"]
    assert (told["id"], told["by"], told["result"]) == (job.pk, "researcher", {"counted": 3})
    assert told["finished_at"] and told["remaining"] is None
    call_command("jobs", "--state", "failed")
    assert capsys.readouterr().out == "no jobs\n"


def test_a_job_is_cancelled_and_taken_up_again(capsys):
    job = jobs.enqueue(kind="count", arguments={"upto": 3})
    call_command("jobs", "--cancel", str(job.pk))
    assert "cancelled" in capsys.readouterr().out
    call_command("jobs", "--resume", str(job.pk))
    assert "queued" in capsys.readouterr().out
    with pytest.raises(CommandError, match=f"job {job.pk} is queued; only failed and cancelled ones"):
        call_command("jobs", "--resume", str(job.pk))


def test_a_running_job_that_is_being_cancelled_says_so(capsys):
    Job.objects.create(kind="count", state=Job.RUNNING, cancel=True)
    call_command("jobs")
    assert "running, stopping" in capsys.readouterr().out


def test_a_sweep_says_what_it_did(capsys):
    silent()
    call_command("jobs", "--sweep")
    assert capsys.readouterr().out == "1 queued again, 0 given up, 0 cancelled, 0 sent again\n"


def test_with_a_broker_no_embedded_worker_is_started(tmp_path):
    done = manage(tmp_path, "run_jobs", REDIS_URL="redis://127.0.0.1:1/0")
    assert done.returncode == 1
    assert done.stderr.startswith("CommandError: REDIS_URL is set, so Celery's workers do this:")
