"""A job from its request to its end, with any interruption."""

from __future__ import annotations

import logging
import re
from datetime import timedelta

import pytest

from annotation import jobs
from annotation.common import database
from annotation.jobs import running
from annotation.jobs.rows import JOB_ATTEMPTS, LOST
from annotation.models import AuditEntry, Job
from phrasebox.registry import UnknownName
from tests.jobs import kinds

pytestmark = pytest.mark.django_db


def steps() -> list[int]:
    """Return the numbers that jobs of kind "count" wrote, in order."""
    return [entry.about["number"] for entry in AuditEntry.objects.filter(act=kinds.STEP).order_by("pk")]


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    at = database.now() + timedelta(seconds=seconds)
    monkeypatch.setattr(database, "now", lambda: at)


def test_a_job_that_is_run_has_its_result_and_its_whole_share():
    job = jobs.enqueue(kind="count", arguments={"upto": 3})
    assert (job.state, jobs.due_job()) == (Job.QUEUED, job.pk)
    assert jobs.run_queued_job(job.pk) == Job.DONE
    job.refresh_from_db()
    assert (job.state, job.share, job.result, job.attempts) == (Job.DONE, 1.0, {"counted": 3}, 1)
    assert job.started_at and job.heartbeat_at and job.finished_at
    assert job.started_at <= job.heartbeat_at <= job.finished_at
    assert steps() == [0, 1, 2]


def test_a_second_delivery_does_nothing():
    job = jobs.enqueue(kind="count", arguments={"upto": 3})
    jobs.run_queued_job(job.pk)
    assert jobs.run_queued_job(job.pk) is None
    assert steps() == [0, 1, 2]
    assert Job.objects.get().attempts == 1


def test_the_same_asked_for_twice_is_one_job():
    first = jobs.enqueue(kind="count", arguments={"upto": 3, "pause": 0.0})
    assert jobs.enqueue(kind="count", arguments={"pause": 0.0, "upto": 3}) == first
    assert jobs.enqueue(kind="count", arguments={"upto": 4}) != first
    jobs.run_queued_job(first.pk)
    assert jobs.enqueue(kind="count", arguments={"upto": 3, "pause": 0.0}) != first


def test_what_is_being_cancelled_can_be_asked_for_again():
    first = jobs.enqueue(kind="count", arguments={"upto": 3})
    Job.objects.update(state=Job.RUNNING, cancel=True)
    assert jobs.enqueue(kind="count", arguments={"upto": 3}) != first


def test_a_kind_that_is_none_is_refused_with_those_that_are():
    with pytest.raises(UnknownName, match="unknown job kind 'counts'; known: .*count.*export_dataset"):
        jobs.enqueue(kind="counts", arguments={})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "missing a required argument: 'upto'"),
        ({"upto": 3, "downto": 1}, "unexpected keyword argument 'downto'"),
        ({"upto": {3}}, "must be JSON"),
        ({"upto": float("nan")}, "must be JSON"),
        ({"upto": float("inf")}, "must be JSON"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_when_the_job_is_asked_for(arguments, says):
    with pytest.raises(jobs.JobError, match=says):
        jobs.enqueue(kind="count", arguments=arguments)
    assert not Job.objects.exists()


def test_what_failed_keeps_one_line_and_the_log_the_traceback(caplog):
    job = jobs.enqueue(kind="fails")
    assert jobs.run_queued_job(job.pk) == Job.FAILED
    job.refresh_from_db()
    assert job.error == "RuntimeError: the roof fell in"
    (record,) = caplog.records
    assert record.exc_info and "in fails" in caplog.text


def test_a_refusal_is_told_as_it_is_and_has_no_traceback(caplog):
    job = jobs.enqueue(kind="refused")
    assert jobs.run_queued_job(job.pk) == Job.FAILED
    assert Job.objects.get().error == "there is no such thing; name another"
    assert [(record.levelno, record.exc_info) for record in caplog.records] == [(logging.WARNING, None)]


def test_a_run_that_meets_an_earlier_one_of_its_job_waits_for_it():
    """The earlier run was taken for lost, as its database was away, and is still at work."""
    job = jobs.enqueue(kind="busy")
    assert jobs.run_queued_job(job.pk) == Job.FAILED, "somebody else's work: nobody knows how long it takes"
    assert Job.objects.get().error.startswith("run 'one': another process is writing under this name")
    Job.objects.update(state=Job.QUEUED, attempts=1, finished_at=None)
    for attempt in range(2, JOB_ATTEMPTS):
        assert jobs.run_queued_job(job.pk) == Job.QUEUED
        waiting = Job.objects.get()
        assert waiting.attempts == attempt
        assert waiting.heartbeat_at is not None and waiting.heartbeat_at > database.now()
    assert jobs.run_queued_job(job.pk) == Job.FAILED, "it waits some minutes, and not for ever"
    assert "the last time it met this: run 'one': another process" in Job.objects.get().error


def test_a_kind_that_is_no_more_fails_its_jobs():
    job = Job.objects.create(kind="forgotten")
    assert jobs.run_queued_job(job.pk) == Job.FAILED
    assert "unknown job kind 'forgotten'" in Job.objects.get().error


def test_a_waiting_job_is_cancelled_at_once():
    job = jobs.enqueue(kind="count", arguments={"upto": 3})
    assert jobs.cancel_job(job_id=job.pk).state == Job.CANCELLED
    assert jobs.run_queued_job(job.pk) is None
    assert steps() == []


def test_a_running_job_is_cancelled_at_its_next_step_and_goes_on_from_its_checkpoint():
    job = jobs.enqueue(kind="cancelled_on_the_way")
    assert jobs.run_queued_job(job.pk) == Job.CANCELLED
    job.refresh_from_db()
    assert (job.share, job.checkpoint, job.phase) == (0.5, {"half": True}, "")
    assert jobs.resume_job(job_id=job.pk).state == Job.QUEUED
    assert jobs.run_queued_job(job.pk) == Job.DONE
    acts = AuditEntry.objects.order_by("pk").values_list("act", "about__job")
    assert list(acts) == [("cancel_job", job.pk), ("resume_job", job.pk)]


def test_a_step_is_undone_where_its_transaction_meets_the_end(monkeypatch):
    job = jobs.enqueue(kind="count", arguments={"upto": 5})
    message = iter([False, False, True])
    assert jobs.run_queued_job(job.pk, stopping=lambda: next(message)) == Job.QUEUED
    job.refresh_from_db()
    assert steps() == [0, 1] and job.checkpoint == {"next": 2}
    assert jobs.run_queued_job(job.pk) == Job.DONE
    assert steps() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("state", [Job.DONE, Job.FAILED, Job.CANCELLED])
def test_what_has_ended_cannot_be_cancelled(state):
    job = Job.objects.create(kind="count", state=state)
    with pytest.raises(jobs.JobError, match=f"is {state}; only queued and running"):
        jobs.cancel_job(job_id=job.pk)


@pytest.mark.parametrize("state", [Job.QUEUED, Job.RUNNING, Job.DONE])
def test_only_what_failed_or_was_cancelled_can_be_resumed(state):
    job = Job.objects.create(kind="count", state=state)
    with pytest.raises(jobs.JobError, match=f"is {state}; only failed and cancelled"):
        jobs.resume_job(job_id=job.pk)


@pytest.mark.parametrize("act", [jobs.cancel_job, jobs.resume_job])
def test_a_job_that_is_none_is_named(act):
    with pytest.raises(jobs.JobError, match="there is no job 7"):
        act(job_id=7)


def test_being_told_to_stop_queues_the_job_and_counts_as_no_attempt():
    job = jobs.enqueue(kind="count", arguments={"upto": 3})
    assert jobs.run_queued_job(job.pk, stopping=lambda: True) == Job.QUEUED
    job.refresh_from_db()
    assert (job.attempts, jobs.due_job()) == (0, job.pk)


def test_what_takes_too_long_is_begun_again_for_as_long_as_it_gets_anywhere():
    job = jobs.enqueue(kind="takes_too_long", arguments={"share": 0.5})
    assert jobs.run_queued_job(job.pk, limits=(kinds.TooLong,)) == Job.QUEUED
    job.refresh_from_db()
    assert (job.share, job.attempts) == (0.5, 0)
    for attempt in range(1, JOB_ATTEMPTS):
        assert jobs.run_queued_job(job.pk, limits=(kinds.TooLong,)) == Job.QUEUED
        assert Job.objects.get().attempts == attempt
    assert jobs.run_queued_job(job.pk, limits=(kinds.TooLong,)) == Job.FAILED
    assert re.fullmatch(
        rf"begun {JOB_ATTEMPTS} times, and the last time its time limit stopped it after \d+ s; check in the "
        rf"worker's log what takes so long, then resume it",
        Job.objects.get().error,
    )


def test_a_job_whose_worker_was_killed_at_the_time_limit_says_so(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    died = database.now() - timedelta(seconds=LOST + 1)
    job = silent(attempts=JOB_ATTEMPTS, heartbeat_at=died)
    for lived, how in ((7490, "the last time its time limit killed it after 7500 s"), (600, "each time its")):
        began = died - timedelta(seconds=lived)
        Job.objects.update(state=Job.RUNNING, started_at=began, heartbeat_at=died)
        assert jobs.sweep_jobs() == jobs.SweptJobs(failed=1)
        job.refresh_from_db()
        assert job.error.startswith(f"begun {JOB_ATTEMPTS} times, and {how}")


def test_a_time_limit_that_strikes_while_the_end_is_written_costs_no_result(monkeypatch):
    written, strikes = running._end, [kinds.TooLong]

    def end(*arguments, **named):
        if strikes:
            raise strikes.pop()
        return written(*arguments, **named)

    monkeypatch.setattr(running, "_end", end)
    job = jobs.enqueue(kind="count", arguments={"upto": 3})
    assert jobs.run_queued_job(job.pk, limits=(kinds.TooLong,)) == Job.DONE
    assert steps() == [0, 1, 2]


def test_a_result_that_no_row_can_hold_fails_the_job():
    job = jobs.enqueue(kind="tells_too_much")
    assert jobs.run_queued_job(job.pk) == Job.FAILED
    assert Job.objects.get().error == "TypeError: Object of type set is not JSON serializable"


def test_a_job_that_lost_its_database_waits_ever_longer_and_is_given_up(monkeypatch):
    job = jobs.enqueue(kind="loses_database")
    waits = []
    for _ in range(JOB_ATTEMPTS - 1):
        assert jobs.run_queued_job(job.pk) == Job.QUEUED
        assert jobs.due_job() is None
        due_at = Job.objects.get().heartbeat_at
        assert due_at is not None
        waits.append((due_at - database.now()).total_seconds())
        later(monkeypatch, 61)
        assert jobs.due_job() == job.pk
    assert waits == sorted(waits) and waits[0] > 1 and waits[-1] <= 60
    assert jobs.run_queued_job(job.pk) == Job.FAILED
    assert Job.objects.get().error == (
        f"begun {JOB_ATTEMPTS} times, and the last time it lost its database; see in the worker's log why, "
        "then resume it"
    )


def test_a_worker_that_was_taken_for_dead_writes_nothing_any_more():
    job = jobs.enqueue(kind="lost_and_found", arguments={"share": 0.9})
    assert jobs.run_queued_job(job.pk) is None
    job.refresh_from_db()
    assert (job.state, job.phase, job.share) == (Job.RUNNING, "with another", 0.0)


@pytest.mark.parametrize("share", [0.9, None])
def test_a_worker_that_was_taken_for_dead_goes_on_where_no_other_has_begun(share: float | None):
    job = jobs.enqueue(kind="swept_meanwhile", arguments={"share": share})
    assert jobs.run_queued_job(job.pk) == Job.DONE
    job.refresh_from_db()
    assert (job.state, job.result, job.attempts) == (Job.DONE, {"share": share}, 1)
    assert jobs.run_queued_job(job.pk) is None


def silent(**values) -> Job:
    """Make a running job without a sign of life for too long."""
    before = database.now() - timedelta(seconds=LOST + 1)
    return Job.objects.create(
        kind="count",
        arguments={"upto": 3},
        **{"state": Job.RUNNING, "started_at": before, "heartbeat_at": before, "attempts": 1, **values},
    )


def test_jobs_whose_times_a_clock_that_was_ahead_gave_do_not_wait_for_them():
    soon = database.now() + timedelta(seconds=60)
    ahead = database.now() + timedelta(hours=1)
    lost, waiting = silent(heartbeat_at=ahead), silent(state=Job.QUEUED, heartbeat_at=ahead)
    tried_again = silent(state=Job.QUEUED, heartbeat_at=soon)
    assert jobs.sweep_jobs().again == 0  # it may be alive
    for job in (lost, waiting, tried_again):
        job.refresh_from_db()
    assert lost.state == Job.RUNNING and lost.heartbeat_at is not None and lost.heartbeat_at <= database.now()
    assert jobs.due_job() == waiting.pk
    assert tried_again.heartbeat_at == soon
    Job.objects.filter(pk=lost.pk).update(heartbeat_at=lost.heartbeat_at - timedelta(seconds=LOST + 1))
    assert jobs.sweep_jobs().again == 1


def test_the_sweep_queues_again_what_shows_no_life():
    job = silent(checkpoint={"next": 2}, share=0.6)
    lively = Job.objects.create(kind="count", state=Job.RUNNING, heartbeat_at=database.now())
    assert jobs.sweep_jobs() == jobs.SweptJobs(again=1)
    assert jobs.run_queued_job(job.pk) == Job.DONE
    assert steps() == [2]
    lively.refresh_from_db()
    assert lively.state == Job.RUNNING
    assert jobs.sweep_jobs() == jobs.SweptJobs()


def test_the_sweep_gives_up_what_killed_its_workers_each_time():
    job = silent(attempts=JOB_ATTEMPTS)
    assert jobs.sweep_jobs() == jobs.SweptJobs(failed=1)
    job.refresh_from_db()
    assert job.state == Job.FAILED
    assert job.error.startswith(f"begun {JOB_ATTEMPTS} times, and each time its worker ended")
    assert jobs.resume_job(job_id=job.pk).attempts == 0


def test_the_sweep_ends_what_was_cancelled_and_then_lost_its_worker():
    job = silent(cancel=True)
    assert jobs.sweep_jobs() == jobs.SweptJobs(cancelled=1)
    job.refresh_from_db()
    assert job.state == Job.CANCELLED and job.finished_at


def test_rows_that_other_code_wrote_are_found_by_the_sweep():
    job = Job.objects.create(kind="count", arguments={"upto": 1})
    assert jobs.due_job() is None
    jobs.sweep_jobs()
    assert jobs.due_job() == job.pk


def test_the_longest_waiting_job_comes_first(monkeypatch):
    first = jobs.enqueue(kind="count", arguments={"upto": 1})
    later(monkeypatch, 1)
    jobs.enqueue(kind="count", arguments={"upto": 2})
    assert jobs.due_job() == first.pk


def test_shares_alone_are_written_now_and_then(django_assert_max_num_queries):
    job = jobs.enqueue(kind="count", arguments={"upto": 1})
    Job.objects.update(state=Job.RUNNING, started_at=database.now())
    progress = jobs.JobProgress(Job.objects.get())
    with django_assert_max_num_queries(12):
        assert sum(progress.over(range(1000), total=1000, phase="adding", start=0.2, end=0.8)) == 499500
    assert progress.share == pytest.approx(0.8)
    job.refresh_from_db()
    assert job.phase == "adding" and 0.2 <= job.share <= 0.8


def test_the_time_that_is_left_follows_the_pace_of_this_run():
    began = database.now()
    job = Job(state=Job.RUNNING, started_at=began, share_before=0.5, share=0.75)
    assert jobs.remaining(job, at=began + timedelta(seconds=30)) == pytest.approx(30)
    job.share = 0.5
    assert jobs.remaining(job, at=began + timedelta(seconds=30)) is None
    job.state = Job.DONE
    assert jobs.remaining(job) is None
