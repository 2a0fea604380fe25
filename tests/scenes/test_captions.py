"""Captions are English, five per image, all different."""

from __future__ import annotations

import pytest

from scenes.phrases import article, gerund, third_person
from scenes.referents import plural


def test_an_image_has_five_different_captions_of_four_to_twenty_words(scenes):
    for scene in scenes:
        texts = {caption.text for caption in scene.captions}
        assert len(texts) == len(scene.captions) == 5
        for caption in scene.captions:
            assert 4 <= len([word for word in caption.words if word not in {".", ","}]) <= 20


def test_words_are_separated_by_single_spaces_and_most_captions_end_with_a_full_stop(scenes):
    captions = [caption for scene in scenes for caption in scene.captions]
    assert all(caption.text == " ".join(caption.text.split()) for caption in captions)
    stopped = sum(caption.text.endswith(" .") for caption in captions)
    assert 0.9 < stopped / len(captions) < 1


def test_captions_begin_with_a_capital_and_have_none_further_on(scenes):
    for scene in scenes:
        for caption in scene.captions:
            assert caption.text[0].isupper()
            assert caption.text[1:] == caption.text[1:].lower()


def test_articles_fit_the_next_word(scenes):
    for scene in scenes:
        for caption in scene.captions:
            words = [word.lower() for word in caption.words]
            for word, following in zip(words, words[1:], strict=False):
                if word in ("a", "an"):
                    assert word == article(following), caption.text


def test_verbs_agree_with_one_or_several(scenes):
    alone = {"man", "woman", "boy", "girl", "dog", "horse", "cat", "couple", "family"}
    several = {"men", "women", "boys", "girls", "people", "children", "kids", "dogs", "horses"}
    for scene in scenes:
        for caption in scene.captions:
            words = [word.lower() for word in caption.words]
            opening = next(
                (m for m in scene.layer.mentions if m.caption == scene.captions.index(caption)), None
            )
            if opening is None or opening.start or len(words) <= opening.end:
                continue
            following = words[opening.end]
            if opening.head in alone:
                assert following != "are", caption.text
            if opening.head in several:
                assert following != "is", caption.text


def test_no_words_are_left_of_the_templates(scenes):
    for scene in scenes:
        for caption in scene.captions:
            assert not set(caption.text) & set("@*{}/()"), caption.text


def test_one_thing_is_called_by_different_names(scenes):
    varied = [
        chain
        for scene in scenes
        for chain in scene.layer.chains
        if len({mention.head for mention in chain.mentions}) > 1
    ]
    assert len(varied) > len(scenes)


@pytest.mark.parametrize(
    ("verb", "third", "ing"),
    [
        ("ride", "rides", "riding"),
        ("run", "runs", "running"),
        ("watch", "watches", "watching"),
        ("carry", "carries", "carrying"),
        ("play", "plays", "playing"),
        ("lie", "lies", "lying"),
        ("have", "has", "having"),
        ("ski", "skis", "skiing"),
        ("go", "goes", "going"),
        ("sit", "sits", "sitting"),
    ],
)
def test_verbs_are_inflected(verb, third, ing):
    assert (third_person(verb), gerund(verb)) == (third, ing)


@pytest.mark.parametrize(
    ("noun", "many"),
    [
        ("man", "men"),
        ("child", "children"),
        ("sheep", "sheep"),
        ("lady", "ladies"),
        ("bus", "buses"),
        ("ice cream cone", "ice cream cones"),
        ("boy", "boys"),
    ],
)
def test_nouns_are_put_into_the_plural(noun, many):
    assert plural(noun) == many


@pytest.mark.parametrize(
    ("word", "fits"), [("orange", "an"), ("unicorn", "a"), ("umbrella", "an"), ("red", "a")]
)
def test_the_article_goes_by_sound(word, fits):
    assert article(word) == fits
