"""The content of a report: its numbers are those of scoring, and missing values are marked."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from annotation.common.operations import OperationContext
from evaluation.comparison.scoring import score_against_first
from evaluation.models import Run
from evaluation.selectors import run_named, snapshot_named
from evaluation.services.judgments.freezing import freeze_protocol, freeze_qrels
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.judgments.relevance import RelevanceChoice
from evaluation.services.reports import building
from evaluation.services.reports.findings import REPORT_MEASURES
from evaluation.services.reports.request import ReportError
from phrasebox.figure_tables import finite_or_none
from tests.evaluation.database.reports.conftest import CAPTIONS, IMAGES, ODD, QUICK, built, request_of

#: Originals are relevant only if they were judged so.
AS_JUDGED = RelevanceChoice(originals=False)

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("undrawn")
def test_every_figure_and_test_is_that_of_compare(qrels: str, runs: list[str]) -> None:
    directions = built(request_of(runs))["findings"]["directions"]
    assert [direction["direction"] for direction in directions] == ["annotation", "search"]
    for direction, names in zip(directions, (runs[::2], runs[1::2]), strict=True):
        scored, tests = score_against_first(
            [run_named(name) for name in names], snapshot_named("q"), REPORT_MEASURES, rounds=QUICK["rounds"]
        )
        for system, score in zip(direction["systems"], scored, strict=True):
            assert system["run"] == score.run
            values = {name: figure["value"] for name, figure in system["figures"].items()}
            assert values == {name: finite_or_none(figure.value) for name, figure in score.scores.items()}
            judged = {name: (f["judged_at"], f["judged"]) for name, f in system["figures"].items()}
            assert judged == score.judged
        assert [(t["run"], t["measure"], t["p"], t["adjusted"], t["mark"]) for t in direction["tests"]] == [
            (t.run, t.measure, t.p, t.adjusted, t.mark) for t in tests
        ]


@pytest.mark.usefixtures("undrawn")
def test_figures_curves_and_ranks_by_hand(qrels: str, runs: list[str]) -> None:
    """`good` has each original first; `bad`, of scores -1 beside 0, 0.1, 0.2, has it last."""
    annotation = built(request_of(runs))["findings"]["directions"][0]
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
    built(request_of(runs, baseline=["good"]))
    folder = building.report_folder("r") / "tables"
    lines = (folder / "figures-annotation.tex").read_text().splitlines()
    assert lines[0] == "% Results, annotation: 3 judged queries"
    (good,) = [line for line in lines if line.startswith("good")]
    assert good.startswith(r"good & \textbf{100.0} & 100.0 & ") and good.endswith(
        r" & \textbf{66.7} & 77.8 \\"
    )
    assert any(line.startswith(r"the\_bad \& \textless{}worst\textgreater{} 50\% & ") for line in lines)
    rows = list(csv.DictReader(io.StringIO((folder / "figures-annotation.csv").read_text())))
    (cell,) = [row for row in rows if row["run"] == "good-a" and row["measure"] == "R-precision"]
    assert float(cell["value"]) == pytest.approx(2 / 3) and cell["system"] == "good"
    page = (building.report_folder("r") / "report.html").read_text()
    assert "the_bad &amp; &lt;worst&gt; 50%" in page and "<worst>" not in page
    assert "<script" not in page and not re.search(r'(?:src|href)="(?!#)', page)


@pytest.mark.usefixtures("undrawn")
def test_one_system_in_one_direction_comes_out(qrels: str, runs: list[str]) -> None:
    report = built(request_of(runs[:1]))
    (direction,) = report["findings"]["directions"]
    assert direction["tests"] == [] and report["findings"]["orders"] == []
    assert {figure["weight"] for figure in direction["systems"][0]["figures"].values()} == {""}


@pytest.mark.usefixtures("undrawn")
def test_where_nobody_found_anything_relevant_figures_are_zero_and_say_so(
    runs: list[str], corpus: str, tmp_path: Path
) -> None:
    file = tmp_path / "no.txt"
    others = [(image, caption) for image in IMAGES for caption in CAPTIONS if not caption.startswith(image)]
    file.write_text("".join(f"{image}\t{caption}\t0.0\t0\t3\n" for image, caption in others))
    import_judgments(
        JudgmentsImport(corpus=corpus, file=file, format="flickr8k-crowd", name="no"), OperationContext()
    )
    freeze_qrels(name="q", corpus=corpus, judgments="no", relevance=AS_JUDGED)
    report = built(request_of(runs))
    # Originals are the corpus's, whether judged or not.
    direction = report["findings"]["directions"][0]
    assert direction["measures"] == list(REPORT_MEASURES)
    assert [system["figures"]["R@1"]["value"] for system in direction["systems"]] == [1, 0]
    assert direction["basis"]["without_relevant"] == direction["basis"]["counted"] == len(IMAGES)
    text = (building.report_folder("r") / "tables" / "figures-annotation.tex").read_text()
    assert " & 0.0 & 0.0 & 0.0 & 0.0 & " in text
    assert f"Without a relevant item, counted as 0: {len(IMAGES)}." in text


@pytest.mark.usefixtures("undrawn")
def test_grades_are_scored_by_their_gain_too(runs: list[str], corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "expert.txt"
    grades = {image: (4, 4, 4) if number else (1, 2, 2) for number, image in enumerate(IMAGES)}
    file.write_text("".join(f"{image}\t{image}#2\t{a}\t{b}\t{c}\n" for image, (a, b, c) in grades.items()))
    import_judgments(
        JudgmentsImport(corpus=corpus, file=file, format="flickr8k-expert", name="expert"), OperationContext()
    )
    freeze_qrels(name="q", corpus=corpus, judgments="expert", relevance=AS_JUDGED)
    findings = built(request_of(runs))["findings"]
    direction = findings["directions"][0]
    assert direction["measures"] == [*REPORT_MEASURES, "nDCG@10"]
    good = direction["systems"][0]["figures"]
    assert good["nDCG@10"]["value"] == 1
    assert findings["judging"]["scale"] == [1, 2, 4]
    assert set(findings["judging"]["coefficients"]) == {
        "Krippendorff's alpha, nominal",
        "Krippendorff's alpha, ordinal",
        "Krippendorff's alpha, interval",
        "Fleiss' kappa",
    }


@pytest.mark.usefixtures("undrawn")
def test_under_a_protocol_nobody_judged(runs: list[str], corpus: str) -> None:
    freeze_protocol(name="q", corpus=corpus, protocol="one caption", number=2)
    report = built(request_of(runs))
    assert report["findings"]["judging"] is None
    assert report["findings"]["directions"][0]["measures"] == ["R@1", "R@5", "R@10", "median rank"]
    assert "judged@10" not in (building.report_folder("r") / "tables" / "figures-annotation.tex").read_text()


@pytest.mark.usefixtures("undrawn")
def test_a_baseline_stands_for_its_system_and_is_missed_where_it_has_no_run(
    qrels: str, runs: list[str]
) -> None:
    report = built(request_of(runs, baseline=["bad-s"]))
    assert [direction["baseline"] for direction in report["findings"]["directions"]] == [ODD, ODD]
    with pytest.raises(ReportError, match="has no run in annotation; add a baseline from good-a, more-a"):
        Run.objects.filter(name="bad-a").update(name="more-a", system="more")
        requested = request_of(["good-a", "more-a", "bad-s", "good-s"], name="other", baseline=["bad-s"])
        building.build_report(requested, OperationContext())
