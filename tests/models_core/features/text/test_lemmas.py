"""Captions as lemmas with parts of speech, from the corpus's own lemmas or from HanTa."""

from __future__ import annotations

from HanTa.HanoverTagger import HanoverTagger

from models_core.features.text.lemmas import NOUN, OTHER_PART, VERB, Lemmatiser, Word, content, joined

LEMMATISER = Lemmatiser()


def test_content_is_lower_case_without_stop_words_and_punctuation() -> None:
    assert content("The Dog be run through a t-shirt .") == ("dog", "run", "t-shirt")


def test_a_caption_as_written_is_lemmatised_and_tagged() -> None:
    words = LEMMATISER.words("Two dogs are running through the deep snow.")
    assert words == (
        Word("two", OTHER_PART),
        Word("dog", NOUN),
        Word("run", VERB),
        Word("deep", OTHER_PART),
        Word("snow", NOUN),
    )
    assert LEMMATISER.content("Two dogs are running.") == ("two", "dog", "run")


def test_the_corpus_lemmas_are_kept_where_it_has_them() -> None:
    words = LEMMATISER.words("Children wearing tee-shirts .", "child wear t-shirt .")
    assert [word.lemma for word in words] == ["child", "wear", "t-shirt"]
    assert words[1].part == VERB


def test_ing_that_the_corpus_takes_off_makes_a_verb_whatever_the_tagger_says() -> None:
    """HanTa takes this "swimming" for a noun, as it may be; the corpus's lemma decides."""
    assert LEMMATISER.words("boys swimming")[1] == Word("swimming", NOUN)
    assert LEMMATISER.words("boys swimming", "boy swim")[1] == Word("swim", VERB)
    assert LEMMATISER.words("boys swimming", "boy swimming")[1] == Word("swimming", NOUN)


def test_lemmas_find_their_words_where_the_lemmatiser_dropped_some() -> None:
    assert joined("The black dog runs .".split(), "black dog run .".split()) == [1, 2, 3, 4]
    assert joined(["grips", "the", "ropes"], ["grip", "onto", "a", "rope"]) == [0, None, 1, 2]
    assert joined([], ["a"]) == [None]


def test_captions_without_words_and_with_endless_words() -> None:
    assert LEMMATISER.words("") == ()
    assert LEMMATISER.words(" . ") == ()
    assert LEMMATISER.content("dog " + "x" * 500) == ("dog", "x" * 500)


def test_what_is_looked_up_once_is_what_hanta_says_of_each_caption() -> None:
    """Words that HanTa knows and others, at the start of a caption and elsewhere, twice."""
    captions = [
        "Two men are skateboarding in a snowcovered park .",
        "Skateboarding men wear Adidas jackets , a frisbeeing dog leaps",
        "The leaps of the wakeboarder are seen",
    ] * 2
    hanta, lemmatiser = HanoverTagger("morphmodel_en.pgz"), Lemmatiser()
    for caption in captions:
        tokens = caption.split()
        displayed = [tokens[0].lower(), *tokens[1:]]
        message = [lemma.lower() for _, lemma, _ in hanta.tag_sent(displayed, taglevel=1)]
        assert [word.lemma for word in lemmatiser.every_token(tokens)] == message
