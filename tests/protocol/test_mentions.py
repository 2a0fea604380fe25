"""The chunker's mentions, shown in sentences with the mentions in brackets."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.mentions import find_mentions, mentions_at, mentions_of
from tests.factories import an_image


def marked(sentence: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the words of a sentence with brackets around its mentions, and the spans in brackets."""
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    start = 0
    for token in sentence.split():
        if token.startswith("["):
            start = len(words)
        words.append(token.strip("[]"))
        if token.endswith("]"):
            spans.append((start, len(words)))
    return words, spans


def mentions_in(words):
    return [(m.start, m.end) for m in find_mentions([words])]


RULES = {
    "determiners, numbers and adjectives belong to the phrase": [
        "[Five muddy goats] chew [the tall yellow thistles] .",
        "[A very old gardener] waters [his first three roses] .",
        "[A neatly dressed usher] opens [a creaking door] .",
        "[The other waiter] brings [two more plates] .",
    ],
    "a phrase is not recursive": [
        "[A nun] in [a grey habit] feeds [pigeons] near [the church] .",
        "[A clown] holding [a kazoo] sits behind [a goat] with [a bell] .",
    ],
    "of joins two phrases into one": [
        "[A herd of brown cows] blocks [the road] .",
        "[The captain of the rowing club] lifts [a cup of tea] .",
        "[A pair of old boots] lies on [the edge of the pier] .",
        "[One of the nurses] waves .",
        "[Most of the chairs] are empty .",
    ],
    "in front of is a preposition, and of before a verb joins nothing": [
        "[A goat] stands in front of [a bakery] .",
        "[A monk] naps on top of [a cart] made of [wood] .",
        "[The sailors] grow tired of rowing .",
    ],
    "a possessor stays inside": [
        "[A nurse] bandages [a sailor 's left knee] .",
        "[The girls ' umbrellas] are open .",
        "[A goat] licks [its mother 's ear] .",
    ],
    "joined nouns are two mentions, joined modifiers are one": [
        "[A baker] and [butcher] carry [a green crate] and [ladder] .",
        "[A drummer] in [a green and yellow vest] grins .",
        "[A purple , white and gold banner] hangs over [the square] .",
        "[A wet , muddy calf] sleeps .",
    ],
    "a colour alone stands for clothes, a colour that is said of something does not": [
        "[A fencer] in [white] bows .",
        "[Two referees] in [black and yellow] argue .",
        "[A widow] wearing [all black] prays .",
        "[The barn] is painted red .",
    ],
    "pronouns and non-visual terms are no mentions": [
        "He shows it to them .",
        "[A crane] swings in the air above [a ditch] with [huts] in the background .",
        "[Two hens] peck each other at night .",
        "[A cook] burns himself .",
    ],
    "a word that stands for a noun phrase is a mention": [
        "[Someone] paints while [others] sleep .",
        "[Two nuns] sing while [another] plays [the organ] .",
        "[Two goats] , [one] in [a cart] and [the other] beside it , bleat .",
        "[No one] waits .",
    ],
    "an -ing form is an action": [
        "[A dog] barking at [a postman] .",
        "[A nun] riding [a moped] past [a mill] .",
        "[A monk] is ironing .",
        "[Three chefs] kneading .",
        "[Two girls] , all wearing [capes] , bow .",
        "[A widow] is rock climbing .",
    ],
    "an -ing form modifies where only a modifier can stand": [
        "[A sleeping kitten] lies near [a running engine] .",
        "[A group of chanting monks] passes .",
        "[A funny looking hat] hangs on [a nail] .",
        "[A mason] in [swimming trunks] rests .",
    ],
    "an -ing form may be a noun": [
        "[The building] has [a broken railing] and [a new awning] .",
        "[A tailor] sits at [a sewing machine] .",
        "[A painting] leans on [a swing] .",
    ],
    "a singular article forbids a plural, so the plural is the verb": [
        "[A widow] in [a long veil] kneels .",
        "[A sailor] in [a torn shirt] smokes .",
        "[A nun] with [a basket] and [another nun] talks .",
        "[A waiter] with [a dirty apron] waits .",
    ],
    "after a plural comes the verb": [
        "[Six tired farmers] rest under [a cart] .",
        "[A mason] and [a plumber] walk across [the bridge] .",
        "[Sailors] box in [a ring] .",
    ],
    "a clause has one finite verb": [
        "[A goat] stands beside [a fruit stand] in [the rain] .",
        "[The clown] carries [a bag of presents] .",
        "[A skier] in [blue] rides [a lift] and jumps off .",
        "[A cook] throws [the pan] and laughs .",
        "[The monk] in [the torn robe] dances with [a broom] .",
    ],
    "a participle modifies before a noun and is a verb elsewhere": [
        "[A moss covered wall] surrounds [the well] .",
        "[A bus] parked near [a mill] is painted .",
        "[A man] named [Otto] sneezes .",
        "[Two nuns] played [chess] .",
    ],
    "numbers and measures": [
        "[A 3 year old girl] climbs [a 10 foot high fence] .",
        "[About 40 nuns] march .",
        "[Player number 7] falls .",
        "[Four] are asleep .",
    ],
    "names and quotations": [
        '[A boy] holds [a " no parking " sign] .',
        "[The Eiffel Tower] is visible from [a North African cafe] .",
    ],
    "adverbs that look like nouns": [
        "[Two widows] walk hand in hand next to [a canal] .",
        "[A clown] hangs upside down .",
        "[Goats] graze [outdoors] .",
    ],
    "infinitives": [
        "[A diver] is ready to leave [the boat] .",
        "[Two girls] try to trip each other .",
    ],
}


@pytest.mark.parametrize(
    "sentence", [pytest.param(s, id=f"{rule}: {s}") for rule, sentences in RULES.items() for s in sentences]
)
def test_the_brackets_are_found(sentence):
    words, spans = marked(sentence)
    assert mentions_in(words) == spans


def test_mentions_come_in_caption_order_with_words_and_categories():
    mentions = find_mentions([["A", "nun", "feeds", "geese"], [], ["Her", "goat", "sleeps"]])
    assert [(m.id, m.text, m.categories) for m in mentions] == [
        ("0:0-2", "A nun", ("people",)),
        ("0:3-4", "geese", ("animals",)),
        ("2:0-2", "Her goat", ("animals",)),
    ]


def test_a_non_visual_term_with_a_modifier_is_a_mention():
    assert [m.text for m in find_mentions(["a man in a black top by the top".split()])] == [
        "a man",
        "a black top",
    ]


def test_another_chunker_may_take_its_place():
    class EveryWord:
        def chunk(self, tokens):
            return [(i, i + 1) for i in range(len(tokens))]

    mentions = find_mentions(
        [["goats", "it", "!", "x9"]], chunker=EveryWord(), categorise=lambda words: ("other",)
    )
    assert [m.text for m in mentions] == ["goats", "x9"]


WORDS = (
    "a the two man men girl's goat walks smile playing orange in of and , . his her ' 's \" on with who is "
    "are red white snow covered looking # 5 tall older fryer outdoors other each another all both to -"
)


@given(st.lists(st.lists(st.sampled_from(WORDS.split()) | st.text(max_size=8), max_size=12), max_size=3))
def test_any_words_give_sorted_disjoint_spans_within_the_caption_and_the_same_again(captions):
    mentions = find_mentions(captions)
    assert mentions == find_mentions(captions)
    for item, next_one in zip(mentions, mentions[1:], strict=False):
        assert (item.caption, item.end) <= (
            next_one.caption,
            next_one.start,
        ) or item.caption < next_one.caption
    for mention in mentions:
        assert mention.tokens == tuple(captions[mention.caption][mention.start : mention.end])
        assert mention.categories


def test_a_word_of_any_length_takes_no_longer_than_others():
    assert mentions_in(["a", "goat" * 100_000, "sleeps"])


def test_what_somebody_marked_is_a_mention_whatever_the_chunker_thinks_of_it():
    captions = ["ein Hund läuft".split(), "he has a hat".split()]
    marked = [(1, 0, 1), (0, 0, 2), (1, 2, 4)]
    mentions = mentions_at(captions, marked, categorise=lambda words: ("other",))
    assert [(m.id, m.text) for m in mentions] == [("0:0-2", "ein Hund"), ("1:0-1", "he"), ("1:2-4", "a hat")]
    assert mentions_at(captions, [(1, 2, 4)])[0].categories == ("clothing",)


def test_an_image_is_asked_about_its_layers_mentions_then_marked_ones_then_found_ones():
    record = an_image("m", "A man in a hat .", layered=False)
    layered = an_image("m", "[/EN#1/people A man] in a hat .")
    assert [m.id for m in mentions_of(record)] == ["0:0-2", "0:3-5"]
    assert [m.id for m in mentions_of(replace(record, marked=((0, 4, 5),)))] == ["0:4-5"]
    assert mentions_of(replace(record, marked=())) == ()
    assert [m.id for m in mentions_of(replace(layered, marked=((0, 4, 5),)))] == ["0:0-2"]
