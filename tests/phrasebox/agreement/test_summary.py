"""What a file of judgments is summarised to."""

from __future__ import annotations

import pytest

from phrasebox.agreement.aggregation import dawid_skene, worker_confusion
from phrasebox.agreement.coefficients import cohen, krippendorff
from phrasebox.agreement.summary import Resampling, agreement_between, agreement_within
from phrasebox.agreement.votes import Votes
from phrasebox.relevance.pairs import JudgedPair

NO_INTERVALS = Resampling(resamples=0)
NAMED = [
    JudgedPair("a", "1", (1.0, 1.0, 0.0), ("ann", "bob", "eve")),
    JudgedPair("a", "2", (0.0, 0.0, 0.0), ("ann", "bob", "eve")),
    JudgedPair("b", "1", (1.0, 1.0, 0.0), ("bob", "ann", "eve")),
    JudgedPair("b", "2", (0.0, 1.0), ("ann", "eve")),
]


def test_unnamed_judges_have_no_kappa_of_two() -> None:
    found = agreement_within(
        [JudgedPair("a", "1", (1.0, 2.0)), JudgedPair("b", "1", (1.0, 1.0))], NO_INTERVALS
    )
    assert found.cohen == {}
    assert found.judges == ()
    assert found.no_judges == "the source does not say who judged"
    assert found.fleiss.value is not None
    assert found.alpha["nominal"].value == krippendorff([[1, 1], [2, 1]], level="nominal").value


def test_named_judges_are_compared_two_by_two_and_with_the_consensus() -> None:
    found = agreement_within(NAMED, NO_INTERVALS)
    assert found.cohen["ann and bob"].value == 1
    assert found.cohen["ann and eve"] == cohen([1, 0, 1, 0], [0, 0, 0, 1])
    assert {judge.name: judge.answers for judge in found.judges} == {"ann": 4, "bob": 3, "eve": 4}
    assert next(judge for judge in found.judges if judge.name == "ann").with_consensus == 1


def test_judges_shares_are_those_of_their_confusion() -> None:
    votes = Votes.of(
        ((pair.query, pair.document), judge, grade)
        for pair in NAMED
        for judge, grade in zip(pair.judges, pair.grades, strict=True)
    )
    found = agreement_within(NAMED, NO_INTERVALS)
    counts = worker_confusion(votes, dict(zip(votes.items, dawid_skene(votes).labels, strict=True)))
    shares = [own.trace() / own.sum() for own in counts]
    assert [judge.with_consensus for judge in found.judges] == shares


def test_measurements_are_not_compared_for_being_equal() -> None:
    many = [JudgedPair("a", str(k), (k / 7, k / 5), ("ann", "bob")) for k in range(60)]
    found = agreement_within(many, NO_INTERVALS)
    assert found.cohen == {}
    assert found.no_judges.startswith("111 different grades")
    assert found.alpha["interval"].value is not None


def test_numbers_of_answers_and_ties_are_counted() -> None:
    found = agreement_within(NAMED, NO_INTERVALS)
    assert (found.pairs, found.queries, found.answers) == (4, 2, 11)
    assert (found.fewest, found.most, found.ties) == (2, 3, 1)
    assert "items have 2 to 3 answers" in found.fleiss.reason


def test_intervals_are_drawn_over_queries() -> None:
    found = agreement_within(NAMED, Resampling(resamples=20))
    assert found.alpha["interval"].resamples == 20


FIRST = [JudgedPair("a", str(k), (float(k),)) for k in range(1, 5)]
SECOND = [JudgedPair("a", "4", (1.0,)), JudgedPair("a", "3", (1.0, 1.0)), JudgedPair("a", "2", (0.0,))]


def test_two_sets_are_cut_at_every_mean_but_the_lowest() -> None:
    found = agreement_between(FIRST, SECOND, NO_INTERVALS)
    assert (found.pairs, found.common) == (4, 3)
    assert found.sweep.rows == (4.0, 3.0, 2.0)
    assert found.sweep.columns == (1.0,)
    assert found.sweep.best == (3.0, 1.0, 1.0)
    assert found.best is not None
    assert found.best.f1.value == 1


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
