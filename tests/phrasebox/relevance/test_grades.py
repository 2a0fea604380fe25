"""Grades from 1 to 4 as gains and as yes or no: thresholds as printed, unaffected by rounding."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasebox.registry import UnknownName
from phrasebox.relevance.grades import GRADED_RULES, MEAN_GRADE, UNIT, GradedRule, JudgedPair, rule_on
from phrasebox.relevance.qrels import MAJORITY, QrelsSettings, freeze_pairs, relevant_by_rule, rule_named
from phrasebox.relevance.scales import BadScale, Scale, score_named


def graded(*grades: int, document: str = "d") -> JudgedPair:
    return JudgedPair("q", document, tuple(map(float, grades)))


@pytest.mark.parametrize(
    ("grades", "mean", "strict", "median", "gain"),
    [
        ((1, 1, 1), False, False, False, 0),
        ((2, 3, 3), True, False, True, 100),  # 2 2/3, "a good caption"
        ((2, 2, 4), True, False, False, 100),
        ((2, 2, 3), False, False, False, 80),
        ((3, 3, 4), True, True, True, 140),  # 3.33
        ((1, 3, 3), False, False, True, 80),
        ((4, 4, 4), True, True, True, 180),
    ],
)
def test_three_grades_are_relevant_as_the_paper_reads_them(
    grades: tuple[int, ...], mean: bool, strict: bool, median: bool, gain: int
) -> None:
    pair = graded(*grades)
    held = [
        GRADED_RULES.get(name).holds(pair) for name in ("mean_grade", "mean_grade_strict", "median_grade")
    ]
    assert (held, MEAN_GRADE.relevance(pair)) == ([mean, strict, median], gain)


def test_the_median_of_two_grades_lies_between_them() -> None:
    assert GRADED_RULES.get("median_grade").score(graded(2, 3)) == Fraction(5, 2)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=90), st.sampled_from(GRADED_RULES.keys()))
def test_a_gain_reaches_the_level_where_the_score_reaches_the_threshold(grades: list[int], name: str) -> None:
    rule = GRADED_RULES.get(name)
    pair = graded(*grades)
    assert (rule.relevance(pair) >= rule.level) == rule.holds(pair)
    assert -1e-9 < float(rule.score(pair)) - rule.grade(rule.relevance(pair)) < 1 / UNIT


def test_qrels_keep_every_gain_and_originals_have_the_highest() -> None:
    pairs = freeze_pairs(
        [graded(2, 2, 3, document="near"), graded(3, 3, 3, document="good"), graded(1, 2, 2, document="own")],
        name="test",
        settings=QrelsSettings(MEAN_GRADE),
        originals=[("q", "own"), ("p", "unseen")],
    )
    assert [(row.document, row.relevance, row.judged) for row in pairs.rows] == [
        ("unseen", 180, False),
        ("good", 120, True),
        ("near", 80, True),
        ("own", 180, True),
    ]
    assert pairs.relevant == {"q": {"good", "own"}, "p": {"unseen"}}


def test_rules_are_counted_beside_those_of_their_kind() -> None:
    assert relevant_by_rule([graded(3, 3, 3)], like=MEAN_GRADE) == {
        "mean_grade": 1,
        "mean_grade_strict": 0,
        "median_grade": 1,
    }
    assert rule_named("mean_grade") is MEAN_GRADE and rule_named("majority") is MAJORITY
    with pytest.raises(UnknownName, match="majority, two_thirds; of grades: mean_grade"):
        rule_named("mode")


@pytest.mark.parametrize("grades", [(0, 1), (5,), ()])
def test_what_is_no_grade_is_refused(grades: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="grades from 1 to 4"):
        MEAN_GRADE.relevance(graded(*grades))


@pytest.mark.parametrize("threshold", [Fraction(1), Fraction(5)])
def test_a_threshold_off_the_scale_is_refused(threshold: Fraction) -> None:
    with pytest.raises(ValueError, match="expected more than 1, the lowest grade, and at most 4"):
        GradedRule("mine", threshold)


@pytest.mark.parametrize(("text", "score"), [("3", 3), (" 2.25 ", Fraction(9, 4)), ("-1.5", Fraction(-3, 2))])
def test_a_score_is_read_in_decimals(text: str, score: Fraction) -> None:
    assert score_named(text) == score


@pytest.mark.parametrize("text", ["", "much", "8/3", "1e9", "1e99999999999999", "1" * 7, "nan"])
def test_what_is_no_score_is_refused(text: str) -> None:
    with pytest.raises(BadScale, match="is not a score; expected a number such as 3 or 2.66"):
        score_named(text)


@pytest.mark.parametrize("high", [16, 5_000, 999_999])
def test_exponential_gains_that_no_row_holds_are_refused_however_great(high: int) -> None:
    with pytest.raises(ValueError, match="exponential gains of the scale 0 to .* are over 32767"):
        rule_on(Scale(Fraction(0), Fraction(high)), Fraction(3), gains="exponential")
    assert rule_on(Scale(Fraction(0), Fraction(15)), Fraction(3), gains="exponential").highest == 32_767
