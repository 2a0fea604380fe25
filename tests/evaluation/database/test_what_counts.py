"""A batch's figures after a decision: who counts, what is pending, what lacks answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError

from annotation import campaigns
from annotation.common.operations import OperationContext
from annotation.models import Campaign, Judgment, TrustState
from annotation.moderation import trust_replay, worker_status
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.trust import SUSPENDED
from annotation.selectors.campaign.glance import overview
from annotation.selectors.pair_judgments import pair_judgments
from evaluation.models import Batch, JudgmentSet
from evaluation.services.batches.collecting import collect
from evaluation.services.batches.launching import launch
from evaluation.services.batches.state import batch_state, cached_batch_state
from evaluation.services.judgments.freezing import freeze_qrels
from evaluation.services.reports import building
from evaluation.services.reports.request import ReportError, ReportRequest
from tests.evaluation.database.conftest import output_of
from tests.evaluation.database.pooled_world import UNTESTED, crowd, planned

pytestmark = pytest.mark.django_db(transaction=True)


def a_judge(campaign: Campaign) -> TrustState:
    """Return the standing of a judge who answered several pages."""
    worker = Judgment.objects.filter(campaign=campaign, image__isnull=False).values_list("worker", flat=True)[
        0
    ]
    return TrustState.objects.select_related("worker").get(campaign=campaign, worker=worker)


def suspended_and_reinstated(row: TrustState) -> None:
    """The rules suspend a judge, and a researcher reinstates them."""
    TrustState.objects.filter(pk=row.pk).update(state=SUSPENDED, known=13, right=0, last="0" * 13)
    worker_status.reinstate_worker(campaign=row.campaign, worker=row.worker_id)


def test_answers_from_before_judges_were_reinstated_stay_out_unless_asked_for_by_name(
    pooled_runs: list[str],
) -> None:
    batch = launch(planned(pooled_runs), "first").batch
    crowd(batch.campaign, {"perfect": 4})
    whole = collect("first")
    row = a_judge(batch.campaign)
    judge = row.worker.pseudonym
    worker_status.suspend_worker(campaign=batch.campaign, worker=row.worker_id)
    worker_status.reinstate_worker(campaign=batch.campaign, worker=row.worker_id)
    assert collect("first").unchanged, "one whom a researcher suspended counts in full once reinstated"

    suspended_and_reinstated(row)
    judgments = sorted(
        {
            pair_judgment.judgment
            for pair_judgment in pair_judgments(batch.campaign)
            if pair_judgment.judge == judge
        }
    )
    less = collect("first")
    assert (less.before, less.counted, less.unused) == ({judge: len(judgments)}, {}, {})
    assert less.answers < whole.answers and less.short > 0 and less.judgments == "first-2"
    assert batch_state("first").top_up.judges == {}, "to discard them would take their later answers too"
    # After a replay, the standing still begins at the reinstatement.
    trust_replay.replay_rows([row.pk])
    assert collect("first").unchanged
    with pytest.raises(
        CommandError, match=f"judge 'nobody' of batch 'first' .*; judges with such answers: {judge}"
    ):
        output_of("collect_judgments", "first", "--count", "nobody")
    text = output_of("collect_judgments", "first")
    assert (
        f"not used: {len(judgments)} answers that {judge} gave" in text
        and f"counting {judge}, to have these too" in text
    )

    named = json.loads(output_of("collect_judgments", "first", "--count", judge, "--json"))
    assert (named["before"], named["counted"], named["digest"]) == ({}, {judge: len(judgments)}, whole.digest)
    assert JudgmentSet.objects.get(name=named["judgments"]).counted == {"first": [judge]}
    assert collect("first").unchanged, "the person who was asked for counts until something else is asked"
    assert f"counted by name: {len(judgments)} answers" in output_of("batch_status", "first")
    assert f"leaving out {judge}, to have" in output_of("collect_judgments", "first")
    less_again = json.loads(output_of("collect_judgments", "first", "--leave-out", judge, "--json"))
    assert less_again["digest"] == less.digest
    assert batch_state("first").collected

    # Later answers count.
    TrustState.objects.filter(pk=row.pk).update(since=judgments[0])
    assert collect("first").before == {judge: 1}


def test_a_closed_campaign_has_nothing_to_come_and_what_is_kept_says_so_at_once(
    pooled_runs: list[str],
) -> None:
    paid = {**UNTESTED, "pay": {"basis": "item", "per_item": {"relevance": 0.2}}}
    batch = launch(planned(pooled_runs, campaign_settings=paid), "first").batch
    assert cached_batch_state(batch).answers_to_come == 3 * batch.numbers["task_count"]
    campaigns.close_campaign(campaign=batch.campaign)
    row = Batch.objects.select_related("campaign").get()
    closed = cached_batch_state(row)
    pay = settings_of(row.campaign.settings).pay
    assert (closed.state, closed.answers_to_come, closed.to_come, closed.complete) == (
        "closed",
        0,
        "0.00 USD",
        False,
    )
    assert overview(row.campaign, pay).throughput.to_come == overview(row.campaign, pay).pay_to_come == 0
    text = output_of("batch_status", "first")
    assert "0 answers are still to come, 0.00 USD" in text and "its campaign is closed, and" in text
    assert "a new batch of the same runs" in text


def test_what_is_decided_shows_on_pages_at_once(pooled_runs: list[str]) -> None:
    batch = launch(planned(pooled_runs, depth=2), "first").batch
    crowd(batch.campaign, {"perfect": 4})
    row = a_judge(batch.campaign)

    def seen() -> tuple[int, int, bool]:
        now = Batch.objects.select_related("campaign", "corpus", "judgments").get()
        cached, fresh = cached_batch_state(now), batch_state("first")
        assert (cached.stored, cached.short, cached.collected) == (fresh.stored, fresh.short, fresh.collected)
        return cached.stored, cached.short, cached.collected

    stored, short, collected = seen()
    assert stored and not short and not collected
    collect("first")
    assert seen() == (stored, 0, True)
    suspended_and_reinstated(row)
    assert seen()[1:] != (0, True)
    worker_status.withdraw_worker_answers(campaign=batch.campaign, worker=row.worker_id)
    worker_status.restore_worker_answers(campaign=batch.campaign, worker=row.worker_id)
    assert seen()[0] < stored
    collect("first", count=[row.worker.pseudonym])
    assert seen() == (stored, 0, True)


def test_a_batch_and_its_report_say_that_pairs_judged_before_lack_answers_now(
    pooled_runs: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(building, "as_svg", lambda plot: "")
    monkeypatch.setattr(building, "as_pdf", lambda plot: b"")
    first = launch(planned(pooled_runs, depth=2), "first").batch
    crowd(first.campaign, {"perfect": 4})
    second = launch(planned(pooled_runs, depth=3, simulated=True), "second").batch
    crowd(second.campaign, {"perfect": 4}, seed=2)
    collect("second")
    freeze_qrels(name="q", corpus="quay", judgments="second")
    reused = second.numbers["known"]
    before = batch_state("second")
    assert (before.reused, before.lacking, before.complete) == (reused, 0, True) and reused > 0
    report_request = ReportRequest(
        name="r", qrels="q", runs=pooled_runs, batch="second", measures=["S@1"], rounds=10, resamples=10
    )
    building.build_report(report_request, OperationContext())
    row = building.report_named("r")
    assert building.outdated(row) == []

    worker_status.withdraw_worker_answers(campaign=first.campaign, worker=a_judge(first.campaign).worker_id)
    after = batch_state("second")
    assert after.lacking > 0 == after.short and after.reused + after.lacking == reused
    assert not after.complete and not after.collected
    assert f"{after.lacking} of {reused} pairs that were judged before now lack answers" in output_of(
        "batch_status", "second"
    )
    changes = building.outdated(row)
    with pytest.raises(ReportError) as error:
        building.build_report(report_request, OperationContext())
    assert changes and "; ".join(changes) in str(error.value)
    building.build_report(replace(report_request, replace=True), OperationContext())
    assert building.outdated(building.report_named("r")) == []
    page = (building.report_folder("r") / "report.html").read_text()
    assert f"{after.lacking} have fewer answers now than required" in page
    assert "The judgments are simulated" in page and row.inputs["qrels"]["simulated"]
    # A new batch of the same runs selects just these.
    assert len(planned(pooled_runs, depth=3, simulated=True).selected) == after.lacking
