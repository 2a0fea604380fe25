"""Grids of settings: the selected value is the best of the extended grid, and is reported."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models_core.estimators import cca
from models_core.estimators.base import FitContext
from models_core.estimators.cca import CCA, CCASettings
from models_core.estimators.embeddings import LinearMap
from models_core.estimators.grids import UNUSABLE, Axis, Grid
from tests.models_core.estimators.vectors import paired

RIDGES, STEPS = (1e-4, 1e-2, 1e-1, 1.0, 10.0), 4
#: The ridges, four steps of the upper ratio beyond them, and four of the lower ratio.
EXTENDED = (*(10.0 ** -(4 + 2 * n) for n in range(STEPS, 0, -1)), *RIDGES, 1e2, 1e3, 1e4, 1e5)


def search(grid, figure_of):
    tried: list[tuple[float, ...]] = []
    while (setting := grid.next_setting(tried)) is not None:
        assert setting not in [row[:-1] for row in tried]
        tried.append((*setting, figure_of(*setting)))
    return tried


def single(values, steps=STEPS, **more):
    return Grid((Axis("ridge", values, **more),), "recall", steps)


@st.composite
def unimodal_curves(draw):
    """Draw a figure for each ridge of the extended grid that rises to a maximum, or falls, or both."""
    peak = draw(st.integers(0, len(EXTENDED) - 1))
    drops = draw(st.lists(st.floats(0.001, 0.05), min_size=len(EXTENDED), max_size=len(EXTENDED)))
    figures = [1.0] * len(EXTENDED)
    for index in range(peak + 1, len(EXTENDED)):
        figures[index] = figures[index - 1] - drops[index]
    for index in range(peak - 1, -1, -1):
        figures[index] = figures[index + 1] - drops[index]
    return dict(zip((float(f"{ridge:.6g}") for ridge in EXTENDED), figures, strict=True))


@given(unimodal_curves())
def test_cca_takes_the_best_ridge_of_the_extended_grid(curve):
    train, held_out = paired(20, held_out=12)
    number = len(train.images[0])
    with pytest.MonkeyPatch.context() as patch:

        def maps_that_tell_their_ridge(result, components, ridge):
            side = LinearMap(np.full(number, ridge), np.zeros((number, 1)))
            return cca.CanonicalMaps(side, side, np.ones(1))

        patch.setattr(cca, "canonical_maps", maps_that_tell_their_ridge)
        patch.setattr(CCA, "held_out_recall", lambda self, _: curve[float(self.images_.mean[0])])
        model = CCA(CCASettings(1, False, RIDGES)).fit(train, held_out, FitContext())
    assert model.ridge_ == max(curve, key=curve.__getitem__)
    assert bool(model.selection_) == (
        not RIDGES[0] < model.ridge_ < RIDGES[-1] and model.ridge_ not in RIDGES
    )


@given(unimodal_curves(), st.integers(0, 6))
def test_no_more_values_are_tried_than_the_best_end_asks_for(curve, steps):
    values = [row[0] for row in search(single(RIDGES, min(steps, STEPS)), lambda ridge: curve[ridge])]
    beyond = [value for value in values if value not in RIDGES]
    assert len(beyond) <= max(1, min(steps, STEPS)) and values[: len(RIDGES)] == list(RIDGES)
    best = max(values, key=curve.__getitem__)
    assert all(curve[a] < curve[b] for a, b in zip(beyond, beyond[1:], strict=False) if b != values[-1]) and (
        curve[best] >= max(curve[value] for value in RIDGES)
    )


@given(st.integers(0, 3), st.integers(0, 3), st.data())
def test_of_two_axes_all_values_are_crossed(rate_steps, decay_steps, data):
    """A figure that falls with the distance from a peak beyond both ends."""
    peak = 2.0 ** (2 + rate_steps), 8.0 * 4**decay_steps
    grid = Grid((Axis("rate", (1.0, 2.0, 4.0)), Axis("decay", (0.0, 2.0, 8.0))), "recall", STEPS)
    scale = data.draw(st.floats(0.1, 10))

    def figure(rate, decay):
        return 1 / (1 + scale * (abs(rate - peak[0]) + abs(decay - peak[1])))

    tried = search(grid, figure)
    assert grid.best(tried) == peak
    rates, decays = ({row[axis] for row in tried} for axis in (0, 1))
    assert {row[:2] for row in tried} == set(product(rates, decays))


def test_a_search_that_goes_on_asks_for_what_a_whole_one_asks_for():
    grid = single(RIDGES)
    whole = search(grid, lambda ridge: ridge)
    for done in range(len(whole)):
        assert grid.next_setting(whole[:done]) == whole[done][:1]


def test_it_says_where_the_grid_was_left_and_how_the_figure_moved():
    grid = single(RIDGES)
    assert grid.remarks(
        search(
            grid,
            {
                **dict(zip(RIDGES, np.linspace(0.3, 0.333, 5), strict=False)),
                100: 0.34,
                1e3: 0.35,
                1e4: 0.4,
                1e5: 0.39,
            }.get,
        )
    ) == (
        (
            "ridge 10000: chosen beyond the grid 0.0001 .. 10, which was extended to 0.0001 .. 100000; "
            "held-out recall moved from 0.333 to 0.400"
        ),
    )
    assert grid.remarks(search(grid, lambda ridge: ridge / 1e6)) == (
        (
            "ridge 100000: chosen at the end of the extended grid 0.0001 .. 100000; "
            "held-out recall moved from 0.000 to 0.100"
        ),
    )
    closed = single(RIDGES, steps=0)
    assert closed.remarks(search(closed, lambda ridge: ridge / 100)) == (
        (
            "ridge 10: chosen at the end of the grid 0.0001 .. 10, which was not extended; "
            "held-out recall is 0.100, and larger values may do better"
        ),
    )
    assert grid.remarks(search(grid, lambda ridge: -abs(ridge - 10))) == ()


@pytest.mark.parametrize(
    ("grid", "values"),
    [
        (single((0.5,)), [0.5]),  # nothing is selected
        (single((0.0, 3.0)), [0.0, 3.0]),  # no ratio
        (single((5, 10, 20), whole=True, most=70), [5, 10, 20, 40]),
        (single((1, 2), steps=1, whole=True), [1, 2, 4]),
    ],
)
def test_ends_that_mean_nothing_beyond_stay(grid, values):
    assert [row[0] for row in search(grid, float)] == values


def test_a_grid_of_settings_that_cannot_be_used_is_not_extended():
    assert len(search(single(RIDGES), lambda ridge: UNUSABLE)) == len(RIDGES)
    assert single(RIDGES).best(search(single(RIDGES), lambda r: UNUSABLE if r < 1 else r)) == (1e5,)
