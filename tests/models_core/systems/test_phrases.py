"""Phrases as a side of a system: means and Fisher vectors of words, stored, and what they refuse."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from models_core.estimators.base import WordNumbers
from models_core.features.text.lemmas import Word
from models_core.features.text.phrases import phrase_text, phrase_words
from models_core.phase_cache import PhaseCache
from models_core.systems.kernels import Resources, WordVectorTable
from models_core.systems.phrase_side import PhraseTexts
from models_core.systems.recipe import BadRecipe, of_dict

WORDS = [*(f"w{number}" for number in range(40)), "rare"]
VECTORS = np.random.default_rng(0).standard_normal((41, 6)).astype(np.float32)
RESOURCES = Resources(word_vectors=WordVectorTable(WORDS, VECTORS))


def learned(seed=0, **text):
    recipe = of_dict("mine", {"method": "region-phrase-cca", "text": text})
    rng = np.random.default_rng(1)
    message = [[tuple(Word(f"w{n}", "") for n in rng.integers(0, 40, 3))] for _ in range(60)]
    return PhraseTexts.learn(
        recipe, [tuple(value) for value in message], replace(RESOURCES, seed=seed), PhaseCache()
    )


def phrases(*texts):
    return [[text.split()] for text in texts]


def test_a_phrase_is_its_words_in_lower_case_without_articles():
    assert phrase_words(["A", "Little", "girl"]) == ["little", "girl"]
    assert phrase_words(["the"]) == ["the"], "something has to be left"
    assert phrase_text("The man 's Hat , a red one") == "man 's hat red one"


def test_means_are_of_the_known_words_and_equal_phrases_have_one_number():
    rows = learned().describe(phrases("A w1 w2", "w2 unknown", "the w1 w2", "nobody", "nowhere"))
    assert rows.phrase_of.tolist() == [0, 1, 0, 2, 3]
    assert rows.known.tolist() == [True, True, True, False, False]
    np.testing.assert_allclose(rows[:], _means(), atol=1e-6)
    np.testing.assert_array_equal(rows[np.array([4, 1, 0])], rows[:][[4, 1, 0]])
    assert rows.shape == (5, 6) and np.asarray(rows).shape == (5, 6)


def _means():
    first, second = (VECTORS[1] + VECTORS[2]) / 2, VECTORS[2]
    return [first, second, first, np.zeros(6), np.zeros(6)]


def test_the_mixture_is_drawn_by_the_seed():
    again, same, another = (learned(seed, vectors="fisher", mixture=5) for seed in (3, 3, 4))
    first, second, third = (side.describe(phrases("w1 w2", "w3"))[:] for side in (again, same, another))
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - third).max() > 0.01


@pytest.mark.parametrize("family", ["gaussian", "hybrid"])
def test_fisher_vectors_are_those_of_the_mixture_and_come_back_from_the_store(family):
    side = learned(vectors="fisher", family=family, mixture=3)
    rows = side.describe(phrases("w1 w2", "w3", "", "rare w39 w1"))
    assert rows.shape == (4, 2 * 3 * 6)
    numbers = WordNumbers(np.array([1, 2, 3, 40, 39, 1]), np.array([0, 2, 3, 3]), np.array([2, 3, 3, 6]), 41)
    assert side.fisher is not None and list(side.vocabulary) == WORDS
    whole = np.concatenate(list(side.fisher.blocks(numbers, VECTORS)))
    np.testing.assert_allclose(rows[:], whole, atol=1e-6)
    assert not rows[:][2].any()
    arrays, settings = side.state()
    again = PhraseTexts.from_state(side.settings, arrays, json.loads(json.dumps(settings)))
    np.testing.assert_array_equal(again.describe(phrases("w1 w2", "w3", "", "rare w39 w1"))[:], rows[:])


def test_fisher_vectors_can_be_reduced_to_principal_axes():
    side = learned(vectors="fisher", mixture=3, axes=4)
    rows = side.describe(phrases("w1 w2", "w3 w4"))
    plain_value = learned(vectors="fisher", mixture=3).describe(phrases("w1 w2", "w3 w4"))
    assert rows.shape == (2, 4) and side.axes is not None
    np.testing.assert_allclose(rows[:], side.axes.transform(plain_value[:]), atol=1e-5)
    arrays, settings = side.state()
    again = PhraseTexts.from_state(side.settings, arrays, json.loads(json.dumps(settings)))
    np.testing.assert_array_equal(again.describe(phrases("w1 w2", "w3 w4"))[:], rows[:])


def test_words_of_training_are_kept_and_the_first_others():
    assert set(learned(vocabulary=0).vocabulary) == set(WORDS[:40])
    assert list(learned(vocabulary=41).vocabulary) == WORDS


def test_what_phrases_cannot_be_made_of_is_refused():
    with pytest.raises(BadRecipe, match="axes is 5; expected 0 where phrases are no Fisher vectors"):
        learned(axes=5)
    recipe = of_dict("mine", {"method": "region-phrase-cca"})
    words = [((Word("w1", ""),),)] * 3
    with pytest.raises(BadRecipe, match="describes phrases by word vectors; give some"):
        PhraseTexts.learn(recipe, words, Resources(), PhaseCache())
    with pytest.raises(BadRecipe, match="no word of the training phrases has a vector"):
        PhraseTexts.learn(recipe, [((Word("qua", ""),),)] * 3, RESOURCES, PhaseCache())
