"""Flags of captions: what is raised after edits, and what is left alone."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol.caption_flags import (
    LEAST_BACKGROUND,
    THRESHOLDS,
    CaptionBackground,
    CollectedCaption,
    FlagReason,
    RaisedFlag,
    caption_flags,
    likeness_of_texts,
    repeated_captions,
)

WORDS = (
    "sailor lantern orchard gravel trumpet meadow harbor kettle violin ladder blanket glacier chimney walnut "
    "puppet canyon helmet basket engine feather market bridge candle dragon pillow rocket shovel turtle "
    "window zipper"
).split()
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join)
LONG = st.lists(st.sampled_from(WORDS), min_size=14, max_size=18, unique=True)
FEW = settings(max_examples=60, deadline=None)


def edited(words: list[str], edits: int, rng: random.Random) -> str:
    words = list(words)
    for _ in range(edits):
        index = rng.randrange(len(words))
        match rng.randrange(3):
            case 0:
                words[index] = "other"
            case 1:
                words.insert(index, "other")
            case _:
                del words[index]
    return " ".join(words)


def flags(*captions: CollectedCaption, **also) -> dict[int, set[str]]:
    raised: dict[int, set[str]] = {}
    for flag in caption_flags(captions, **also):
        raised.setdefault(flag.caption, set()).add(flag.reason)
    return raised


@FEW
@given(LONG, st.integers(0, 2), st.randoms(use_true_random=False), st.booleans())
def test_a_long_caption_with_up_to_two_words_edited_or_turned_around_is_like_it(words, edits, rng, turned):
    text = edited(words, edits, rng)
    if turned:
        cut = rng.randrange(1, 4)
        text = " ".join((later := text.split())[cut:] + later[:cut])
    first = CollectedCaption(1, "a", "ann", " ".join(words))
    copies = (CollectedCaption(2, "a", "bob", text), CollectedCaption(3, "b", "ann", text))
    raised = flags(first, *copies)
    assert 1 not in raised and FlagReason.COPIED in raised[2] and FlagReason.REPEATED in raised[3]
    # Neither on another's image nor of another's words, and nobody copies or repeats within an own image.
    apart = flags(first, CollectedCaption(2, "b", "bob", text), CollectedCaption(3, "a", "ann", text))
    assert not apart


@FEW
@given(st.lists(st.tuples(SENTENCES, st.integers(0, 3)), max_size=20))
def test_the_index_misses_no_repetition(written):
    captions = [CollectedCaption(n, image, "ann", text) for n, (text, image) in enumerate(written)]
    expected = []
    for caption in captions:
        alike = [
            (likeness_of_texts(caption.text, other.text), -other.number)
            for other in captions[: caption.number]
            if other.image != caption.image
        ]
        if alike and max(alike)[0] >= THRESHOLDS.repeated:
            value, number = max(alike)
            expected.append(
                RaisedFlag(caption.number, FlagReason.REPEATED, value, THRESHOLDS.repeated, -number)
            )
    assert repeated_captions(captions) == expected
    assert repeated_captions(reversed(captions)) == expected


def test_short_sentences_are_alike_by_chance_and_longer_ones_are_not() -> None:
    texts = ("A dog runs.", "A brown dog runs through the tall grass.")
    assert likeness_of_texts(texts[0], texts[0]) < THRESHOLDS.repeated < likeness_of_texts(texts[1], texts[1])
    assert likeness_of_texts("", "") == 0
    assert likeness_of_texts(texts[1], texts[1].upper().rstrip(".")) == likeness_of_texts(texts[1], texts[1])


def two_topics() -> tuple[CaptionBackground, dict[str, list[str]]]:
    """Images of two topics, half of each, whose captions never have a word in common."""
    rng = random.Random(5)
    topics = (WORDS[:12], WORDS[12:24])
    images = {
        f"i{n}": [" ".join(["people", *rng.sample(topics[n % 2], 4)]) for _ in range(5)]
        for n in range(LEAST_BACKGROUND)
    }
    return CaptionBackground(images), images


def test_a_caption_of_another_topic_is_off_topic_wherever_it_stands() -> None:
    background, images = two_topics()
    for position in range(5):
        # Without the word that both topics have.
        texts = [text.removeprefix("people ") for text in images["i0"]]
        texts[position] = images["i1"][0].removeprefix("people ")
        captions = [CollectedCaption(n, "i0", n, text) for n, text in enumerate(texts)]
        for there in range(2, 6):
            raised = flags(*captions[:there], background=background)
            off = {number for number, reasons in raised.items() if FlagReason.OFF_TOPIC in reasons}
            # Of two captions nobody knows which is wrong: the later one is looked at.
            assert off == ({1} if there == 2 and position < 2 else {position} & set(range(there)))
        assert FlagReason.OFF_TOPIC not in flags(captions[position], background=background).get(position, ())
    assert not any(
        FlagReason.OFF_TOPIC in reasons
        for image, texts in images.items()
        for reasons in flags(
            *(CollectedCaption(n, image, n, text) for n, text in enumerate(texts)), background=background
        ).values()
    )


def test_what_fits_many_images_is_general_and_an_image_does_not_count_for_itself() -> None:
    background, images = two_topics()
    vague = ("People.", "Something can be seen here.", "people sailor")
    for text in vague:
        (flag,) = [
            flag
            for flag in caption_flags([CollectedCaption(0, "new", 0, text)], background)
            if flag.reason == FlagReason.GENERAL
        ]
        assert THRESHOLDS.general < flag.value <= 1
    assert background.share_of_images(["peopl"]) == background.share_of_images(["peopl"], "i0") == 1
    assert background.share_of_images([]) == 1 and background.share_of_images(["peopl", "nowhere"]) == 0
    one = CaptionBackground({"a": ["A sailor"], "b": ["A lantern"], "c": ["A lantern"]})
    stem = "lantern"
    assert (one.share_of_images([stem]), one.share_of_images([stem], "b")) == (2 / 3, 1 / 2)
    # Too few images tell nothing.
    assert not flags(CollectedCaption(0, "new", 0, "Something can be seen here."), background=one)


def test_agreement_grows_with_the_words_in_common() -> None:
    background, _images = two_topics()
    words = [[WORDS[12 + n] for n in range(at, 4)] + [WORDS[n] for n in range(at)] for at in range(5)]
    agreements = [background.agreement(WORDS[:4], other) for other in words]
    assert all(low < high for low, high in pairwise(agreements))
    assert background.agreement([], ["x"]) == 1 == background.agreement(["x"], [])


def test_length_spelling_speed_and_what_was_pasted() -> None:
    words = " ".join(WORDS)
    captions = [
        CollectedCaption(0, 0, 0, "A dog."),
        CollectedCaption(1, 1, 1, f"{words} {words}", seconds=60),
        CollectedCaption(2, 2, 2, " ".join(WORDS[:8]), seconds=2),
        CollectedCaption(3, 3, 3, " ".join(WORDS[:9]), seconds=0),
        CollectedCaption(4, 4, 4, "zzz " * 5, pasted=9),
        CollectedCaption(5, 5, 5, "abc " * 5, pasted=10),
    ]
    raised = flags(*captions, unknown_words=lambda text: text.count("zzz"))
    assert raised == {
        0: {FlagReason.LENGTH},
        1: {FlagReason.LENGTH},
        2: {FlagReason.FAST},
        4: {FlagReason.SPELLING},
        5: {FlagReason.PASTED},
    }
    assert {flag.reason: (flag.value, flag.threshold) for flag in caption_flags(captions[2:3])} == {
        FlagReason.FAST: (len(captions[2].text) / 2, THRESHOLDS.characters_a_second)
    }
