"""Answers compared with gold answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol import kinds
from annotation.protocol.grading import BadGoldAnswer, is_right, stratum
from annotation.protocol.questions import ANSWERS, BOX_DRAWING
from annotation.protocol.terms import Box
from annotation.protocol.trust_settings import TrustSettings
from phrasebox.registry import UnknownName

SETTINGS = TrustSettings()
IMAGE = st.integers(1, 3).flatmap(
    lambda true: st.permutations([True] * true + [False] * (10 - true)).map(tuple)
)


def pages_right(answer, known, slips=1):
    return is_right("relevance", answer, known, TrustSettings(page_slips=slips))


@pytest.mark.parametrize("kind", [kind for kind in ANSWERS if kind != BOX_DRAWING])
def test_a_question_with_a_few_answers_is_right_when_equal(kind):
    for known in ANSWERS[kind]:
        assert stratum(kind, known) == known
        for answer in ANSWERS[kind]:
            assert is_right(kind, answer, known, SETTINGS) == (answer == known)


def test_an_answer_or_a_gold_answer_of_another_question_is_refused_by_name():
    with pytest.raises(ValueError, match="answer 'good' is none of yes, no"):
        is_right("coref_link", "good", "yes", SETTINGS)
    with pytest.raises(BadGoldAnswer, match="gold answer True is not one of yes, no"):
        is_right("coref_link", "yes", True, SETTINGS)
    with pytest.raises(BadGoldAnswer, match="gold answer 'maybe'"):
        stratum("coref_link", "maybe")


def test_free_text_has_no_grader_and_the_error_says_so():
    with pytest.raises(UnknownName, match="'region_description' cannot be graded"):
        is_right("region_description", "a dog", "a dog", SETTINGS)
    with pytest.raises(ValueError, match="none of correct, incorrect"):
        is_right("caption_writing", "written", "correct", SETTINGS)


CAPTIONS = ("caption_writing", "caption_check")


def test_a_check_of_a_caption_is_graded_by_whether_it_describes_the_picture():
    for known, right in (("good", ("good", "bad_sentence")), ("not_described", ("not_described", "neither"))):
        answers = kinds.kind_of("caption_check").answers
        assert tuple(a for a in answers if is_right("caption_check", a, known, SETTINGS)) == right
    with pytest.raises(ValueError, match="good, not_described"):
        stratum("caption_check", "neither")


def test_every_other_question_has_a_grader():
    graded = {kind.key for kind in kinds.all_kinds() if kind.grader is not None}
    assert graded == {*ANSWERS, "relevance", "tag_relevance", "graded_relevance", *CAPTIONS}


# Drawing


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (Box(1, 1, 100, 100), True),
        (Box(1, 1, 100, 50), True),  # IoU exactly 0.5
        (Box(1, 1, 100, 49), False),
        (Box(201, 201, 300, 300), True),
        (Box(101, 101, 200, 200), False),
        (None, False),
    ],
)
def test_a_box_is_right_on_any_box_still_missing(answer, right):
    missing = (Box(1, 1, 100, 100), Box(201, 201, 300, 300))
    assert is_right("box_drawing", answer, missing, SETTINGS) == right


def test_no_further_box_is_right_where_none_is_missing_and_a_box_is_wrong_there():
    assert is_right("box_drawing", None, (), SETTINGS)
    assert not is_right("box_drawing", Box(1, 1, 9, 9), (), SETTINGS)


def test_the_overlap_a_drawing_needs_is_a_setting():
    known, near = (Box(1, 1, 100, 100),), Box(1, 1, 100, 75)
    assert is_right("box_drawing", near, known, TrustSettings(drawing_iou=0.75))
    assert not is_right("box_drawing", near, known, TrustSettings(drawing_iou=0.76))


def test_a_drawing_stands_for_drawn_or_for_none():
    assert stratum("box_drawing", (Box(1, 1, 9, 9),)) == "drawn"
    assert stratum("box_drawing", ()) == "none"


# The page of ten


@given(IMAGE)
def test_ticking_nothing_everything_or_the_opposite_is_wrong_on_every_control_image(known):
    assert pages_right(known, known)
    assert not pages_right((False,) * 10, known)
    assert not pages_right((True,) * 10, known)
    assert not pages_right(tuple(not k for k in known), known)


@given(IMAGE, st.sets(st.integers(0, 9)))
def test_a_control_image_is_right_with_one_slip_at_most_and_a_true_caption_ticked(known, slips):
    answer = tuple(k != (index in slips) for index, k in enumerate(known))
    missed_all = all(index in slips for index, k in enumerate(known) if k)
    assert pages_right(answer, known) == (len(slips) <= 1 and not missed_all)
    assert pages_right(answer, known, slips=0) == (not slips)


@given(IMAGE, st.permutations(range(10)), st.lists(st.booleans(), min_size=10, max_size=10))
def test_the_order_of_captions_does_not_matter(known, order, answer):
    assert pages_right(answer, known) == pages_right([answer[i] for i in order], [known[i] for i in order])


def test_answers_and_captions_must_be_as_many():
    with pytest.raises(ValueError, match="9 answers on a control image with 10 captions"):
        pages_right([True] * 9, [True] * 10)


@given(IMAGE)
def test_a_control_image_stands_for_its_number_of_true_captions(known):
    assert stratum("relevance", known) == str(sum(known))


@pytest.mark.parametrize("true", [0, 4, 10])
def test_a_control_image_has_one_to_three_true_captions(true):
    with pytest.raises(BadGoldAnswer, match=f"with {true} true captions: expected 1 to 3"):
        stratum("relevance", [True] * true + [False] * (10 - true))


# Grades


def test_a_grade_is_right_within_one():
    right = {(a, k) for a in range(1, 5) for k in range(1, 5) if is_right("graded_relevance", a, k, SETTINGS)}
    assert right == {(a, k) for a in range(1, 5) for k in range(1, 5) if abs(a - k) <= 1}
    assert not is_right("graded_relevance", 3, 4, TrustSettings(grade_slip=0))


def test_somebody_who_always_gives_the_same_grade_is_right_on_at_most_half_of_the_balanced_controls():
    for always in range(1, 5):
        assert sum(is_right("graded_relevance", always, known, SETTINGS) for known in (1, 4)) == 1


@pytest.mark.parametrize("known", [0, 2, 3, 5])
def test_only_the_outer_grades_can_be_known(known):
    with pytest.raises(BadGoldAnswer, match=f"gold grade {known}: expected 1 or 4"):
        stratum("graded_relevance", known)


@pytest.mark.parametrize(("answer", "known"), [(0, 1), (5, 4), (4, 5)])
def test_a_grade_off_the_scale_is_refused(answer, known):
    with pytest.raises(ValueError, match="expected grades 1 to 4"):
        is_right("graded_relevance", answer, known, SETTINGS)


def test_single_experts_would_pass_the_outer_grades_and_fail_an_exact_rule_on_the_middle_ones(real_data):
    file = real_data / "flickr8k" / "ExpertAnnotations.txt"
    within: dict[int, list[bool]] = {grade: [] for grade in range(1, 5)}
    equal: dict[int, list[bool]] = {grade: [] for grade in range(1, 5)}
    for line in file.read_text().splitlines():
        grades = [int(grade) for grade in line.split()[-3:]]
        for judge in range(3):
            first, second = grades[:judge] + grades[judge + 1 :]
            if first == second:
                within[first].append(is_right("graded_relevance", grades[judge], first, SETTINGS))
                equal[first].append(grades[judge] == first)

    def share(answers):
        return sum(answers) / len(answers)

    assert min(share(within[1]), share(within[4])) > 0.99
    assert max(share(equal[2]), share(equal[3])) < 0.7 < SETTINGS.bar
