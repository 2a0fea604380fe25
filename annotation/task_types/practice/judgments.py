"""The items to practise on of the questions that judge, write and describe.

Sentences are English, as the captions are; why an answer is right is told in the reader's language.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.practice.records import Item
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE

PAGES = (
    Item(
        "frisbee",
        _("The boy's hat is brown. That is a small mistake: the sentence still fits."),
        "judged",
        blocks=(
            (
                "frisbee",
                (
                    ("A boy throws a frisbee for his dog.", True),
                    ("Two dogs fight over a ball.", False),
                    ("A child in a blue hat plays with a white dog.", True),
                    ("A child sleeps on a sofa.", False),
                ),
            ),
            (
                "stage",
                (
                    ("A band of five plays in the street.", False),
                    ("A man plays a keyboard and a woman the violin.", True),
                    ("Two musicians perform on a stage.", True),
                    ("A girl buys a violin in a shop.", False),
                ),
            ),
        ),
    ),
    Item(
        "sheep",
        _("An umbrella in the rain and sheep at a river are other scenes, with the same things in them."),
        "judged",
        blocks=(
            (
                "sheep",
                (
                    ("A farmer and his black dog stand beside the sheep.", True),
                    ("A shepherd leads his sheep across a river.", False),
                    ("Sheep graze near a red barn.", True),
                    ("A cow looks over a fence.", False),
                ),
            ),
            (
                "umbrella",
                (
                    ("People with umbrellas walk through the rain.", False),
                    ("Two men rest under an umbrella on the beach.", True),
                    ("A man swims in the sea.", False),
                    ("Somebody jumps in the sand while two men rest.", True),
                ),
            ),
        ),
    ),
    Item(
        "kite",
        _("None of the sentences beside the kite fits, so none is ticked."),
        "judged",
        blocks=(
            (
                "kite",
                (
                    ("A child rides a bicycle past the trees.", False),
                    ("Two women sit on a bench and talk.", False),
                    ("A dog catches a ball in a park.", False),
                ),
            ),
            (
                "skiers",
                (
                    ("Two men ski past snowy trees.", True),
                    ("A man skates on a frozen lake.", False),
                    ("Birds fly over two people on skis.", True),
                ),
            ),
        ),
    ),
)

GRADES = (
    Item(
        "frisbee",
        _("The boy, the frisbee and the white dog are all there, and he is throwing."),
        "4",
        sentence="A boy throws a frisbee for his white dog.",
    ),
    Item(
        "wedding",
        _("Bride, groom and cake are right; only the colour of the cake is wrong: it is purple."),
        "3",
        sentence="A bride and a groom stand beside a green cake.",
    ),
    Item(
        "stage",
        _("A man and a woman are there, but they make music: it is another scene."),
        "2",
        sentence="A man paints a picture while a woman looks on.",
    ),
    Item(
        "sheep",
        _("None of this can be seen: no car, no street, no night."),
        "1",
        sentence="Cars wait in a busy street at night.",
    ),
    Item(
        "kite",
        _("What it says is true; leaving out the older lady is not an error."),
        "4",
        sentence="A girl in a hat flies a kite.",
    ),
)

WRITING = (
    Item(
        "stage",
        _("“performs” should be “perform”: there are two people."),
        "incorrect",
        sentence="Two people performs on a stage.",
    ),
    Item(
        "frisbee",
        _("Spelling and grammar are right."),
        "correct",
        sentence="A boy throws a frisbee, and his dog waits for it.",
    ),
    Item(
        "sheep",
        _("“there” names a place; whose sheep they are is said by “their”."),
        "incorrect",
        sentence="A farmer and a dog look after there sheep.",
    ),
    Item(
        "frisbee",
        _("Both sentences say who is there and what they do, and nothing that cannot be seen."),
        models=(
            "A boy in a brown hat throws a pink frisbee for his white dog.",
            "A child is playing fetch with a dog in an open field.",
        ),
    ),
    Item(
        "umbrella",
        _("Both sentences begin with the two men in the middle and say where they are."),
        models=(
            "Two men relax under a striped umbrella on a beach while somebody jumps behind them.",
            "An older man in a top hat and a bearded man lie in the sand.",
        ),
    ),
)

REGIONS = (
    Item(
        "frisbee",
        _("The boxes hold three different things tightly, and two or three words say what each is."),
        regions=(
            ((79, 159, 179, 342), "boy in a brown hat"),
            ((318, 261, 401, 333), "white dog sitting"),
            ((211, 148, 259, 165), "pink frisbee"),
        ),
    ),
    Item(
        "wedding",
        _("Small parts count as well: the flowers lie within the box of the dress."),
        regions=(
            ((228, 161, 284, 302), "white wedding dress"),
            ((252, 183, 274, 205), "bunch of flowers"),
            ((352, 165, 429, 243), "purple wedding cake"),
        ),
    ),
)

JUDGED: Mapping[str, tuple[Item, ...]] = {
    RELEVANCE: PAGES,
    GRADED_RELEVANCE: GRADES,
    CAPTION_WRITING: WRITING,
    REGION_DESCRIPTION: REGIONS,
}
