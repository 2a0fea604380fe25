"""Wsabie: each step equals that of a slow reference; rate and norm are selected on held-out images."""

import numpy as np
import pytest
from scipy import sparse

from models_core import checkpoints
from models_core.checkpoints import Checkpoints
from models_core.estimators.base import Dataset, FitContext
from models_core.estimators.wsabie import steps
from models_core.estimators.wsabie.method import Wsabie, WsabieSettings
from models_core.estimators.wsabie.steps import next_random, walk_pairs
from tests.models_core.estimators.vectors import LINK, paired
from tests.sizes import by_default

MASK = 2**64 - 1


def drawn(state):
    """splitmix64 with Python's integers."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    result = state
    result = ((result ^ (result >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    result = ((result ^ (result >> 27)) * 0x94D049BB133111EB) & MASK
    return state, result ^ (result >> 31)


def slow_pass(x, y, image_of, order, seed, w, u, *, rate, norm, adagrad, squares):
    """Run the papers' algorithm with whole matrices; changes w, u and squares."""
    n, state, loss = len(image_of), seed, 0.0
    for i in order:
        image = x[image_of[i]]
        right = (image @ w) @ (y[i] @ u)
        draws = 0
        while draws < steps.MOST_DRAWS:
            draws += 1
            state, number = drawn(state)
            while image_of[number % n] == image_of[i]:
                state, number = drawn(state)
            j = number % n
            invalid = (image @ w) @ (y[j] @ u)
            if invalid > right - 1:
                break
        else:
            continue
        weight = sum(1 / rank for rank in range(1, (n - 1) // draws + 1))
        loss += weight * (1 - right + invalid)
        slopes = (
            -weight * np.outer(image, (y[i] - y[j]) @ u),
            -weight * np.outer(y[i] - y[j], image @ w),
        )
        for weights, slope, square in zip((w, u), slopes, squares, strict=True):
            if adagrad:
                square += slope**2
                slope = slope / np.sqrt(square + 1e-12)
            weights -= rate * slope
            lengths = (weights**2).sum(axis=0)
            weights *= np.where(lengths > norm, np.sqrt(norm / np.maximum(lengths, 1e-300)), 1.0)
    return loss


@pytest.mark.parametrize("adagrad", [False, True])
def test_every_step_is_that_of_a_slow_reference(adagrad):
    rng = np.random.default_rng(3)
    n, size = 24, 5
    x, y = rng.standard_normal((8, 6)), rng.standard_normal((n, 9)) * (rng.random((n, 9)) < 0.4)
    image_of, order = np.repeat(np.arange(8), 3), rng.permutation(n)
    w, u = rng.standard_normal((6, size)), rng.standard_normal((9, size))
    rate, norm, seed = 0.3, 4.0, 12345
    slow = [w.copy(), u.copy()]
    squares = [np.zeros_like(w), np.zeros_like(u)]
    expected = slow_pass(
        *(x, y, image_of, order, seed, *slow), rate=rate, norm=norm, adagrad=adagrad, squares=squares
    )
    texts = sparse.csr_matrix(y)
    captions = (texts.data, texts.indices.astype(np.int64), texts.indptr.astype(np.int64))
    scales = [np.ones(size), np.ones(size)]
    loss = walk_pairs(
        x,
        captions,
        image_of.astype(np.int64),
        order.astype(np.int64),
        np.uint64(seed),
        (w, u, *scales),
        (np.zeros_like(w), np.zeros_like(u)),
        (rate, norm, adagrad),
    )
    assert loss == pytest.approx(expected, rel=1e-9) and loss > 0
    np.testing.assert_allclose(w * scales[0], slow[0], atol=1e-9)
    np.testing.assert_allclose(u * scales[1], slow[1], atol=1e-9)
    # The initial columns are longer than the norm allows, so that they were shortened.
    assert ((slow[0] ** 2).sum(axis=0) <= norm + 1e-9).all()


def test_numbers_are_drawn_as_splitmix64_draws_them():
    state = 99
    for _ in range(5):
        theirs = next_random(np.uint64(state))
        state, number = drawn(state)
        assert (int(theirs[0]), int(theirs[1])) == (state, number)


def test_it_learns_the_loss_falls_and_the_best_setting_is_taken():
    train, held_out = paired(80, x=12, y=10, held_out=40)
    settings = WsabieSettings(8, "adagrad", (1e-5, 0.5), (50.0,), epochs=30, trial_epochs=5)
    model = Wsabie(settings).fit(train, held_out, FitContext(1))
    assert model.tried_[:2, :2].tolist() == [[1e-5, 50.0], [0.5, 50.0]]
    assert (model.rate_, model.norm_) == (0.5, 50.0)
    assert model.curve_[:, 0].tolist() == [10, 20, 30]
    assert model.curve_[-1, 1] < model.curve_[0, 1] and model.curve_[-1, 2] > 0.6
    alone = Wsabie(WsabieSettings(8, "adagrad", (0.5,), (50.0,), epochs=30)).fit(train, None, FitContext(1))
    np.testing.assert_array_equal(alone.images_.weights, model.images_.weights)


@pytest.mark.parametrize("after", by_default(2, [14, 41, 1, 8, 30]))
def test_a_training_that_was_stopped_ends_as_one_that_was_not(tmp_path, monkeypatch, after):
    """Stopped in a trial, after one, and in the midst of learning; a checkpoint is kept after each epoch."""
    train, held_out = paired(30, held_out=12)
    settings = WsabieSettings(
        4, rates=(0.1, 0.5), norms=(50.0, 80.0), epochs=25, trial_epochs=6, grid_steps=1
    )
    whole = Wsabie(settings).fit(train, held_out, FitContext(3))
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 0.0)
    epochs = []

    def stop(phase, done, of):
        epochs.append(done)
        if len(epochs) == after:
            raise KeyboardInterrupt

    def context():
        return FitContext(3, progress=stop, checkpoints=Checkpoints(tmp_path, {"recipe": "mine"}))

    with pytest.raises(KeyboardInterrupt):
        Wsabie(settings).fit(train, held_out, context())
    stopped_at, epochs[:] = epochs[-1], [-1] * after
    model = Wsabie(settings).fit(train, held_out, context())
    assert epochs[after] == stopped_at, "it did not go on where it was stopped"
    assert model.state()[1] == whole.state()[1] and model.selection_ == whole.selection_
    for name, array in whole.state()[0].items():
        np.testing.assert_array_equal(model.state()[0][name], array, err_msg=name)


def test_lengths_of_rows_do_not_count():
    train, _ = paired(30)
    longer = Dataset({"images": train.images * 7, "captions": train.captions * 3}, train.links)
    settings = WsabieSettings(4, "sgd", (0.1,), (50.0,), epochs=2)
    first, second = (Wsabie(settings).fit(data, None, FitContext()) for data in (train, longer))
    np.testing.assert_allclose(first.images_.weights, second.images_.weights, rtol=1e-3, atol=1e-3)


def test_what_cannot_be_learned_from_is_refused():
    train, _ = paired(20)
    with pytest.raises(ValueError, match="Wsabie chooses its rate on held-out images"):
        Wsabie(WsabieSettings(4)).fit(train, None, FitContext())
    one_image = Dataset(train.views, {LINK: np.zeros(len(train.image_of), int)})
    with pytest.raises(ValueError, match="all captions are of one image"):
        Wsabie(WsabieSettings(4, rates=(1.0,), norms=(50.0,))).fit(one_image, None, FitContext())


def test_columns_that_are_shortened_at_every_step_stay_finite():
    train, _ = paired(40, x=12, y=10)
    settings = WsabieSettings(6, "sgd", (5.0,), (0.5,), epochs=20)
    model = Wsabie(settings).fit(train, None, FitContext())
    for side in (model.images_, model.captions_):
        assert np.isfinite(side.weights).all()
        assert ((side.weights**2).sum(axis=0) <= 0.5 * 1.001).all()
