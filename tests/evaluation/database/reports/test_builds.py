"""Reports: the same inputs give the same bytes, and no build is left incomplete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from annotation import jobs
from annotation.common.locks import locked_folder
from annotation.common.operations import OperationContext, read_request, request_to_dict
from annotation.models import Job
from evaluation.models import Report, ReportRun, Run
from evaluation.services.judgments.freezing import freeze_qrels
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.reports import building
from evaluation.services.reports.request import ReportError, ReportRequest
from evaluation.services.systems.registry import remove_run
from phrasebox.errors import PhraseboxError
from tests.evaluation.database.conftest import output_of
from tests.evaluation.database.reports.conftest import QUICK, report_json, request_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("drawn", ["drawn_in_part", pytest.param("drawn", marks=pytest.mark.slow)])
def test_the_same_inputs_are_the_same_bytes_and_stand_unchanged(
    request: pytest.FixtureRequest, qrels: str, runs: list[str], drawn: str
) -> None:
    request.getfixturevalue(drawn)
    built = []
    for _ in range(2):
        Report.objects.all().delete()
        assert not building.build_report(request_of(runs[::2]), OperationContext()).unchanged
        built.append({path: path.read_bytes() for path in building.report_folder("r").rglob("*.*")})
    assert built[0] == built[1] and len(built[0]) > 20
    assert building.build_report(request_of(runs[::2]), OperationContext()).unchanged


@pytest.mark.usefixtures("undrawn")
def test_what_was_changed_by_hand_is_built_again(qrels: str, runs: list[str]) -> None:
    building.build_report(request_of(runs), OperationContext())
    page = building.report_folder("r") / "report.html"
    before = page.read_bytes()
    page.write_text("changed by hand")
    assert not building.build_report(request_of(runs), OperationContext()).unchanged
    assert page.read_bytes() == before
    assert building.build_report(request_of(runs), OperationContext()).unchanged


@pytest.mark.usefixtures("undrawn")
def test_changed_qrels_and_runs_are_named_and_replaced_where_that_is_asked_for(
    qrels: str, runs: list[str], corpus: str, crowd: Path
) -> None:
    building.build_report(request_of(runs), OperationContext())
    crowd.write_text(
        crowd.read_text().replace("a.jpg\tb.jpg#2\t0.3333333333333333\t1\t2", "a.jpg\tb.jpg#2\t1\t3\t0")
    )
    import_judgments(
        JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd", name="again"), OperationContext()
    )
    freeze_qrels(name="q", corpus=corpus, judgments="again")
    row = building.report_named("r")
    assert building.outdated(row) == ["qrels are q version 2, were q version 1"]
    Run.objects.filter(name="bad-s").update(digest="0" * 64)
    with pytest.raises(
        ReportError, match="qrels are q version 2, were q version 1; run 'bad-s' has other rank"
    ):
        building.build_report(request_of(runs), OperationContext())
    assert report_json()["inputs"]["qrels"]["version"] == 1
    report = building.build_report(request_of(runs, seed=3, replace=True), OperationContext())
    assert "seed is 3, was 0" in report.changes
    assert report_json()["inputs"]["qrels"]["version"] == 2
    assert building.outdated(building.report_named("r")) == []


@pytest.mark.usefixtures("undrawn")
def test_a_build_that_dies_leaves_what_stood_and_nothing_else(
    qrels: str, runs: list[str], monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    def dies(plot: Any) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(building, "as_pdf", dies)
        with pytest.raises(KeyboardInterrupt):
            building.build_report(request_of(runs), OperationContext())
    assert not building.report_folder("r").exists() and not Report.objects.exists()
    building.build_report(request_of(runs), OperationContext())
    stood = report_json()
    with monkeypatch.context() as patched:
        patched.setattr(building, "as_pdf", dies)
        with pytest.raises(KeyboardInterrupt):
            building.build_report(request_of(runs, seed=1, replace=True), OperationContext())
    assert report_json() == stood
    # A build killed between its two moves has moved the old folder away, and not put a new one in its place.
    building.report_folder("r").rename(data_dir / "reports" / ".r.old")
    assert building.build_report(request_of(runs), OperationContext()).unchanged
    assert sorted(path.name for path in (data_dir / "reports").iterdir()) == ["r"]
    # A build killed before it wrote its row has left a folder that differs from the row, or has no row.
    Report.objects.update(digest="0" * 64, files={})
    assert not building.build_report(request_of(runs), OperationContext()).unchanged
    Report.objects.all().delete()
    assert not building.build_report(request_of(runs, seed=1), OperationContext()).unchanged
    assert set(building.report_named("r").files) == set(
        building.build_report(request_of(runs, seed=1), OperationContext()).files
    )


@pytest.mark.usefixtures("undrawn")
def test_a_rebuild_whose_run_is_removed_meanwhile_leaves_what_stood(
    qrels: str, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    building.build_report(request_of(runs[:2]), OperationContext())
    row, stood = building.report_named("r"), report_json()

    def removes(plot: Any) -> bytes:
        Run.objects.filter(name=runs[2]).delete()
        return b""

    monkeypatch.setattr(building, "as_pdf", removes)
    with pytest.raises(ReportError, match="was removed while it was built; build it again"):
        building.build_report(request_of(runs[2:], replace=True), OperationContext())
    assert report_json() == stood and building.report_named("r").digest == row.digest
    assert [run.run.name for run in row.runs.order_by("position")] == runs[:2]
    assert building.read_report_file(row, building.JSON)


@pytest.mark.usefixtures("undrawn")
def test_one_builds_at_a_time(qrels: str, runs: list[str]) -> None:
    with locked_folder("report.r", busy="held"), pytest.raises(ValueError, match="is already being built"):
        building.build_report(request_of(runs), OperationContext())


@pytest.mark.parametrize(
    ("also", "why"),
    [
        ({"baseline": ["nobody"]}, "baseline 'nobody' is not one of the runs"),
        ({"rounds": 0}, "rounds: Expected 1 or more"),
        ({"rounds": 999_999_999}, "rounds: Expected 1000000 or less"),
        ({"resamples": 999_999_999}, "resamples: Expected 100000 or less"),
        ({"level": 2.0}, "level: Expected less than 1"),
        ({"name": "no name"}, "name: This is no valid name"),
        ({"measures": ["R@"]}, "R@"),
        ({"runs": ["good-a", "good-a"]}, "runs.1: “good-a” is given twice"),
        ({"qrels": "none"}, "unknown qrels 'none'"),
        ({"batch": "none"}, "unknown batch 'none'"),
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_what_cannot_be_built_is_refused_and_leaves_nothing(
    qrels: str, runs: list[str], also: dict[str, Any], why: str
) -> None:
    with pytest.raises((ValueError, LookupError), match=why):
        data = {**request_to_dict(request_of(runs)), **also}
        building.build_report(read_request(ReportRequest, data), OperationContext())
    assert not Report.objects.exists() and not building.report_folder("r").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_report_keeps_its_runs_until_it_is_removed(qrels: str, runs: list[str]) -> None:
    building.build_report(request_of(runs), OperationContext())
    assert list(ReportRun.objects.order_by("position").values_list("run__name", flat=True)) == [
        *runs[::2],
        *runs[1::2],
    ]
    with pytest.raises(PhraseboxError, match="report r"):
        remove_run(name="good-a")
    building.remove_report("r")
    assert not building.report_folder("r").exists()
    remove_run(name="good-a")


@pytest.mark.usefixtures("undrawn")
def test_a_file_that_is_not_as_it_was_built_is_not_given_out(qrels: str, runs: list[str]) -> None:
    building.build_report(request_of(runs), OperationContext())
    row = building.report_named("r")
    assert building.read_report_file(row, "report.html").startswith(b"<!doctype html>")
    (building.report_folder("r") / "report.html").write_text("something else")
    with pytest.raises(ReportError, match="was changed after it was built"):
        building.read_report_file(row, "report.html")
    with pytest.raises(LookupError, match="has no file"):
        building.read_report_file(row, "../../../secret")


@pytest.mark.usefixtures("undrawn")
def test_the_command_tells_where_it_is_and_refuses_in_one_line(qrels: str, runs: list[str]) -> None:
    line = ("build_report", "r", "--qrels", "q", "--runs", *runs, "--rounds", 200, "--resamples", 50)
    payload = json.loads(output_of(*line, "--json").splitlines()[-1])
    assert (payload["unchanged"], payload["report"]) == (False, "r")
    text = output_of(*line)
    assert "already exists, nothing changed" in text and "reports/r/report.html" in text
    with pytest.raises(CommandError, match="--runs \\(1.\\): There is no run “nobody” here"):
        output_of("build_report", "r", "--qrels", "q", "--runs", "nobody")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("undrawn")
def test_as_a_job_it_tells_its_phases_and_its_result(qrels: str, runs: list[str]) -> None:
    job = jobs.enqueue(kind="build_report", arguments={"name": "r", "qrels": "q", "runs": runs, **QUICK})
    jobs.run_queued_job(job.pk)
    done = Job.objects.get(pk=job.pk)
    assert (done.state, done.result["report"], done.share) == (Job.DONE, "r", 1.0)
    assert Report.objects.filter(name="r").exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("undrawn")
def test_a_job_that_is_cancelled_leaves_nothing_and_can_be_gone_on_with(
    qrels: str, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = jobs.enqueue(kind="build_report", arguments={"name": "r", "qrels": "q", "runs": runs, **QUICK})

    def cancelled(plot: Any) -> bytes:
        jobs.cancel_job(job_id=job.pk)
        return b""

    with monkeypatch.context() as patched:
        patched.setattr(building, "as_pdf", cancelled)
        jobs.run_queued_job(job.pk)
    assert Job.objects.get(pk=job.pk).state == Job.CANCELLED
    assert not building.report_folder("r").exists() and not Report.objects.exists()
    jobs.resume_job(job_id=job.pk)
    jobs.run_queued_job(job.pk)
    assert Job.objects.get(pk=job.pk).state == Job.DONE and Report.objects.filter(name="r").exists()
