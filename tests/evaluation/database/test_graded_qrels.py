"""Frozen graded judgments: nDCG by the grades, S@k by the threshold, compared with a case computed by
hand."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path

import pytest
from django.core.management import CommandError

from evaluation.comparison.scoring import score
from evaluation.models import QrelsRow
from evaluation.selectors import names_of, qrels_of, run_named, snapshot_named
from tests.evaluation.database.conftest import output_of

FREEZE = ("freeze_qrels", "graded", "--corpus", "small", "--judgments", "experts")

#: (image, caption's image) -> grades of captions 2. c.jpg was shown with its own caption only, unjudged.
GRADES = {
    ("a", "b"): (2, 2, 3),  # 7/3: not relevant, and a gain of 4/3
    ("a", "c"): (3, 3, 3),  # relevant, a gain of 2
    ("b", "a"): (1, 1, 1),
    ("b", "c"): (2, 3, 3),  # 8/3: just relevant, a gain of 5/3
}


@pytest.fixture
def experts(corpus: str, tmp_path: Path) -> str:
    file = tmp_path / "experts.txt"
    rows = (f"{i}.jpg\t{c}.jpg#2\t" + "\t".join(map(str, grades)) for (i, c), grades in GRADES.items())
    file.write_text("\n".join(rows) + "\n")
    output_of("import_judgments", corpus, file, "--format", "flickr8k-expert", "--name", "experts")
    return corpus


@pytest.fixture
def run(experts: str, tmp_path: Path) -> str:
    """a: its similar caption, its good one, its own. b: an irrelevant one, a barely relevant one, its own."""
    file = tmp_path / "run.trec"
    ranked = {"a": "bca", "b": "acb"}
    file.write_text(
        "".join(
            f"{image}.jpg Q0 {caption}.jpg#2 {rank} {9 - rank} hand\n"
            for image, captions in ranked.items()
            for rank, caption in enumerate(captions, 1)
        )
    )
    output_of("import_run", "hand", file, "--corpus", experts)
    return "hand"


def test_a_graded_run_is_scored_as_by_hand(run: str, experts: str) -> None:
    frozen = json.loads(output_of(*FREEZE, "--json"))
    # b's own, a's own, and c's own that nobody judged; and two pairs from 8/3 on.
    assert (frozen["relevant"], frozen["rows"], frozen["unjudged"]) == (5, 7, 3)
    assert frozen["by_rule"] == {"mean_grade": 5, "mean_grade_strict": 3, "median_grade": 5}
    snapshot = snapshot_named("graded")
    scored = score(
        run_named(run), snapshot, ["S@1", "S@5", "R-precision", "MAP", "nDCG@10"], missing="leave-out"
    )
    places = {name: own_score.per_query.tolist() for name, own_score in scored.scores.items()}
    # c is a query too, and the run has no list for it.
    assert (len(scored.queries), scored.query_count, scored.missing) == (2, 3, 1)
    assert places["S@1"] == [0, 0] and places["S@5"] == [1, 1]
    assert places["R-precision"] == [0.5, 0.5]
    assert places["MAP"] == pytest.approx([(1 / 2 + 2 / 3) / 2] * 2)
    of_a = (4 / 3 + 2 / log2(3) + 3 / log2(4)) / (3 + 2 / log2(3) + (4 / 3) / log2(4))
    of_b = (0 + (5 / 3) / log2(3) + 3 / log2(4)) / (3 + (5 / 3) / log2(3))
    assert places["nDCG@10"] == pytest.approx([of_a, of_b])
    at_worst = score(run_named(run), snapshot, ["nDCG@10"], missing="worst").scores["nDCG@10"]
    assert at_worst.per_query.tolist() == pytest.approx([of_a, of_b, 0])


def test_the_same_grades_under_a_stricter_rule_are_the_next_version(run: str, experts: str) -> None:
    first = json.loads(output_of(*FREEZE, "--json"))
    assert "already exists" in output_of(*FREEZE)
    strict = json.loads(output_of(*FREEZE, "--rule", "mean_grade_strict", "--json"))
    assert (strict["version"], strict["relevant"]) == (2, 3) and strict["digest"] != first["digest"]
    # The gains are the same: nDCG uses no threshold.
    gains = [
        sorted(
            QrelsRow.objects.filter(snapshot=snapshot_named("graded", v)).values_list("relevance", flat=True)
        )
        for v in (1, 2)
    ]
    assert gains[0] == gains[1] == [0, 80, 100, 120, 180, 180, 180]
    assert qrels_of(snapshot_named("graded", 2), names_of(experts)).digest == strict["digest"]


def test_a_rule_for_votes_is_refused_for_grades_and_the_other_way(experts: str, crowd: Path) -> None:
    output_of("import_judgments", experts, crowd, "--format", "flickr8k-crowd", "--name", "crowd")
    with pytest.raises(
        CommandError, match="'experts' are grades from 1 to 4; rule 'majority' does not apply to them"
    ):
        output_of("freeze_qrels", "q", "--corpus", experts, "--judgments", "experts", "--rule", "majority")
    with pytest.raises(CommandError, match="'crowd' are votes; rule 'mean_grade' does not apply to them"):
        output_of("freeze_qrels", "q", "--corpus", experts, "--judgments", "crowd", "--rule", "mean_grade")


def test_what_a_rule_or_votes_would_not_take_is_refused(experts: str, crowd: Path) -> None:
    output_of("import_judgments", experts, crowd, "--format", "flickr8k-crowd", "--name", "crowd")
    with pytest.raises(CommandError, match="are votes, .* and no median; leave the median out"):
        output_of("freeze_qrels", "q", "--corpus", experts, "--judgments", "crowd", "--summary", "median")
    beside = ("--relevant-from", "3", "--gains", "exponential", "--summary", "median")
    all_of_it = "rule 'mean_grade' says all .*; leave the lowest relevant score, the gains, the median out"
    with pytest.raises(CommandError, match=all_of_it):
        output_of(*FREEZE, "--rule", "mean_grade", *beside)
