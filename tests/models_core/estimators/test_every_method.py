"""Properties of every registered method: it learns, ranks, is stored exactly, and reports invalid input."""

import dataclasses
import functools
import json
import re

import numpy as np
import pytest
from scipy.stats import rankdata

from models_core.checked_fields import field_rules
from models_core.estimators.base import (
    METHODS,
    Dataset,
    FitContext,
    Method,
    RaggedRows,
    WordNumbers,
    register_method,
)
from models_core.estimators.discovery import load_methods
from models_core.estimators.fitting import fit_method
from models_core.estimators.inputs import NumbersOutOfRange, check_inputs
from models_core.estimators.neural.settings import EmbedderSettings
from models_core.estimators.predictors import WritingSettings
from models_core.estimators.tagging.baselines import RandomTags
from models_core.estimators.tagging.held_out import known_tags, presence
from models_core.features.text.phrases import PhraseRows
from models_core.systems import recipe as recipes
from tests.models_core.estimators.kernel_methods.kernels import kernels
from tests.models_core.estimators.neural.sentences import in_edges, named_pictures, scenes
from tests.models_core.estimators.phrases import images_of_regions, phrases_of_regions, pictures_with_phrases
from tests.models_core.estimators.tagging.pictures import tagged_pictures
from tests.models_core.estimators.vectors import LINK, all_scores, in_one_space, paired

load_methods()
TRAINING, NEW = 40, 12


def data_for(method):
    """Return training items, and new ones with one caption each, in the form that the method takes."""
    forms = set(method.takes.values())
    if forms == {"kernel"}:
        created = kernels(TRAINING, NEW)
        sides = ((created.x, created.y), (created.new_x, created.new_y))
        return tuple(Dataset({"images": x, "captions": y}, {LINK: np.arange(len(x))}) for x, y in sides)
    if forms == {"regions", "words"}:
        return scenes(TRAINING, captions=3, held_out=NEW)
    if forms == {"regions", "edges"}:
        train, new = scenes(TRAINING, captions=3, held_out=NEW)
        return in_edges(train), in_edges(new)
    if forms == {"regions", "phrases"}:
        return phrases_of_regions(TRAINING, held_out=NEW)
    if forms == {"vectors", "phrases"}:
        return pictures_with_phrases(TRAINING, held_out=NEW)[:2]
    if forms == {"vectors", "words"}:
        return named_pictures(TRAINING, captions=3, held_out=NEW)
    if forms == {"vectors", "given"}:
        return in_one_space(TRAINING), in_one_space(NEW, seed=1)
    if forms == {"vectors", "tags"}:
        return tagged_pictures(TRAINING, held_out=NEW)
    assert forms == {"vectors"}, f"give {method.name} data of its form"
    return paired(TRAINING, held_out=NEW)


def settings_of(method):
    """Return its own settings, with few epochs and features."""
    few = {"epochs": 10, "trial_epochs": 1, "rates": (0.5,), "features": 60}
    if {"words", "edges"} & set(method.takes.values()):
        few |= {"rates": (0.005,), "size": 24, "word_size": 12, "batch": 24, "dropout": 0.1}
    if issubclass(method.settings, EmbedderSettings):
        few |= {"rates": (0.01,), "size": 8, "batch": 24, "dropout": 0.0}
    names = {field.name for field in dataclasses.fields(method.settings)}
    return method.settings(**{name: value for name, value in few.items() if name in names})


def auxiliary_of(method):
    result = {name: paired(50, captions=1, seed=0)[0] for name in method.needs}
    return {**result, "regions": pictures_with_phrases(TRAINING, held_out=NEW)[2]}


def fitted(method, *, seed=0, heard=None, scale=1.0):
    """Return a model trained on features times `scale`, and new items, scaled too."""
    train, new = (scaled(data, scale) for data in data_for(method))
    auxiliary = {name: scaled(data, scale) for name, data in auxiliary_of(method).items()}
    context = FitContext(seed, progress=heard or (lambda *reported: None), auxiliary=auxiliary)
    model = fit_method(method, settings_of(method), train, new, context).model
    check_inputs(method, new)
    return model, new


@functools.cache
def fitted_once(name):
    """Return the trained method `name`: the same model and items for all tests that do not change them."""
    return fitted(METHODS[name])


def scaled(data, scale):
    """Return the same data with all features times `scale`; words stay, and get vectors times it."""
    return Dataset({name: scaled_view(view, scale) for name, view in data.views.items()}, data.links)


def scaled_view(view, scale):
    if isinstance(view, WordNumbers | PhraseRows):
        return view if view.vectors is None else dataclasses.replace(view, vectors=view.vectors * scale)
    if isinstance(view, RaggedRows):
        return dataclasses.replace(view, values=view.values * scale)
    return view * scale


def share_of_wrong_below_right(model, method, new):
    """Return how often a correct item scores above a wrong one, 0.5 by chance; and the scores."""
    if method.predicts == "rankings":
        words = all_scores(model, new, "annotation")
        return np.mean(words < np.diagonal(words)[:, None]) * NEW / (NEW - 1), words
    if method.predicts == "tags":
        value = presence(new.captions) > 0
        words = model.score_tags(new.images, known_tags(new.captions))
        pairs = zip(words, value, strict=True)
        return np.mean([np.mean(row[item][:, None] > row[~item]) for row, item in pairs]), words
    if method.predicts == "captions":
        words = [set(item.words) for item in model.write(new, WritingSettings())]
        items = [set(new.captions.item(index).tolist()) for index in range(NEW)]
        right = np.array([[len(image & value) for image in items] for value in words])
        return np.mean(np.diagonal(right)[:, None] >= right), right
    scores = [rows.item(index) for rows in [model.localize(new)] for index in range(len(rows))]
    return 1.0, np.concatenate(scores)


@pytest.fixture(params=sorted(METHODS))
def method(request):
    return METHODS[request.param]


@pytest.fixture(params=sorted(name for name, method in METHODS.items() if method.predicts == "rankings"))
def ranker(request):
    return METHODS[request.param]


@pytest.fixture(params=sorted(name for name, method in METHODS.items() if method.predicts == "captions"))
def captioner(request):
    return METHODS[request.param]


@pytest.fixture(params=sorted(name for name, method in METHODS.items() if method.predicts == "localizations"))
def localizer(request):
    return METHODS[request.param]


@pytest.fixture(params=sorted(name for name, method in METHODS.items() if method.predicts == "tags"))
def tagger(request):
    return METHODS[request.param]


@pytest.fixture(params=sorted(name for name, method in METHODS.items() if method.learns))
def learner(request):
    return METHODS[request.param]


def test_it_ranks_new_items_better_than_chance_the_same_each_time_and_when_stored(ranker):
    method = ranker
    model, new = fitted_once(method.name)
    same = fitted(method)[0]
    again = method.load(settings_of(method), _through_json(*model.state()))
    for direction in ("annotation", "search"):
        scores = all_scores(model, new, direction)
        assert scores.shape == (NEW, NEW) and np.isfinite(scores).all()
        values = np.diagonal(scores)
        better = np.mean(scores < values[:, None])
        assert better > 0.6, f"new items are found no better than by chance, in {direction}"
        np.testing.assert_array_equal(all_scores(same, new, direction), scores)
        np.testing.assert_array_equal(all_scores(again, new, direction), scores)


def test_it_writes_of_new_images_better_than_chance_the_same_each_time_and_when_stored(captioner):
    model, new = fitted_once(captioner.name)
    result = model.write(new, WritingSettings())
    items = [set(new.captions.item(index).tolist()) for index in range(NEW)]
    right = [[len(image & set(value.words)) for image in items] for value in result]
    assert np.mean(np.diagonal(right)) > np.mean(right), "no better than captions of other images"
    assert fitted(captioner)[0].write(new, WritingSettings()) == result
    again = captioner.load(settings_of(captioner), _through_json(*model.state()))
    assert again.write(new, WritingSettings()) == result


def test_it_finds_phrases_better_than_chance_the_same_each_time_and_when_stored(localizer):
    model, _ = fitted_once(localizer.name)
    new, right = images_of_regions(NEW)
    result = model.localize(new)
    assert result.counts.tolist() == new.images.counts[new.image_of].tolist()
    best = [int(result.item(index).argmax()) for index in range(len(result))]
    assert np.mean(np.asarray(best) == right) > 0.7, "a third would be chance"
    detected = model.detect(new)
    tile = detected.tile(slice(0, detected.shape[0]), slice(0, detected.shape[1]))
    begin = np.cumsum(new.images.counts) - new.images.counts
    for index, image in enumerate(new.image_of):
        value = tile[index, begin[image] : begin[image] + new.images.counts[image]]
        np.testing.assert_allclose(value, result.item(index), atol=1e-6)
    np.testing.assert_array_equal(fitted(localizer)[0].localize(new).values, result.values)
    again = localizer.load(settings_of(localizer), _through_json(*model.state()))
    np.testing.assert_array_equal(again.localize(new).values, result.values)


def test_it_tags_new_images_better_than_chance_the_same_each_time_and_when_stored(tagger):
    model, new = fitted_once(tagger.name)
    tags, value = known_tags(new.captions), presence(new.captions) > 0
    again = tagger.load(settings_of(tagger), _through_json(*model.state()))
    for by in model.scores:
        result = model.score_tags(new.images, tags, by)
        assert result.shape == value.shape and np.isfinite(result).all()
        above = np.mean(
            [np.mean(row[item][:, None] > row[~item]) for row, item in zip(result, value, strict=True)]
        )
        assert above > 0.6 or isinstance(model, RandomTags), "tags are found no better than by chance"
        np.testing.assert_array_equal(fitted(tagger)[0].score_tags(new.images, tags, by), result)
        np.testing.assert_array_equal(again.score_tags(new.images, tags, by), result)
        np.testing.assert_array_equal(model.score_tags(new.images[3:5], tags, by), result[3:5])
    with pytest.raises(ValueError, match="does not rank tags by 'size'; it ranks by: own"):
        model.score_tags(new.images, tags, "size")


def _through_json(arrays, settings):
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in arrays.values())
    return arrays, json.loads(json.dumps(settings))


def test_it_tells_how_far_it_is_and_stops_where_it_is_told_to(learner):
    messages = []
    fitted(learner, heard=lambda *item: messages.append(item))
    assert messages and all(0 <= done <= total for _, done, total in messages)
    in_order = iter(name for name, share in learner.phases if share > 0)
    for phase in dict.fromkeys(phase for phase, _, _ in messages):
        assert phase in in_order, f"{phase!r} is not among the phases of {learner.name}, or not in its place"

    def stop(*messages):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(learner, heard=stop)


def test_a_number_that_is_not_finite_is_refused(learner):
    train, new = data_for(learner)
    view = (
        train.views["images"]
        if learner.takes["captions"] in ("words", "edges", "tags", "phrases")
        else train.views["captions"]
    )
    # In several rows, since some methods sample their training rows.
    (view.values if isinstance(view, RaggedRows) else view)[2:, 1] = np.nan
    with pytest.raises(ValueError, match="finite"):
        learner.make(settings_of(learner)).fit(
            train, new, FitContext(auxiliary={**auxiliary_of(learner), "weak": train})
        )


@pytest.mark.parametrize(
    "exponent", [-30, -3, 7, 17, *(pytest.param(n, marks=pytest.mark.slow) for n in (-9, 2))]
)
def test_features_times_any_power_of_ten_rank_as_before_or_are_refused_by_name(learner, exponent):
    """Of methods that learn by steps of a fixed size, and of kernels, the order may be another one."""
    try:
        model, new = fitted(learner, scale=10.0**exponent)
    except NumbersOutOfRange as refusal:
        assert re.fullmatch(
            r"rows of the (training|held-out|weak|regions|kernel|word vectors) .* have a length of about .*: "
            r"divide them by \S+, or standardise columns",
            str(refusal),
        )
        assert exponent != 2, "so small a factor is in the range"
        return
    assert -30 < exponent < 17
    better, result = share_of_wrong_below_right(model, learner, new)
    assert np.isfinite(result).all()
    assert better > 0.55 or learner.name in ("tag-random",), "by chance, and nothing is said"
    by_steps = learner.lengths != Method.lengths or "kernel" in learner.takes.values()
    if not by_steps and learner.name != "tag-random":
        whole, same = fitted(learner)
        np.testing.assert_allclose(
            _ranks(result), _ranks(share_of_wrong_below_right(whole, learner, same)[1]), atol=0.51
        )


def _ranks(scores):
    return rankdata(np.round(scores / np.abs(scores).max(), 7), axis=-1)


def test_every_setting_says_what_it_is_and_a_recipe_holds_it(method):
    held = recipes.of_dict("mine", {"method": method.name}).as_dict()[method.table]
    for name, rule in field_rules(method.settings).items():
        assert name in held and rule.help, f"{method.settings.__name__}.{name} has no description"
    assert method.title and method.source


def test_its_own_recipes_are_recipes(method):
    for name, recipe in method.recipes.items():
        created = recipes.of_dict(name, {"method": method.name, **recipe})
        assert recipes.of_dict(name, created.as_dict()) == created


def test_two_methods_cannot_have_one_name(method):
    assert register_method(method) is method
    with pytest.raises(ValueError, match=f"two methods are called {method.name!r}"):
        register_method(dataclasses.replace(method, title="another"))
