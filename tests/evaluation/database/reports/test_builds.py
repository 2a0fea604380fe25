"""Reports: numbers are those of scoring, the same inputs are the same bytes, and nothing is half built."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from annotation import jobs
from annotation.discard import discard
from annotation.exclusive import exclusive_folder
from annotation.models import Job, Standing, Worker
from evaluation.models import QrelsRow, QrelsSnapshot, Report, ReportRun, Run
from evaluation.scoring import compare
from evaluation.selectors import run_named, snapshot_named
from evaluation.services import reports
from evaluation.services.batch_state import state
from evaluation.services.batches import launch
from evaluation.services.collecting import collect
from evaluation.services.judgments import import_judgments
from evaluation.services.planning import plan
from evaluation.services.qrels import freeze_protocol, freeze_qrels
from evaluation.services.registry import InUse, remove_run
from evaluation.services.report_wanted import ReportRefused, Wanted
from evaluation.services.reported import MEASURES
from evaluation.services.runs import import_run
from evaluation.tables import known
from tests.evaluation.database import pooled_world
from tests.evaluation.database.conftest import matrix_file, said

pytestmark = pytest.mark.django_db

IMAGES = [f"{key}.jpg" for key in "abc"]
CAPTIONS = [f"{image}#2" for image in IMAGES]
ODD = "the_bad & <worst> 50%"
QUICK = {"rounds": 200, "resamples": 50}

Bring = Callable[..., list[str]]


@pytest.fixture
def bring(corpus: str, tmp_path: Path) -> Bring:
    """Bring a system's scores as two runs, one a direction."""

    def brought(name: str, scores: Any, system: str = "") -> list[str]:
        file = matrix_file(tmp_path, name, scores, IMAGES, CAPTIONS)
        names = {"annotation": f"{name}-a", "search": f"{name}-s"}
        for direction, run in names.items():
            import_run(
                *(),
                name=run,
                corpus=corpus,
                path=file,
                format="scores",
                direction=direction,
                system=system or name,
            )
        return list(names.values())

    return brought


@pytest.fixture
def runs(bring: Bring) -> list[str]:
    """`good` ranks originals first, the other last."""
    return [*bring("good", np.eye(3)), *bring("bad", -np.eye(3) + np.arange(3) / 10, ODD)]


@pytest.fixture
def qrels(corpus: str, crowd: Path) -> str:
    import_judgments(corpus=corpus, path=crowd, format="flickr8k-crowd")
    freeze_qrels(name="q", corpus=corpus, judgments="flickr8k-crowd")
    return "q"


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures take longer than all else, and are drawn where they are what a test is about."""
    monkeypatch.setattr(reports, "as_svg", lambda plot: f"<svg>{plot.key}</svg>")
    monkeypatch.setattr(reports, "as_pdf", lambda plot: plot.key.encode())


def wanted(runs: list[str], **also: Any) -> Wanted:
    return Wanted(**{"name": "r", "qrels": "q", "runs": runs, **QUICK, **also})


def built(wanted: Wanted) -> dict[str, Any]:
    reports.build(wanted)
    return plain()


def plain(name: str = "r") -> dict[str, Any]:
    def never(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads((reports.folder_of(name) / "report.json").read_text(), parse_constant=never)


@pytest.mark.usefixtures("undrawn")
def test_every_figure_and_test_is_that_of_compare(qrels: str, runs: list[str]) -> None:
    directions = built(wanted(runs))["findings"]["directions"]
    assert [one["direction"] for one in directions] == ["annotation", "search"]
    for one, names in zip(directions, (runs[::2], runs[1::2]), strict=True):
        scored, tests = compare(
            [run_named(name) for name in names], snapshot_named("q"), MEASURES, rounds=QUICK["rounds"]
        )
        for system, score in zip(one["systems"], scored, strict=True):
            assert system["run"] == score.run
            found = {name: figure["value"] for name, figure in system["figures"].items()}
            assert found == {name: known(figure.value) for name, figure in score.scores.items()}
            judged = {name: (f["judged_at"], f["judged"]) for name, f in system["figures"].items()}
            assert judged == score.judged
        assert [(t["run"], t["measure"], t["p"], t["adjusted"], t["mark"]) for t in one["tests"]] == [
            (t.run, t.measure, t.p, t.adjusted, t.mark) for t in tests
        ]


@pytest.mark.usefixtures("undrawn")
def test_figures_curves_and_ranks_by_hand(qrels: str, runs: list[str]) -> None:
    """`good` has each original first; `bad`, of scores -1 beside 0, 0.1, 0.2, has it last."""
    annotation = built(wanted(runs))["findings"]["directions"][0]
    good, bad = annotation["systems"]
    assert good["figures"]["R@1"]["value"] == 1 and bad["figures"]["R@1"]["value"] == 0
    assert (good["figures"]["R@1"]["weight"], bad["figures"]["R@1"]["weight"]) == ("best", "")
    assert (good["figures"]["median rank"]["value"], bad["figures"]["median rank"]["value"]) == (1, 3)
    # a: a and c of a; b: only b; c: c and a of c, {a, b} tied.
    assert good["figures"]["R-precision"]["value"] == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert bad["curves"]["R"][:3] == [0, 0, 1] and len(bad["curves"]["R"]) == 10
    assert (good["ranks"][0], bad["ranks"][1]) == (3, 3)


@pytest.mark.usefixtures("undrawn")
def test_tables_round_emphasise_and_escape_and_csv_does_not_round(qrels: str, runs: list[str]) -> None:
    built(wanted(runs, baseline=["good"]))
    folder = reports.folder_of("r") / "tables"
    lines = (folder / "figures-annotation.tex").read_text().splitlines()
    assert lines[0] == "% Figures, annotation: 3 queries"
    (good,) = [line for line in lines if line.startswith("good")]
    assert good.startswith(r"good & \textbf{100.0} & 100.0 & ") and good.endswith(
        r" & \textbf{66.7} & 23.3 \\"
    )
    assert any(line.startswith(r"the\_bad \& \textless{}worst\textgreater{} 50\% & ") for line in lines)
    rows = list(csv.DictReader(io.StringIO((folder / "figures-annotation.csv").read_text())))
    (cell,) = [row for row in rows if row["run"] == "good-a" and row["measure"] == "R-precision"]
    assert float(cell["value"]) == pytest.approx(2 / 3) and cell["system"] == "good"
    page = (reports.folder_of("r") / "report.html").read_text()
    assert "the_bad &amp; &lt;worst&gt; 50%" in page and "<worst>" not in page
    assert "<script" not in page and not re.search(r'(?:src|href)="(?!#)', page)


def test_the_same_inputs_are_the_same_bytes_and_stand_unchanged(
    qrels: str, runs: list[str], tmp_path: Path
) -> None:
    for folder in ("one", "two"):
        assert not reports.build(wanted(runs[::2]), out=tmp_path / folder).unchanged
    one, two = (
        {path.relative_to(tmp_path / folder): path.read_bytes() for path in (tmp_path / folder).rglob("*.*")}
        for folder in ("one", "two")
    )
    assert one == two and len(one) > 20
    assert not Report.objects.exists()
    assert reports.build(wanted(runs[::2]), out=tmp_path / "two").unchanged


@pytest.mark.usefixtures("undrawn")
def test_what_was_changed_by_hand_is_built_again(qrels: str, runs: list[str]) -> None:
    reports.build(wanted(runs))
    page = reports.folder_of("r") / "report.html"
    before = page.read_bytes()
    page.write_text("changed by hand")
    assert not reports.build(wanted(runs)).unchanged
    assert page.read_bytes() == before
    assert reports.build(wanted(runs)).unchanged


@pytest.mark.usefixtures("undrawn")
def test_changed_qrels_and_runs_are_named_and_replaced_where_that_is_asked_for(
    qrels: str, runs: list[str], corpus: str, crowd: Path
) -> None:
    reports.build(wanted(runs))
    crowd.write_text(
        crowd.read_text().replace("a.jpg\tb.jpg#2\t0.3333333333333333\t1\t2", "a.jpg\tb.jpg#2\t1\t3\t0")
    )
    import_judgments(corpus=corpus, path=crowd, format="flickr8k-crowd", name="again")
    freeze_qrels(name="q", corpus=corpus, judgments="again")
    row = reports.report_named("r")
    assert reports.outdated(row) == ["qrels q have version 2; this is of 1"]
    Run.objects.filter(name="bad-s").update(digest="0" * 64)
    with pytest.raises(
        ReportRefused, match="qrels are q version 2, were q version 1; run 'bad-s' has other rank"
    ):
        reports.build(wanted(runs))
    assert plain()["inputs"]["qrels"]["version"] == 1
    made = reports.build(wanted(runs, seed=3), replace=True)
    assert "seed is 3, was 0" in made.changes
    assert plain()["inputs"]["qrels"]["version"] == 2
    assert reports.outdated(reports.report_named("r")) == []


@pytest.mark.usefixtures("undrawn")
def test_a_build_that_dies_leaves_what_stood_and_nothing_else(
    qrels: str, runs: list[str], monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    def dies(plot: Any) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(reports, "as_pdf", dies)
        with pytest.raises(KeyboardInterrupt):
            reports.build(wanted(runs))
    assert not reports.folder_of("r").exists() and not Report.objects.exists()
    reports.build(wanted(runs))
    stood = plain()
    with monkeypatch.context() as patched:
        patched.setattr(reports, "as_pdf", dies)
        with pytest.raises(KeyboardInterrupt):
            reports.build(wanted(runs, seed=1), replace=True)
    assert plain() == stood
    # Killed between its two moves, a build has put away what stood, and has not put anything in its place.
    reports.folder_of("r").rename(data_dir / "reports" / ".r.old")
    assert reports.build(wanted(runs)).unchanged
    assert sorted(path.name for path in (data_dir / "reports").iterdir()) == ["r"]
    # Killed before it wrote its row, it has left a folder that the row does not know, or that has none.
    Report.objects.update(digest="0" * 64, files={})
    assert not reports.build(wanted(runs)).unchanged
    Report.objects.all().delete()
    assert not reports.build(wanted(runs, seed=1)).unchanged
    assert set(reports.report_named("r").files) == set(reports.build(wanted(runs, seed=1)).files)


@pytest.mark.usefixtures("undrawn")
def test_a_rebuild_whose_run_is_removed_meanwhile_leaves_what_stood(
    qrels: str, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reports.build(wanted(runs[:2]))
    row, stood = reports.report_named("r"), plain()

    def removes(plot: Any) -> bytes:
        Run.objects.filter(name=runs[2]).delete()
        return b""

    monkeypatch.setattr(reports, "as_pdf", removes)
    with pytest.raises(ReportRefused, match="was removed while it was built; ask for it anew"):
        reports.build(wanted(runs[2:]), replace=True)
    assert plain() == stood and reports.report_named("r").digest == row.digest
    assert [one.run.name for one in row.runs.order_by("position")] == runs[:2]
    assert reports.read(row, reports.JSON)


@pytest.mark.usefixtures("undrawn")
def test_one_builds_at_a_time_and_a_foreign_folder_is_left_alone(
    qrels: str, runs: list[str], tmp_path: Path
) -> None:
    with exclusive_folder("report.r", busy="held"), pytest.raises(ValueError, match="is being built already"):
        reports.build(wanted(runs))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(ReportRefused, match="holds no report"):
        reports.build(wanted(runs), out=tmp_path / "mine", replace=True)
    assert (tmp_path / "mine" / "thesis.tex").exists()
    reports.build(wanted(runs), out=tmp_path / "r")
    with pytest.raises(ReportRefused, match="holds the report 'r'"):
        reports.build(wanted(runs, name="other"), out=tmp_path / "r", replace=True)


@pytest.mark.usefixtures("undrawn")
def test_one_system_in_one_direction_comes_out(qrels: str, runs: list[str]) -> None:
    found = built(wanted(runs[:1]))
    (direction,) = found["findings"]["directions"]
    assert direction["tests"] == [] and found["findings"]["orders"] == []
    assert {figure["weight"] for figure in direction["systems"][0]["figures"].values()} == {""}


@pytest.mark.usefixtures("undrawn")
def test_where_nobody_found_anything_relevant_figures_are_absent_and_say_so(
    runs: list[str], corpus: str, tmp_path: Path
) -> None:
    file = tmp_path / "no.txt"
    others = [(image, caption) for image in IMAGES for caption in CAPTIONS if not caption.startswith(image)]
    file.write_text("".join(f"{image}\t{caption}\t0.0\t0\t3\n" for image, caption in others))
    import_judgments(corpus=corpus, path=file, format="flickr8k-crowd", name="no")
    freeze_qrels(name="q", corpus=corpus, judgments="no", originals=False)
    found = built(wanted(runs))
    remarks = [remark for section in found["sections"] for remark in section["remarks"]]
    assert "Without a value for any system: S@1, S@5, S@10, R-precision." in remarks
    assert found["findings"]["directions"][0]["measures"] == ["S@1", "S@5", "S@10", "R-precision"]
    assert (
        r" & - & - & - & - & " in (reports.folder_of("r") / "tables" / "figures-annotation.tex").read_text()
    )


@pytest.mark.usefixtures("undrawn")
def test_grades_are_scored_by_their_gain_too(runs: list[str], corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "expert.txt"
    grades = {image: (4, 4, 4) if number else (1, 2, 2) for number, image in enumerate(IMAGES)}
    file.write_text("".join(f"{image}\t{image}#2\t{a}\t{b}\t{c}\n" for image, (a, b, c) in grades.items()))
    import_judgments(corpus=corpus, path=file, format="flickr8k-expert", name="expert")
    freeze_qrels(name="q", corpus=corpus, judgments="expert", rule="mean_grade", originals=False)
    found = built(wanted(runs))["findings"]
    direction = found["directions"][0]
    assert direction["measures"] == [*MEASURES, "nDCG@10"]
    good = direction["systems"][0]["figures"]
    assert good["nDCG@10"]["value"] == 1
    assert found["judging"]["scale"] == [1, 2, 4]
    assert set(found["judging"]["coefficients"]) == {
        "Krippendorff's alpha, nominal",
        "Krippendorff's alpha, ordinal",
        "Krippendorff's alpha, interval",
        "Fleiss' kappa",
    }


@pytest.mark.usefixtures("undrawn")
def test_under_a_protocol_nobody_judged(runs: list[str], corpus: str) -> None:
    freeze_protocol(name="q", corpus=corpus, protocol="one caption", number=2)
    found = built(wanted(runs))
    assert found["findings"]["judging"] is None
    assert found["findings"]["directions"][0]["measures"] == ["R@1", "R@5", "R@10", "median rank"]
    assert "judged@10" not in (reports.folder_of("r") / "tables" / "figures-annotation.tex").read_text()


@pytest.mark.parametrize(
    ("also", "why"),
    [
        ({"baseline": ["nobody"]}, "baseline 'nobody' is none of the runs"),
        ({"rounds": 0}, "0 rounds"),
        ({"rounds": 999_999_999}, "999999999 rounds: ask for at least 1, and 1000000 at most"),
        ({"resamples": 999_999_999}, "999999999 resamples: ask for at least 1, and 100000 at most"),
        ({"level": 2.0}, "level 2.0"),
        ({"name": "no name"}, "report name 'no name'"),
        ({"measures": ["R@"]}, "R@"),
        ({"runs": ["good-a", "good-a"]}, "each once"),
        ({"qrels": "none"}, "unknown qrels 'none'"),
        ({"batch": "none"}, "unknown batch 'none'"),
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_what_cannot_be_built_is_refused_and_leaves_nothing(
    qrels: str, runs: list[str], also: dict[str, Any], why: str
) -> None:
    with pytest.raises((ValueError, LookupError), match=why):
        reports.build(wanted(**{"runs": runs, **also}))
    assert not Report.objects.exists() and not reports.folder_of("r").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_baseline_stands_for_its_system_and_is_missed_where_it_has_no_run(
    qrels: str, runs: list[str]
) -> None:
    found = built(wanted(runs, baseline=["bad-s"]))
    assert [one["baseline"] for one in found["findings"]["directions"]] == [ODD, ODD]
    with pytest.raises(
        ReportRefused, match="has no run in annotation; name one more baseline, of good-a, more-a"
    ):
        Run.objects.filter(name="bad-a").update(name="more-a", system="more")
        reports.build(wanted(["good-a", "more-a", "bad-s", "good-s"], name="other", baseline=["bad-s"]))


@pytest.mark.usefixtures("undrawn")
def test_a_report_keeps_its_runs_until_it_is_removed(qrels: str, runs: list[str]) -> None:
    reports.build(wanted(runs))
    assert list(ReportRun.objects.order_by("position").values_list("run__name", flat=True)) == [
        *runs[::2],
        *runs[1::2],
    ]
    with pytest.raises(InUse, match="report r"):
        remove_run(name="good-a")
    reports.remove("r")
    assert not reports.folder_of("r").exists()
    remove_run(name="good-a")


@pytest.mark.usefixtures("undrawn")
def test_a_file_that_is_not_as_it_was_built_is_not_given_out(qrels: str, runs: list[str]) -> None:
    reports.build(wanted(runs))
    row = reports.report_named("r")
    assert reports.read(row, "report.html").startswith(b"<!doctype html>")
    (reports.folder_of("r") / "report.html").write_text("something else")
    with pytest.raises(ReportRefused, match="is not as it was built"):
        reports.read(row, "report.html")
    with pytest.raises(LookupError, match="has no file"):
        reports.read(row, "../../../secret")


@pytest.mark.usefixtures("undrawn")
def test_the_command_tells_where_it_is_and_refuses_in_one_line(qrels: str, runs: list[str]) -> None:
    line = ("build_report", "r", "--qrels", "q", "--runs", *runs, "--rounds", 200, "--resamples", 50)
    found = json.loads(said(*line, "--json").splitlines()[-1])
    assert (found["unchanged"], Path(found["folder"]).name) == (False, "r")
    assert "stands unchanged" in said(*line)
    with pytest.raises(CommandError, match="unknown run 'nobody'"):
        said("build_report", "r", "--qrels", "q", "--runs", "nobody")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("undrawn")
def test_as_a_job_it_tells_its_phases_and_its_result(qrels: str, runs: list[str]) -> None:
    job = jobs.enqueue(kind="build_report", arguments={"name": "r", "qrels": "q", "runs": runs, **QUICK})
    jobs.run(job.pk)
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
        jobs.cancel(job_id=job.pk)
        return b""

    with monkeypatch.context() as patched:
        patched.setattr(reports, "as_pdf", cancelled)
        jobs.run(job.pk)
    assert Job.objects.get(pk=job.pk).state == Job.CANCELLED
    assert not reports.folder_of("r").exists() and not Report.objects.exists()
    jobs.resume(job_id=job.pk)
    jobs.run(job.pk)
    assert Job.objects.get(pk=job.pk).state == Job.DONE and Report.objects.filter(name="r").exists()


@pytest.mark.django_db(transaction=True)
def test_a_batch_and_its_judges_stand_in_the_report(data_dir: Path, tmp_path: Path) -> None:
    pooled_world.a_world()
    names = [
        *pooled_world.runs(tmp_path, "sharp", noise=0.3, seed=1),
        *pooled_world.runs(tmp_path, "blunt", noise=1.0, seed=2),
    ]
    batch = launch(plan(corpus="quay", runs=names, depth=3, settings=pooled_world.UNTESTED), "first").batch
    pooled_world.crowd(batch.campaign, {"average": 4})
    collect("first")
    freeze_qrels(name="q", corpus="quay", judgments="first")
    found = built(wanted(names, batch="first"))
    now, numbers = state("first"), found["findings"]["batch"]
    assert (numbers["numbers"]["asked"], numbers["judged"], numbers["answers"], numbers["judges"]) == (
        *(now.numbers["asked"], now.judged, now.answers, sum(one.answers > 0 for one in now.people.values())),
    )
    assert numbers["askable"] is None
    assert numbers["loss"]["relevant"] == now.loss.relevant if now.loss else numbers["loss"] is None
    judging = found["findings"]["judging"]
    assert sum(one["pairs"] for one in judging["per_pair"]) == judging["pairs"]
    rows = QrelsRow.objects.filter(snapshot=QrelsSnapshot.objects.get(name="q"), judged=True).count()
    assert judging["pairs"] == rows
    assert found["inputs"]["batch"]["name"] == "first" and Report.objects.get(name="r").batch == batch


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("undrawn")
def test_judges_of_a_batch_are_those_who_count_and_the_discarded_stay_in_sight(
    data_dir: Path, tmp_path: Path
) -> None:
    pooled_world.a_world()
    names = [
        *pooled_world.runs(tmp_path, "sharp", noise=0.3, seed=1),
        *pooled_world.runs(tmp_path, "blunt", noise=1.0, seed=2),
    ]
    half = plan(
        corpus="quay",
        runs=names,
        depth=3,
        strategy="move_to_front",
        share=0.5,
        settings=pooled_world.UNTESTED,
    )
    batch = launch(half, "first").batch
    pooled_world.crowd(batch.campaign, {"average": 4})
    collect("first")
    freeze_qrels(name="q", corpus="quay", judgments="first")
    answered = [name for name, one in sorted(state("first").people.items()) if one.answers]
    below, gone, *others = answered
    # One who came and never answered has a standing all the same.
    idle = Worker.objects.create(pseudonym="idle")
    now = Standing.objects.filter(worker__pseudonym=below)
    Standing.objects.create(
        campaign=batch.campaign, worker=idle, kind=now.get().kind, changed_at=now.get().changed_at
    )
    reports.build(wanted(names, batch="first"))
    before = plain()
    assert before["findings"]["batch"]["judges"] == len(answered)
    assert reports.build(wanted(names, batch="first")).unchanged
    now.update(known=10, right=5)
    discard(
        campaign=batch.campaign,
        worker=Worker.objects.get(pseudonym=gone).pk,
        reason="clicked without looking",
    )
    made = reports.build(wanted(names, batch="first"), replace=True)
    assert f"batch judges is {len(others)}, was {len(answered)}" in made.changes
    batch_found = plain()["findings"]["batch"]
    assert (batch_found["judges"], batch_found["unused"], batch_found["discarded"]) == (
        len(others),
        ["5 of 10 known items right"],
        ["clicked without looking"],
    )
    (section,) = [one for one in plain()["sections"] if one["title"].startswith("Batch first")]
    (table,) = section["tables"]
    rows = {row[0]["text"]: row[1]["text"] for row in table["rows"]}
    asked, askable = batch.numbers["asked"], batch.numbers["askable"]
    assert 0 < asked < askable
    assert (rows["asked"], rows["that could be asked, in waves"]) == (str(asked), str(askable))
    assert rows["judges discarded, their answers withdrawn"] == "1"
    assert section["remarks"][:2] == [
        "Judges left out: 5 of 10 known items right.",
        "Judges discarded: clicked without looking.",
    ]
    # What is shown of a batch is an input, texts as well, though every count is the same.
    now.update(known=20, right=10)
    assert reports.build(wanted(names, batch="first"), replace=True).changes == (
        "what is known of the batch is not as it was",
    )
