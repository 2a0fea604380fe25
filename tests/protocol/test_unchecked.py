"""The rules of trust without control items."""

from __future__ import annotations

import pytest

from annotation.protocol import kinds
from annotation.protocol.questions import BOX_DRAWING, COREF_LINK
from annotation.protocol.trust import (
    QUALIFICATION,
    SUSPENDED,
    TRUSTED,
    UNCHECKED,
    WARM_UP,
    TaskAnswered,
    WorkerJoined,
    replay,
    trust_reading,
    why_not,
)
from annotation.protocol.trust_settings import (
    GoldCoverage,
    TrustSettings,
    in_force,
    practice_is_entry,
)
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from tests.protocol.trust_states import SETTINGS

NOTHING_KNOWN, ALL_KNOWN = GoldCoverage(False, False), GoldCoverage(True, True)


def test_where_everything_is_known_the_settings_are_in_force_as_they_stand():
    assert in_force(SETTINGS, ALL_KNOWN) == SETTINGS


def test_without_items_for_a_test_somebody_who_comes_is_let_in_after_practice():
    rules = in_force(SETTINGS, GoldCoverage(False, True))
    trust_state = replay(COREF_LINK, [WorkerJoined()], rules)
    assert trust_state.state == WARM_UP and why_not(trust_state, rules) is None
    assert practice_is_entry(COREF_LINK, SETTINGS, GoldCoverage(False, True))
    assert not practice_is_entry(COREF_LINK, SETTINGS, GoldCoverage(True, False))
    assert not practice_is_entry(COREF_LINK, TrustSettings(qualification=False), NOTHING_KNOWN)
    assert not practice_is_entry(REGION_DESCRIPTION, SETTINGS, NOTHING_KNOWN)


def test_reputation_is_asked_for_all_the_same():
    error = why_not(replay(COREF_LINK, [WorkerJoined(3, 1.0)], in_force(SETTINGS, NOTHING_KNOWN)), SETTINGS)
    assert error is not None and error.code == "too_few_tasks"


@pytest.mark.parametrize("kind", [COREF_LINK, BOX_DRAWING])
def test_a_warm_up_that_nothing_can_end_reads_unchecked_and_is_one_again_with_control_items(kind):
    rules = in_force(SETTINGS, NOTHING_KNOWN)
    trust_state = replay(kind, [WorkerJoined(), *[TaskAnswered()] * 500], rules)
    assert trust_state.items == 500
    assert trust_reading(kind, trust_state.state, NOTHING_KNOWN, examined=False) == UNCHECKED
    assert trust_reading(kind, trust_state.state, ALL_KNOWN, examined=False) == WARM_UP


def test_what_was_earned_is_read_whatever_became_of_the_items():
    for state in (QUALIFICATION, TRUSTED, SUSPENDED):
        assert trust_reading(COREF_LINK, state, NOTHING_KNOWN, examined=False) == state


@pytest.mark.parametrize(("examined", "read"), [(True, TRUSTED), (False, UNCHECKED)])
def test_writers_are_trusted_by_their_test_and_unchecked_without_one(examined, read):
    assert trust_reading(CAPTION_WRITING, TRUSTED, GoldCoverage(examined, False), examined=examined) == read


@pytest.mark.parametrize(
    ("provided", "share"),
    [({}, 0.2), ({"double_check_share": 0.5}, 0.5), ({"double_check_share": 0.0}, 0.0)],
    ids=str,
)
def test_a_fifth_is_asked_twice_unless_more_is_or_nothing(provided, share):
    settings = TrustSettings(**provided)
    assert in_force(settings, GoldCoverage(True, False)).double_check_share == share
    assert in_force(settings, GoldCoverage(False, True)).double_check_share == settings.double_check_share


def test_no_drawer_waits_for_verdicts_that_tell_nothing():
    assert in_force(SETTINGS, GoldCoverage(True, False)).drawing_unjudged == 0
    assert set(kinds.names()) >= {BOX_DRAWING}
