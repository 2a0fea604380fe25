"""A mention's categories: by head noun, then by its other words, then by WordNet."""

from functools import partial

import pytest

from annotation.protocol.categories import categories_of
from annotation.protocol.chunker.wordlists import sections
from annotation.protocol.terms import CATEGORIES
from models_core.features.text.wordnet import WordNet

without_wordnet = partial(categories_of, wordnet=None)


@pytest.mark.parametrize(
    ("phrase", "categories"),
    [
        ("An old sailor", ["people"]),
        ("Three women", ["people"]),
        ("a tartan kilt", ["clothing"]),
        ("her knees", ["bodyparts"]),
        ("two geese", ["animals"]),
        ("wolves", ["animals"]),
        ("a fire truck", ["vehicles"]),
        ("the trombones", ["instruments"]),
        ("a parking lot", ["scene"]),
        ("the library", ["scene"]),
        ("a kite", ["other"]),
        ("Two", ["people"]),
    ],
)
def test_the_head_noun_decides(phrase, categories):
    assert list(without_wordnet(phrase.split())) == categories


def test_a_compound_is_known_before_its_head():
    assert without_wordnet(["a", "hot", "dog"]) == ("other",)
    assert without_wordnet(["a", "hot", "brown", "dog"]) == ("animals",)
    assert without_wordnet(["a", "tank", "top"]) == ("clothing",)


def test_glasses_are_no_glass():
    assert without_wordnet(["glasses"]) == ("clothing",)
    assert without_wordnet(["a", "glass"]) == ("other",)


def test_an_unknown_head_leaves_it_to_the_other_words():
    assert without_wordnet(["a", "nurse", "xyzzy"]) == ("people",)


@pytest.mark.parametrize("phrase", ["blue", "red and white", "all black", "dark green"])
def test_a_colour_alone_is_clothing(phrase):
    assert without_wordnet(phrase.split()) == ("clothing",)


def test_an_orange_door_is_no_clothing():
    assert without_wordnet(["an", "orange", "door"]) == ("other",)


def test_how_many_is_looked_through_and_what_is_not():
    assert without_wordnet("a group of sailors".split()) == ("people",)
    assert without_wordnet("a pair of shoes".split()) == ("clothing",)
    assert without_wordnet("a picture of sailors".split()) == ("other",)
    assert without_wordnet("the crew of the boat".split()) == ("people",)
    assert without_wordnet("a body of water".split()) == ("scene",)
    # If every noun can be a quantity, the last of them decides.
    assert without_wordnet("one of the tops".split()) == ("clothing",)


def test_somebodys_body_part_is_also_the_somebody():
    assert without_wordnet("a nurse 's hand".split()) == ("bodyparts", "people")
    assert without_wordnet("a nurse 's hat".split()) == ("clothing",)
    assert without_wordnet("his hand".split()) == ("bodyparts",)


def test_what_nobody_knows_is_other():
    assert without_wordnet(["a", "xyzzy"]) == ("other",)
    assert without_wordnet(["'s"]) == ("other",)


@pytest.mark.parametrize(
    ("noun", "category"),
    [
        ("ombudsman", "people"),
        ("burnous", "clothing"),
        ("tibia", "bodyparts"),
        ("okapis", "animals"),
        ("landau", "vehicles"),
        ("virginal", "instruments"),
        ("isthmus", "scene"),
        ("theorem", "other"),
    ],
)
def test_wordnet_knows_what_the_dictionary_does_not(wordnet, noun, category):
    assert without_wordnet(["the", noun]) == ("other",)
    assert categories_of(["the", noun], WordNet(wordnet)) == (category,)


def test_no_noun_is_in_two_sections_of_the_dictionary():
    listed = sections("categories.txt")
    assert set(listed) - {""} == set(CATEGORIES)
    assert sum(map(len, listed.values())) == len(frozenset().union(*listed.values()))
