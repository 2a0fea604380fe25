"""The summary of a file of judgments."""

from __future__ import annotations

import pytest

from phrasebox.agreement.aggregation import Votes, dawid_skene, worker_confusion
from phrasebox.agreement.coefficients import cohen, krippendorff
from phrasebox.agreement.summary import Resampling, agreement_between, agreement_within
from phrasebox.relevance.grades import JudgedPair

NO_INTERVALS = Resampling(resamples=0)
NAMED = [
    JudgedPair("a", "1", (1.0, 1.0, 0.0), ("ann", "bob", "eve")),
    JudgedPair("a", "2", (0.0, 0.0, 0.0), ("ann", "bob", "eve")),
    JudgedPair("b", "1", (1.0, 1.0, 0.0), ("bob", "ann", "eve")),
    JudgedPair("b", "2", (0.0, 1.0), ("ann", "eve")),
]


def test_unnamed_judges_have_no_kappa_of_two() -> None:
    agreement = agreement_within(
        [JudgedPair("a", "1", (1.0, 2.0)), JudgedPair("b", "1", (1.0, 1.0))], NO_INTERVALS
    )
    assert agreement.cohen == {}
    assert agreement.judges == ()
    assert agreement.no_judges == "the source does not say who judged"
    assert agreement.fleiss.value is not None
    assert agreement.alpha["nominal"].value == krippendorff([[1, 1], [2, 1]], level="nominal").value


def test_named_judges_are_compared_two_by_two_and_with_the_consensus() -> None:
    agreement = agreement_within(NAMED, NO_INTERVALS)
    assert agreement.cohen["ann and bob"].value == 1
    assert agreement.cohen["ann and eve"] == cohen([1, 0, 1, 0], [0, 0, 0, 1])
    assert {judge.name: judge.answers for judge in agreement.judges} == {"ann": 4, "bob": 3, "eve": 4}
    assert next(judge for judge in agreement.judges if judge.name == "ann").with_consensus == 1


def test_with_three_grades_two_judges_have_weighted_kappas() -> None:
    graded = [
        JudgedPair(query, "1", grades, ("ann", "bob"))
        for query, grades in (("a", (1.0, 1.0)), ("b", (2.0, 3.0)), ("c", (3.0, 3.0)))
    ]
    agreement = agreement_within(graded, NO_INTERVALS)
    for weights, kappas in (("linear", agreement.cohen_linear), ("quadratic", agreement.cohen_quadratic)):
        assert kappas == {"ann and bob": cohen([1, 2, 3], [1, 3, 3], weights=weights)}
    assert agreement_within(NAMED, NO_INTERVALS).cohen_linear == {}


def test_judges_shares_are_those_of_their_confusion() -> None:
    votes = Votes.of(
        ((pair.query, pair.document), judge, grade)
        for pair in NAMED
        for judge, grade in zip(pair.judges, pair.grades, strict=True)
    )
    agreement = agreement_within(NAMED, NO_INTERVALS)
    counts = worker_confusion(votes, dict(zip(votes.items, dawid_skene(votes).labels, strict=True)))
    shares = [count.trace() / count.sum() for count in counts]
    assert [judge.with_consensus for judge in agreement.judges] == shares


def test_measurements_are_not_compared_for_being_equal() -> None:
    many = [JudgedPair("a", str(k), (k / 7, k / 5), ("ann", "bob")) for k in range(60)]
    agreement = agreement_within(many, NO_INTERVALS)
    assert agreement.cohen == {}
    assert agreement.no_judges.startswith("111 different grades")
    assert agreement.alpha["interval"].value is not None


def test_numbers_of_answers_and_ties_are_counted() -> None:
    agreement = agreement_within(NAMED, NO_INTERVALS)
    assert (agreement.pairs, agreement.queries, agreement.answers) == (4, 2, 11)
    assert (agreement.fewest, agreement.most, agreement.ties) == (2, 3, 1)
    assert "items have 2 to 3 answers" in agreement.fleiss.reason


def test_intervals_are_drawn_over_queries() -> None:
    agreement = agreement_within(NAMED, Resampling(resamples=20))
    assert agreement.alpha["interval"].resamples == 20


FIRST = [JudgedPair("a", str(k), (float(k),)) for k in range(1, 5)]
SECOND = [JudgedPair("a", "4", (1.0,)), JudgedPair("a", "3", (1.0, 1.0)), JudgedPair("a", "2", (0.0,))]


def test_two_sets_are_cut_at_every_mean_but_the_lowest() -> None:
    result = agreement_between(FIRST, SECOND, NO_INTERVALS)
    assert (result.pairs, result.common) == (4, 3)
    assert result.sweep.rows == (4.0, 3.0, 2.0)
    assert result.sweep.columns == (1.0,)
    assert result.sweep.best == (3.0, 1.0, 1.0)
    assert result.best is not None
    assert result.best.f1.value == 1


def test_unjudged_pairs_can_count_as_no() -> None:
    assert agreement_between(FIRST, SECOND, NO_INTERVALS).sweep.kappa[0][0].items == 3
    assert agreement_between(FIRST, SECOND, NO_INTERVALS, unjudged_is_no=True).sweep.kappa[0][0].items == 4


def test_sets_without_a_common_pair_are_refused() -> None:
    with pytest.raises(ValueError, match="no pair in common"):
        agreement_between(FIRST, [JudgedPair("x", "y", (1.0,))], NO_INTERVALS)


def test_too_many_thresholds_must_be_named() -> None:
    many = [JudgedPair("a", str(k), (float(k),)) for k in range(30)]
    with pytest.raises(ValueError, match="29 different means; give the thresholds of the rows"):
        agreement_between(many, many, NO_INTERVALS)
    assert agreement_between(many, many, NO_INTERVALS, rows=[5], columns=[5]).sweep.kappa[0][0].value == 1
