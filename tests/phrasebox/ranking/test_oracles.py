"""Our ranking measures compared with trec_eval (pytrec_eval) and ir_measures, on thousands of queries.

One difference is intended: tied items share ranks here; trec_eval puts the higher id first. For its order
given as a list, the figures are the same; for tied scores, the tests below give the bounds. A query without a
relevant item counts 0 in both.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from sklearn.metrics import dcg_score

from phrasebox.metrics.judgments import judged
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
    "set_F": "SetF",
    "num_rel_ret": "hits",
    "11pt_avg": "11pt",
    **{f"iprec_at_recall_{level / 10:.2f}": f"iprec@{level / 10:g}" for level in range(11)},
}
#: Higher or equal if relevant items have better ranks, everything else being equal.
MONOTONE = [name for name in NAMES if name not in ("bpref", "infAP")]
MEASURES = {"map", "map_cut.5", "recip_rank", "Rprec", "P.1,10", "recall.5", "success.1,5", "ndcg"} | {
    "ndcg_cut.5",
    "bpref",
    "infAP",
    "set_F",
    "num_rel_ret",
    "11pt_avg",
    "iprec_at_recall",
}
#: Measures that trec_eval lacks, as a definition for one ranking: (grades as ranked, number relevant).
DEFINITIONS: dict[str, Callable[[np.ndarray, int], float]] = {
    "DCG": lambda grades, number: float((grades / np.log2(np.arange(2, len(grades) + 2))).sum()),
    "DCG@5": lambda grades, number: DEFINITIONS["DCG"](grades[:5], number),
    "RBP": lambda grades, number: sum(0.2 * 0.8**place for place in np.flatnonzero(grades)),
    "RBP(p=0.5)@5": lambda grades, number: sum(0.5 ** (place + 1) for place in np.flatnonzero(grades[:5])),
    "hits@5": lambda grades, number: int((grades[:5] > 0).sum()),
    "F1@5": lambda grades, number: 2 * DEFINITIONS["hits@5"](grades, number) / (5 + number) if number else 0,
    "ERR": lambda grades, number: _stops(grades, 4),
    "ERR@5": lambda grades, number: _stops(grades[:5], 4),
    "ERR(max=3)": lambda grades, number: _stops(grades, 3),
}


def _stops(grades: np.ndarray, highest: int) -> float:
    total, reached = 0.0, 1.0
    for place, grade in enumerate(grades, start=1):
        stop = (2**grade - 1) / 2**highest
        total, reached = total + reached * stop / place, reached * (1 - stop)
    return total


def defined(case: Cases) -> dict[str, np.ndarray]:
    """The values of each query by DEFINITIONS, in trec_eval's order."""
    values: dict[str, list[float]] = {name: [] for name in DEFINITIONS}
    for query, places in enumerate(case.lists):
        qrel = case.qrels[f"q{query}"]
        grades = np.array([max(qrel.get(f"d{item:03}", 0), 0) for item in places if item >= 0])
        for name, definition in DEFINITIONS.items():
            values[name].append(definition(grades, sum(grade > 0 for grade in qrel.values())))
    return {name: np.array(numbers) for name, numbers in values.items()}


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
        per_query = ours[METRICS.find(NAMES[theirs]).name].per_query
        np.testing.assert_allclose(per_query, values, atol=1e-9, err_msg=theirs)
    ours = evaluate(from_lists(case.lists, case.judgments), [*DEFINITIONS, "S@1"])
    for name, values in defined(case).items():
        np.testing.assert_allclose(ours[name].per_query, values, atol=1e-9, err_msg=name)
    relevant = case.judgments.query[case.judgments.grade > 0]
    assert len(np.unique(relevant)) < ours["S@1"].queries == 100, "some queries have no relevant item"


@pytest.mark.parametrize("seed", range(10))
def test_dense_scores_without_ties_score_as_trec_eval_scores_them(seed):
    case = cases(1000 + seed, 100, all_retrieved=True)
    ours = evaluate(from_scores(case.scores, case.judgments), NAMES.values())
    for theirs, values in trec_eval(case).items():
        per_query = ours[METRICS.find(NAMES[theirs]).name].per_query
        np.testing.assert_allclose(per_query, values, atol=1e-9, err_msg=theirs)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("levels", [1, 2, 6])
def test_with_ties_trec_eval_lies_between_pessimistic_and_optimistic_and_so_does_the_mean(seed, levels):
    case = cases(2000 + seed, 100, levels=levels, all_retrieved=True)
    names = [*(METRICS.find(NAMES[theirs]).name for theirs in MONOTONE), *DEFINITIONS]
    low, middle, high = (
        evaluate(from_scores(case.scores, case.judgments, ties=ties), names)
        for ties in ("pessimistic", "mean", "optimistic")
    )
    in_order = {METRICS.find(NAMES[theirs]).name: values for theirs, values in trec_eval(case).items()}
    in_order |= defined(case)
    for name in names:
        worst, half, best = (e[name].per_query for e in (low, middle, high))
        assert (worst <= in_order[name] + 1e-9).all(), name
        assert (in_order[name] <= best + 1e-9).all(), name
        assert (worst <= half + 1e-9).all(), name
        assert (half <= best + 1e-9).all(), name


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("ties", ["mean", "optimistic", "pessimistic"])
def test_a_list_with_its_scores_ties_as_dense_scores_do(seed, ties):
    case = cases(3000 + seed, 60, levels=3, all_retrieved=True)
    names = [METRICS.find(name).name for name in [*NAMES.values(), *DEFINITIONS, "judged@3", "mAP@R"]]
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
    names += ["SetF", "IPrec@0.0", "IPrec@0.1", "IPrec@0.55", "IPrec@1.0"]
    ours = evaluate(from_lists(case.lists, case.judgments), names)
    for name in names:
        measure = ir_measures.parse_measure(name)
        errors = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
        values = np.array([errors.get(f"q{q}", 0) for q in range(case.judgments.queries)])
        mine = ours[METRICS.find(name).name].per_query
        np.testing.assert_allclose(mine, values, atol=1e-9, err_msg=name)


@pytest.mark.skipif(shutil.which("perl") is None, reason="ir_measures computes ERR by a program in Perl")
@pytest.mark.parametrize(("seed", "levels"), [(0, 0), (1, 3)])
def test_err_is_that_of_ir_measures(seed, levels):
    """gdeval prints five decimal places, and has no line for a query without a relevant item."""
    case = cases(6000 + seed, 60, levels=levels)
    number = {f"q{query}": str(query) for query in range(60)}
    run = [
        ir_measures.ScoredDoc(number[query], item, score)
        for query, qrel in case.run.items()
        for item, score in qrel.items()
    ]
    qrels = [
        ir_measures.Qrel(number[query], item, grade)
        for query, qrel in case.qrels.items()
        for item, grade in qrel.items()
    ]
    for name in ("ERR@3", "ERR@20"):
        theirs = np.zeros(60)
        for result in ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, run):
            theirs[int(result.query_id)] = result.value
        ours = evaluate(from_lists(case.lists, case.judgments), [name])[name].per_query
        np.testing.assert_allclose(ours, theirs, atol=6e-6, err_msg=name)
        assert theirs.any()


@pytest.mark.parametrize("k", [None, 5])
def test_dcg_is_scikit_learns(k):
    case = cases(7002, 60, all_retrieved=True)
    grades = np.zeros(case.scores.shape)
    grades[case.judgments.query, case.judgments.item] = np.maximum(case.judgments.grade, 0)
    name = f"DCG@{k}" if k else "DCG"
    ours = evaluate(from_scores(case.scores, case.judgments), [name])[name].per_query
    theirs = [dcg_score([truth], [scores], k=k) for truth, scores in zip(grades, case.scores, strict=True)]
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_a_grade_above_the_scale_is_refused_by_err():
    ranked = from_scores([[1.0]], judged([0], [0], [5], queries=1, items=1))
    with pytest.raises(ValueError, match=r"grade 5 is above 4, the highest of ERR; use 'ERR\(max=5\)'"):
        evaluate(ranked, ["ERR"])
    assert evaluate(ranked, ["ERR(max=5)"])["ERR(max=5)"].value == 31 / 32


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
