"""Practice of coverage: is a box missing?"""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.box_coverage.type import BoxCoverage
from annotation.task_types.practice.registry import PRACTICE, Practice, PracticeExample, PracticeItem
from annotation.task_types.practice.scenes import TREES, WOMAN_WITH_VIOLIN

_SKIER_IN_RED, _SKIER_IN_BLUE = (113, 127, 215, 344), (333, 92, 426, 294)

_ITEMS = (
    PracticeItem(
        "skiers",
        _("There are two skiers, and each has a box."),
        "complete",
        ("0:0-1",),
        (_SKIER_IN_RED, _SKIER_IN_BLUE),
    ),
    PracticeItem(
        "stage",
        _("“Two people” are the woman and the man: the man at the keyboard has no box yet."),
        "more",
        ("3:0-2",),
        (WOMAN_WITH_VIOLIN,),
    ),
    PracticeItem(
        "wedding",
        _("The phrase means the bride alone: the others in the picture need no box."),
        "complete",
        ("0:0-3",),
        ((224, 117, 288, 303),),
    ),
    PracticeItem(
        "skiers",
        _("Four birds fly there, and the lowest of them has no box."),
        "more",
        ("0:4-5",),
        ((146, 10, 176, 29), (249, 26, 282, 47), (301, 7, 335, 29)),
    ),
    PracticeItem(
        "kite",
        _("Two trees, two boxes: this question is not about how tight they are."),
        "complete",
        ("1:9-11",),
        TREES,
    ),
)

_EXAMPLES = (
    PracticeExample(
        True,
        PracticeItem(
            "wedding",
            _("the couple are these two, and no others"),
            "complete",
            ("3:0-2",),
            ((130, 94, 201, 302), (224, 117, 288, 303)),
        ),
    ),
    PracticeExample(
        False,
        PracticeItem(
            "umbrella",
            _("the man on the right has no box"),
            "complete",
            ("2:0-2",),
            ((144, 175, 276, 303),),
        ),
    ),
)


PRACTICE.register(BoxCoverage.key, Practice(BoxCoverage.key, _ITEMS, _EXAMPLES))
