"""The table of the box loop: every row as specified, every other pair refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol import boxes as loop
from annotation.protocol.boxes import (
    TRANSITIONS,
    BoxLimits,
    BoxState,
    IllegalMove,
    Outcome,
    WorkerBox,
    apply,
    enter_box_loop,
    legal,
)
from annotation.protocol.terms import Box

LIMITS = BoxLimits()
OUTCOMES = sorted({row.outcome for row in TRANSITIONS})


def drawn(number: int) -> WorkerBox:
    return WorkerBox(Box(number, 1, number + 5, 6), f"j{number}", "ann")


states = st.builds(
    BoxState,
    chain=st.just("c"),
    stage=st.sampled_from(loop.BOX_STAGES),
    boxes=st.lists(st.integers(1, 40).map(drawn), max_size=30).map(tuple),
    pending=st.none() | st.integers(1, 40).map(drawn),
    fruitless=st.integers(0, 3),
    flags=st.frozensets(st.sampled_from(["a", "b"])),
)


@given(states, st.sampled_from(OUTCOMES))
def test_every_pair_of_stage_and_outcome_is_legal_or_raises(state, outcome):
    if state.stage == loop.QUALITY and state.pending is None:
        return  # no history leads there: QUALITY is entered with a box pending
    given_outcome = Outcome(outcome, drawn(7) if outcome == loop.BOX_DRAWN else None, "none")
    if outcome in legal(state, LIMITS):
        after, row = apply(state, given_outcome, LIMITS)
        assert after.stage == row.next and row.stage == state.stage
        assert after.fruitless <= LIMITS.fruitless and len(after.boxes) <= LIMITS.boxes + 1
    else:
        with pytest.raises(IllegalMove) as caught:
            apply(state, given_outcome, LIMITS)
        assert all(word in str(caught.value) for word in ("c", state.stage, outcome))


def test_closed_stages_know_no_outcome():
    for stage in loop.CLOSED_BOX_STAGES:
        assert legal(BoxState("c", stage), LIMITS) == ()


def test_the_legal_pairs_are_those_of_the_specification():
    assert {(row.stage, row.outcome) for row in TRANSITIONS} == {
        ("REQUIREMENT", "BOX"), ("REQUIREMENT", "NO_BOX"), ("REQUIREMENT", "FLAGGED"),
        ("DRAWING", "DRAWN"), ("DRAWING", "NONE"), ("DRAWING", "FLAGGED"),
        ("QUALITY", "GOOD"), ("QUALITY", "BAD"), ("QUALITY", "FLAGGED"),
        ("COVERAGE", "MORE"), ("COVERAGE", "COMPLETE"), ("COVERAGE", "FLAGGED"),
        ("REVIEW", "CLOSE_BOXED"), ("REVIEW", "CLOSE_NON_VISUAL"),
        ("REVIEW", "RESUME"), ("REVIEW", "EXCLUDE"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("categories", "stage"),
    [
        (("people",), "DRAWING"), (("clothing",), "DRAWING"), (("bodyparts",), "DRAWING"),
        (("other", "people"), "DRAWING"), (("animals",), "REQUIREMENT"), (("scene",), "REQUIREMENT"),
        (("other",), "REQUIREMENT"), ((), "REQUIREMENT"),
    ],
)  # fmt: skip
def test_people_clothing_and_bodyparts_are_drawn_at_once(categories, stage):
    assert enter_box_loop("c", categories).stage == stage


def test_the_fourth_fruitless_drawing_in_a_row_goes_to_review():
    state = BoxState("c", loop.DRAWING, boxes=(drawn(1),))
    seen = []
    for _ in range(4):
        state, _row = apply(state, Outcome(loop.NONE), LIMITS)
        seen.append((state.stage, state.fruitless))
        if state.stage == loop.COVERAGE:
            state, _row = apply(state, Outcome(loop.MORE), LIMITS)
    assert seen == [("COVERAGE", 1), ("COVERAGE", 2), ("COVERAGE", 3), ("REVIEW", 3)]


def test_a_good_box_forgives_what_was_fruitless():
    state = BoxState("c", loop.QUALITY, pending=drawn(2), fruitless=3)
    after, _ = apply(state, Outcome(loop.BOX_GOOD), LIMITS)
    assert (after.stage, after.boxes, after.pending, after.fruitless) == ("COVERAGE", (drawn(2),), None, 0)


def test_nothing_to_draw_and_nothing_drawn_asks_again_whether_a_box_is_required_with_one_no():
    after, _ = apply(BoxState("c", loop.DRAWING), Outcome(loop.NONE), LIMITS)
    assert (after.stage, after.opening, after.fruitless) == ("REQUIREMENT", ("no",), 1)


def test_the_cap_on_boxes_sends_a_crowd_to_review():
    full = BoxState("c", loop.COVERAGE, boxes=tuple(drawn(i) for i in range(1, 31)))
    assert apply(full, Outcome(loop.MORE), LIMITS)[0].stage == "REVIEW"


def test_a_flag_keeps_the_pending_box_and_resuming_asks_for_its_quality():
    state = BoxState("c", loop.QUALITY, pending=drawn(3), fruitless=2, flags=frozenset("ab"))
    held, _ = apply(state, Outcome(loop.FLAGGED), LIMITS)
    assert held.pending == drawn(3)
    resumed, _ = apply(held, Outcome(loop.RESUME), LIMITS)
    assert (resumed.stage, resumed.fruitless, resumed.flags) == ("QUALITY", 0, frozenset())


@pytest.mark.parametrize(
    ("votes", "kind"),
    [(("scene", "scene"), "scene"), (("none", "scene"), "scene"), (("none", "none"), "none"),
     (("no", "none"), "none"), (("no", "scene"), "scene"), (("box", "none", "scene"), "scene")],
)  # fmt: skip
def test_scene_wins_where_it_is_not_outvoted(votes, kind):
    assert loop.non_visual_kind(votes) == kind


def test_the_diagram_draws_every_row():
    drawing = loop.mermaid()
    assert drawing.startswith("stateDiagram-v2")
    for row in TRANSITIONS:
        assert f"{row.stage} --> {row.next}: {row.outcome}" in drawing
