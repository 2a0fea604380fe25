"""Admission to a kind of question: its conditions, and the text of a refusal."""

from __future__ import annotations

from itertools import permutations

import pytest

from annotation.protocol import kinds
from annotation.protocol.trust import (
    QUALIFICATION,
    TRUSTED,
    WARM_UP,
    ControlGraded,
    Event,
    QualificationTaken,
    TaskAnswered,
    WorkerJoined,
    replay,
    trust_after,
    why_not,
)
from annotation.protocol.trust_settings import TrustSettings, kinds_tested
from tests.protocol.trust_states import ADMITTED, SETTINGS, answered, in_warm_up


def test_who_entered_and_passed_the_test_is_in_warm_up():
    assert in_warm_up().state == WARM_UP


@pytest.mark.parametrize("order", list(permutations([WorkerJoined(500, 0.95), QualificationTaken(8, 10)])))
def test_reputation_and_test_admit_in_either_order_and_exactly_at_the_bar(order):
    assert replay("coref_link", order, SETTINGS).state == WARM_UP


@pytest.mark.parametrize(
    ("kind", "events", "code", "text"),
    [
        (
            "coref_link",
            [],
            "not_entered",
            "You have not joined this task yet: join it from your list of tasks.",
        ),
        (
            "coref_link",
            [WorkerJoined(tasks=120, approved=0.99), QualificationTaken(10, 10)],
            "too_few_tasks",
            (
                "This task needs 500 finished tasks on your platform and you have 120: "
                "come back when you have 500."
            ),
        ),
        (
            "coref_link",
            [WorkerJoined(tasks=700, approved=0.9496)],
            "too_few_approved",
            (
                "This task needs an approval rate of 95 % on your platform, and yours is 94.96 %: come back "
                "when more of your work is approved."
            ),
        ),
        (
            "coref_link",
            [WorkerJoined()],
            "no_test",
            "This task begins with a short test, which you have not taken yet: take the test.",
        ),
        (
            "coref_link",
            [WorkerJoined(), QualificationTaken(7, 10)],
            "test_failed",
            (
                "You had 7 of 10 right in the test and 8 are needed: "
                "read the instructions again, then retake the test."
            ),
        ),
        (
            "relevance",
            [WorkerJoined(), QualificationTaken(4, 6)],
            "test_failed",
            (
                "You had 4 of 6 right in the test and 5 are needed: "
                "read the instructions again, then retake the test."
            ),
        ),
        (
            "coref_link",
            [*ADMITTED, *[ControlGraded(False)] * 12],
            "suspended",
            (
                "Fewer than 80 % of your checked answers were right, so this task is suspended for you: "
                "choose another task, or ask the researcher to look at your answers."
            ),
        ),
    ],
)
def test_a_refusal_is_one_sentence_that_says_what_is_missing_and_what_to_do(kind, events, code, text):
    refusal = why_not(replay(kind, events, SETTINGS), SETTINGS)
    assert refusal is not None
    assert (refusal.code, refusal.text) == (code, text)


@pytest.mark.parametrize("answers", [[], [True] * 30])
def test_nothing_is_refused_in_warm_up_or_when_trusted(answers):
    assert why_not(answered("coref_link", answers), SETTINGS) is None


def test_a_test_failed_can_be_retaken_and_a_test_passed_is_never_lost():
    waiting = replay(
        "coref_link",
        [
            WorkerJoined(10, 0.99),
            QualificationTaken(2, 10),
            QualificationTaken(9, 10),
            QualificationTaken(2, 10),
        ],
        SETTINGS,
    )
    assert waiting.state == QUALIFICATION
    assert trust_after(waiting, WorkerJoined(600, 0.99), SETTINGS).state == WARM_UP


def test_a_better_reputation_admits_and_a_worse_one_later_changes_nothing():
    events: list[Event] = [WorkerJoined(499, 0.99), QualificationTaken(9, 10), WorkerJoined(500, 0.99)]
    assert replay("coref_link", events, SETTINGS).state == WARM_UP
    assert replay("coref_link", [*events, WorkerJoined(500, 0.5)], SETTINGS).state == WARM_UP


def test_without_a_qualification_entering_is_enough():
    assert replay("coref_link", [WorkerJoined()], TrustSettings(qualification=False)).state == WARM_UP


def test_settings_relaxed_later_admit_at_the_next_event():
    waiting = replay("coref_link", [WorkerJoined()], SETTINGS)
    relaxed = TrustSettings(qualification=False)
    assert why_not(waiting, relaxed) is None
    assert trust_after(waiting, TaskAnswered(), relaxed).state == WARM_UP


def test_writers_have_no_gold_answers_and_so_no_warm_up():
    assert in_warm_up("caption_writing").state == TRUSTED
    assert replay("region_description", [WorkerJoined()], SETTINGS).state == TRUSTED


def test_what_nobody_can_grade_has_no_test():
    assert kinds_tested(kinds.names(), SETTINGS) == tuple(
        kind for kind in kinds.names() if kind != "region_description"
    )
    assert kinds_tested(kinds.names(), TrustSettings(qualification=False)) == ()


@pytest.mark.parametrize(("right", "requested"), [(0, 0), (3, 2), (-1, 2)])
def test_a_test_that_cannot_be_is_refused(right, requested):
    with pytest.raises(ValueError, match=f"{right} right of {requested}"):
        QualificationTaken(right, requested)
