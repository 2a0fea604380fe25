"""The captioning measures of METRICS, on texts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.captioning import bleu, cider_d, rouge_l
from evaluation.metrics.captions import Captions, score_captions
from evaluation.metrics.overlap import words
from evaluation.metrics.table import UnknownMeasure

CANDIDATES = ["The dog is in the deep snow.", "Two boys are playing with a ball."]
REFERENCES = [
    ["A brown dog running through snow.", "The dog is in the snow."],
    ["Boys play ball.", "Two children play with a red ball."],
]
MEASURES = METRICS.names("captioning")


def test_every_measure_gives_a_figure_and_one_for_each_item(stand_in: Path) -> None:
    found = score_captions(Captions(CANDIDATES, REFERENCES), MEASURES)
    assert tuple(found) == MEASURES
    for score in found.values():
        assert score.per_item.shape == (2,)
        assert 0 < score.value <= (10 if score.measure == "CIDEr-D" else 1)


def test_texts_are_cut_into_words_and_scored_as_words_are() -> None:
    cut = [words(text) for text in CANDIDATES], [[words(text) for text in own] for own in REFERENCES]
    found = score_captions(Captions(CANDIDATES, REFERENCES), ["Bleu_2", "ROUGE_L", "cider-d"])
    assert found["BLEU-2"].value == bleu(*cut).corpus()[1]
    assert found["BLEU-2"].per_item.tolist() == bleu(*cut).items()[:, 1].tolist()
    assert found["ROUGE-L"].per_item.tolist() == rouge_l(*cut).tolist()
    assert found["CIDEr-D"].value == cider_d(*cut).mean()


def test_rouge_1_and_bleu_pre_compare_stems_without_stop_words() -> None:
    """dog deep snow, against brown dog run snow and dog snow; two boi plai ball, against boi plai ball and
    two children plai red ball ("through", "with" and their like are stop words)."""
    found = score_captions(Captions(CANDIDATES, REFERENCES), ["ROUGE-1", "BLEU_pre"])
    assert found["ROUGE-1"].per_item.tolist() == [(2 + 2) / (4 + 2), (3 + 3) / (3 + 5)]
    assert found["BLEU_pre"].per_item.tolist() == [2 / 3, 1]


def test_no_items_have_no_figure() -> None:
    found = score_captions(Captions([], []), MEASURES)
    assert all(math.isnan(score.value) and not len(score.per_item) for score in found.values())


def test_meteor_is_pooled_over_the_corpus(stand_in: Path) -> None:
    """The stand-in finds 2 of 2 words, and 1 of 4."""
    found = score_captions(Captions(["a dog", "a boy plays ball"], [["a dog"], ["a girl"]]), ["meteor"])
    assert found["METEOR"].per_item.tolist() == [1, 0.25]
    assert found["METEOR"].value == 3 / 6


def test_what_is_no_captioning_measure_is_refused_with_those_that_are() -> None:
    with pytest.raises(UnknownMeasure, match="unknown measure 'SPICE'.* known: BLEU-1, BLEU-2"):
        score_captions(Captions(CANDIDATES, REFERENCES), ["SPICE"])
    with pytest.raises(ValueError, match="has a text instead of a list of references; give a list"):
        Captions(["a dog"], ["a dog"])
