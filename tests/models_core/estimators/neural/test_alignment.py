"""The alignment of regions and words: a slow reference, finite differences, and learning."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from models_core import checkpoints  # noqa: E402
from models_core.checkpoints import Checkpoints  # noqa: E402
from models_core.estimators.base import Dataset, FitContext, UnitRows  # noqa: E402
from models_core.estimators.embeddings import recall_of_scores  # noqa: E402
from models_core.estimators.neural import gradient_training, objective  # noqa: E402
from models_core.estimators.neural.alignment import Alignment  # noqa: E402
from models_core.estimators.neural.alignment_training import AlignmentRun, TrainingPairs, embed  # noqa: E402
from models_core.estimators.neural.gradient_training import (  # noqa: E402
    Diverged,
    StepSizes,
    fitting_threads,
    network_weights,
)
from models_core.estimators.neural.scores import AlignmentScores  # noqa: E402
from models_core.estimators.neural.settings import AlignmentSettings, Objective  # noqa: E402
from phrasebox.scoring.tiles import NotANumber, tile_grid  # noqa: E402
from tests.models_core.estimators.neural import slow_reference as slow  # noqa: E402
from tests.models_core.estimators.neural.sentences import LINK, edges_as_numbers, numbers_of, rows_of, scenes  # noqa: E402
from tests.sizes import by_default  # noqa: E402

OBJECTIVES: tuple[Objective, ...] = ("best-region", "fragments")
SMALL = AlignmentSettings(size=7, word_size=5, rates=(0.01,), dropout=0.0, batch=12, epochs=3)
STEPS = StepSizes(0.01, 0.0)
EVERYTHING = slice(0, None)


@pytest.fixture(autouse=True)
def one_thread():
    """Small steps in one thread, as in a training."""
    with fitting_threads(0):
        yield


def run_of(data, settings=SMALL, context=None, steps=STEPS):
    """Return a training at its start, in double precision."""
    pairs = TrainingPairs.of(data)
    run = AlignmentRun("test", (pairs, None), settings, steps, context or FitContext(), torch.device("cpu"))
    run.network.double()
    return run


def odd_pairs():
    """Return padding, sentences of one word and of none, an image of one region, and one image in several
    pairs."""
    rng = np.random.default_rng(3)
    regions = rows_of([rng.standard_normal((count, 4)) for count in (1, 3, 2, 5)])
    words = numbers_of([[0], [1, 2, 3, 0, 4], [], [2, 2], [4, 1, 3], [5]], 6)
    return Dataset({"images": regions, "captions": words}, {LINK: np.array([0, 1, 1, 2, 3, 0])})


def odd_edges():
    """Return the same images, with edges: an unused relation, a sentence of one edge, and one of none."""
    edges = edges_as_numbers(
        [
            [(0, 1, 2)],
            [(3, 0, 1), (0, 1, 3), (2, 4, 4)],
            [],
            [(2, 0, 2), (2, 2, 1)],
            [(0, 3, 5)],
            [(3, 0, 5)],
        ],
        6,
        4,
    )
    return Dataset({**odd_pairs().views, "captions": edges}, odd_pairs().links)


@pytest.fixture(params=OBJECTIVES)
def settings(request):
    return replace(SMALL, objective=request.param, multiple_instances=0.7)


@pytest.mark.parametrize("data", [odd_pairs(), odd_edges()], ids=["words", "edges"])
def test_embeddings_scores_and_loss_are_those_of_the_slow_reference(settings, data):
    run = run_of(data, settings)
    weights = network_weights(run.network)
    regions = [[slow.region(weights, row) for row in data.images.item(i)] for i in range(4)]
    words = [slow.sentence(weights, data.captions.item(i)) for i in range(6)]
    value, message = embed(run.network, data)
    np.testing.assert_allclose(value.values, np.concatenate(regions), atol=1e-6)
    np.testing.assert_allclose(message.values, np.concatenate([w for w in words if w]), atol=1e-6)
    expected = [[slow.score(r, w, settings.objective) for w in words] for r in regions]
    scores = AlignmentScores(value, message, settings.objective)
    np.testing.assert_allclose(scores.tile(EVERYTHING, EVERYTHING), expected, rtol=1e-5, atol=1e-5)

    batch = np.array([5, 1, 0, 2, 4, 3])
    image_of = data.image_of[batch]
    of_pairs = [[expected[image][pair] for pair in batch] for image in image_of]
    loss = slow.ranking_loss(of_pairs, image_of)
    if settings.objective == "fragments":
        chosen = slow.multiple_instance_loss(
            [regions[image] for image in image_of], [words[pair] for pair in batch], image_of
        )
        loss += settings.multiple_instances * chosen
    assert float(run.batch_loss(batch).detach()) == pytest.approx(loss, rel=1e-9)


def test_an_image_that_stands_twice_in_a_batch_does_not_make_its_own_captions_wrong():
    scores = torch.tensor([[1.0, 5.0, 0.0], [5.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    alone = objective.ranking_loss(scores, torch.tensor([0, 1, 2]))
    same = objective.ranking_loss(scores, torch.tensor([0, 0, 2]))
    assert float(alone) == 4 * 5.0 and float(same) == 0.0


@pytest.mark.parametrize("data", [odd_pairs(), odd_edges()], ids=["words", "edges"])
def test_gradients_are_those_of_finite_differences(settings, data):
    run = run_of(data, settings)
    rng = np.random.default_rng(0)
    for name, weights in run.network.named_parameters():
        if "bias" in name:  # with biases of 0, many sums lie in the bend of max(0, x)
            weights.data += torch.from_numpy(0.3 * rng.standard_normal(tuple(weights.shape)))
    batch = np.arange(6)
    loss = run.batch_loss(batch)
    loss.backward()
    for name, weights in run.network.named_parameters():
        flat, gradient = weights.data.view(-1), weights.grad.view(-1)
        for index in rng.choice(len(flat), min(6, len(flat)), replace=False):
            before, step = float(flat[index]), 1e-6
            flat[index] = before + step
            above = float(run.batch_loss(batch).detach())
            flat[index] = before - step
            below = float(run.batch_loss(batch).detach())
            flat[index] = before
            assert float(gradient[index]) == pytest.approx(
                (above - below) / (2 * step), abs=1e-4, rel=1e-5
            ), name


def test_scores_are_the_same_by_tiles_singly_and_turned(settings):
    train, _ = scenes(60, captions=5)
    scores = AlignmentScores(*embed(run_of(train).network, train), settings.objective)
    assert scores.shape == (60, 300)
    whole = np.zeros(scores.shape, np.float32)
    for down, across in tile_grid(scores):
        whole[down, across] = scores.tile(down, across)
    one_by_one = [
        scores.select(np.array([i]), np.array([j])).tile(EVERYTHING, EVERYTHING)[0, 0]
        for i, j in ((0, 0), (17, 299), (59, 4))
    ]
    np.testing.assert_allclose(one_by_one, whole[[0, 17, 59], [0, 299, 4]], rtol=1e-6)
    rows, columns = np.array([0, 17, 59, 17]), np.array([0, 299, 4, 299])
    np.testing.assert_array_equal(scores.at(rows, columns), whole[rows, columns])
    turned = scores.turned()
    np.testing.assert_array_equal(turned.at(columns, rows), whole[rows, columns])
    np.testing.assert_allclose(turned.tile(slice(3, 9), slice(0, 5)), whole[:5, 3:9].T, rtol=1e-6)
    chosen = turned.select(np.array([7, 3]), np.array([1])).tile(EVERYTHING, EVERYTHING)
    np.testing.assert_allclose(chosen, whole[[1], [7, 3]][:, None], rtol=1e-6)


def test_twenty_images_are_learned_by_heart():
    train, _ = scenes(20, things=30, numbers=20, noise=0.5, seed=1)
    settings = replace(SMALL, size=40, epochs=100, rates=(0.001,), batch=40)
    model = Alignment(settings).fit(train, None, FitContext())
    assert model.curve_[-1, 1] < model.curve_[0, 1] / 10
    scores = model.score(train, direction="annotation").tile(EVERYTHING, EVERYTHING)
    np.testing.assert_array_equal(train.image_of[scores.argmax(axis=1)], np.arange(20))
    np.testing.assert_array_equal(scores.argmax(axis=0), train.image_of)


def test_in_bfloat16_it_learns_as_in_single_precision(monkeypatch):
    """As on a GPU: the first losses differ by rounding, and the last ones are as small."""
    train, _ = scenes(20, things=30, numbers=20, noise=0.5, seed=1)
    settings = replace(SMALL, size=40, epochs=40, rates=(0.001,), batch=40)
    single = Alignment(settings).fit(train, None, FitContext())
    monkeypatch.setattr(gradient_training, "_IN_HALF", frozenset(["cpu"]))
    half = Alignment(settings).fit(train, None, FitContext())
    assert half.curve_[0, 1] == pytest.approx(single.curve_[0, 1], rel=0.01)
    assert half.curve_[0, 1] != single.curve_[0, 1]
    assert half.curve_[-1, 1] < half.curve_[0, 1] / 5
    assert {value.dtype for value in half.members_[0].values()} == {np.dtype(np.float32)}


def test_it_finds_new_images_with_the_rate_that_finds_the_most_held_out_ones():
    train, new = scenes(150, captions=3, things=8, held_out=60)
    settings = replace(
        SMALL, size=30, word_size=16, rates=(0.0005, 0.002), epochs=15, trial_epochs=3, batch=30
    )
    model = Alignment(settings).fit(train, new, FitContext())
    assert len(model.members_) == 5 and (np.diff(model.recalls_[:, 1]) <= 0).all()
    assert model.rate_ == model.tried_[model.tried_[:, 2].argmax(), 0]
    assert recall_of_scores(model.score(new, direction="annotation"), new.image_of) > 0.6
    chance = np.mean([1 / 60, 5 / 60, 10 / 60])
    assert recall_of_scores(model.score(new, direction="annotation"), new.image_of) > 5 * chance


@pytest.mark.parametrize("after", by_default(2, [4, 21, 1, 11]))
def test_a_training_that_was_stopped_ends_as_one_that_was_not(tmp_path, monkeypatch, after):
    """Stopped in a trial, and in the midst of an epoch; a checkpoint is kept after each batch."""
    train, new = scenes(12, captions=3, held_out=12)
    settings = replace(SMALL, rates=(0.002, 0.004), trial_epochs=1, dropout=0.3)
    whole = Alignment(settings).fit(train, new, FitContext())
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 0.0)
    messages = []

    def stop(*item):
        messages.append(item)
        if len(messages) == after:
            raise KeyboardInterrupt

    metadata = {"recipe": "mine"}
    with pytest.raises(KeyboardInterrupt):
        Alignment(settings).fit(
            train, new, FitContext(progress=stop, checkpoints=Checkpoints(tmp_path, metadata))
        )
    begun = len(messages)
    model = Alignment(settings).fit(
        train, new, FitContext(progress=stop, checkpoints=Checkpoints(tmp_path, metadata))
    )
    if messages[after - 1][0] == "learning":
        assert len(messages) - begun < 15, "it started from the first epoch"
    arrays, stored_settings = model.state()
    expected, also = whole.state()
    assert json.dumps(stored_settings) == json.dumps(also) and arrays.keys() == expected.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)


def test_alike_sentences_and_images_have_equal_scores_wherever_they_stand():
    """Products of long vectors depend on the place in the matrix with some processors, in their last bits."""
    rng = np.random.default_rng(5)
    message = [rng.integers(0, 30, size=rng.integers(1, 20)).tolist() for _ in range(560)]
    same = [0, 3, 130, 255, 300, 559]
    for index in same[1:]:
        message[index] = message[0]
    message[7] = message[9] = []
    displayed = [rng.standard_normal((rng.integers(1, 9), 24)) for _ in range(40)]
    alike = [2, 17, 39]
    for index in alike[1:]:
        displayed[index] = displayed[2].copy()
    owners = rng.integers(0, 40, size=len(message))
    data = Dataset({"images": rows_of(displayed), "captions": numbers_of(message, 30)}, {LINK: owners})
    run = run_of(data, replace(SMALL, size=100, word_size=64))
    run.network.float()
    parts = regions, words = embed(run.network, data)
    assert len(words.values) == sum(map(len, set(map(tuple, message))))
    for score in OBJECTIVES:
        scores = AlignmentScores(*parts, score)
        values = np.empty(scores.shape, np.float32)
        for rows, columns in tile_grid(scores):
            values[rows, columns] = scores.tile(rows, columns)
        assert all(np.array_equal(values[:, 0], values[:, index]) for index in same)
        assert all(np.array_equal(values[2], values[index]) for index in alike)
        assert not values[:, [7, 9]].any()
        for row, column in itertools.product((0, 2, 39), (0, 1, 255, 558)):
            products = regions.item(row).astype(float) @ words.item(column).T.astype(float)
            own_max = products.max(0) if score == "best-region" else np.maximum(products, 0).sum(0)
            assert values[row, column] == pytest.approx(own_max.sum(), rel=1e-4, abs=1e-4)
        turned = scores.turned()
        np.testing.assert_array_equal(turned.tile(slice(0, 256), slice(0, 16)), values[:16, :256].T)


def test_a_rate_that_is_too_large_is_named_with_its_step_and_another_one_is_taken():
    train, new = scenes(20, held_out=12)
    with pytest.raises(
        Diverged, match=r"in epoch \d+, batch \d+, with the learning rate 1e\+20; choose a smaller"
    ):
        Alignment(replace(SMALL, rates=(1e20,))).fit(train, new, FitContext())
    result = Alignment(replace(SMALL, rates=(1e20, 0.001), trial_epochs=2)).fit(train, new, FitContext())
    assert result.rate_ == 0.001 and result.tried_[0, 2] == -1
    with pytest.raises(Diverged, match="with none of the rates"):
        Alignment(replace(SMALL, rates=(1e20, 1e21), trial_epochs=2)).fit(train, new, FitContext())


@pytest.mark.parametrize("fails", ["in its trial", "later"])
def test_a_rate_whose_held_out_scores_are_no_numbers_gives_way_to_the_next_best(
    fails: str, monkeypatch: pytest.MonkeyPatch
):
    """The last step of an epoch may spoil the weights, which no loss tells."""
    train, new = scenes(20, held_out=12)
    held_out_figure = AlignmentRun.held_out_figure

    def spoilt(run: AlignmentRun) -> float:
        if run.sizes.rate != 0.002:
            return held_out_figure(run)
        if fails == "in its trial" or run.name == "learning" and run.epoch == 3:
            raise NotANumber("score is NaN", 0, 1)
        return 1.0

    monkeypatch.setattr(AlignmentRun, "held_out_figure", spoilt)
    settings = replace(SMALL, trial_epochs=2, epochs=4)
    result = Alignment(replace(settings, rates=(0.002, 0.001))).fit(train, new, FitContext())
    assert result.rate_ == 0.001 and result.tried_[0, 2] == -1 and result.tried_[1, 2] > 0
    with pytest.raises(Diverged, match=r"recall is no number after epoch \d, with the learning rate 0.002"):
        Alignment(replace(settings, rates=(0.002,))).fit(train, new, FitContext())


def test_given_word_vectors_stay_as_they_are_unless_they_are_learned_on():
    train, _ = scenes(20)
    vectors = np.random.default_rng(0).standard_normal((11, 3)).astype(np.float32)
    words = replace(train.captions, vectors=vectors)
    data = Dataset({**train.views, "captions": words}, train.links)
    fixed = Alignment(SMALL).fit(data, None, FitContext())
    np.testing.assert_array_equal(fixed.members_[0]["words"], vectors)
    learned = Alignment(replace(SMALL, learn_words=True)).fit(data, None, FitContext())
    assert (learned.members_[0]["words"] != vectors).any()


def test_rows_get_length_one_where_they_are_looked_at_and_not_before():
    values = np.array([[3, 4], [0, 0], [5, 12]], np.float16)
    rows = UnitRows.of_counts(values, [2, 1]).take([1, 0])
    padded, there = rows.padded([0, 1])
    assert padded.dtype == np.float32 and there.tolist() == [[True, False], [True, True]]
    expected = np.array([[[5 / 13, 12 / 13], [0.0, 0.0]], [[0.6, 0.8], [0.0, 0.0]]])
    np.testing.assert_allclose(padded, expected, rtol=1e-6)
    assert rows.values is values, "nothing is copied"


def test_what_cannot_be_learned_from_is_named():
    train, _ = scenes(20)
    nothing = Dataset({**train.views, "captions": numbers_of([[]] * 40, 0)}, train.links)
    with pytest.raises(ValueError, match=r"the vocabulary is empty.*lower text\.least_count"):
        Alignment(SMALL).fit(nothing, None, FitContext())
    bare = Dataset({**train.views, "images": rows_of([[[0.0] * 6]] * 19 + [[]])}, train.links)
    with pytest.raises(ValueError, match=r"image 19 \(counted from 0\) has no region"):
        Alignment(SMALL).fit(bare, None, FitContext())
    with pytest.raises(ValueError, match="the rate is chosen on held-out images"):
        Alignment(replace(SMALL, rates=(0.1, 0.2))).fit(train, None, FitContext())
    model = Alignment(SMALL).fit(train, None, FitContext())
    narrow = Dataset({**train.views, "images": rows_of([[[0.0] * 5]] * 20)}, train.links)
    with pytest.raises(ValueError, match="regions of 5 numbers against 6; expected the same"):
        model.score(narrow, direction="search")
