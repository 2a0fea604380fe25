"""Drawers: judged by later verdicts on their boxes, and stopped while there are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.trust import (
    SUSPENDED,
    TRUSTED,
    WARM_UP,
    BoxJudged,
    Event,
    TaskAnswered,
    refuse_drawing_ahead,
    replay,
    trust_after,
)
from annotation.protocol.trust_settings import TrustSettings
from tests.protocol.trust_states import ADMITTED, SETTINGS, answered, in_warm_up


def test_drawers_are_judged_by_the_boxes_that_pass_quality_whenever_the_verdicts_come():
    drew = replay("box_drawing", [*ADMITTED, *[TaskAnswered()] * 40], SETTINGS)
    assert drew.state == WARM_UP
    good, bad = [BoxJudged(True)] * 20, [BoxJudged(False)] * 10

    def later(verdicts):
        trust_state = drew
        for verdict in verdicts:
            trust_state = trust_after(trust_state, verdict, SETTINGS)
        return trust_state

    assert later([*bad, *good]).state == SUSPENDED
    assert later([*bad[:9], *good, BoxJudged(True)]).state == TRUSTED
    assert later(good).items == 40


def test_a_drawer_is_judged_later_over_a_longer_window_and_at_a_lower_bar_than_others():
    settings = TrustSettings()
    unlucky = [True] * 12 + [False] * 6 + [True] * 82
    trust_state = replay("box_drawing", ADMITTED, settings)
    for good in unlucky:
        trust_state = trust_after(trust_state, BoxJudged(good), settings)
    assert trust_state.state != SUSPENDED and len(trust_state.last) == 100
    assert answered("coref_link", unlucky).state == SUSPENDED
    thirty = replay("box_drawing", ADMITTED, settings)
    for good in [True] * 20 + [False] * 10:
        assert thirty.state != SUSPENDED
        thirty = trust_after(thirty, BoxJudged(good), settings)
    assert thirty.state == SUSPENDED


@pytest.mark.parametrize(("good", "bad", "verdicts"), [(0, 10, 12), (5, 10, 15), (20, 10, 30)])
def test_a_drawer_who_cannot_reach_the_bar_by_the_thirtieth_verdict_is_suspended_before_it(
    good, bad, verdicts
):
    trust_state = replay("box_drawing", ADMITTED, SETTINGS)
    provided = 0
    for passed in [*[True] * good, *[False] * (bad + 2)]:
        if trust_state.state == SUSPENDED:
            break
        trust_state = trust_after(trust_state, BoxJudged(passed), SETTINGS)
        provided += 1
    assert (trust_state.state, provided) == (SUSPENDED, verdicts)


def test_a_drawer_in_warm_up_stops_at_twelve_boxes_that_nobody_has_looked_at():
    assert refuse_drawing_ahead(in_warm_up("box_drawing"), 11, SETTINGS) is None
    stopped = refuse_drawing_ahead(in_warm_up("box_drawing"), 12, SETTINGS)
    assert stopped is not None and stopped.code == "unjudged"
    assert "12 of your boxes: choose another task" in stopped.text and "60 min at the latest" in stopped.text


def test_nobody_but_a_drawer_in_warm_up_is_stopped_for_boxes():
    assert refuse_drawing_ahead(in_warm_up("box_quality"), 100, SETTINGS) is None
    drawn: list[Event] = [TaskAnswered(), BoxJudged(True)]
    done = [*ADMITTED, *drawn * 30]
    assert refuse_drawing_ahead(replay("box_drawing", done, SETTINGS), 100, SETTINGS) is None
    assert refuse_drawing_ahead(in_warm_up("box_drawing"), 100, TrustSettings(drawing_unjudged=0)) is None


@given(st.lists(st.booleans(), min_size=30, max_size=30))
def test_waiting_for_thirty_verdicts_would_suspend_the_same_drawers(verdicts):
    trust_state = replay("box_drawing", [*ADMITTED, *map(BoxJudged, verdicts)], SETTINGS)
    assert (trust_state.state == SUSPENDED) == (sum(verdicts) / 30 < 0.7)
