"""Fifteen settings are selected on held-out pairs, and their rankings combined."""

import numpy as np
import pytest

from models_core.estimators.kcca.kcca import unit
from models_core.estimators.kcca.selection import (
    SelectedKCCA,
    Setting,
    Trial,
    choose_settings,
    prefix_scores,
    recall_at_cutoffs,
    sizes,
)
from phrasebox.scoring import ranking
from tests.models_core.estimators.kernel_methods.kernels import kernels


def test_the_sizes_are_46_from_ten_to_all_in_equal_ratios():
    result = sizes(6000)
    assert len(result) == 46
    assert (result[0], result[-1]) == (10, 6000)
    assert np.ptp(np.log(result[20:])[1:] - np.log(result[20:])[:-1]) < 0.02
    assert sizes(4) == [4]


def test_prefixes_score_as_if_only_they_were_there():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((5, 9)), rng.standard_normal((7, 9))
    for size, scores in prefix_scores(x, y, [1, 4, 9]):
        np.testing.assert_allclose(scores, unit(x[:, :size]) @ unit(y[:, :size]).T)


def test_recall_counts_the_best_of_an_images_sentences():
    scores = np.array([[5.0, 9.0, 8.0, 1.0], [7.0, 6.0, 5.0, 4.0]])
    owner = np.array([0, 0, 1, 1])
    # Image 0 ranks its second sentence first; image 1 ranks sentence 2 third.
    assert recall_at_cutoffs(scores, owner, "annotation") == (0.5, 1.0, 1.0)
    # Sentences 1 and 3 rank their image first, 0 and 2 do not.
    assert recall_at_cutoffs(scores, owner, "search") == (0.5, 1.0, 1.0)


def test_five_settings_a_cut_off_are_picked_and_ties_go_to_the_earlier():
    shares = [(0.1, 0.5, 0.9), (0.2, 0.5, 0.8), (0.3, 0.5, 0.7)]
    trials = [
        Trial(Setting(0.1, 10 + index), {"annotation": share, "search": share[::-1]})
        for index, share in enumerate(shares)
    ]
    picked = [setting.dimensions for setting in choose_settings(trials, "annotation", picks=2)]
    assert picked == [12, 11, 10, 11, 10, 11]
    assert [s.dimensions for s in choose_settings(trials, "search", picks=1)] == [10, 10, 12]


def selected(**settings):
    provided = kernels(90, 40)
    held, test = slice(0, 20), slice(20, 40)
    model = SelectedKCCA((0.1, 5.0), number=6, **settings).fit(
        provided.x, provided.y, provided.new_x[held], provided.new_y[held]
    )
    return model, provided.new_x[test], provided.new_y[test]


def test_fifteen_rankings_are_combined_by_borda():
    model, x, y = selected()
    for direction in ("annotation", "search"):
        chosen = model.chosen_[direction]
        assert len(chosen) == 15
        places = []
        for kappa, size in chosen:
            scores = model.models_[kappa].first(size).score_pairs(x, y)
            places.append(ranking.positions(scores if direction == "annotation" else scores.T))
        expected = ranking.borda(np.stack(places))
        result = model.score_pairs(x, y, direction=direction)
        # Rankings, not numbers: the cosines differ in their last bits.
        result = result if direction == "annotation" else result.T
        np.testing.assert_array_equal(ranking.positions(result), ranking.positions(expected))


def test_borda_of_settings_is_a_hand_worked_case():
    # Three rankings of items a, b, c: a b c, a c b, c b a. Sums of 3 - r: a 3+3+1, b 2+1+2, c 1+2+3.
    places = [[[0, 1, 2]], [[0, 2, 1]], [[2, 1, 0]]]
    assert np.argsort(-ranking.borda(np.array(places))[0]).tolist() == [0, 2, 1]
    # Four rankings: a has places 0 0 3 3, b 1 1 2 2: all sum to 10, all medians are 1.5.
    even = ranking.borda(np.array([[[0, 1, 2, 3]], [[0, 1, 2, 3]], [[3, 2, 1, 0]], [[3, 2, 1, 0]]]))[0]
    assert len(set(even.tolist())) == 1
    # a has places 0 0 3, b 1 1 1, c 2 2 0, d 3 3 2: a and b sum to 9 both, and a's median 0 decides.
    decided = ranking.borda(np.array([[[0, 1, 2, 3]], [[0, 1, 2, 3]], [[3, 1, 0, 2]]]))[0]
    assert np.argsort(-decided).tolist() == [0, 1, 2, 3]


def test_settings_are_judged_on_all_sizes_of_all_regularisers():
    model, _, _ = selected()
    assert {trial.setting.kappa for trial in model.trials_} == {0.1, 5.0}
    best = max(trial.recall["search"][0] for trial in model.trials_)
    first = next(t for t in model.trials_ if t.setting == model.chosen_["search"][0])
    assert first.recall["search"][0] == best


def test_a_stored_selection_ranks_the_same(tmp_path):
    model, x, y = selected(picks=2)
    model.save(tmp_path / "system")
    again = SelectedKCCA.load(tmp_path / "system")
    assert (again.chosen_, again.trials_, again.picks) == (model.chosen_, model.trials_, 2)
    for direction in ("annotation", "search"):
        np.testing.assert_array_equal(
            again.score_pairs(x, y, direction=direction), model.score_pairs(x, y, direction=direction)
        )


def test_owners_that_name_no_image_are_refused():
    provided = kernels(30, 5)
    with pytest.raises(ValueError, match="5 held-out images and 4 sentences"):
        SelectedKCCA().fit(provided.x, provided.y, provided.new_x, provided.new_y[:4])
    with pytest.raises(ValueError, match="expected 5 of 0..4"):
        SelectedKCCA().fit(provided.x, provided.y, provided.new_x, provided.new_y, [0, 1, 2, 3, 5])
