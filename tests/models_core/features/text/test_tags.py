"""Ranked tags by hand, and compared with a slow implementation of the equations on generated captions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from models_core.features.text.lemmas import NOUN, OTHER_PART, VERB, Lemmatiser, Word
from models_core.features.text.tags import TagPosition, TagUnit, ranked_tags, tags_in_caption, tree_locations
from tests.models_core.features.text.slow_tags import read_slowly

PARTS = {"n": NOUN, "v": VERB, "x": OTHER_PART}


def marked(text: str) -> tuple[Word, ...]:
    """Return words with their parts of speech after a slash: n, v or x; x by default."""
    cut = (word.partition("/") for word in text.split())
    return tuple(Word(word, PARTS[part or "x"]) for word, _, part in cut)


def ranked(*captions: str, alpha: float, unit: TagUnit = "nouns") -> dict[str, float]:
    return dict(ranked_tags([tags_in_caption(marked(caption), unit=unit) for caption in captions], alpha))


def test_the_example_of_the_paper() -> None:
    bites = "the dog/n bite/v ."
    assert tags_in_caption(marked(bites)) == (TagPosition("dog", 2 / 3),)
    for alpha, score in ((0, 1 / 3), (0.5, 2 / 3), (1, 1)):
        assert ranked(bites, alpha=alpha) == {"dog": pytest.approx(score)}


def test_places_are_the_best_of_all_captions_and_frequencies_are_of_all_nouns() -> None:
    """Five nouns in all, two dogs; the dog comes third of six words and first of three."""
    captions = ("the brown dog/n chase/v a cat/n !", "dog/n , tree/n and grass/n")
    # words: the brown dog chase a cat = 6; dog tree and grass = 4
    assert ranked(*captions, alpha=0) == {
        "dog": pytest.approx(3 / 4),
        "tree": pytest.approx(1 / 2),
        "cat": 0,
        "grass": 0,
    }
    assert ranked(*captions, alpha=0.75) == {
        "dog": pytest.approx(0.75 * 2 / 5 + 0.25 * 3 / 4),
        "tree": pytest.approx(0.75 / 5 + 0.25 / 2),
        "cat": pytest.approx(0.15),
        "grass": pytest.approx(0.15),
    }


def test_a_compound_is_one_tag_and_stands_where_its_last_noun_stands() -> None:
    captions = ("a boy/n on a soccer/n field/n", "the field/n and a boy/n")
    assert ranked(*captions, alpha=0, unit="compounds") == {
        "boy": pytest.approx(2 / 3),
        "field": pytest.approx(3 / 5),
        "soccer field": 0,
    }
    assert ranked(*captions, alpha=1, unit="compounds") == {"boy": 0.5, "field": 0.25, "soccer field": 0.25}
    nouns = ranked(*captions, alpha=1)
    assert nouns == {"boy": pytest.approx(0.4), "field": pytest.approx(0.4), "soccer": pytest.approx(0.2)}


def test_phrases_part_compounds_and_nouns_outside_are_none() -> None:
    words = marked("girl/n swim/n suit/n in front/n of water/n")
    tags = tags_in_caption(words, [(0, 1), (1, 3), (6, 7)], unit="compounds")
    assert [tag.tag for tag in tags] == ["girl", "swim suit", "water"]
    assert [tag.tag for tag in tags_in_caption(words, [(0, 1), (1, 3), (6, 7)])] == [
        "girl",
        "swim",
        "suit",
        "water",
    ]


def test_equal_scores_stand_by_the_alphabet() -> None:
    captions = [tags_in_caption(marked(f"x {word}/n x")) for word in ("owl", "ant", "bee")]
    assert [tag for tag, _ in ranked_tags(captions, 0.75)] == ["ant", "bee", "owl"]


def test_scores_that_are_equal_by_the_equations_are_equal() -> None:
    """1 - 0.9 and 1 - (1 - 0.1) are a tenth both, and not the same number of a computer."""
    a = [TagPosition("zebra", 0.9)] + [TagPosition("zebra", 1.0)] * 2
    b = [TagPosition("ant", 1 - 0.1)] * 3
    rest = [TagPosition("x", 1.0)] * 4
    result = dict(ranked_tags([a, b, rest], 0.1))
    assert result["zebra"] == result["ant"]


@pytest.mark.parametrize("captions", [(), ("",), (".",), ("run/v fast", "!")])
def test_without_a_noun_there_is_no_tag(captions: tuple[str, ...]) -> None:
    assert ranked(*captions, alpha=0.75) == {}


@pytest.mark.parametrize("alpha", [-0.01, 1.01, float("nan")])
def test_an_alpha_out_of_range_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match=r"alpha is .*; expected 0 .* to 1"):
        ranked_tags([], alpha)


def test_generated_captions_rank_as_in_a_slow_reading_of_the_equations() -> None:
    rng = random.Random(7)
    words = [Word(f"w{n}", NOUN if n % 3 else VERB) for n in range(12)] + [Word(",", ""), Word("the", "")]
    for _ in range(300):
        captions = [tuple(rng.choices(words, k=rng.randint(0, 12))) for _ in range(rng.randint(0, 5))]
        alpha = Fraction(rng.randint(0, 8), 8)
        expected = read_slowly(captions, alpha)
        result = ranked_tags(map(tags_in_caption, captions), float(alpha))
        assert [tag for tag, _ in result] == sorted(expected, key=lambda tag: (-expected[tag], tag))
        assert dict(result) == pytest.approx(
            {tag: float(score) for tag, score in expected.items()}, abs=1e-11
        )


def test_every_token_has_its_lemma_and_part() -> None:
    token = Lemmatiser().every_token("Two dogs , running .".split())
    assert [word.lemma for word in token] == ["two", "dog", ",", "run", "."]
    assert token[1].part == NOUN


def test_the_distance_to_the_root_of_a_parse_is_relative_to_the_farthest_word() -> None:
    """As figure 1 of the paper counts edges: of a nominal phrase the root noun is at 0."""
    # a mirror that shows dogs: mirror is the root, shows depends on it, dogs on shows; "a" on mirror
    heads = (2, 0, 4, 2, 4)
    assert tree_locations(heads) == (0.5, 0.0, 1.0, 0.5, 1.0)
    assert tree_locations((0,)) == (0.0,) and tree_locations(()) == ()
    words = marked("a mirror/n that show/v dog/n")
    tags = tags_in_caption(words, locations=tree_locations(heads))
    assert tags == (TagPosition("mirror", 0.0), TagPosition("dog", 1.0))
    assert dict(ranked_tags([tags], 0.0)) == {"mirror": 1.0, "dog": 0.0}


def test_a_compound_is_as_near_to_the_root_as_its_head() -> None:
    words = marked("soccer/n field/n")
    assert tags_in_caption(words, unit="compounds", locations=[1.0, 0.25]) == (
        TagPosition("soccer field", 0.25),
    )
    assert tags_in_caption(words, unit="compounds", locations=[0.25, 1.0]) == (
        TagPosition("soccer field", 0.25),
    )
