"""Region-phrase CCA: the pairs that it samples, equality with the printed CCA, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models_core.estimators.base import Dataset, FitContext, RaggedRows
from models_core.estimators.cca import CCA, CCASettings
from models_core.estimators.predictors import resampled
from models_core.estimators.region_phrase import RegionPhraseCCA, RegionPhraseSettings
from tests.models_core.estimators.phrases import LINK, images_of_regions, phrase_rows, phrases_of_regions


@given(st.lists(st.integers(0, 6), max_size=60), st.integers(0, 5), st.integers(0, 9))
def test_of_each_phrase_as_many_exemplars_are_kept_as_there_are_and_at_most_n(numbers, most, seed):
    phrase_of = np.asarray(numbers, np.intp)
    stored = resampled(phrase_of, most, np.random.default_rng(seed))
    assert (np.diff(stored) > 0).all()
    for phrase in set(numbers):
        there = numbers.count(phrase)
        assert np.count_nonzero(phrase_of[stored] == phrase) == (min(there, most) if most else there)


def test_each_exemplar_is_as_likely_to_be_drawn():
    phrase_of = np.asarray([0] * 5 + [1] * 2)
    drawn = np.zeros(7)
    for seed in range(2000):
        drawn[resampled(phrase_of, 2, np.random.default_rng(seed))] += 1
    assert (drawn[5:] == 2000).all()
    np.testing.assert_allclose(drawn[:5] / 2000, 2 / 5, atol=0.04)


def test_with_all_pairs_and_one_setting_it_is_normalised_cca_with_the_first_power():
    train, _ = phrases_of_regions(30)
    ours = RegionPhraseCCA(RegionPhraseSettings(exemplars=0, components=5, ridges=(0.01,)))
    ours.fit(train, None, FitContext())
    assert ours.pairs_ == len(train.captions)
    dataset = Dataset(
        {"images": np.asarray(train.images.values), "captions": train.captions[:]},
        {LINK: train.image_of},
    )
    theirs = CCA(CCASettings(components=5, ridges=(0.01,), powers=(1.0,))).fit(dataset, None, FitContext())
    new, _ = images_of_regions(6)
    views = {"images": new.images.values, "captions": new.captions[:]}
    whole = Dataset(views, {LINK: np.zeros(len(new.captions), np.intp)})
    result = theirs.score(whole, direction="search")
    everything = slice(0, 18)
    np.testing.assert_allclose(
        ours.detect(new).tile(everything, everything), result.tile(everything, everything), atol=1e-5
    )


def test_a_phrase_without_a_known_word_scores_nothing_and_is_not_learned_from():
    train, _ = phrases_of_regions(30)
    strange = [["nobody", "knows"]] * 3
    phrases = phrase_rows(strange)
    assert not phrases.known.any()
    data = Dataset({"images": train.images.take([0, 1, 2]), "captions": phrases}, {LINK: np.arange(3)})
    settings = RegionPhraseSettings(ridges=(0.01,))
    with pytest.raises(ValueError, match="0 of 3 phrases have a word with a vector; give word vectors"):
        RegionPhraseCCA(settings).fit(data, None, FitContext())
    model = RegionPhraseCCA(settings).fit(train, None, FitContext())
    assert (model.localize(data).values == 0).all()


def test_phrases_of_one_image_in_any_order_get_their_own_scores():
    train, held = phrases_of_regions(30, held_out=10)
    model = RegionPhraseCCA(RegionPhraseSettings()).fit(train, held, FitContext())
    new, _ = images_of_regions(5)
    result = model.localize(new)
    back = np.arange(len(new.captions))[::-1]
    turned = Dataset(
        {"images": new.images, "captions": new.captions.of_phrases(new.captions.phrase_of[back])},
        {LINK: new.image_of[back]},
    )
    again = model.localize(turned)
    for index in range(len(back)):
        np.testing.assert_allclose(again.item(index), result.item(int(back[index])), atol=1e-6)


def test_what_it_cannot_learn_from_is_named():
    train, _ = phrases_of_regions(30)
    with pytest.raises(ValueError, match="chooses its ridge on held-out pairs"):
        RegionPhraseCCA(RegionPhraseSettings()).fit(train, None, FitContext())
    several = RaggedRows.of_counts(train.images.values, np.full(45, 2))
    data = Dataset({"images": several, "captions": train.captions}, {LINK: train.image_of // 2})
    with pytest.raises(ValueError, match="several regions; expected one region each"):
        RegionPhraseCCA(RegionPhraseSettings(ridges=(0.1,))).fit(data, None, FitContext())
    model = RegionPhraseCCA(RegionPhraseSettings(ridges=(0.1,))).fit(train, None, FitContext())
    narrow = RaggedRows.of_counts(np.zeros((2, 3), np.float32), np.ones(2))
    with pytest.raises(ValueError, match="features of 3 numbers against 10; expected the same"):
        model.embed_regions(narrow)
