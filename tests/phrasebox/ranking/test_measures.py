"""Ranking measures on small cases computed by hand, which references define differently or not at all."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from phrasebox.metrics import METRICS
from phrasebox.metrics.judgments import Judged, from_qrels, judged, originals_of
from phrasebox.metrics.ranked import Ranked, from_lists, from_scores, from_tiles
from phrasebox.metrics.scoring import evaluate
from phrasebox.metrics.table import MEASURE_FAMILIES, Measure, Measures, UnknownMeasure
from phrasebox.scoring.ranking import Ties
from phrasebox.scoring.tiles import Dense, NotANumber
from tests.phrasebox.ranking.cases import cases

nan = math.nan


def value_of(measure: str, ranked: Ranked) -> float:
    return evaluate(ranked, [measure])[METRICS.find(measure).name].value


def with_grades(grades: dict[int, float], items: int, *, original: tuple[int, ...] = ()) -> Judged:
    return judged(
        [0] * len(grades),
        list(grades),
        list(grades.values()),
        queries=1,
        items=items,
        original=[item in original for item in grades],
    )


def test_recall_of_originals_and_recall_of_relevant_items_are_two_measures():
    judgments = with_grades({3: 1, 0: 1, 5: 1}, 6, original=(3,))
    ranked = from_scores([[6, 5, 4, 3, 2, 1]], judgments)
    assert value_of("R@1", ranked) == 0  # the original has rank four
    assert value_of("R@4", ranked) == 1
    assert value_of("recall@1", ranked) == pytest.approx(1 / 3)
    assert value_of("S@1", ranked) == 1
    assert value_of("median rank", ranked) == 4


def test_any_of_several_originals_counts():
    ranked = from_scores([[1, 9, 3, 8, 2]], originals_of([0, 0, 0, 0, 0], 1).select([0], [0, 1, 2, 3, 4]))
    assert value_of("R@1", ranked) == 1
    ranked = from_scores([[9, 1, 2, 3]], judged([0, 0], [1, 3], [1, 1], queries=1, items=4, original=[1, 1]))
    assert value_of("R@1", ranked) == 0
    assert value_of("mean rank", ranked) == 2


@pytest.mark.parametrize(
    ("ties", "rank"),
    # Nothing is better; the two originals tie with two others, which come after, between or before.
    [("optimistic", 1), ("mean", 2), ("pessimistic", 3)],
)
def test_tied_originals_do_not_stand_in_each_other_s_way(ties, rank):
    judgments = judged([0, 0], [0, 1], [1, 1], queries=1, items=4, original=[True, True])
    assert value_of("mean rank", from_scores([[7, 7, 7, 7]], judgments, ties=ties)) == rank


@pytest.mark.parametrize(("ties", "rank"), [("optimistic", 1), ("mean", 50.5), ("pessimistic", 100)])
def test_constant_scores_rank_the_original_in_the_middle(ties, rank):
    ranked = from_scores(np.zeros((100, 100)), originals_of(np.arange(100), 100), ties=ties)
    figures = evaluate(ranked, ["median rank", "mean rank", "R@50", "R@51"])
    assert figures["median rank"].value == figures["mean rank"].value == rank
    assert figures["R@50"].value == (ties == "optimistic")
    assert figures["R@51"].value == (ties != "pessimistic")


def test_the_median_rank_is_the_plain_median():
    scores = np.array([[3.0, 2, 1, 0]] * 4)
    assert value_of("median rank", from_scores(scores, originals_of([0, 1, 2, 3], 4))) == 2.5


def test_tied_relevant_items_share_places_by_the_rule():
    # One better, then a group of two relevant and two others: ranks 1 + 2/2 + 1 and + 2.
    judgments = with_grades({1: 1, 2: 1}, 5)
    places = from_scores([[9, 5, 5, 5, 5]], judgments).places(np.array([True, True]))
    assert places.rank.tolist() == [3, 4]
    assert value_of("MAP", from_scores([[9, 5, 5, 5, 5]], judgments)) == pytest.approx((1 / 3 + 2 / 4) / 2)


def test_graded_ties_average_the_gains():
    judgments = with_grades({0: 3, 1: 1}, 2)
    ideal = 3 + 1 / math.log2(3)
    gains_by_rule: dict[Ties, tuple[int, int]] = {
        "mean": (2, 2),
        "optimistic": (3, 1),
        "pessimistic": (1, 3),
    }
    for ties, gains in gains_by_rule.items():
        ranked = from_scores([[5, 5]], judgments, ties=ties)
        assert value_of("nDCG", ranked) == pytest.approx((gains[0] + gains[1] / math.log2(3)) / ideal)


def test_map_at_r_looks_at_as_many_places_as_there_are_relevant_items():
    # R = 3; relevant at 1, 3 and 5: the first and the third are within, (1/1 + 2/3) / 3.
    ranked = from_scores([[5, 4, 3, 2, 1]], with_grades({0: 1, 2: 1, 4: 1}, 5))
    assert value_of("mAP@R", ranked) == pytest.approx((1 + 2 / 3) / 3)


def test_what_was_not_retrieved_is_nowhere():
    judgments = judged([0, 1], [2, 0], [1, 1], queries=2, items=4, original=[True, True])
    ranked = from_lists([[0, 1], [0, -1]], judgments)
    figures = evaluate(ranked, ["R@10", "MAP", "recall@10", "median rank", "MRR"])
    assert figures["R@10"].per_query.tolist() == [0, 1]
    assert figures["MAP"].value == figures["recall@10"].value == figures["MRR"].value == 0.5
    assert figures["median rank"].value == math.inf


def test_a_query_without_relevant_items_counts_zero():
    ranked = from_scores([[1, 2], [2, 1]], judged([0, 1], [0, 0], [0, 1], queries=2, items=2))
    for name in ("MAP", "S@1", "P@1", "nDCG", "R-precision", "MRR", "recall@1", "bpref", "infAP", "mAP@R"):
        score = evaluate(ranked, [name])[name]
        assert (score.per_query[0], score.value, score.queries) == (0, 0.5, 2), name


def test_where_nothing_is_judged_nothing_is_relevant_and_no_original_has_a_rank():
    ranked = from_scores(np.zeros((3, 4)), judged([], [], [], queries=3, items=4))
    figures = evaluate(
        ranked, [m.name.replace("@k", "@2").replace("@r", "@0.5") for m in METRICS if m.family == "ranking"]
    )
    for name in ("R@2", "median rank", "mean rank"):
        assert math.isnan(figures[name].value) and figures.pop(name).queries == 0
    assert {(score.value, score.queries) for score in figures.values()} == {(0, 3)}


def test_unjudged_items_bound_what_was_measured():
    # Ranks: 1 unjudged, 2 judged not relevant, 3 relevant, 4 unjudged, 5 relevant.
    ranked = from_scores([[9, 8, 7, 6, 5]], with_grades({1: 0, 2: 1, 4: 1}, 5))
    figures = evaluate(ranked, ["S@1", "P@3", "recall@4", "R-precision", "judged@4", "S@5"])
    assert (figures["S@1"].value, figures["S@1"].optimistic) == (0, 1)
    assert (figures["P@3"].value, figures["P@3"].optimistic) == pytest.approx((1 / 3, 2 / 3))
    assert (figures["recall@4"].value, figures["recall@4"].optimistic) == pytest.approx((1 / 2, 3 / 4))
    assert (figures["R-precision"].value, figures["R-precision"].optimistic) == (0, 1 / 2)
    assert figures["judged@4"].value == 0.5
    assert evaluate(ranked, ["MAP"])["MAP"].optimistic is None


def test_beyond_the_end_of_a_list_nothing_is_unjudged():
    ranked = from_lists([[0, 1, -1]], with_grades({0: 0, 1: 1}, 9))
    assert evaluate(ranked, ["P@3"])["P@3"].optimistic == pytest.approx(1 / 3)


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize(("measure", "k"), [("S@2", 2), ("P@3", 3), ("recall@3", 3)])
def test_the_optimistic_figure_is_that_of_judging_the_rest_of_the_cut_relevant(seed, measure, k):
    case = cases(6000 + seed, 40, all_retrieved=True)
    score = evaluate(from_scores(case.scores, case.judgments), [measure])[measure]
    # At best: every unjudged item of the cut is relevant, those outside are not.
    seen = np.zeros(case.scores.shape, dtype=bool)
    grades = np.zeros(case.scores.shape)
    known = case.judgments.grade >= 0
    seen[case.judgments.query[known], case.judgments.item[known]] = True
    grades[case.judgments.query[known], case.judgments.item[known]] = case.judgments.grade[known]
    cut = np.argsort(np.argsort(-case.scores, axis=1), axis=1) < k
    query, item = np.nonzero(seen | cut)
    best = judged(
        query,
        item,
        np.where(seen, grades, 1)[query, item],
        queries=case.scores.shape[0],
        items=case.scores.shape[1],
    )
    whole = evaluate(from_scores(case.scores, best), [measure])[measure].per_query
    counted = ~np.isnan(score.per_query)
    if counted.any():
        assert score.optimistic is not None
        assert score.optimistic == pytest.approx(whole[counted].mean())
        assert score.value <= score.optimistic + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_scikit_learn_finds_the_same_precision_and_gain_where_nothing_ties(seed):
    case = cases(7000 + seed, 20, all_retrieved=True)
    figures = evaluate(from_scores(case.scores, case.judgments), ["MAP", "nDCG"])
    for query, values in enumerate(case.scores):
        value = case.judgments.query == query
        truth = np.zeros(len(values))
        truth[case.judgments.item[value]] = np.maximum(case.judgments.grade[value], 0)
        if truth.any() and len(values) > 1:
            expected = average_precision_score(truth > 0, values)
            assert figures["MAP"].per_query[query] == pytest.approx(expected)
            assert figures["nDCG"].per_query[query] == pytest.approx(ndcg_score([truth], [values]))


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 7), st.sampled_from([2, 1000]))
def test_both_directions_in_one_pass_are_each_direction_alone(seed, high, wide, levels):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, (high, wide)).astype(np.float32)
    chosen = rng.random((high, wide)) < 0.5
    query, item = np.nonzero(chosen)
    rows = judged(query, item, np.ones(len(query)), queries=high, items=wide)
    across, down = from_tiles(Dense(scores), rows, rows.swapped())
    alone = from_scores(np.ascontiguousarray(scores.T), rows.swapped())
    assert np.array_equal(across.better, from_scores(scores, rows).better)
    assert np.array_equal(down.better, alone.better) and np.array_equal(down.equal, alone.equal)


def test_a_higher_level_asks_for_higher_grades():
    judgments = with_grades({0: 1, 1: 2}, 2)
    assert value_of("MRR", from_scores([[2, 1]], judgments)) == 1
    assert value_of("MRR", from_scores([[2, 1]], judgments, level=2)) == 0.5


def test_qrels_by_name_keep_originals_relevant_judged_or_not():
    judgments = from_qrels(
        {"image": {"a": 0, "b": 1, "c": 0}},
        ["image", "other"],
        ["a", "b", "c"],
        originals=[("image", "a"), ("other", "c")],
    )
    result = {(q, i): g for q, i, g in zip(judgments.query, judgments.item, judgments.grade, strict=True)}
    assert result == {(0, 0): 1, (0, 1): 1, (0, 2): 0, (1, 2): 1}
    assert judgments.original.tolist() == [True, False, False, True]


def test_selecting_queries_and_items_renumbers_them():
    judgments = judged([0, 1, 2], [2, 0, 1], [1, 2, 3], queries=3, items=3)
    chosen = judgments.select([2, 0], [1, 2])
    assert (chosen.query.tolist(), chosen.item.tolist(), chosen.grade.tolist()) == ([0, 1], [0, 1], [3, 1])


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("R@10", "R@10"),
        ("Success@10", "S@10"),
        ("Rprec", "R-precision"),
        ("Judged@10", "judged@10"),
        ("RR", "MRR"),
        ("AP@100", "MAP@100"),
        ("nDCG@20", "nDCG@20"),
        ("Bpref", "bpref"),
        ("recall@1", "recall@1"),
        ("hit_rate@1", "S@1"),
        ("r-precision", "R-precision"),
        ("precision@5", "P@5"),
        ("mrr@10", "MRR@10"),
        ("map", "MAP"),
        ("P_10", "P@10"),
        ("ndcg_cut_10", "nDCG@10"),
        ("recip_rank", "MRR"),
        ("Med r", "median rank"),
        ("median_rank", "median rank"),
        ("map@r", "mAP@R"),
        ("phrase recall@1", "phrase recall@1"),
        ("IPrec@0.1", "iprec@0.1"),
        ("iprec_at_recall_0.10", "iprec@0.1"),
        ("11pt_avg", "11pt"),
        ("SetF", "F1"),
        ("f1@5", "F1@5"),
        ("F(beta=2)@5", "F1(beta=2)@5"),
        ("hits@10", "hits@10"),
        ("dcg@5", "DCG@5"),
        ("RBP", "RBP"),
        ("RBP(p=0.8)", "RBP"),
        ("rbp(p=0.95)@10", "RBP(p=0.95)@10"),
        ("ERR@20", "ERR@20"),
        ("ERR(max=1)", "ERR(max=1)"),
        ("R@1000000", "R@1000000"),
    ],
)
def test_a_measure_is_found_under_the_names_others_give_it(theirs, ours):
    assert METRICS.find(theirs).name == ours


@pytest.mark.parametrize(
    ("name", "trec"),
    [("P@10", "P_10"), ("MAP", "map"), ("MAP@5", "map_cut_5"), ("nDCG", "ndcg"), ("MRR", "recip_rank")]
    + [("R-precision", "Rprec"), ("S@1", "success_1"), ("median rank", "median_rank"), ("R@5", "R@5")]
    + [("iprec@0", "iprec_at_recall_0.00"), ("iprec@0.1", "iprec_at_recall_0.10"), ("11pt", "11pt_avg")]
    + [("F1", "set_F"), ("F1@5", "F1@5"), ("RBP(p=0.5)@5", "RBP(p=0.5)@5")],
)
def test_a_measure_is_printed_under_the_name_trec_eval_has_for_it(name, trec):
    assert METRICS.find(name).trec_name == trec


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("accuracy", "unknown measure 'accuracy'; known: .*R@k.*R-precision"),
        ("ndgc@10", r"did you mean nDCG@k\?"),
        ("R", "'R' has no cut-off; use 'R@10', for example"),
        ("R@k", "'R@k' has no cut-off; use 'R@10', for example"),
        ("S", "'S' has no cut-off; use 'S@10', for example"),
        ("R-precision@10", "'R-precision@10': R-precision takes no cut-off"),
        ("P@0", "'P@0': a cut-off is a whole number, 1 or more"),
        ("P@1.5", "'P@1.5': a cut-off is a whole number, 1 or more"),
        ("iprec", "'iprec' has no level of recall; use 'iprec@0.1', for example"),
        ("iprec@2", "'iprec@2': a level of recall is between 0 and 1"),
        ("RBP(q=0.5)", r"'RBP\(q=0.5\)': RBP@k has the parameter p, not q"),
        ("RBP(p=1.5)", r"'RBP\(p=1.5\)': p is between 0 and 0.999"),
        ("MAP(p=0.5)", r"'MAP\(p=0.5\)': MAP@k has no parameter"),
        ("P@x", "unknown measure 'P@x'"),
        ("phrase recall@1", "'phrase recall@1' is a measure of localization, not of ranking; known: DCG@k"),
    ],
)
def test_an_unknown_measure_is_told_what_exists(name, message):
    ranked = from_scores([[1.0]], judged([0], [0], [1], queries=1, items=1))
    with pytest.raises(UnknownMeasure, match=message) as caught:
        evaluate(ranked, [name])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("family", MEASURE_FAMILIES)
def test_what_an_error_proposes_can_be_asked_for(family):
    """Names of every family, and such names with a letter too many."""
    for name in [row for measure in METRICS for row in (measure.name, f"{measure.name}x")]:
        try:
            METRICS.find(name, family=family)
        except UnknownMeasure as error:
            if proposed := re.search(r"did you mean (.+?)(?:@[kr])?\?", str(error)):
                measure = METRICS.called(proposed[1])
                assert measure is not None and measure.family == family


def test_two_measures_of_one_name_are_refused():
    table = Measures()
    table.register(Measure("recall@k", "", "ranking", np.zeros, ""))
    with pytest.raises(ValueError, match="'recall' is taken by 'recall@k': 'hits'"):
        table.register(Measure("hits", "", "ranking", np.zeros, "", aliases=("Recall",)))


def test_nan_scores_are_refused_naming_the_first():
    scores = np.array([[0, 1.0], [nan, nan]])
    with pytest.raises(NotANumber, match="score is NaN, row 1, column 0"):
        from_scores(scores, judged([0], [0], [1], queries=2, items=2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: judged([0], [0, 1], [1, 1], queries=1, items=2), "1 queries, 2 items, 2 grades"),
        (
            lambda: judged([0, 2], [0, 0], [1, 1], queries=2, items=1),
            r"judgment 1 .* query 2; expected 0 to 1",
        ),
        (lambda: judged([0], [-1], [1], queries=1, items=1), "about item -1; expected 0 to 0"),
        (lambda: judged([0], [0], [nan], queries=1, items=1), "query 0, item 0 has grade nan"),
        (lambda: judged([0], [0], [-2], queries=1, items=1), "grade -2.0; expected 0 or more, or -1"),
        (lambda: judged([0, 0], [1, 1], [0, 1], queries=1, items=2), "query 0, item 1 is judged twice"),
        (
            lambda: from_qrels({"x": {}, "y": {"a": 1}}, ["x"], ["a"]),
            "query 'y' of the judgments is not among the 1",
        ),
        (lambda: from_qrels({"x": {"b": 1}}, ["x"], ["a"]), "item 'b' of the judgments is not among"),
        (lambda: from_qrels({}, ["x", "x"], ["a"]), "query 'x' is listed twice, at 0 and 1"),
        (lambda: originals_of([0, 1], 2).select([0, 0], [0]), "a query is selected twice"),
        (
            lambda: from_scores([[1, 2]], originals_of([0], 1)),
            "1 queries and 1 items, the scores have 1 and 2",
        ),
        (lambda: from_scores([1, 2], originals_of([0], 1)), r"shape \(2,\); expected \(queries, items\)"),
        (lambda: from_lists([[0], [0]], originals_of([0], 1)), r"shape \(2, 1\); expected \(1, k\)"),
        (lambda: from_lists([[0, 0]], originals_of([0], 1)), "list of query 0 contains item 0 twice"),
        (lambda: from_lists([[7]], originals_of([0], 1)), "contains item 7; expected 0 to 0, or -1"),
        (lambda: from_lists([[-1, 0]], originals_of([0], 1)), "has a gap at place 1"),
        (
            lambda: from_lists([[0, 1]], originals_of([0, 0], 1), scores=[[1, 2]]),
            "scores of query 0 rise at place 2",
        ),
        (
            lambda: from_lists([[0, 1]], originals_of([0, 0], 1), scores=[[1, nan]]),
            "query 0 at place 2 is NaN",
        ),
        (lambda: from_lists([[0]], originals_of([0], 1), scores=[[1, 2]]), r"shape \(1, 2\), lists \(1, 1\)"),
        (lambda: from_scores([[1]], originals_of([0], 1), level=0), "expected more than 0"),
        (
            lambda: evaluate(from_scores([[1]], judged([0], [0], [1], queries=1, items=1)), ["R@1"]),
            "no judgment is marked as original",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused_in_one_line(make: Callable[[], object], message: str):
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
