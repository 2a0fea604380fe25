"""Joint embeddings of whole images and captions: losses by hand, gradients, and learning."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from models_core import checkpoints  # noqa: E402
from models_core.checkpoints import Checkpoints  # noqa: E402
from models_core.estimators.base import Dataset, FitContext  # noqa: E402
from models_core.estimators.embeddings import recall_of_scores  # noqa: E402
from models_core.estimators.neural import gradient_training, objective  # noqa: E402
from models_core.estimators.neural.embedder import JointEmbedder  # noqa: E402
from models_core.estimators.neural.embedder_training import (  # noqa: E402
    LEAST_TEMPERATURE,
    EmbedderRun,
    VectorPairs,
)
from models_core.estimators.neural.gradient_training import (  # noqa: E402
    Diverged,
    StepSizes,
    fitting_threads,
    network_weights,
)
from models_core.estimators.neural.settings import ContrastiveSettings, MarginSettings  # noqa: E402
from tests.models_core.devices import TORCH  # noqa: E402
from tests.models_core.estimators.vectors import (  # noqa: E402
    LINK,
    all_scores,
    paired,
    with_sparse_captions,
)

SMALL: dict[str, Any] = {"size": 6, "rates": (0.01,), "dropout": 0.0, "batch": 24, "epochs": 20}
OBJECTIVES: dict[str, Any] = {
    "hardest": MarginSettings(**SMALL),
    "all": MarginSettings(**SMALL, negatives="all"),
    "contrastive": ContrastiveSettings(**SMALL),
}
#: Pairs of four images, two of which are in the batch twice.
IMAGE_OF = [0, 1, 1, 2, 3, 0]


@pytest.fixture(autouse=True)
def one_thread():
    """Small steps in one thread, as in a training."""
    with fitting_threads(0):
        yield


@pytest.fixture(params=OBJECTIVES)
def settings(request):
    return OBJECTIVES[request.param]


@pytest.fixture(params=[0, 5], ids=["linear", "two layers"])
def hidden(request):
    return request.param


def loss_by_hand(scores, image_of, settings):
    """Return the loss of the definitions, pair by pair."""
    total = 0.0
    for turned in (False, True):
        for k in range(len(scores)):
            row = [scores[other][k] if turned else scores[k][other] for other in range(len(scores))]
            wrong = [row[other] for other in range(len(row)) if image_of[other] != image_of[k]]
            if isinstance(settings, ContrastiveSettings):
                parts = sum(math.exp(value) for value in [*wrong, row[k]])
                total -= math.log(math.exp(row[k]) / parts) / 2
                continue
            hinges = [max(0.0, settings.margin + value - row[k]) for value in wrong]
            total += max(hinges, default=0.0) if settings.negatives == "hardest" else sum(hinges)
    return total


def loss_of(scores, image_of, settings):
    if isinstance(settings, ContrastiveSettings):
        return objective.contrastive_loss(scores, image_of)
    by = objective.hardest_loss if settings.negatives == "hardest" else objective.ranking_loss
    return by(scores, image_of, settings.margin)


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("image_of", [IMAGE_OF, [0, 1, 2, 3, 4, 5], [0] * 6, [0]])
def test_losses_are_those_of_their_definitions(settings, image_of, levels):
    """With ties, images in the batch twice, and batches without a wrong pair."""
    rng = np.random.default_rng(len(image_of))
    for _ in range(20):
        scores = rng.uniform(-1, 1, (len(image_of), len(image_of)))
        scores = scores if levels is None else np.round(scores * levels) / levels
        loss = float(loss_of(torch.tensor(scores), torch.tensor(image_of), settings))
        assert loss == pytest.approx(loss_by_hand(scores.tolist(), image_of, settings), abs=1e-12)
        if len(set(image_of)) == 1:
            assert loss == pytest.approx(0)


def test_the_gradient_of_infonce_is_probabilities_less_the_right_pairs():
    rng = np.random.default_rng(1)
    scores = torch.tensor(rng.standard_normal((6, 6)), requires_grad=True)
    image_of = torch.tensor(IMAGE_OF)
    objective.contrastive_loss(scores, image_of).backward()
    same = (image_of[:, None] == image_of[None, :]) & ~torch.eye(6, dtype=torch.bool)
    counted = scores.detach().masked_fill(same, -torch.inf)
    expected = (torch.softmax(counted, 1) + torch.softmax(counted, 0)) / 2 - torch.eye(6)
    np.testing.assert_allclose(scores.grad, expected, atol=1e-12)


def run_of(data, settings):
    """Return a training at its start, in double precision."""
    run = EmbedderRun(
        "test",
        (VectorPairs.of(data), None),
        settings,
        StepSizes(0.01, 0.1),
        FitContext(),
        torch.device("cpu"),
    )
    run.network.double()
    return run


def odd_pairs():
    """Return pairs of four images, two of which have two captions."""
    rng = np.random.default_rng(3)
    views = {"images": rng.standard_normal((4, 5)), "captions": rng.standard_normal((6, 7))}
    return Dataset(views, {LINK: np.array(IMAGE_OF)})


def test_scores_and_loss_are_those_of_the_heads(settings, hidden):
    """The embeddings that rank, which NumPy computes, are those that training has."""
    data, settings = odd_pairs(), replace(settings, hidden=hidden)
    run = run_of(data, settings)
    heads, temperature = run.pairs.heads(network_weights(run.network))
    images, captions = (heads[view](data.views[view]) for view in ("images", "captions"))
    images, captions = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (images, captions))
    batch = np.array([5, 1, 0, 2, 4, 3])
    scores = images[data.image_of[batch]] @ captions[batch].T / (temperature or 1)
    assert (temperature is None) == isinstance(settings, MarginSettings)
    loss = loss_by_hand(scores.tolist(), data.image_of[batch].tolist(), settings)
    assert float(run.batch_loss(batch).detach()) == pytest.approx(loss, rel=1e-5)


def test_gradients_are_those_of_finite_differences(settings, hidden):
    run = run_of(odd_pairs(), replace(settings, hidden=hidden))
    rng = np.random.default_rng(0)
    for name, weights in run.network.named_parameters():
        if "bias" in name:
            weights.data += torch.from_numpy(0.3 * rng.standard_normal(tuple(weights.shape)))
    batch = np.arange(6)
    run.batch_loss(batch).backward()
    checked = set()
    for name, weights in run.network.named_parameters():
        flat, gradient = weights.data.view(-1), weights.grad.view(-1)
        for index in rng.choice(len(flat), min(6, len(flat)), replace=False):
            before, step = float(flat[index]), 1e-6
            flat[index] = before + step
            above = float(run.batch_loss(batch).detach())
            flat[index] = before - step
            below = float(run.batch_loss(batch).detach())
            flat[index] = before
            slope = (above - below) / (2 * step)
            assert float(gradient[index]) == pytest.approx(slope, abs=1e-4, rel=1e-4), name
            checked |= {name} if abs(slope) > 1e-3 else set()
    expected = {name for name, _ in run.network.named_parameters()}
    assert checked == expected and ("log_temperature" in checked) == isinstance(settings, ContrastiveSettings)


def test_twenty_pairs_are_learned_by_heart(settings, hidden):
    train, _ = paired(20, captions=1, x=30, y=25, topics=12, noise=0.1)
    model = JointEmbedder(replace(settings, hidden=4 * hidden, size=16, epochs=80)).fit(
        train, None, FitContext()
    )
    assert model.curve_[-1, 1] < model.curve_[0, 1] / 5
    for direction in ("annotation", "search"):
        scores = all_scores(model, train, direction)
        np.testing.assert_array_equal(scores.argmax(axis=1), np.arange(20))


def test_new_pairs_are_found_with_the_rate_that_finds_the_most_held_out_ones(settings, hidden):
    train, new = paired(150, captions=3, topics=5, x=20, y=15, held_out=60)
    model = JointEmbedder(
        replace(settings, hidden=4 * hidden, rates=(0.001, 0.01), grid_steps=0, trial_epochs=3)
    ).fit(train, new, FitContext())
    assert model.rate_ == model.tried_[model.tried_[:, 2].argmax(), 0]
    assert model.recall_ == model.curve_[:, 2].max()
    chance = np.mean([1 / 60, 5 / 60, 10 / 60])
    recall = recall_of_scores(model.score(new, direction="annotation"), new.image_of)
    assert recall == model.recall_ > 4 * chance


def test_a_temperature_that_is_learned_is_never_below_its_bound():
    train, _ = paired(40, topics=8, x=30, y=25, noise=0.01)
    settings = replace(OBJECTIVES["contrastive"], rates=(0.1,), epochs=40)
    learned = JointEmbedder(settings).fit(train, None, FitContext())
    assert learned.temperature_ != pytest.approx(0.07, abs=1e-3)
    low = replace(settings, temperature=LEAST_TEMPERATURE / 2)
    run = run_of(odd_pairs(), low)
    bound = run_of(odd_pairs(), replace(settings, temperature=LEAST_TEMPERATURE))
    batch = np.arange(6)
    assert float(run.batch_loss(batch).detach()) == pytest.approx(float(bound.batch_loss(batch).detach()))
    assert run.pairs.heads(network_weights(run.network))[1] == pytest.approx(LEAST_TEMPERATURE / 2)


def test_sparse_captions_are_learned_as_dense_ones(settings):
    train, new = paired(40, held_out=12)
    dense = JointEmbedder(settings).fit(train, None, FitContext())
    sparse = JointEmbedder(settings).fit(with_sparse_captions(train), None, FitContext())
    scores = all_scores(sparse, with_sparse_captions(new), "annotation")
    np.testing.assert_allclose(scores, all_scores(dense, new, "annotation"), atol=1e-6)


def test_one_and_two_threads_learn_the_same(settings, monkeypatch):
    """Every step is taken for a large one, which uses the threads that there are."""
    train, new = paired(200, x=300, y=200, topics=20, held_out=12)
    large = replace(settings, size=128, hidden=128, batch=128, epochs=2, rates=(0.001,))
    monkeypatch.setattr(gradient_training, "_LITTLE", 0.0)
    scores = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            scores.append(all_scores(JointEmbedder(large).fit(train, None, FitContext()), new, "annotation"))
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-6)


@pytest.mark.parametrize("after", [1, 4, 9, 14])
def test_a_training_that_was_stopped_ends_as_one_that_was_not(tmp_path, monkeypatch, settings, after):
    """Stopped in a trial, and in the midst of an epoch; a checkpoint is stored after each batch."""
    train, new = paired(20, captions=3, held_out=12)
    settings = replace(
        settings, hidden=5, rates=(0.002, 0.004), grid_steps=0, trial_epochs=1, dropout=0.3, epochs=3
    )
    whole = JointEmbedder(settings).fit(train, new, FitContext())
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 0.0)
    messages = []

    def stop(*item):
        messages.append(item)
        if len(messages) == after:
            raise KeyboardInterrupt

    context = FitContext(progress=stop, checkpoints=Checkpoints(tmp_path, {"recipe": "mine"}))
    with pytest.raises(KeyboardInterrupt):
        JointEmbedder(settings).fit(train, new, context)
    arrays, stored_settings = JointEmbedder(settings).fit(train, new, context).state()
    expected, also = whole.state()
    assert json.dumps(stored_settings) == json.dumps(also) and arrays.keys() == expected.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)


def test_on_a_device_it_learns_as_in_single_precision(settings, monkeypatch):
    """In bfloat16, as on a GPU: the first losses differ by rounding, and the last ones are as small."""
    train, _ = paired(20, captions=1, x=30, y=25, topics=12, noise=0.1)
    settings = replace(settings, size=16, epochs=60)
    single = JointEmbedder(settings).fit(train, None, FitContext())
    monkeypatch.setattr(gradient_training, "_IN_HALF", frozenset(["cpu", "cuda"]))
    half = JointEmbedder(settings).fit(train, None, FitContext(device=TORCH))
    assert half.curve_[0, 1] == pytest.approx(single.curve_[0, 1], rel=0.05)
    assert half.curve_[0, 1] != single.curve_[0, 1]
    assert half.curve_[-1, 1] < half.curve_[0, 1] / 4
    assert {array.dtype for head in half.heads_.values() for array in head.weights.values()} == {
        np.dtype(np.float32)
    }


def test_a_batch_of_one_pair_and_unused_numbers_are_harmless(settings):
    """Of 25 pairs, the last batch has one; a column is always 0."""
    train, _ = paired(25, captions=1)
    train.images[:, 2] = 0.0
    model = JointEmbedder(settings).fit(train, None, FitContext())
    assert np.isfinite(model.curve_[:, 1]).all() and np.isfinite(all_scores(model, train, "search")).all()


def test_what_cannot_be_learned_from_is_named(settings):
    train, new = paired(20, held_out=12)
    alone = Dataset({**train.views, "captions": train.captions[:2]}, {LINK: np.zeros(2, np.intp)})
    with pytest.raises(ValueError, match="all captions are of one image; the heads need wrong captions"):
        JointEmbedder(settings).fit(alone, None, FitContext())
    constant = Dataset({**train.views, "images": np.ones((20, 9))}, train.links)
    with pytest.raises(ValueError, match="all columns of the images are constant; nothing is learned"):
        JointEmbedder(settings).fit(constant, None, FitContext())
    spoilt = train.captions.copy()
    spoilt[3, 1] = np.inf
    with pytest.raises(ValueError, match="row 3 of the captions is not finite in column 1"):
        JointEmbedder(settings).fit(
            Dataset({**train.views, "captions": spoilt}, train.links), None, FitContext()
        )
    with pytest.raises(ValueError, match="the rate is chosen on held-out images"):
        JointEmbedder(replace(settings, rates=(0.1, 0.2))).fit(train, None, FitContext())
    with pytest.raises(Diverged, match="with the learning rate 1e\\+30; choose a smaller"):
        JointEmbedder(replace(settings, rates=(1e30,))).fit(train, None, FitContext())
    model = JointEmbedder(settings).fit(train, None, FitContext())
    narrow = Dataset({**new.views, "images": new.images[:, :5]}, new.links)
    with pytest.raises(ValueError, match="features of 5 numbers against 9; expected the same"):
        model.score(narrow, direction="search")


def test_hardest_negatives_differ_from_all_of_them():
    scores = torch.tensor([[1.0, 0.9, 0.95], [0.9, 1.0, 0.5], [0.95, 0.5, 1.0]])
    image_of = torch.arange(3)
    hardest = float(objective.hardest_loss(scores, image_of, 0.2))
    everything = float(objective.ranking_loss(scores, image_of, 0.2))
    violations = [0.1, 0.15, 0.1, 0.15]
    assert hardest == pytest.approx(2 * (0.15 + 0.1 + 0.15))
    assert everything == pytest.approx(2 * sum(violations))
