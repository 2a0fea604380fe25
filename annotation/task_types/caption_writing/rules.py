"""Write a sentence that describes a picture, after a test of spelling. Hodosh et al. 2013, section 2.3.

Written captions cannot be graded: control items are only those of the test. Its sentences are part of the
product. Each wrong one has one mistake, of a sort that captions often have: a misspelt word, a verb that does
not agree with its subject, a wrong article, a word that sounds like the right one, two sentences run into
one. The sentences are English, as the captions are to be.
"""

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from annotation.protocol.grading import one_of
from annotation.protocol.kinds import (
    ABOUT_IMAGE,
    KINDS,
    MEASURED_ON_NOTHING,
    AnswerTimeEstimate,
    BadContent,
    BadItem,
    Kind,
    Number,
    TestSentence,
    WrittenControlItem,
)
from annotation.protocol.words import gettext_noop as _

CAPTION_WRITING = "caption_writing"
FEWEST_CAPTION_WORDS, MOST_CAPTION_WORDS = "fewest_words", "most_words"
_MOST = 150
#: Answers of the test before captions are written.
SPELLING = ("correct", "incorrect")

CORRECT = (
    "Two men carry a long ladder across the street.",
    "A girl with braided hair is feeding goats at a fence.",
    "The children have built a tower out of wooden blocks.",
    "An old woman reads a newspaper on a park bench.",
    "Several people are waiting for the bus in the rain.",
    "A dog whose fur is wet shakes itself on the beach.",
    "There are three bicycles leaning against the wall.",
    "A waiter brings plates to a table by the window.",
    "Neither of the players has reached the ball yet.",
    "A boy jumps over a puddle while his sister watches.",
    "The musicians sit in a row and tune their instruments.",
    "A man lies in a hammock between two trees.",
    "Some of the horses are grazing behind the barn.",
    "A climber wearing a red helmet looks down at the valley.",
    "The baker is putting loaves of bread into the oven.",
    "A crowd has gathered around a juggler on the square.",
    "Each of the women holds an umbrella.",
    "A small boat is tied to the pier.",
)
#: The mistake, and its correction.
INCORRECT = (
    ("Two mans carry a long ladder across the street.", "“mans” should be “men”"),
    ("A girl with braided hair feed goats at a fence.", "“feed” should be “feeds”"),
    ("The children has built a tower out of wooden blocks.", "“has” should be “have”"),
    ("A old woman reads a newspaper on a park bench.", "“A old” should be “An old”"),
    ("Several people are waitting for the bus in the rain.", "“waitting” should be “waiting”"),
    ("A dog shakes it's wet fur on the beach.", "“it's” should be “its”"),
    ("Their are three bicycles leaning against the wall.", "“Their” should be “There”"),
    ("A waiter brings plates too a table by the window.", "“too” should be “to”"),
    ("A player which has lost the ball falls over.", "“which” should be “who”"),
    ("A boy jumps over a puddle his sister watches him.", "these are two sentences run into one"),
    ("The musicians sits in a row and tune their instruments.", "“sits” should be “sit”"),
    ("A man lays in a hammock between two trees.", "“lays” should be “lies”"),
    ("Some of the horses is grazing behind the barn.", "“is” should be “are”"),
    ("A climber wearing a red helmit looks down at the valley.", "“helmit” should be “helmet”"),
    ("The baker putting loaves of bread into the oven.", "the verb is not whole: “is putting”"),
    ("A crowd has gathered arround a juggler on the square.", "“arround” should be “around”"),
    ("Each of the women hold an umbrella.", "“hold” should be “holds”"),
    ("A small boat is tyed to the pier.", "“tyed” should be “tied”"),
)


def _item(item: WrittenControlItem) -> tuple[dict[str, Any], str]:
    sentence = " ".join(item.sentence.split())
    if not sentence or item.caption_ids:
        raise BadItem("the test of spelling asks about a sentence; expected one, and no captions")
    digest = blake2b(sentence.encode(), digest_size=9).hexdigest()
    return {"sentence": sentence}, f"{CAPTION_WRITING}|{digest}"


def sentence_words(text: str) -> list[str]:
    """Return the words of a caption: what is between spaces and has a letter."""
    return [word for word in text.split() if any(map(str.isalpha, word))]


def _content(number: Callable[[str], int]) -> dict[str, Any]:
    return {name: number(name) for name in (FEWEST_CAPTION_WORDS, MOST_CAPTION_WORDS)}


def _check(content: Mapping[str, Any], number: Callable[[str], int]) -> None:
    words = len(sentence_words(content["text"]))
    if words < number(FEWEST_CAPTION_WORDS):
        text = _("Write one whole sentence of at least %(words)d words.")
        raise BadContent("text", text, words=number(FEWEST_CAPTION_WORDS))
    if words > number(MOST_CAPTION_WORDS):
        text = _("This has %(words)d words: write one sentence of at most %(most)d.")
        raise BadContent("text", text, words=words, most=number(MOST_CAPTION_WORDS))


def _test_sentences() -> Iterator[TestSentence]:
    for sentence in CORRECT:
        yield TestSentence(sentence, SPELLING[0])
    for sentence, mistake in INCORRECT:
        yield TestSentence(sentence, SPELLING[1], mistake)


RULES = Kind(
    key=CAPTION_WRITING,
    tasks="captions",
    answers=("written", *SPELLING),
    about=ABOUT_IMAGE,
    sort_order=90,
    with_content=frozenset({"written"}),
    test_answers=SPELLING,
    writes=True,
    # Only for the test.
    grader=one_of(SPELLING),
    measured_on=MEASURED_ON_NOTHING,
    item=_item,
    test_sentences=_test_sentences,
    numbers={
        CAPTION_WRITING: Number(
            5, "Hodosh et al. 2013, section 2.1", _("Workers who write a caption of each image")
        ),
        FEWEST_CAPTION_WORDS: Number(3, "decided", _("Words of a caption, at least"), most=_MOST),
        MOST_CAPTION_WORDS: Number(
            60, "decided", _("Words of a caption, at most"), most=_MOST, from_number=FEWEST_CAPTION_WORDS
        ),
    },
    content=_content,
    check=_check,
    answer_time=AnswerTimeEstimate(40.0, 20.0, 80.0, _("assumed; nobody has measured it")),
    built_in=True,
)

KINDS.register(RULES.key, RULES)
