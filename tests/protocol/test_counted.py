"""Questions whose votes are only counted: a fixed number of answers each, whatever they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.counted import AnswerSettings, CountedFold, CountedQuestion
from annotation.protocol.questions import DOUBLE_CHECK, EXTRA, VOTE, Judgment, withdraw_judgments
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE

KEYS = [f"{GRADED_RELEVANCE}|a|a#{n}" for n in range(3)]
QUESTIONS = [
    CountedQuestion(GRADED_RELEVANCE, key, answers) for key, answers in zip(KEYS, (1, 2, 3), strict=True)
]

votes = st.builds(
    lambda number, key, worker, grade, flag, role, withdrawn: Judgment(
        f"j{number}",
        key,
        worker,
        "" if flag else grade,
        flag="offensive" if flag else "",
        role=role,
        withdrawn=withdrawn,
    ),
    st.integers(0, 10**6),
    st.sampled_from([*KEYS, f"{GRADED_RELEVANCE}|b|b#0"]),
    st.sampled_from("uvwxyz"),
    st.sampled_from("1234"),
    st.booleans(),
    st.sampled_from([VOTE, VOTE, VOTE, DOUBLE_CHECK, EXTRA]),
    st.booleans(),
)
histories = st.lists(votes, max_size=25, unique_by=lambda vote: (vote.worker, vote.key))


@given(histories)
def test_a_question_is_open_until_it_has_its_answers_or_two_workers_report_it(history: list[Judgment]):
    state = CountedFold(QUESTIONS)(history)
    open_ones = {question.key: question for question in state.questions}
    for requested in QUESTIONS:
        valid = [j for j in history if j.key == requested.key and j.role == VOTE and not j.withdrawn]
        answers, flags = [j for j in valid if not j.flag], [j for j in valid if j.flag]
        missing = max(0, requested.needed - len(answers))
        assert (requested.key in open_ones) == (missing > 0 and len(flags) < 2)
        if requested.key in open_ones:
            assert open_ones[requested.key].needed == missing
            assert open_ones[requested.key].barred == {j.worker for j in valid}
    assert state.complete == (not open_ones)


@given(histories)
def test_what_is_open_does_not_depend_on_the_order_in_which_keys_were_answered(history: list[Judgment]):
    by_key = sorted(history, key=lambda judgment: judgment.key)
    assert CountedFold(QUESTIONS)(history).questions == CountedFold(QUESTIONS)(by_key).questions


@given(histories, st.sampled_from("uvwxyz"))
def test_answers_that_are_withdrawn_are_asked_for_again(history: list[Judgment], worker: str):
    left = withdraw_judgments(history, worker=worker, question=GRADED_RELEVANCE)
    never = [j for j in history if j.worker != worker]
    assert CountedFold(QUESTIONS)(left) == CountedFold(QUESTIONS)(never)


def test_answers_beyond_those_wanted_are_superseded():
    given_twice = [Judgment("first", KEYS[0], "u", "4"), Judgment("second", KEYS[0], "v", "1")]
    assert CountedFold(QUESTIONS)(given_twice).superseded == ("second",)


def test_two_questions_of_one_key_are_refused():
    with pytest.raises(ValueError, match="same key"):
        CountedFold([QUESTIONS[0], QUESTIONS[0]])


def test_numbers_beyond_their_bounds_are_refused_by_name() -> None:
    for numbers, wrong in (
        ({"most_words": 151}, "most_words is 151: expected"),
        ({"fewest_words": 61}, "most_words is 60: expected at least the 61 of fewest_words"),
    ):
        with pytest.raises(ValueError, match=wrong):
            AnswerSettings(**numbers)
    assert AnswerSettings(fewest_words=150, most_words=150).number("most_words") == 150


@pytest.mark.parametrize(
    "name", ["relevance", "graded_relevance", "caption_writing", "region_description", "regions"]
)
def test_settings_below_one_are_refused_by_name(name: str):
    with pytest.raises(ValueError, match=f"{name} is 0"):
        AnswerSettings(**{name: 0})
