"""Corpus scores of captions compared with the COCO evaluation and sacreBLEU, and by hand."""

from __future__ import annotations

import contextlib
import io
import math
import random
from collections import Counter

import numpy as np
import pytest
import sacrebleu
from pycocoevalcap.bleu.bleu import Bleu as CocoBleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

from phrasebox.metrics.captioning import bleu, cider, cider_d, rouge_l
from tests.sizes import sized

Item = tuple[list[str], list[list[str]]]
Vector = dict[tuple[str, ...], float]

#: Factor for the number of corpora in a thorough run: the references are slow.
MORE = sized(1, 5)


def corpora(seed: int, number: int) -> list[list[Item]]:
    """Return random corpora over few words, so that n-grams repeat; captions have at least one word."""
    rng = random.Random(seed)

    def text() -> list[str]:
        return [rng.choice("abcde"[: rng.randint(1, 5)]) for _ in range(rng.randint(1, 9))]

    def item() -> Item:
        references = [text() for _ in range(rng.randint(1, 5))]
        # Some candidates equal a reference, so that all orders match.
        return (rng.choice(references) if rng.random() < 0.3 else text()), references

    return [[item() for _ in range(rng.randint(1, 40))] for _ in range(number)]


def split(corpus: list[Item]) -> tuple[list[list[str]], list[list[list[str]]]]:
    return [candidate for candidate, _ in corpus], [references for _, references in corpus]


def coco(scorer: object, corpus: list[Item]) -> tuple[object, object]:
    """Return the reference implementation's corpus score and its scores by item."""
    references = {n: [" ".join(text) for text in value] for n, (_, value) in enumerate(corpus)}
    candidates = {n: [" ".join(text)] for n, (text, _) in enumerate(corpus)}
    with contextlib.redirect_stdout(io.StringIO()):
        return scorer.compute_score(references, candidates)  # type: ignore[attr-defined]


def test_bleu_equals_sacrebleu_on_random_corpora() -> None:
    """SacreBLEU prints per cent; without smoothing the two agree, zeros included."""
    for corpus in corpora(seed=1, number=20 * MORE):
        candidates, references = split(corpus)
        most = max(map(len, references))
        # SacreBLEU needs the same number of references for every item: repeating the last one changes
        # nothing.
        padded = [reference + [reference[-1]] * (most - len(reference)) for reference in references]
        streams = [[" ".join(reference[k]) for reference in padded] for k in range(most)]
        ours = bleu(candidates, references).corpus()
        for order in range(1, 5):
            theirs = sacrebleu.BLEU(
                smooth_method="none", max_ngram_order=order, tokenize="none", force=True
            ).corpus_score([" ".join(text) for text in candidates], streams)
            assert ours[order - 1] == pytest.approx(theirs.score / 100, abs=1e-12)


def test_bleu_equals_the_coco_evaluation_where_every_order_has_a_match() -> None:
    """That one adds 1e-15 to matches and 1e-9 to totals, so its zeros are small numbers and ours are 0."""
    matched = 0
    for corpus in corpora(seed=2, number=20 * MORE):
        result = bleu(*split(corpus))
        theirs, by_item = coco(CocoBleu(4), corpus)
        whole = result.matched.sum(axis=0) > 0
        assert result.corpus()[whole] == pytest.approx(np.array(theirs)[whole], abs=1e-6)
        assert (result.corpus()[~whole] == 0).all()
        reached = np.cumprod(result.matched > 0, axis=1).astype(bool)
        assert result.items()[reached] == pytest.approx(np.array(by_item).T[reached], abs=1e-6)
        assert (result.items()[~reached] == 0).all()
        matched += int(reached.sum())
    assert matched > 400 * MORE


def test_rouge_l_equals_the_coco_evaluation() -> None:
    for corpus in corpora(seed=3, number=20 * MORE):
        theirs, by_item = coco(Rouge(), corpus)
        assert rouge_l(*split(corpus)) == pytest.approx(by_item, abs=1e-12)


def test_cider_d_equals_the_coco_evaluation() -> None:
    for corpus in corpora(seed=4, number=20 * MORE):
        theirs, by_item = coco(Cider(), corpus)
        assert cider_d(*split(corpus)) == pytest.approx(by_item, abs=1e-9)


def test_cider_d_of_a_part_equals_the_coco_evaluations_under_the_documents_of_the_whole() -> None:
    for corpus in corpora(seed=5, number=10 * MORE):
        candidates, references = split(corpus)
        theirs, by_item = coco(Cider(), corpus)
        part = cider_d(candidates[::2], references[::2], documents=references)
        assert part == pytest.approx(np.array(by_item)[::2], abs=1e-9)


def test_cider_is_the_mean_cosine_of_tf_idf_vectors() -> None:
    """Written out as Vedantam et al. 2015 have it: no clipping, no penalty, no factor of ten."""

    def vector(text: list[str], order: int, documents: list[set[tuple[str, ...]]]) -> Vector:
        grams = Counter(tuple(text[k : k + order]) for k in range(len(text) - order + 1))
        return {
            gram: count
            * math.log(len(documents) / max(1, sum(gram in image_texts for image_texts in documents)))
            for gram, count in grams.items()
        }

    def cosine(first: Vector, second: Vector) -> float:
        length = math.hypot(*first.values()) * math.hypot(*second.values())
        return sum(weight * second.get(gram, 0) for gram, weight in first.items()) / length if length else 0.0

    for corpus in corpora(seed=5, number=5 * MORE):
        expected = np.zeros(len(corpus))
        for order in range(1, 5):
            documents = [
                {tuple(text[k : k + order]) for text in image_texts for k in range(len(text) - order + 1)}
                for _, image_texts in corpus
            ]
            for item, (candidate, image_texts) in enumerate(corpus):
                mine = vector(candidate, order, documents)
                expected[item] += (
                    np.mean([cosine(mine, vector(text, order, documents)) for text in image_texts]) / 4
                )
        assert cider(*split(corpus)) == pytest.approx(expected, abs=1e-12)


def test_a_candidate_equal_to_its_only_reference_has_every_score_at_its_top() -> None:
    candidates = [["a", "b", "c", "d", "e"], ["f", "g", "h", "i"]]
    references = [[text] for text in candidates]
    assert bleu(candidates, references).corpus() == pytest.approx([1, 1, 1, 1])
    assert rouge_l(candidates, references) == pytest.approx([1, 1])
    assert cider(candidates, references) == pytest.approx([1, 1])
    assert cider_d(candidates, references) == pytest.approx([10, 10])


def test_a_short_candidate_pays_the_brevity_penalty_and_only_then() -> None:
    result = bleu([["a", "b"]], [[["a", "b", "c", "d"]]], orders=1)
    assert result.corpus() == pytest.approx([math.exp(1 - 4 / 2)])
    assert result.corpus(brevity_penalty=False) == pytest.approx([1])


def test_of_two_reference_lengths_as_close_the_shorter_counts() -> None:
    result = bleu([["a"] * 3], [[["a"] * 4, ["a"] * 2]])
    assert result.reference_lengths.tolist() == [2]


def test_an_empty_candidate_scores_nothing() -> None:
    """The COCO evaluation splits "" into one empty word instead."""
    candidates, references = [[], ["a"]], [[["a"]], [["a"]]]
    assert bleu(candidates, references).items()[0].tolist() == [0, 0, 0, 0]
    assert rouge_l(candidates, references)[0] == 0
    assert cider_d(candidates, references)[0] == 0


def test_rouge_l_passes_over_an_empty_reference() -> None:
    assert rouge_l([["a"]], [[[], ["a"]]]) == pytest.approx([1])


def test_a_corpus_of_one_item_has_no_idf_and_so_no_cider() -> None:
    assert cider([["a", "b"]], [[["a", "b"]]]).tolist() == [0]


def test_no_items_have_no_scores() -> None:
    assert cider([], []).shape == rouge_l([], []).shape == (0,)
    assert bleu([], []).corpus().tolist() == [0, 0, 0, 0]


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(ValueError, match="1 candidates but references for 2 items"):
        rouge_l([["a"]], [[["a"]], [["b"]]])
    with pytest.raises(ValueError, match="item number 1 has no reference"):
        cider([["a"], ["b"]], [[["a"]], []])
    with pytest.raises(ValueError, match="item number 0 contains an untokenized text"):
        bleu([["a"]], [["a dog"]])
