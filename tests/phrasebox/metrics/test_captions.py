"""The captioning measures of METRICS, on texts."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phrasebox.metrics import METRICS
from phrasebox.metrics.captioning import bleu, cider_d, rouge_l
from phrasebox.metrics.captions import CUTS, Captions, score_captions
from phrasebox.metrics.meteor import STATISTICS, Meteor
from phrasebox.metrics.overlap import words
from phrasebox.metrics.ptb import ptb_words
from phrasebox.metrics.table import UnknownMeasure

CANDIDATES = ["The dog is in the deep snow.", "Two boys are playing with a ball."]
REFERENCES = [
    ["A brown dog running through snow.", "The dog is in the snow."],
    ["Boys play ball.", "Two children play with a red ball."],
]
MEASURES = METRICS.names("captioning")
#: One of each kind: of counts, of a subsequence, of weighted n-grams, and by its own program.
COCO_FAMILY = ["BLEU-2", "ROUGE-L", "CIDEr-D", "METEOR"]
WORDS = ["a", "dog", "dog's", "runs", "t-shirt", "café", "naïve", "isn't", "st.", "(new)", "red,", "!"]
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
TEXTS = st.lists(TEXT, min_size=3, max_size=3)


def test_every_measure_gives_a_figure_and_one_for_each_item(stand_in: Path) -> None:
    result = score_captions(Captions(CANDIDATES, REFERENCES), MEASURES)
    assert tuple(result) == MEASURES
    for score in result.values():
        assert score.per_item.shape == (2,)
        assert 0 < score.value <= (10 if score.measure == "CIDEr-D" else 1)


@pytest.mark.parametrize(("tokens", "split"), [("ptb", ptb_words), ("own", words)])
def test_texts_are_cut_into_words_and_scored_as_words_are(tokens: str, split: Callable[[str], Any]) -> None:
    cut = (
        [split(text) for text in CANDIDATES],
        [[split(text) for text in image_texts] for image_texts in REFERENCES],
    )
    captions = Captions(CANDIDATES, REFERENCES, tokens=tokens)
    result = score_captions(captions, ["Bleu_2", "ROUGE_L", "cider-d"])
    assert result["BLEU-2"].value == bleu(*cut).corpus()[1]
    assert result["BLEU-2"].per_item.tolist() == bleu(*cut).items()[:, 1].tolist()
    assert result["ROUGE-L"].per_item.tolist() == rouge_l(*cut).tolist()
    assert result["CIDEr-D"].value == cider_d(*cut).mean()


def test_rouge_1_and_bleu_pre_compare_stems_without_stop_words() -> None:
    """dog deep snow, against brown dog run snow and dog snow; two boi plai ball, against boi plai ball and
    two children plai red ball ("through", "with" and their like are stop words)."""
    result = score_captions(Captions(CANDIDATES, REFERENCES), ["ROUGE-1", "BLEU_pre"])
    assert result["ROUGE-1"].per_item.tolist() == [(2 + 2) / (4 + 2), (3 + 3) / (3 + 5)]
    assert result["BLEU_pre"].per_item.tolist() == [2 / 3, 1]


def test_no_items_have_no_figure() -> None:
    result = score_captions(Captions([], []), MEASURES)
    assert all(math.isnan(score.value) and not len(score.per_item) for score in result.values())


def test_meteor_is_pooled_over_the_corpus(stand_in: Path) -> None:
    """The stand-in finds 2 of 2 words, and 1 of 4."""
    result = score_captions(Captions(["a dog", "a boy plays ball"], [["a dog"], ["a girl"]]), ["meteor"])
    assert result["METEOR"].per_item.tolist() == [1, 0.25]
    assert result["METEOR"].value == 3 / 6


def _letters(candidates: list[str], references: list[list[str]]) -> Meteor:
    """A replacement for METEOR: the share of a candidate's letters that its first reference contains."""
    pairs = zip(candidates, references, strict=True)
    items = np.array([len({*text} & {*value[0]}) / max(1, len(text)) for text, value in pairs])
    return Meteor(float(items.mean()), items, np.zeros((len(items), STATISTICS)))


@settings(max_examples=8)
@given(TEXTS, st.lists(TEXTS, min_size=3, max_size=3), st.sampled_from(sorted(CUTS)))
def test_no_figure_depends_on_a_stop_at_the_end_on_capitals_or_on_the_form_of_accents(
    texts: list[str], references: list[list[str]], tokens: str
) -> None:
    """Of the family of the COCO evaluation, METEOR among them."""
    changes: list[Callable[[str], str]] = [
        "{} .".format,
        str.upper,
        lambda text: unicodedata.normalize("NFD", text),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("phrasebox.metrics.captions.meteor", _letters)
        plain_value = score_captions(Captions(texts, references, tokens=tokens), COCO_FAMILY)
        for change in changes:
            changed = score_captions(Captions([*map(change, texts)], references, tokens=tokens), COCO_FAMILY)
            for name, score in plain_value.items():
                assert changed[name].value == score.value
                assert changed[name].per_item.tolist() == score.per_item.tolist()


@settings(max_examples=8)
@given(st.sets(st.integers(0, 3), min_size=1))
def test_a_part_has_the_values_that_it_has_in_the_whole_under_the_same_documents(part: set[int]) -> None:
    candidates, references = CANDIDATES * 2, REFERENCES + [["A man sits."], ["The ball is red.", "Boys."]]
    some = [candidates[k] for k in sorted(part)], [references[k] for k in sorted(part)]
    whole = score_captions(Captions(candidates, references), ["CIDEr-D"])
    parts = score_captions(Captions(*some, documents=references), ["CIDEr-D"])
    for name, score in parts.items():
        assert score.per_item == pytest.approx(whole[name].per_item[sorted(part)])
        assert score.value == pytest.approx(np.mean(whole[name].per_item[sorted(part)]))


def test_what_is_no_captioning_measure_is_refused_with_those_that_are() -> None:
    with pytest.raises(UnknownMeasure, match="unknown measure 'SPICE'.* known: BLEU-1, BLEU-2"):
        score_captions(Captions(CANDIDATES, REFERENCES), ["SPICE"])
    with pytest.raises(ValueError, match="has a text instead of a list of references; give a list"):
        Captions(["a dog"], ["a dog"])
    with pytest.raises(ValueError, match="unknown tokens 'moses'; known: ptb, own"):
        Captions(CANDIDATES, REFERENCES, tokens="moses")
