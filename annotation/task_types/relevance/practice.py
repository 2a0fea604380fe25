"""Practice of relevance: pages with sentences to be ticked."""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.practice.registry import PRACTICE, PracticeExample, PracticeItem
from annotation.task_types.relevance.type import RelevancePages
from annotation.task_types.ticked_pages.practising import PagePractice

_ITEMS = (
    PracticeItem(
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
    PracticeItem(
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
    PracticeItem(
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

_EXAMPLES = (
    PracticeExample(
        True,
        PracticeItem(
            "frisbee",
            _("ticked: it says exactly what can be seen"),
            sentence="A boy plays with his dog in a field.",
        ),
    ),
    PracticeExample(
        False,
        PracticeItem("frisbee", _("ticked, only because there is a dog"), sentence="A dog swims in a lake."),
    ),
)

PRACTICE.register(RelevancePages.key, PagePractice(RelevancePages.key, _ITEMS, _EXAMPLES))
