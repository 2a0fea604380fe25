"""The test of spelling and grammar that comes before caption writing: sentences, well written or not.

Each wrong one has one mistake, of a sort that captions often have: a misspelt word, a verb that does not
agree with its subject, a wrong article, a word that sounds like the right one, two sentences run into one.
The sentences are English, as the captions are to be.

Source: Hodosh et al. 2013, section 2.3 ("a brief spelling and grammar test").
"""

from __future__ import annotations

from annotation.models import Account, Campaign, Control, Image
from annotation.protocol.questions import CAPTION_WRITING
from annotation.quality.controls.authoring import Added, add
from annotation.quality.controls.counted import CountedItem

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
#: The mistake, and what would have been right.
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


def install(*, campaign: Campaign, actor: Account | None = None) -> Added:
    """Add the sentences to the campaign's test, under its first image; those that are there stay."""
    image = Image.objects.filter(corpus=campaign.corpus).order_by("position").values_list("key", flat=True)
    items = [
        CountedItem(CAPTION_WRITING, Control.QUALIFICATION, image[0], "correct", sentence=sentence)
        for sentence in CORRECT
    ] + [
        CountedItem(
            CAPTION_WRITING,
            Control.QUALIFICATION,
            image[0],
            "incorrect",
            sentence=sentence,
            explanation=mistake,
        )
        for sentence, mistake in INCORRECT
    ]
    return add(campaign=campaign, items=enumerate(items, 1), source="page", actor=actor)
