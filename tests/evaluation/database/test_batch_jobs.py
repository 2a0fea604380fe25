"""Batches as jobs: phases and shares, cancelled and resumed, nothing incomplete and nothing twice."""

from __future__ import annotations

import json

import pytest

from annotation import jobs
from annotation.models import Campaign, Job, Judgment, Task, TrustState
from annotation.protocol.campaign_settings import settings_of
from annotation.selectors.campaign.cost import money
from annotation.selectors.campaign.glance import forecast
from evaluation.models import Batch, JudgmentSet, PairAnswers, QrelsRow, QrelsSnapshot
from evaluation.services.batches.collecting import batch_named
from evaluation.services.batches.launching import launch
from evaluation.services.batches.planning import BatchRequest, plan
from evaluation.services.batches.reassignment import plan_reassignment, reassign_answers
from evaluation.services.batches.state import batch_state
from tests.evaluation.database.conftest import output_of
from tests.evaluation.database.pooled_world import UNTESTED, crowd

pytestmark = pytest.mark.django_db(transaction=True)

PAID = {**UNTESTED, "pay": {"basis": "item", "per_item": {"relevance": 0.2}}}


@pytest.fixture
def batch(pooled_runs: list[str]) -> Batch:
    planned_batch = plan(BatchRequest(corpus="quay", runs=pooled_runs, depth=4, campaign_settings=PAID))
    return launch(planned_batch, "first", known_from="dev").batch


def now(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)


def cancelled_in(phase: str, job: Job) -> str | None:
    """Run the job, cancel it once it reports `phase`, and return its state."""

    def cancel() -> bool:
        if now(job).phase == phase and not now(job).cancel:
            jobs.cancel_job(job_id=job.pk)
        return False

    return jobs.run_queued_job(job.pk, stopping=cancel)


def opening(names: list[str]) -> Job:
    arguments = {"name": "first", "corpus": "quay", "runs": names, "depth": 4, "campaign_settings": UNTESTED}
    return jobs.enqueue(kind="open_batch", arguments={**arguments, "known_from": "dev"})


def test_a_batch_is_opened_by_a_job_that_names_its_phases(pooled_runs: list[str]) -> None:
    job = opening(pooled_runs)
    seen: list[tuple[str, float]] = []

    def look() -> bool:
        seen.append((now(job).phase, now(job).share))
        return False

    assert jobs.run_queued_job(job.pk, stopping=look) == Job.DONE
    assert list(dict.fromkeys(phase for phase, _ in seen)) == [
        "reading runs",
        "reading answers",
        "leaving unlikely pairs out",
        "laying out pages",
        "opening its questions",
    ]
    assert [share for _, share in seen] == sorted(share for _, share in seen)
    assert now(job).result["numbers"]["selected"] == Batch.objects.get().numbers["selected"]
    assert Batch.objects.get().campaign.state == Campaign.OPEN


def test_an_opening_that_is_cancelled_leaves_nothing_and_goes_on(pooled_runs: list[str]) -> None:
    job = opening(pooled_runs)
    assert cancelled_in("leaving unlikely pairs out", job) == Job.CANCELLED
    assert not Campaign.objects.exists() and not Batch.objects.exists() and not Task.objects.exists()
    jobs.resume_job(job_id=job.pk)
    assert jobs.run_queued_job(job.pk) == Job.DONE
    tasks = Task.objects.count()
    # Its worker died after the last write, before it could report: the job is started again.
    again = opening(pooled_runs)
    assert jobs.run_queued_job(again.pk) == Job.DONE and now(again).result["unchanged"]
    assert (Batch.objects.count(), Task.objects.count()) == (1, tasks)


def test_what_a_batch_refuses_fails_its_job_in_one_line(pooled_runs: list[str]) -> None:
    job = opening([*pooled_runs, "nobody"])
    assert jobs.run_queued_job(job.pk) == Job.FAILED
    assert now(job).error == "unknown run 'nobody'"


def test_collecting_and_freezing_goes_on_where_it_was_cancelled(batch: Batch, monkeypatch) -> None:
    # Report every row, and store every report, as with many rows.
    monkeypatch.setattr("evaluation.services.phases._OFTEN", 1)
    monkeypatch.setattr("annotation.jobs.progress._PAUSE", 0)
    crowd(batch.campaign, {"perfect": 5})
    settling = jobs.enqueue(kind="settle_batch", arguments={"batch": "first", "qrels": "pooled"})
    assert cancelled_in("keeping judgments", settling) == Job.CANCELLED
    assert not JudgmentSet.objects.exists() and not PairAnswers.objects.exists()
    jobs.resume_job(job_id=settling.pk)
    assert cancelled_in("writing qrels", settling) == Job.CANCELLED
    assert JudgmentSet.objects.get().published
    assert not QrelsSnapshot.objects.exists() and not QrelsRow.objects.exists()
    jobs.resume_job(job_id=settling.pk)
    assert jobs.run_queued_job(settling.pk) == Job.DONE
    result = now(settling).result
    assert (result["collected"]["unchanged"], result["collected"]["short"]) == (True, 0)
    assert (result["frozen"]["version"], result["frozen"]["unchanged"]) == (1, False)
    for kind, arguments in (
        ("collect_judgments", {"batch": "first"}),
        ("freeze_qrels", {"name": "pooled", "corpus": "quay", "judgments": "first"}),
    ):
        again = jobs.enqueue(kind=kind, arguments=arguments)
        assert jobs.run_queued_job(again.pk) == Job.DONE and now(again).result["unchanged"]
    assert JudgmentSet.objects.count() == QrelsSnapshot.objects.count() == 1
    frozen = json.loads(output_of("settle_batch", "first", "pooled", "--json"))["frozen"]
    assert frozen["unchanged"] and frozen["digest"] == result["frozen"]["digest"]


@pytest.mark.slow  # the default run asks bad judges' pages again in `test_collecting`
def test_topping_up_says_its_price_and_has_the_pages_of_bad_judges_asked_again(batch: Batch) -> None:
    crowd(batch.campaign, {"perfect": 4, "always_yes": 2})
    before = batch_state("first")
    assert before.short > 0 and set(before.unused) == set(before.top_up.judges)
    bad = Judgment.objects.filter(worker__pseudonym__in=before.unused, image__isnull=False)
    assert before.top_up.answers == bad.count() > 0
    assert before.top_up.micros == 200_000 * bad.count()
    price = json.loads(output_of("plan_reassignment", "first", "--json"))
    assert price["answers"] == bad.count() and not price["done"]
    assert not bad.filter(withdrawn=True).exists()

    job = jobs.enqueue(kind="reassign_pages", arguments={"batch": "first"})
    stopped = iter([False, True])
    # Its worker is stopped after a first image; another continues.
    assert jobs.run_queued_job(job.pk, stopping=lambda: next(stopped, False)) == Job.QUEUED
    assert bad.filter(withdrawn=True).exists() and bad.filter(withdrawn=False).exists()
    assert jobs.run_queued_job(job.pk) == Job.DONE
    assert not bad.filter(withdrawn=False).exists()
    assert all(row.withdrawn_at for row in TrustState.objects.filter(worker__pseudonym__in=before.unused))
    assert not plan_reassignment(batch_named("first")).judges and not reassign_answers("first").done
    after = batch_state("first")
    assert (
        after.answers_to_come == after.top_up.answers + before.answers_to_come + bad.count()
        and not after.unused
    )
    assert "all judges" in output_of("reassign_pages", "first")
    crowd(batch.campaign, {"perfect": 4}, seed=2)
    assert batch_state("first").complete


def test_a_state_tells_what_is_to_come_and_how_far_judges_agree(batch: Batch) -> None:
    early = batch_state("first")
    assert early.answers_to_come == 3 * batch.numbers["task_count"] and early.ends_at is None
    coming = forecast(batch.campaign, settings_of(batch.campaign.settings).pay, fresh=True)
    assert early.to_come == ("" if coming.pay is None else money(coming.pay, "USD"))
    assert early.agreement.value is None and not early.complete
    crowd(batch.campaign, {"perfect": 5})
    late = batch_state("first")
    assert (late.answers_to_come, late.to_come, late.complete) == (0, "0.00 USD", True)
    assert (late.agreement.value, late.agreement.items) == (1, batch.numbers["selected"])
    text = output_of("batch_status", "first")
    assert "0 answers are still to come" in text and "judges agree with alpha 1.00" in text
