"""Scales of answers, and rules on any of them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasebox.registry import UnknownName
from phrasebox.relevance.grades import (
    EXPONENTIAL,
    GREATEST_GAIN,
    LINEAR,
    MEAN_GRADE,
    JudgedPair,
    graded_rule_named,
    rule_on,
)
from phrasebox.relevance.qrels import FileRelevance, relevant_by_rule, rule_named
from phrasebox.relevance.scales import ONE_TO_FOUR, VOTE_SCALE, BadScale, Scale, scale_named, scale_of


def rated(*grades: float) -> JudgedPair:
    return JudgedPair("i", "c", grades)


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("votes", VOTE_SCALE),
        ("1-4", ONE_TO_FOUR),
        ("0-5", Scale(Fraction(0), Fraction(5))),
        ("-2-2", Scale(Fraction(-2), Fraction(2))),
        ("-3--1", Scale(Fraction(-3), Fraction(-1))),
        ("0-0.5", Scale(Fraction(0), Fraction(1, 2))),
    ],
)
def test_a_scale_is_called_by_its_ends(text: str, scale: Scale) -> None:
    assert scale_named(text) == scale and scale_named(scale.name) == scale


@pytest.mark.parametrize("text", ["", "5", "5-0", "1-1", "a-b", "1-", "nan-5", "1e9-2e9"])
def test_what_is_no_scale_is_refused(text: str) -> None:
    with pytest.raises(BadScale, match="is not a scale; expected votes, 1-4"):
        scale_named(text)


@pytest.mark.parametrize(
    ("answers", "scale"),
    [({0, 1}, VOTE_SCALE), ({1, 2}, ONE_TO_FOUR), ({4}, ONE_TO_FOUR), ({1, 2, 3, 4}, ONE_TO_FOUR)],
)
def test_answers_without_doubt_tell_their_scale(answers: set[float], scale: Scale) -> None:
    assert scale_of(answers) == scale


@pytest.mark.parametrize("answers", [{1.0}, {0.0}, {0.0, 2.0}, {0.5}, {1.0, 5.0}, {1.0, 2.5}])
def test_answers_that_leave_doubt_do_not(answers: set[float]) -> None:
    with pytest.raises(BadScale):
        scale_of(answers)


def test_votes_are_no_and_yes_alone() -> None:
    assert (
        VOTE_SCALE.holds(1) and VOTE_SCALE.holds(0) and not VOTE_SCALE.holds(0.5) and ONE_TO_FOUR.holds(2.5)
    )


ratings = st.lists(st.integers(0, 500).map(lambda n: n / 100), min_size=1, max_size=7)


@given(
    ratings, st.integers(1, 500), st.sampled_from([LINEAR, EXPONENTIAL]), st.sampled_from(["mean", "median"])
)
def test_gains_never_cross_the_threshold_and_follow_the_scores(
    grades: list[float], threshold: int, gains: str, summary: str
) -> None:
    rule = rule_on(Scale(Fraction(0), Fraction(5)), Fraction(threshold, 100), gains=gains, summary=summary)
    pair = rated(*grades)
    exact = [Fraction(round(grade * 100), 100) for grade in sorted(grades)]
    middle = (exact[(len(exact) - 1) // 2] + exact[len(exact) // 2]) / 2
    score = sum(exact) / len(exact) if summary == "mean" else middle
    assert rule.score(pair) == score and rule.holds(pair) == (score >= Fraction(threshold, 100))
    assert rule.holds(pair) == (rule.relevance(pair) >= rule.level)
    assert 0 <= rule.relevance(pair) <= rule.highest <= GREATEST_GAIN
    assert abs(rule.grade(rule.relevance(pair)) - float(score)) < 0.01
    assert rule_named(rule.name) == rule == graded_rule_named(rule.name)


def test_two_decimal_places_are_exact() -> None:
    rule = rule_on(Scale(Fraction(0), Fraction(5)), Fraction(3))
    assert [rule.relevance(rated(grade)) for grade in (2.34, 4.96, 3.0, 2.99)] == [702, 1488, 900, 897]


def test_two_thirds_are_two_thirds() -> None:
    rule = rule_on(Scale(Fraction(0), Fraction(1)), Fraction(2, 3))
    assert rule.holds(rated(1, 1, 0)) and not rule.holds(rated(1, 0, 1, 0))
    assert rule_named(rule.name) == rule and rule.name == "mean 0 to 1 from 2/3"
    with pytest.raises(ValueError, match="expected six decimal places at most"):
        rule_on(Scale(Fraction(0), Fraction(5)), Fraction("3.0000001"))


def test_gains_that_do_not_fit_are_coarser_or_refused() -> None:
    assert rule_on(Scale(Fraction(0), Fraction(100)), Fraction(50)).unit == 300
    assert rule_on(Scale(Fraction(0), Fraction(1000)), Fraction(50)).unit == 10
    with pytest.raises(ValueError, match="exponential gains of the scale 0 to 100 are over 32767"):
        rule_on(Scale(Fraction(0), Fraction(100)), Fraction(50), gains=EXPONENTIAL)


@pytest.mark.parametrize(
    "name", ["mean 0 to 5 from 9", "mode 0 to 5 from 3", "given from x", "mean 0 to from 3"]
)
def test_a_name_that_says_no_rule_is_unknown(name: str) -> None:
    with pytest.raises(UnknownName, match="unknown relevance rule"):
        rule_named(name)


def test_rules_tell_how_many_pairs_they_make_relevant() -> None:
    rule = rule_on(Scale(Fraction(0), Fraction(5)), Fraction(3))
    assert relevant_by_rule([rated(3), JudgedPair("i", "d", (1,))], like=rule) == {"mean 0 to 5 from 3": 1}
    assert relevant_by_rule([rated(2)], like=FileRelevance(2)) == {"given from 2": 1}
    assert set(relevant_by_rule([rated(2)], like=MEAN_GRADE)) == {
        "mean_grade",
        "mean_grade_strict",
        "median_grade",
    }
