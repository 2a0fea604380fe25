"""The captioner: a slow reference, finite differences, exhaustive search, and learning."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from models_core import checkpoints  # noqa: E402
from models_core.checkpoints import Checkpoints  # noqa: E402
from models_core.estimators.base import Dataset, FitContext  # noqa: E402
from models_core.estimators.nearest_caption import NearestCaption, NearestCaptionSettings  # noqa: E402
from models_core.estimators.neural import gradient_training  # noqa: E402
from models_core.estimators.neural.captioner import RecurrentCaptioner  # noqa: E402
from models_core.estimators.neural.captioner_training import (  # noqa: E402
    CaptionedImages,
    CaptionerRun,
    perplexity,
    stored_captioner,
)
from models_core.estimators.neural.gradient_training import (  # noqa: E402
    Diverged,
    StepSizes,
    fitting_threads,
    network_weights,
)
from models_core.estimators.neural.settings import CaptionerSettings  # noqa: E402
from models_core.estimators.neural.writing import write_sentences  # noqa: E402
from models_core.estimators.predictors import WritingSettings  # noqa: E402
from tests.models_core.estimators.neural import slow_reference as slow  # noqa: E402
from tests.models_core.estimators.neural.sentences import LINK, named_pictures, numbers_of  # noqa: E402

SMALL = CaptionerSettings(size=6, word_size=5, rates=(0.01,), dropout=0.0, batch=8, epochs=3)
STEPS = StepSizes(0.01, 0.0)


@pytest.fixture(autouse=True)
def one_thread():
    """Small steps in one thread, as in a training."""
    with fitting_threads(0):
        yield


def odd_captions():
    """Return captions of one word and of none, and an image with several."""
    rng = np.random.default_rng(3)
    images = rng.standard_normal((4, 7)) * 3 + 1
    words = numbers_of([[0], [1, 2, 3, 0, 4], [], [2, 2], [4, 1, 3], [5]], 6)
    return Dataset({"images": images, "captions": words}, {LINK: np.array([0, 1, 1, 2, 3, 0])})


def run_of(data, settings=SMALL):
    """Return a training at its start, in double precision."""
    pairs = CaptionedImages.of(data)
    run = CaptionerRun("test", (pairs, pairs), settings, STEPS, FitContext(), torch.device("cpu"))
    run.network.double()
    rng = np.random.default_rng(0)
    for name, weights in run.network.named_parameters():
        if name.endswith("bias"):  # with biases of 0, many sums lie in the bend of max(0, x)
            weights.data += torch.from_numpy(0.3 * rng.standard_normal(len(weights)))
    return run


@pytest.fixture(params=[False, True], ids=["as-they-are", "rectified"])
def settings(request):
    return replace(SMALL, rectified=request.param)


def test_probabilities_and_the_loss_are_those_of_the_slow_reference(settings):
    data = odd_captions()
    run = run_of(data, settings)
    weights = network_weights(run.network)
    expected = [
        slow.caption_log_probabilities(
            weights, data.images[image], data.captions.item(caption), rectified=settings.rectified
        )
        for caption, image in enumerate(data.image_of)
    ]
    batch = np.array([5, 1, 0, 2, 4, 3])
    loss = float(run.batch_loss(batch).detach())
    assert loss == pytest.approx(-sum(sum(row) for row in expected), rel=1e-9)
    mean = float(run.scaled(run.batch_loss(batch), batch).detach())
    assert mean == pytest.approx(loss / sum(map(len, expected)), rel=1e-12)
    one_by_one = sum(float(run.batch_loss(np.array([caption])).detach()) for caption in range(6))
    assert one_by_one == pytest.approx(loss, rel=1e-6)
    words = sum(map(len, expected))
    assert perplexity(run, CaptionedImages.of(data)) == pytest.approx(np.exp(loss / words), rel=1e-6)


def test_gradients_are_those_of_finite_differences(settings):
    run = run_of(odd_captions(), settings)
    rng, batch = np.random.default_rng(0), np.arange(6)
    run.batch_loss(batch).backward()
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


def sentence_scores(weights, image, vocabulary, limit):
    """Return every sentence up to a length with its log probability; those of `limit` words have no END."""
    result = {}
    for length in range(1, limit + 1):
        for words in itertools.product(range(vocabulary), repeat=length):
            message = slow.caption_log_probabilities(weights, image, words, rectified=False)
            result[words] = sum(message[:-1] if length == limit else message)
    return result


@pytest.mark.parametrize(("vocabulary", "limit"), [(2, 4), (3, 3), (4, 2), (3, 1)])
def test_a_wide_beam_finds_what_exhaustive_search_finds(vocabulary, limit):
    rng = np.random.default_rng(vocabulary)
    images = rng.standard_normal((5, 7))
    words = numbers_of([rng.integers(0, vocabulary, 3) for _ in range(5)], vocabulary)
    run = run_of(Dataset({"images": images, "captions": words}, {LINK: np.arange(5)}))
    for weights in run.network.parameters():
        weights.data *= 3  # a network with higher confidence
    how = WritingSettings(beam=vocabulary ** (limit - 1), limit=limit)
    sentences = write_sentences(run.network, torch.from_numpy(images), how)
    narrow = write_sentences(run.network, torch.from_numpy(images), WritingSettings(beam=1, limit=limit))
    weights = network_weights(run.network)
    for image, value, greedy in zip(images, sentences, narrow, strict=True):
        scores = sentence_scores(weights, image, vocabulary, limit)
        best = max(scores, key=scores.get)
        assert value.words == best and value.log_probability == pytest.approx(scores[best], abs=1e-9)
        assert greedy.log_probability == pytest.approx(scores[greedy.words], abs=1e-9)
        assert greedy.log_probability <= value.log_probability + 1e-12
    # The probabilities include every sentence, except the empty one.
    empty = slow.caption_log_probabilities(weights, images[-1], (), rectified=False)[0]
    assert np.exp(list(scores.values())).sum() + np.exp(empty) == pytest.approx(1, abs=1e-9)


def test_drawn_sentences_come_as_often_as_they_are_probable_and_the_same_for_one_seed():
    run = run_of(odd_captions())
    weights, image = network_weights(run.network), odd_captions().images[:1]
    images = torch.from_numpy(np.repeat(image, 4000, axis=0))
    how = WritingSettings(words="draw", limit=2, seed=4)
    sentences = write_sentences(run.network, images, how)
    assert write_sentences(run.network, images[1000:1003], how, 1000) == sentences[1000:1003]
    scores = sentence_scores(weights, image[0], 6, 2)
    whole = np.exp(list(scores.values())).sum()  # a sentence has a word
    for words in sorted(scores, key=scores.get)[-4:]:
        share = np.mean([value.words == words for value in sentences])
        expected = np.exp(scores[words]) / whole
        assert share == pytest.approx(expected, abs=5 * np.sqrt(expected / 4000))
    assert max(len(value.words) for value in sentences) == 2
    cold = write_sentences(run.network, images[:50], replace(how, temperature=0.001))
    assert {value.words for value in cold} == {
        write_sentences(run.network, images[:1], WritingSettings(beam=1, limit=2))[0].words
    }


def test_one_by_one_is_as_together():
    train, _ = named_pictures(80)
    model = RecurrentCaptioner(replace(SMALL, size=16, epochs=2)).fit(train, None, FitContext())
    for how in (WritingSettings(), WritingSettings(beam=1)):
        together = model.write(train, how)
        for index in (0, 5, 70):
            alone = model.write(Dataset({"images": train.images[index : index + 1]}, {}), how)[0]
            assert alone.words == together[index].words
            assert alone.log_probability == pytest.approx(together[index].log_probability, abs=1e-5)


def test_it_learns_twenty_captions_by_heart_and_to_name_what_new_images_show():
    train, new = named_pictures(20, held_out=12)
    few = replace(SMALL, size=40, epochs=60)
    by_heart = RecurrentCaptioner(few).fit(train, None, FitContext())
    assert by_heart.curve_[-1, 1] < by_heart.curve_[0, 1] / 3
    train, new = named_pictures(150, held_out=60)
    model = RecurrentCaptioner(replace(few, epochs=15, dropout=0.2)).fit(train, new, FitContext())
    message = [value.words for value in model.write(new, WritingSettings())]
    items = [set(new.captions.item(index)) for index in range(60)]
    right = [len(items[n] & set(words)) / len(set(words)) for n, words in enumerate(message)]
    others = [len(items[n - 1] & set(words)) / len(set(words)) for n, words in enumerate(message)]
    assert np.mean(right) > 0.85 and np.mean(right) > np.mean(others) + 0.2
    assert model.perplexity_ == model.curve_[:, 2].min() == model.curve_[model.epoch_ - 1, 2]
    network = stored_captioner(model.weights_, rectified=False)
    assert float(network.scale) > 0 and abs(float(network.centre.mean())) < 1


def test_in_bfloat16_it_learns_as_in_single_precision(monkeypatch):
    train, _ = named_pictures(20, captions=2)
    settings = replace(SMALL, epochs=30, rates=(0.01,))
    single = RecurrentCaptioner(settings).fit(train, None, FitContext())
    monkeypatch.setattr(gradient_training, "_IN_HALF", frozenset(["cpu"]))
    half = RecurrentCaptioner(settings).fit(train, None, FitContext())
    assert half.curve_[0, 1] == pytest.approx(single.curve_[0, 1], rel=0.01)
    assert half.curve_[0, 1] != single.curve_[0, 1]
    assert half.curve_[-1, 1] < half.curve_[0, 1] / 3


@pytest.mark.parametrize("after", [2, 5, 9])
def test_a_training_that_was_stopped_ends_as_one_that_was_not(tmp_path, monkeypatch, after):
    """Stopped in a trial, and in the midst of an epoch; a checkpoint is kept after each batch."""
    train, new = named_pictures(12, held_out=12)
    settings = replace(SMALL, rates=(0.002, 0.004), trial_epochs=1, dropout=0.3)
    whole = RecurrentCaptioner(settings).fit(train, new, FitContext())
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 0.0)
    messages = []

    def stop(*item):
        messages.append(item)
        if len(messages) == after:
            raise KeyboardInterrupt

    def trained():
        context = FitContext(progress=stop, checkpoints=Checkpoints(tmp_path, {"recipe": "mine"}))
        return RecurrentCaptioner(settings).fit(train, new, context)

    with pytest.raises(KeyboardInterrupt):
        trained()
    arrays, stored_settings = trained().state()
    expected, also = whole.state()
    assert json.dumps(stored_settings) == json.dumps(also) and arrays.keys() == expected.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)


def test_a_rate_whose_perplexity_is_no_number_gives_way_to_another():
    train, new = named_pictures(20, held_out=12)
    result = RecurrentCaptioner(replace(SMALL, rates=(1e-3, 1e12), trial_epochs=1, batch=80)).fit(
        train, new, FitContext()
    )
    assert result.rate_ == 1e-3 and result.tried_[1, 2] == -1 and np.isfinite(result.perplexity_)


def test_what_cannot_be_learned_from_is_named():
    train, new = named_pictures(20, held_out=12)
    with pytest.raises(Diverged, match=r"in epoch \d+, batch \d+, with the learning rate"):
        RecurrentCaptioner(replace(SMALL, rates=(1e30,))).fit(train, new, FitContext())
    nothing = Dataset({**train.views, "captions": numbers_of([[]] * 40, 0)}, train.links)
    with pytest.raises(ValueError, match=r"the vocabulary is empty.*lower text\.least_count"):
        RecurrentCaptioner(SMALL).fit(nothing, None, FitContext())
    model = RecurrentCaptioner(SMALL).fit(train, None, FitContext())
    with pytest.raises(ValueError, match="images of 3 numbers against 6; expected the same"):
        model.write(Dataset({"images": np.zeros((2, 3))}, {}), WritingSettings())


def test_the_caption_of_the_nearest_image_is_said():
    images = np.array([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    words = numbers_of([[0], [1, 2], [3], [4, 4]], 5)
    train = Dataset({"images": images, "captions": words}, {LINK: np.array([0, 1, 1, 2])})
    dataset = Dataset({"images": np.array([[0.6, 0.5], [9.0, 2.0], [0.5, 0.5]])}, {})
    first = NearestCaption(NearestCaptionSettings()).fit(train, None, FitContext())
    assert [value.words for value in first.write(dataset, WritingSettings())] == [(1, 2), (4, 4), (0,)]
    last = NearestCaption(NearestCaptionSettings(caption=7)).fit(train, None, FitContext())
    assert [value.words for value in last.write(dataset, WritingSettings())] == [(3,), (4, 4), (0,)]
