"""The value of a saving for a list of prices."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from annotation.protocol.answer_times import (
    DRAWING_SECONDS,
    LOOKING_SECONDS,
    DrawingsAndLooks,
    drawings_and_looks,
    saved_share,
    saved_shares,
    table_of_savings,
)
from annotation.protocol.questions import BOX_DRAWING, QUESTIONS

ANSWERS = st.lists(st.sampled_from(QUESTIONS), min_size=1, max_size=40)
PRICES = {
    "drawing": st.floats(7, 35, allow_subnormal=False),
    "looking": st.floats(2, 9, allow_subnormal=False),
}


def counts_of(answers: list[str]) -> DrawingsAndLooks:
    return drawings_and_looks({kind: answers.count(kind) for kind in set(answers)})


@given(before=ANSWERS, after=ANSWERS, **PRICES)
def test_the_share_is_that_of_the_seconds_of_the_answers_one_by_one(
    before: list[str], after: list[str], drawing: float, looking: float
) -> None:
    spent = [
        sum(drawing if kind == BOX_DRAWING else looking for kind in answers) for answers in (before, after)
    ]
    share = saved_share(counts_of(before), counts_of(after), drawing=drawing, looking=looking)
    assert share == pytest.approx(1 - spent[1] / spent[0])


@given(before=ANSWERS, after=ANSWERS, more=st.floats(0, 28), **PRICES)
def test_dearer_drawing_saves_more_where_relatively_more_drawings_than_looks_are_saved(
    before: list[str], after: list[str], more: float, drawing: float, looking: float
) -> None:
    counts, two = counts_of(before), counts_of(after)
    assume(counts.drawing * two.looking >= two.drawing * counts.looking)
    cheap = saved_share(counts, two, drawing=drawing, looking=looking)
    assert saved_share(counts, two, drawing=drawing + more, looking=looking) >= cheap - 1e-9
    assert saved_share(counts, two, drawing=drawing, looking=looking + more) <= cheap + 1e-9


def test_the_grid_has_a_row_for_each_look_and_a_column_for_each_drawing() -> None:
    before, after = DrawingsAndLooks(14.06, 60.54), DrawingsAndLooks(3.81, 61.02)
    shares = saved_shares(before, after)
    assert (len(shares), len(shares[0])) == (len(LOOKING_SECONDS), len(DRAWING_SECONDS))
    assert (DRAWING_SECONDS[0], DRAWING_SECONDS[-1]) == (7, 35)
    assert (LOOKING_SECONDS[0], LOOKING_SECONDS[-1]) == (2, 9)
    text = table_of_savings(shares).splitlines()
    assert text[0].split()[-2:] == ["35", "s"] and text[-1].split()[2] == "+10.5%"
    assert saved_share(DrawingsAndLooks(0, 0), after, drawing=7, looking=2) == 0
