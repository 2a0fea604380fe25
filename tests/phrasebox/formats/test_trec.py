"""TREC runs and qrels: read like trec_eval, written so that sorting does not change the order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from phrasebox.formats.trec import (
    as_trec_eval,
    read_qrels,
    read_run,
    still_apart,
    strictly_falling,
    write_qrels,
    write_run,
)
from phrasebox.metrics.judgments import from_qrels
from phrasebox.metrics.ranked import from_lists
from phrasebox.metrics.scoring import evaluate
from phrasebox.scoring.ranking import positions
from phrasebox.text_files import FormatError

FALLING = st.lists(st.floats(-1e38, 1e38, width=64), min_size=1, max_size=40).map(
    lambda s: sorted(s, reverse=True)
)
#: A few numbers, many of them equal in single precision.
CLOSE = st.integers(-40, 40).map(lambda n: n / 1e9) | st.integers(-40, 40).map(lambda n: 4096 + n / 1e5)


def written(folder: Path, text: str) -> Path:
    path = folder / "some.txt"
    path.write_text(text)
    return path


def test_a_run_comes_back_as_it_was_written(tmp_path):
    path = tmp_path / "run.txt"
    rankings = [("1000.jpg", ["a#0", "b#1"], [0.25, -3.0]), ("x", ["b#1"], [7.0])]
    assert write_run(path, "ours", rankings) == 3
    assert path.read_text().splitlines()[0] == "1000.jpg Q0 a#0 1 0.25 ours"
    run = read_run(path)
    assert run.tag == "ours"
    assert {q: (list(items), s.tolist()) for q, (items, s) in run.rankings.items()} == {
        "1000.jpg": (["a#0", "b#1"], [0.25, -3.0]),
        "x": (["b#1"], [7.0]),
    }


@given(FALLING)
def test_written_scores_fall_strictly_in_single_precision_and_as_little_as_can_be(scores):
    result = strictly_falling(scores, query="q", file=Path("run"))
    assert result.dtype == np.float32
    assert (np.diff(result) < 0).all()
    printed = np.array([float(f"{value:.9g}") for value in result.tolist()]).astype(np.float32)
    assert np.array_equal(printed, result)
    # The direct way: no higher than requested, and below the previous one.
    expected: list[np.float32] = []
    for score in scores:
        value = np.float32(score)
        if expected:
            value = min(value, np.nextafter(expected[-1], np.float32(-np.inf)))
        expected.append(value)
    assert result.tolist() == [float(value) for value in expected]


@given(st.lists(CLOSE, min_size=1, max_size=40))
def test_scores_that_differ_stay_apart_in_single_precision_and_equal_ones_stay_equal(scores):
    falling = np.sort(np.array(scores))[::-1]
    result = still_apart(np.stack([falling, np.arange(len(falling))[::-1]]))
    assert result.dtype == np.float32 and result[1].tolist() == list(range(len(falling)))[::-1]
    # The direct way: no higher than the nearest, below the previous one if they differ, else equal to it.
    expected: list[np.float32] = []
    for index, score in enumerate(falling):
        value = np.float32(score)
        if index and score == falling[index - 1]:
            value = expected[-1]
        elif index:
            value = min(value, np.nextafter(expected[-1], np.float32(-np.inf)))
        expected.append(value)
    assert result[0].tolist() == [float(value) for value in expected]
    np.testing.assert_array_equal(positions(result[0]), positions(falling))


def test_large_whole_numbers_stay_apart_and_what_overflows_is_infinite():
    whole = np.array([[2**60 + 1, 2**60, 2**60, -(2**60), -(2**60) - 1]])
    np.testing.assert_array_equal(positions(still_apart(whole)), positions(whole))
    assert np.isinf(still_apart(np.array([[1e300, 1e299, 0.0]]))[0, 0])
    assert still_apart(np.empty((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("signed_zeros", [[0.0, -0.0], [-0.0, 0.0], [1e-45, 0.0, 0.0, -1e-45]])
def test_both_zeros_are_one_number(signed_zeros):
    assert (np.diff(strictly_falling(signed_zeros, query="q", file=Path("run"))) < 0).all()


def test_a_written_run_is_ranked_by_trec_eval_in_the_order_it_was_given(tmp_path):
    items = [f"d{n}" for n in range(50)]
    order = np.random.default_rng(0).permutation(items).tolist()
    path = tmp_path / "run.txt"
    write_run(path, "t", [("q", order, np.zeros(50))])
    with path.open() as lines:
        run = pytrec_eval.parse_run(lines)
    for index, item in enumerate(order, start=1):
        result = pytrec_eval.RelevanceEvaluator({"q": {item: 1}}, {"recip_rank"}).evaluate(run)
        assert result["q"]["recip_rank"] == pytest.approx(1 / index)


@given(st.integers(0, 2**32 - 1))
def test_any_run_is_read_as_trec_eval_reads_it(seed):
    """Ranks that lie, ties, scores apart by less than single precision, lines in any order."""
    rng = np.random.default_rng(seed)
    queries, items = [f"q{n}" for n in range(3)], [f"d{n}" for n in range(12)]
    scores = rng.choice([0.1, 0.1 + 1e-9, 0.1 + 1e-6, -2.0, 3e30], (3, 12))
    rows = [
        f"{q} Q0 {d} 7 {float(scores[i, j])!r} t" for i, q in enumerate(queries) for j, d in enumerate(items)
    ]
    grades = rng.integers(0, 2, (3, 12))
    with pytest.MonkeyPatch.context() as patch:
        text = "\n".join(rng.permutation(rows).tolist())
        patch.setattr("phrasebox.formats.trec.lines", lambda path: enumerate(text.splitlines(), start=1))
        run = read_run(Path("run"))
    judgments = from_qrels(
        {q: {d: int(grades[i, j]) for j, d in enumerate(items)} for i, q in enumerate(queries)},
        queries,
        items,
    )
    lists, values = run.aligned(queries, items)
    assert (np.diff(values, axis=1) <= 0).all()
    ours = evaluate(from_lists(lists, judgments), ["MAP"])["MAP"].per_query
    theirs = pytrec_eval.RelevanceEvaluator(
        {q: {d: int(grades[i, j]) for j, d in enumerate(items)} for i, q in enumerate(queries)}, {"map"}
    ).evaluate({q: {d: float(scores[i, j]) for j, d in enumerate(items)} for i, q in enumerate(queries)})
    np.testing.assert_allclose(np.nan_to_num(ours), [theirs[q]["map"] for q in queries])


def test_queries_a_run_leaves_out_have_empty_lists(tmp_path):
    path = tmp_path / "run.txt"
    write_run(path, "t", [("q1", ["a", "b"], [2, 1])])
    lists, scores = read_run(path).aligned(["q0", "q1"], ["b", "a"])
    assert lists.tolist() == [[-1, -1], [1, 0]]
    assert scores.tolist() == [[0, 0], [2, 1]]


def test_qrels_come_back_as_they_were_written(tmp_path):
    path = tmp_path / "qrels.txt"
    rows = [("q", "a", 1), ("q", "b", 0), ("r", "a", -1)]
    assert write_qrels(path, rows) == 3
    assert path.read_text() == "q 0 a 1\nq 0 b 0\nr 0 a -1\n"
    assert read_qrels(path) == {"q": {"a": 1, "b": 0}, "r": {"a": -1}}


def test_figures_are_printed_as_trec_eval_prints_them():
    judgments = from_qrels({"q1": {"a": 1}, "q2": {"a": 0}}, ["q1", "q2"], ["a", "b"])
    figures = evaluate(from_lists([[1, 0], [0, 1]], judgments), ["MAP", "P@1", "MRR", "R-precision"])
    assert list(as_trec_eval(figures, ["q1", "q2"], tag="ours", by_query=True)) == [
        "map                   \tq1\t0.5000",
        "P_1                   \tq1\t0.0000",
        "recip_rank            \tq1\t0.5000",
        "Rprec                 \tq1\t0.0000",
        "map                   \tq2\t0.0000",
        "P_1                   \tq2\t0.0000",
        "recip_rank            \tq2\t0.0000",
        "Rprec                 \tq2\t0.0000",
        "runid                 \tall\tours",
        "num_q                 \tall\t2",
        "map                   \tall\t0.2500",
        "P_1                   \tall\t0.0000",
        "recip_rank            \tall\t0.2500",
        "Rprec                 \tall\t0.0000",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no rankings; expected lines of query Q0 item rank score tag"),
        ("q Q0 a 1 1.0 t\nq Q0 a 2", "line 2: has 4 columns; expected query Q0 item rank score tag"),
        ("q Q0 a 1 high t", "line 1: has the score 'high'; expected a number"),
        ("q Q0 a 1 nan t", "line 1: has the score 'nan'"),
        (
            "q Q0 a 1 3 t\nr Q0 a 1 3 t\nq Q0 a 2 2 t",
            "line 3: 'a' is already ranked for 'q'; expected each item once",
        ),
        (
            "\nq Q0 a 1 3 t\nr Q0 a 1 3 t\n\nq Q0 b 2 2 u\nq Q0 c 3 1 v",
            "line 5: has the tag 'u', and line 2 has 't'; expected one run, with one tag",
        ),
    ],
)
def test_a_bad_run_names_its_line(tmp_path, text, message):
    with pytest.raises(FormatError, match=message) as caught:
        read_run(written(tmp_path, text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n", "contains no judgments; expected lines of query 0 item grade"),
        ("q 0 a", "line 1: has 3 columns; expected query 0 item grade"),
        ("q 0 a yes", "line 1: has the grade 'yes'; expected a whole number"),
        ("q 0 a -2", "line 1: has the grade -2; expected -1, 0 or more"),
        ("q 0 a 1\nq 0 a 0", "line 2: 'q' and 'a' were judged before; expected each pair once"),
    ],
)
def test_bad_qrels_name_their_line(tmp_path, text, message):
    with pytest.raises(FormatError, match=message) as caught:
        read_qrels(written(tmp_path, text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rankings", "tag", "message"),
    [
        ([("", ["a"], [1])], "t", "an id is empty"),
        ([], "my run", "the tag 'my run' has white space"),
        ([("q", ["a"], [1, 0])], "t", "1 items and 2 scores for 'q'"),
        ([("q", ["a", "b"], [0, 1])], "t", "scores of 'q' rise at rank 2; expected the best first"),
        ([("q", ["a", "b"], [0, float("nan")])], "t", "score nan of 'q' at rank 2; expected finite scores"),
        ([("q", ["a"], [1e39])], "t", r"score 1e\+39 of 'q' at rank 1; expected finite"),
    ],
)
def test_what_a_run_cannot_hold_is_refused(tmp_path, rankings, tag, message):
    with pytest.raises(FormatError, match=message):
        write_run(tmp_path / "run.txt", tag, rankings)


def test_unknown_ids_are_named(tmp_path):
    path = tmp_path / "run.txt"
    write_run(path, "t", [("q", ["a"], [1])])
    with pytest.raises(FormatError, match="ranks for the query 'q'; expected one of 1 queries"):
        read_run(path).aligned(["r"], ["a"])
    with pytest.raises(FormatError, match="ranks 'a' for 'q'; expected one of 1 items"):
        read_run(path).aligned(["q"], ["b"])
