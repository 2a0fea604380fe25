"""Detected mentions compared with marked ones: what counts, what does not, and the kinds of errors."""

import pytest

from annotation.protocol.mention_scores import MentionScores, score_mentions
from annotation.protocol.terms import NOT_VISUAL, Chain, LayerRecord, Mention

WORDS = tuple("the small boy feeds two grey geese in the background".split())


def mention(start, end, *categories, caption=0):
    return Mention(caption, start, end, WORDS[start:end], categories or ("other",))


def layer(*mentions, hidden=()):
    chains = [Chain(str(i), (m,)) for i, m in enumerate(mentions, 1)]
    return LayerRecord(tuple(chains + [Chain(NOT_VISUAL, (m,)) for m in hidden]))


def test_only_spans_with_both_edges_right_count():
    scores = score_mentions(
        [mention(0, 3), mention(5, 7)], layer(mention(0, 3), mention(4, 7), mention(8, 10))
    )
    assert (scores.gold, scores.predicted, scores.matched) == (3, 2, 1)
    assert (scores.precision, scores.recall) == (1 / 2, 1 / 3)
    assert scores.f1 == pytest.approx(2 / 5)


def test_the_same_words_in_another_caption_do_not_match():
    assert score_mentions([mention(0, 3, caption=1)], layer(mention(0, 3))).matched == 0


def test_chain_0_counts_neither_for_nor_against():
    marked = layer(mention(0, 3), hidden=[mention(8, 10)])
    for result in ([mention(0, 3)], [mention(0, 3), mention(8, 10)], [mention(0, 3), mention(9, 10)]):
        scores = score_mentions(result, marked)
        assert (scores.gold, scores.predicted, scores.matched) == (1, 1, 1)


def test_a_span_that_reaches_out_of_chain_0_counts_against():
    scores = score_mentions([mention(7, 10)], layer(mention(0, 3), hidden=[mention(8, 10)]))
    assert scores.predicted == 1


def test_errors_are_missed_spurious_or_at_the_boundary():
    scores = score_mentions(
        [mention(0, 4), mention(5, 7), mention(7, 8)],
        layer(mention(0, 1), mention(2, 3), mention(4, 7), mention(9, 10)),
    )
    assert scores.errors == {
        "missed": {"background": 1},
        "spurious": {"in": 1},
        "boundary": {"the small boy feeds -> the | boy": 1, "grey geese -> two grey geese": 1},
    }


def test_categories_are_compared_on_matched_spans_only():
    scores = score_mentions(
        [mention(0, 3, "people"), mention(4, 7, "animals"), mention(9, 10, "scene")],
        layer(mention(0, 3, "people", "bodyparts"), mention(4, 7, "animals")),
    )
    assert scores.category_agreement == 1 / 2
    assert scores.compared == {"people": 1, "bodyparts": 1, "animals": 1}
    assert scores.agreed == {"people": 1, "animals": 1}


def test_images_add_up():
    total = MentionScores()
    for _ in range(3):
        total += score_mentions([mention(0, 3), mention(3, 4)], layer(mention(0, 3), mention(4, 7)))
    assert (total.gold, total.predicted, total.matched) == (6, 6, 3)
    assert total.errors["spurious"] == {"feeds": 3}
    assert total.f1 == 1 / 2


def test_nothing_found_in_nothing_marked_scores_nothing():
    scores = score_mentions([], layer())
    assert (scores.precision, scores.recall, scores.f1, scores.category_agreement) == (0, 0, 0, 0)
