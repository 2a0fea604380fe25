"""Figures of captions, against counts by hand and the published ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.protocol.caption_statistics import PRINTED_OF_CAPTIONS, CaptionStatistics
from phrasebox.text.stems import stem


def figures_of(*images: tuple[str, ...]):
    statistics = CaptionStatistics()
    for captions in images:
        statistics.add([caption.split() for caption in captions])
    return statistics.figures()


@pytest.mark.parametrize(
    ("caption", "without_verb", "static"),
    [
        ("A man in a red hat .", 1, 0),
        ("There is a dog on the grass .", 1, 0),
        ("A parked car near a tree .", 1, 0),
        ("A woman is standing in a field .", 0, 1),
        ("Two boys wear hats and look at a dog .", 0, 1),
        ("A man sits while a dog runs .", 0, 0),
        ("A girl jumped over a puddle .", 0, 0),
    ],
)
def test_verbs_are_those_outside_noun_phrases(caption: str, without_verb: int, static: int) -> None:
    figures = figures_of((caption,))
    assert (figures.without_verb, figures.static_verbs) == (without_verb, static)


def test_lengths_words_and_overlap_by_hand() -> None:
    figures = figures_of(("A dog runs .", "Dogs run !", "A cat"), ("A boat .",))
    assert (figures.images, figures.captions, figures.tokens) == (2, 4, 12 / 4)
    assert (figures.shortest, figures.longest, figures.vocabulary) == (2, 4, 7)
    # {a, dog, run} and {dog, run}: 2/3; {a, dog, run} and {a, cat}: 1/4; {dog, run} and {a, cat}: 0.
    assert stem("dogs") == "dog" and figures.overlap == pytest.approx((2 / 3 + 1 / 4 + 0) / 3)
    nothing = figures_of()
    assert (nothing.captions, nothing.tokens, nothing.longest, nothing.overlap) == (0, None, None, None)


def test_flickr8k_is_near_what_is_printed(real_data: Path) -> None:
    """Every twenty-first caption; the whole: docs/statistics.md."""
    with (real_data / "flickr8k" / "Flickr8k.token.txt").open(encoding="utf-8") as file:
        captions = [line.partition("\t")[2].strip() for number, line in enumerate(file) if number % 21 == 0]
    figures = figures_of(*((caption,) for caption in captions))
    assert figures.tokens == pytest.approx(PRINTED_OF_CAPTIONS["tokens"], abs=0.3)
    assert figures.without_verb == pytest.approx(PRINTED_OF_CAPTIONS["without_verb"], abs=0.04)
    assert figures.static_verbs == pytest.approx(PRINTED_OF_CAPTIONS["static_verbs"], abs=0.04)
