"""Runs scored with frozen qrels: the figures of the database equal those of the matrix."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from annotation.common.operations import OperationContext
from annotation.datasets.importing import import_corpus, import_records
from annotation.datasets.intake import ImportHow
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.comparison.scoring import DEFAULT_MEASURES, score, score_against_first
from evaluation.selectors import names_of, qrels_of, run_named, snapshot_named
from evaluation.services.judgments.freezing import freeze_qrels
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.judgments.relevance import RelevanceChoice
from evaluation.services.runs.files import RunImport, import_run
from phrasebox.metrics import METRICS
from phrasebox.metrics.judgments import from_qrels
from phrasebox.metrics.ranked import from_scores
from phrasebox.metrics.ranking import success
from phrasebox.metrics.scoring import evaluate
from phrasebox.metrics.table import Measure
from phrasebox.relevance.scales import VOTE_SCALE
from phrasebox.significance.mcnemar_test import mcnemar
from phrasebox.significance.randomisation import of_mean, of_median
from phrasebox.significance.tables import holm
from tests.evaluation.database.conftest import matrix_file, output_of
from tests.evaluation.flickr8k_part import part_of_flickr8k

#: Originals are relevant only if they were judged so.
AS_JUDGED = RelevanceChoice(originals=False)

pytestmark = pytest.mark.django_db

IMAGES = [f"{key}.jpg" for key in "abc"]
CAPTIONS = [f"{image}#2" for image in IMAGES]


@pytest.fixture
def runs(corpus: str, tmp_path: Path) -> list[str]:
    """`good` ranks originals first; `bad` ranks them last."""
    for name, scores in (("good", np.eye(3)), ("bad", -np.eye(3) + np.arange(3) / 10)):
        file = matrix_file(tmp_path, name, scores, IMAGES, CAPTIONS)
        import_run(
            RunImport(name=name, corpus=corpus, file=file, format="scores", system=f"the {name} one"),
            OperationContext(),
        )
    return ["good", "bad"]


def test_figures_by_hand(qrels: str, runs: list[str]) -> None:
    """Crowd: a.jpg relevant to a, c and (as c's original, unjudged) c to c; b's original was refused."""
    report = json.loads(output_of("score_run", "good", "--qrels", qrels, "--json"))
    figures = {m["measure"]: m for m in report["measures"]}
    assert (report["qrels"], report["version"], report["queries"], report["missing"]) == ("q", 1, 3, 0)
    assert figures["R@1"]["value"] == 1
    assert figures["median rank"]["value"] == 1
    assert figures["S@1"]["value"] == 1
    # a: a and c relevant of a, {b, c tied}; b: only b; c: c and a of c, {a, b tied}.
    assert figures["R-precision"]["value"] == pytest.approx((0.5 + 1 + 0.5) / 3)
    # There are three captions; b and c had none judged.
    assert figures["R@5"]["judged"] == pytest.approx((3 + 2 + 2) / 9)


def test_originals_that_are_as_judged_may_be_refused(corpus: str, crowd: Path, runs: list[str]) -> None:
    """b's original was refused, so b has nothing relevant and counts 0; c's was never asked about, and R@1
    looks for it all the same."""
    import_judgments(JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext())
    freeze_qrels(name="bare", corpus=corpus, judgments="flickr8k-crowd", relevance=AS_JUDGED)
    report = json.loads(output_of("score_run", "good", "--qrels", "bare", "--measures", "S@1,R@1", "--json"))
    figures = {m["measure"]: (m["value"], m["queries"]) for m in report["measures"]}
    assert figures["S@1"] == (pytest.approx(1 / 3), 3)
    assert (report["basis"]["counted"], report["basis"]["without_relevant"]) == (3, 1)
    assert figures["R@1"] == (1, 3), "an original is one still"


@pytest.mark.parametrize("direction", ["annotation", "search"])
def test_the_figures_are_those_of_the_matrix(corpus: str, qrels: str, tmp_path: Path, direction: str) -> None:
    scores = np.random.default_rng(0).integers(0, 4, size=(3, 3)).astype(float)
    file = matrix_file(tmp_path, "ties", scores, IMAGES, CAPTIONS)
    import_run(
        RunImport(name="ties", corpus=corpus, file=file, format="scores", direction=direction),
        OperationContext(),
    )
    result = score(run_named("ties"), snapshot_named(qrels)).scores
    check(result, scores, qrels, corpus, IMAGES, CAPTIONS, direction)


def check(
    result: Any, scores: Any, qrels: str, corpus: str, images: list[str], captions: list[str], direction: str
) -> None:
    stored = qrels_of(snapshot_named(qrels), names_of(corpus))
    stored = stored if direction == "annotation" else stored.turned()
    grades: dict[str, dict[str, float]] = {}
    for row in stored.rows:
        grades.setdefault(row.query, {})[row.document] = row.relevance
    pairs = list(zip(images, captions, strict=True))
    if direction == "search":
        images, captions, scores, pairs = captions, images, scores.T, [(c, i) for i, c in pairs]
    judged = from_qrels(grades, images, captions, originals=pairs)
    direct = evaluate(from_scores(scores, judged), DEFAULT_MEASURES)
    assert {name: figure.value for name, figure in result.items()} == pytest.approx(
        {name: figure.value for name, figure in direct.items()}
    )
    assert {n: f.optimistic for n, f in result.items()} == pytest.approx(
        {n: f.optimistic for n, f in direct.items()}
    )


def test_queries_that_the_run_lacks_are_left_out_or_count_as_the_worst_by_choice(
    corpus: str, qrels: str, tmp_path: Path
) -> None:
    (tmp_path / "one.trec").write_text("a.jpg Q0 a.jpg#2 1 1 demo\n")
    import_run(RunImport(name="one", corpus=corpus, file=tmp_path / "one.trec"), OperationContext())
    alone = score(run_named("one"), snapshot_named(qrels), ["R@1", "median rank"], missing="leave-out")
    assert (len(alone.queries), alone.query_count, alone.missing) == (1, 3, 2)
    assert alone.scores["R@1"].value == alone.scores["median rank"].value == 1
    scored = score(run_named("one"), snapshot_named(qrels), ["R@1", "median rank"], missing="worst")
    assert (len(scored.queries), scored.query_count, scored.missing) == (3, 3, 2)
    assert scored.scores["R@1"].value == pytest.approx(1 / 3)
    command = ("score_run", "one", "--qrels", qrels, "--measures", "median rank,mean rank")
    report = json.loads(output_of(*command, "--missing", "worst", "--json"))
    assert [m["value"] for m in report["measures"]] == [None, None]
    assert "one does not rank 2 of the 3 queries; they count as the worst result." in output_of(
        *command, "--missing", "worst"
    )
    assert "one does not rank 2 of the 3 queries; they are left out." in output_of(
        *command, "--missing", "leave-out"
    )
    with pytest.raises(
        CommandError, match=r"2 of 3 queries \('b.jpg', 'c.jpg'\) have no ranking in run 'one'"
    ):
        output_of(*command)


def test_measures_go_by_any_of_their_names(qrels: str, runs: list[str]) -> None:
    text = output_of(
        "score_run", "good", "--qrels", qrels, "--measures", "hit_rate@1, Success@5, r-precision"
    )
    _, _, table = text.partition("-\n")
    assert [line.split()[0] for line in table.splitlines()[:3]] == ["S@1", "S@5", "R-precision"]


def test_csv_and_latex_print_the_table_alone(qrels: str, runs: list[str]) -> None:
    rows = list(csv.reader(io.StringIO(output_of("score_run", "good", "--qrels", qrels, "--csv"))))
    assert rows[0] == ["measure", "value", "at best", "judged", "in the top", "queries", "basis"]
    assert rows[1][:2] == ["R@1", "1.0"]
    latex = output_of("score_run", "good", "--qrels", qrels, "--latex").splitlines()
    bare = [line for line in latex if not line.startswith("%")]
    assert "% Judged queries: 3 of 3." in latex and bare[0] == r"\begin{tabular}{lrrrrr}"


def test_compared_systems_are_tested_against_the_first(qrels: str, runs: list[str]) -> None:
    names = ["R@1", "median rank", "MAP", "mean rank"]
    arguments = ["--qrels", qrels, "--measures", ",".join(names), "--rounds", 500, "--seed", 3]
    report = json.loads(output_of("compare_runs", *runs, *arguments, "--json"))
    scored = [score(run_named(run), snapshot_named(qrels), names).scores for run in runs]
    good, bad = ({name: s.per_query for name, s in item.items()} for item in scored)
    expected = [
        mcnemar(bad["R@1"], good["R@1"]).p,
        of_median(bad["median rank"], good["median rank"], rounds=500, seed=3).p,
        of_mean(bad["MAP"], good["MAP"], rounds=500, seed=3).p,
        of_mean(bad["mean rank"], good["mean rank"], rounds=500, seed=3).p,
    ]
    assert [test["p"] for test in report["tests"]] == pytest.approx(expected)
    assert [test["adjusted"] for test in report["tests"]] == pytest.approx(list(holm(expected)))
    assert [test["difference"] for test in report["tests"]][:2] == [-1.0, 2.0]
    assert report["systems"][1]["figures"]["median rank"] == 3
    assert "adjusted by Holm for 4 tests" in output_of("compare_runs", *runs, *arguments)
    # For median ranks, lower is better.
    for test in report["tests"]:
        higher = 1 if test["measure"] in ("R@1", "MAP") else -1
        apart = higher * np.sign(bad[test["measure"]] - good[test["measure"]])
        counts = [int((apart == way).sum()) for way in (1, 0, -1)]
        assert [test["preference"][key] for key in ("better", "equal", "worse")] == counts
    rows = list(csv.reader(io.StringIO(output_of("compare_runs", *runs, *arguments, "--preferences-csv"))))
    assert rows[0] == ["measure", "run", "better", "equal", "worse", "share", "low", "high", "p", "basis"]
    assert [row[0] for row in rows[1:]] == names
    assert "p of the exact sign test" in output_of("compare_runs", *runs, *arguments, "--preferences")


def test_a_new_measure_of_hits_and_misses_is_tested_by_mcnemar(
    qrels: str, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test follows from what the measure says of itself, not from its name."""
    monkeypatch.setattr(METRICS, "_by_name", dict(METRICS._by_name))
    monkeypatch.setattr(METRICS, "_by_key", dict(METRICS._by_key))
    for name, binary in (("first hit", True), ("first share", False)):
        METRICS.register(
            Measure(name, name, "ranking", lambda ranked, k: success(ranked, 1), "a test", binary=binary)
        )
    requested = [run_named(run) for run in runs]
    _, tests = score_against_first(
        requested, snapshot_named(qrels), ["S@1", "first hit", "first share"], rounds=50
    )
    assert [test.test for test in tests] == ["McNemar", "McNemar", "randomisation of means"]
    assert tests[0].p == tests[1].p


def test_what_is_binary_is_0_or_1_for_every_query() -> None:
    """So that a measure is not called so by mistake: McNemar's test refuses anything else."""
    judged = from_qrels({"a": {"x": 1, "y": 1, "z": 0}, "b": {"z": 2}}, queries=["a", "b"], items=list("xyz"))
    ranked = from_scores([[0.2, 0.9, 0.4], [0.1, 0.2, 0.3]], replace(judged, original=judged.grade > 0))
    binary = [measure for measure in METRICS if measure.binary]
    assert {measure.name for measure in binary} == {"R@k", "S@k"}
    for measure in binary:
        assert set(measure.values(ranked, 1)) <= {0.0, 1.0}


def test_three_queries_prove_nothing(qrels: str, runs: list[str]) -> None:
    result, tests = score_against_first(
        [run_named(r) for r in runs], snapshot_named(qrels), ["R@1"], rounds=10
    )
    assert (tests[0].mark, tests[0].p) == ("", 0.25)
    assert [row.run for row in result] == runs


def test_a_clear_difference_is_marked(db: None, tmp_path: Path) -> None:
    """Twelve images, of which one system finds all and the other none: p is 2 / 2^12."""
    records = [
        ImageRecord(id=f"i{n}", filename=f"i{n}.jpg", captions=(CaptionRecord(f"caption of {n}"),))
        for n in range(12)
    ]
    import_records(name="twelve", records=records, format="jsonl", source="memory")
    images, captions = [f"i{n}.jpg" for n in range(12)], [f"i{n}.jpg#0" for n in range(12)]
    rows = "".join(f"{image},{image}#0,1\n" for image in images)
    (tmp_path / "own.csv").write_text(f"image,caption,grade\n{rows}")
    import_judgments(
        JudgmentsImport(corpus="twelve", file=tmp_path / "own.csv", format="table", scale=VOTE_SCALE.name),
        OperationContext(),
    )
    freeze_qrels(name="own", corpus="twelve", judgments="table")
    for name, scores in (("none", -np.eye(12)), ("all", np.eye(12))):
        file = matrix_file(tmp_path, name, scores, images, captions)
        import_run(RunImport(name=name, corpus="twelve", file=file, format="scores"), OperationContext())
    arguments = ["none", "all", "--qrels", "own", "--measures", "R@1"]
    assert "all   1.000***" in output_of("compare_runs", *arguments)
    assert r"all & \textbf{1.000}$^{***}$" in output_of("compare_runs", *arguments, "--latex")
    test = json.loads(output_of("compare_runs", *arguments, "--json"))["tests"][0]
    assert (test["p"], test["difference"], test["mark"]) == (pytest.approx(2 / 2**12), 1, "***")


@pytest.mark.parametrize("rounds", [0, 999_999_999])
def test_rounds_that_cannot_be_are_refused_by_the_command(rounds: int) -> None:
    with pytest.raises(CommandError, match="--rounds: Expected (1 or more|1000000 or less)"):
        output_of("compare_runs", "one", "other", "--qrels", "q", "--rounds", rounds)


def test_a_mean_over_what_was_not_retrieved_is_not_tested(
    corpus: str, qrels: str, runs: list[str], tmp_path: Path
) -> None:
    (tmp_path / "one.trec").write_text("a.jpg Q0 a.jpg#2 1 1 demo\n")
    import_run(RunImport(name="one", corpus=corpus, file=tmp_path / "one.trec"), OperationContext())
    _, tests = score_against_first(
        [run_named("good"), run_named("one")],
        snapshot_named(qrels),
        ["mean rank"],
        rounds=10,
        missing="worst",
    )
    assert (tests[0].p, tests[0].adjusted, tests[0].mark) == (None, None, "")
    assert "use the median" in tests[0].reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score_run", "best", "--qrels", "q"], "There is no run “best” here; known: bad, good"),
        (["score_run", "good", "--qrels", "x"], "There is no set of qrels “x” here; known: q:1"),
        (["score_run", "good", "--qrels", "q", "--measures", "R@x"], "unknown measure 'R@x'.* known: DCG@k"),
        (["score_run", "good", "--qrels", "q", "--csv", "--json"], "--json and --csv: use only one"),
        (["compare_runs", "good", "back", "--qrels", "q"], "compare one direction at a time"),
    ],
)
def test_bad_arguments_are_one_line(
    corpus: str, qrels: str, runs: list[str], tmp_path: Path, arguments: list[Any], message: str
) -> None:
    if "back" in arguments:
        file = tmp_path / "good.npz"
        import_run(
            RunImport(name="back", corpus=corpus, file=file, format="scores", direction="search"),
            OperationContext(),
        )
    with pytest.raises(CommandError, match=message) as error:
        output_of(*arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("number", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_images_of_flickr8k_from_the_database_score_as_from_the_matrix(
    real_data: Path, tmp_path: Path, number: int
) -> None:
    folder = real_data / "flickr8k"
    if number < 1000:
        folder = part_of_flickr8k(folder, tmp_path, images=number)
    import_corpus(name="f8k", path=folder, format="flickr8k", how=ImportHow(leave_unused=True))
    import_judgments(JudgmentsImport(corpus="f8k", file=folder, format="flickr8k-crowd"), OperationContext())
    freeze_qrels(name="hodosh", corpus="f8k", judgments="flickr8k-crowd")
    images = (folder / "Flickr_8k.testImages.txt").read_text().split()
    captions = [f"{image}#2" for image in images]
    scores = np.random.default_rng(1).normal(size=(number, number)).astype(np.float32)
    file = matrix_file(tmp_path, "noise", scores, images, captions)
    for direction in ("annotation", "search"):
        import_run(
            RunImport(name=direction, corpus="f8k", file=file, format="scores", direction=direction),
            OperationContext(),
        )
        result = score(run_named(direction), snapshot_named("hodosh")).scores
        check(result, scores, "hodosh", "f8k", images, captions, direction)
