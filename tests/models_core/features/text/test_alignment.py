"""Captions of one image align: IBM models 1 and 2, word classes, and their results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models_core.features.text.aligned import aligned, word_classes
from models_core.features.text.alignment import caption_pairs, train_alignment
from models_core.features.text.lemmas import NOUN, OTHER_PART, VERB, Word

sentences = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4)
pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=8)


def by_hand(corpus, first, second):
    """EM with dictionaries, one pair after another: t(target | source); the source None is the empty word."""
    t: dict = {}
    q: dict = {}
    for s, u in corpus:
        for word in (None, *s):
            for target in u:
                t.setdefault(word, {})[target] = 1.0
    t = {word: dict.fromkeys(values, 1 / len(values)) for word, values in t.items()}
    for step in range(first + second):
        count_t: dict = {}
        count_q: dict = {}
        for s, u in corpus:
            full = (None, *s)
            for j, target in enumerate(u):
                index = j, len(s), len(u)
                even = dict.fromkeys(range(len(full)), 1 / len(full))
                joint = [t[w][target] * q.get(index, even)[i] for i, w in enumerate(full)]
                for i, (w, value) in enumerate(zip(full, joint, strict=True)):
                    share = value / sum(joint)
                    count_t.setdefault(w, {}).setdefault(target, 0.0)
                    count_t[w][target] += share
                    count_q.setdefault(index, {}).setdefault(i, 0.0)
                    count_q[index][i] += share
        t = {w: {u: n / sum(values.values()) for u, n in values.items()} for w, values in count_t.items()}
        if step >= first:
            q = {p: {i: n / sum(values.values()) for i, n in values.items()} for p, values in count_q.items()}
    return t


@given(pairs, st.integers(1, 3), st.integers(0, 3))
def test_translations_are_those_of_em_by_hand(corpus, first, second) -> None:
    learned = train_alignment(corpus, first=first, second=second)
    expected = by_hand(corpus, first, second)
    for i, source in enumerate(learned.words):
        for j, target in enumerate(learned.words):
            assert learned.matrix[i, j] == pytest.approx(expected.get(source, {}).get(target, 0.0), abs=1e-9)


@given(pairs)
def test_the_likelihood_rises_at_every_step_of_both_models(corpus) -> None:
    item, two = train_alignment(corpus, first=8, second=8).likelihoods
    for likelihoods in (item, two):
        assert np.diff(likelihoods).min() >= -1e-9
    # Model 2 starts with uniform positions, where model 1 ended.
    assert two[0] >= item[-1] - 1e-9


def test_model_1_s_likelihood_rises_strictly_until_it_has_learned() -> None:
    corpus = [(["dog", "ball"], ["puppy", "toy"]), (["dog"], ["puppy"]), (["ball"], ["toy"])]
    learned = train_alignment(corpus, first=10, second=0)
    assert np.diff(learned.likelihoods[0]).min() > 0
    dog, puppy, toy = (learned.words.index(word) for word in ("dog", "puppy", "toy"))
    assert learned.matrix[dog, puppy] > 0.9 > 0.1 > learned.matrix[dog, toy]


def test_every_ordered_pair_of_captions_of_an_image_is_aligned() -> None:
    images = [[["a"], ["b"], []], [["c"]]]
    assert caption_pairs(images) == [(["a"], ["b"]), (["b"], ["a"])]
    with pytest.raises(ValueError, match="alignment needs such pairs"):
        train_alignment([([], ["a"])])


def noun(*lemmas: str) -> list[Word]:
    return [Word(lemma, NOUN) for lemma in lemmas]


def test_word_classes_take_the_printed_thresholds() -> None:
    captions = [
        [*noun("dog", "run"), Word("run", VERB)],
        *[[*noun("dog"), Word("run", VERB)]] * 4,
        *[[Word("run", VERB)]] * 20,
        *[[Word("red", OTHER_PART), *noun("red")]] * 5,
        *[[Word("blue", OTHER_PART), Word("blue", OTHER_PART), *noun("blue")]] * 5,
        *[[Word("sit", VERB)]] * 24,
    ]
    classes = word_classes([captions])
    assert classes.nouns == {"dog": 1.0, "red": 0.5}
    assert classes.verbs == {"run": 25 / 26}
    assert classes.both == ()


def test_words_for_the_same_thing_are_similar_and_nouns_never_align_with_verbs() -> None:
    things = [("rider", "biker"), ("dog", "puppy"), ("ball", "toy")]
    images = []
    for number in range(90):
        first, second = things[number % 3], things[(number // 3 + number % 3 + 1) % 3]
        captions = [noun(first[0], second[0]), noun(first[1], second[1]), noun(first[0], second[1])]
        images.append([[*caption, Word("swim", VERB)] for caption in captions])
    created = aligned(images)
    assert created.nearest("rider", 1)[0][0] == "biker"
    assert created.nearest("toy", 1)[0][0] == "ball"
    assert created("dog", "puppy") > 2 * created("dog", "toy")
    assert created("swim", "dog") == 0.0
    assert np.linalg.eigvalsh(created.matrix).min() > -1e-9


def test_one_caption_an_image_is_not_enough_to_align() -> None:
    with pytest.raises(ValueError, match="several captions for each image"):
        aligned([[noun("dog")]] * 9)
