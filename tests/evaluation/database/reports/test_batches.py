"""A batch in a report: its questions, and whose answers count."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.common.operations import OperationContext
from annotation.models import TrustState, Worker
from annotation.moderation.worker_status import withdraw_worker_answers
from evaluation.models import QrelsRow, QrelsSnapshot, Report
from evaluation.services.batches.collecting import collect
from evaluation.services.batches.launching import launch
from evaluation.services.batches.planning import BatchRequest, plan
from evaluation.services.batches.state import batch_state
from evaluation.services.judgments.freezing import freeze_qrels
from evaluation.services.reports import building
from tests.evaluation.database import pooled_world
from tests.evaluation.database.reports.conftest import built, report_json, request_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("undrawn")
def test_a_batch_and_its_judges_stand_in_the_report(data_dir: Path, tmp_path: Path) -> None:
    names = pooled_world.two_systems(tmp_path)
    batch = launch(
        plan(BatchRequest(corpus="quay", runs=names, depth=3, campaign_settings=pooled_world.UNTESTED)),
        "first",
    ).batch
    pooled_world.crowd(batch.campaign, {"average": 4})
    collect("first")
    freeze_qrels(name="q", corpus="quay", judgments="first")
    report = built(request_of(names, batch="first"))
    now, numbers = batch_state("first"), report["findings"]["batch"]
    assert (numbers["numbers"]["selected"], numbers["judged"], numbers["answers"], numbers["judges"]) == (
        *(
            now.numbers["selected"],
            now.judged,
            now.answers,
            sum(person.answers > 0 for person in now.people.values()),
        ),
    )
    assert numbers["askable"] is None
    assert numbers["filling"] == {
        "pages": batch.numbers["task_count"],
        **{key: batch.numbers[key] for key in ("blocks", "short_blocks", "fillers", "missing")},
    }
    (section,) = (person for person in report["sections"] if person["title"].startswith("Batch first"))
    lacking = batch.numbers["missing"]
    assert lacking and any(
        remark.startswith(f"Pages lack {lacking:,} captions") for remark in section["remarks"]
    )
    assert numbers["loss"]["relevant"] == now.loss.relevant if now.loss else numbers["loss"] is None
    judging = report["findings"]["judging"]
    assert sum(person["pairs"] for person in judging["per_pair"]) == judging["pairs"]
    rows = QrelsRow.objects.filter(snapshot=QrelsSnapshot.objects.get(name="q"), judged=True).count()
    assert judging["pairs"] == rows
    assert report["inputs"]["batch"]["name"] == "first" and Report.objects.get(name="r").batch == batch


@pytest.mark.usefixtures("undrawn")
def test_judges_of_a_batch_are_those_who_count_and_the_discarded_stay_in_sight(
    data_dir: Path, tmp_path: Path
) -> None:
    names = pooled_world.two_systems(tmp_path)
    half = plan(
        BatchRequest(
            corpus="quay",
            runs=names,
            depth=3,
            strategy="move_to_front",
            rounds=2,
            campaign_settings=pooled_world.UNTESTED,
        )
    )
    batch = launch(half, "first").batch
    pooled_world.crowd(batch.campaign, {"average": 4})
    collect("first")
    freeze_qrels(name="q", corpus="quay", judgments="first")
    answered = [name for name, item in sorted(batch_state("first").people.items()) if item.answers]
    below, gone, *others = answered
    # A worker who never answered still has a standing.
    idle = Worker.objects.create(pseudonym="idle")
    now = TrustState.objects.filter(worker__pseudonym=below)
    TrustState.objects.create(
        campaign=batch.campaign, worker=idle, kind=now.get().kind, changed_at=now.get().changed_at
    )
    building.build_report(request_of(names, batch="first"), OperationContext())
    before = report_json()
    assert before["findings"]["batch"]["judges"] == len(answered)
    assert building.build_report(request_of(names, batch="first"), OperationContext()).unchanged
    now.update(known=10, right=5)
    withdraw_worker_answers(
        campaign=batch.campaign,
        worker=Worker.objects.get(pseudonym=gone).pk,
        reason="clicked without looking",
    )
    report = building.build_report(request_of(names, batch="first", replace=True), OperationContext())
    assert f"batch judges is {len(others)}, was {len(answered)}" in report.changes
    batch_findings = report_json()["findings"]["batch"]
    assert (batch_findings["judges"], batch_findings["unused"], batch_findings["withdrawn"]) == (
        len(others),
        ["5 of 10 control items right"],
        ["clicked without looking"],
    )
    (section,) = [item for item in report_json()["sections"] if item["title"].startswith("Batch first")]
    (table,) = section["tables"]
    rows = {row[0]["text"]: row[1]["text"] for row in table["rows"]}
    requested, askable = batch.numbers["selected"], batch.numbers["askable"]
    assert 0 < requested < askable
    assert (rows["asked"], rows["that could be asked, in rounds"]) == (str(requested), str(askable))
    assert rows["judges whose answers were withdrawn"] == "1"
    assert section["remarks"][:2] == [
        "Judges left out: 5 of 10 control items right.",
        "Answers withdrawn: clicked without looking.",
    ]
    # Everything shown of a batch is an input, also texts, even if every count is the same.
    now.update(known=20, right=10)
    assert building.build_report(
        request_of(names, batch="first", replace=True), OperationContext()
    ).changes == ("other data of the batch changed",)
