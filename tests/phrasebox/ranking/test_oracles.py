"""Our ranking measures compared with trec_eval (pytrec_eval) and ir_measures, on thousands of queries.

One difference is intended: tied items share ranks here; trec_eval puts the higher id first. For its order
given as a list, the figures are the same; for tied scores, the tests below give the bounds. A query without a
relevant item counts 0 in both.
"""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from phrasebox.metrics.ranked import from_lists, from_scores
from phrasebox.metrics.scoring import evaluate
from phrasebox.metrics.table import METRICS
from tests.phrasebox.ranking.cases import Cases, cases

NAMES = {
    "map": "MAP",
    "map_cut_5": "MAP@5",
    "recip_rank": "MRR",
    "Rprec": "R-precision",
    "P_1": "P@1",
    "P_10": "P@10",
    "recall_5": "recall@5",
    "success_1": "S@1",
    "success_5": "S@5",
    "ndcg": "nDCG",
    "ndcg_cut_5": "nDCG@5",
    "bpref": "bpref",
    "infAP": "infAP",
}
#: Higher or equal if relevant items have better ranks, everything else being equal.
MONOTONE = [name for name in NAMES if name not in ("bpref", "infAP")]
MEASURES = {"map", "map_cut.5", "recip_rank", "Rprec", "P.1,10", "recall.5", "success.1,5", "ndcg"} | {
    "ndcg_cut.5",
    "bpref",
    "infAP",
}


def trec_eval(case: Cases) -> dict[str, np.ndarray]:
    result = pytrec_eval.RelevanceEvaluator(case.qrels, MEASURES).evaluate(case.run)
    queries = [f"q{q}" for q in range(case.judgments.queries)]
    return {theirs: np.array([result[query][theirs] for query in queries]) for theirs in NAMES}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("levels", [0, 1, 2, 6])
def test_lists_score_as_trec_eval_scores_them(seed, levels):
    case = cases(seed, 100, levels=levels)
    ours = evaluate(from_lists(case.lists, case.judgments), NAMES.values())
    for theirs, values in trec_eval(case).items():
        per_query = ours[NAMES[theirs]].per_query
        np.testing.assert_allclose(per_query, values, atol=1e-9, err_msg=theirs)
    relevant = case.judgments.query[case.judgments.grade > 0]
    assert len(np.unique(relevant)) < ours["S@1"].queries == 100, "some queries have no relevant item"


@pytest.mark.parametrize("seed", range(10))
def test_dense_scores_without_ties_score_as_trec_eval_scores_them(seed):
    case = cases(1000 + seed, 100, all_retrieved=True)
    ours = evaluate(from_scores(case.scores, case.judgments), NAMES.values())
    for theirs, values in trec_eval(case).items():
        per_query = ours[NAMES[theirs]].per_query
        np.testing.assert_allclose(per_query, values, atol=1e-9, err_msg=theirs)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("levels", [1, 2, 6])
def test_with_ties_trec_eval_lies_between_pessimistic_and_optimistic_and_so_does_the_mean(seed, levels):
    case = cases(2000 + seed, 100, levels=levels, all_retrieved=True)
    names = [NAMES[theirs] for theirs in MONOTONE]
    low, middle, high = (
        evaluate(from_scores(case.scores, case.judgments, ties=ties), names)
        for ties in ("pessimistic", "mean", "optimistic")
    )
    for theirs, values in trec_eval(case).items():
        if theirs in MONOTONE:
            worst, half, best = (e[NAMES[theirs]].per_query for e in (low, middle, high))
            assert (worst <= values + 1e-9).all(), theirs
            assert (values <= best + 1e-9).all(), theirs
            assert (worst <= half + 1e-9).all(), theirs
            assert (half <= best + 1e-9).all(), theirs


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("ties", ["mean", "optimistic", "pessimistic"])
def test_a_list_with_its_scores_ties_as_dense_scores_do(seed, ties):
    case = cases(3000 + seed, 60, levels=3, all_retrieved=True)
    names = [*NAMES.values(), "judged@3", "mAP@R"]
    dense = evaluate(from_scores(case.scores, case.judgments, ties=ties), names)
    listed = evaluate(from_lists(case.lists, case.judgments, scores=case.list_scores, ties=ties), names)
    for name in names:
        np.testing.assert_allclose(dense[name].per_query, listed[name].per_query, err_msg=name)


@pytest.mark.parametrize("seed", range(5))
def test_ir_measures_finds_the_same_under_its_own_names(seed):
    case = cases(4000 + seed, 60)
    run = [
        ir_measures.ScoredDoc(query, item, score)
        for query, qrel in case.run.items()
        for item, score in qrel.items()
    ]
    qrels = [
        ir_measures.Qrel(query, item, grade)
        for query, qrel in case.qrels.items()
        for item, grade in qrel.items()
    ]
    names = ["AP", "AP@5", "RR", "Rprec", "P@3", "nDCG", "nDCG@5", "Success@5", "Bpref", "infAP"]
    ours = evaluate(from_lists(case.lists, case.judgments), names)
    for name in names:
        measure = ir_measures.parse_measure(name)
        errors = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
        values = np.array([errors.get(f"q{q}", 0) for q in range(case.judgments.queries)])
        mine = ours[METRICS.find(name).name].per_query
        np.testing.assert_allclose(mine, values, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 5, 10])
def test_judged_share_is_ir_measures_s_but_for_pooled_pairs(seed, k):
    """ir_measures counts every pair of the qrels; a grade of -1 is not a judgment here. Both divide by the
    length of a list that is shorter than k."""
    case = cases(5000 + seed, 60)
    qrels = [
        ir_measures.Qrel(query, item, grade)
        for query, qrel in case.qrels.items()
        for item, grade in qrel.items()
        if grade >= 0
    ]
    run = [
        ir_measures.ScoredDoc(query, item, score)
        for query, qrel in case.run.items()
        for item, score in qrel.items()
    ]
    measure = ir_measures.parse_measure(f"Judged@{k}")
    errors = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
    ranked = from_lists(case.lists, case.judgments)
    ours = evaluate(ranked, [f"Judged@{k}"])[f"judged@{k}"].per_query
    assert {query: ours[int(query[1:])] for query in errors} == pytest.approx(errors)
    assert k == 1 or (ranked.depth < k).any()
