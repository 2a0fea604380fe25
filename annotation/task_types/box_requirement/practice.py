"""Practice of requirement: does a phrase need boxes?"""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.box_requirement.type import BoxRequirement
from annotation.task_types.practice.registry import PRACTICE, Practice, PracticeExample, PracticeItem

_ITEMS = (
    PracticeItem("frisbee", _("The frisbee is small, but you can point at it."), "box", ("0:4-7",)),
    PracticeItem(
        "frisbee",
        _("The field is the place as a whole: a box would hold the entire picture."),
        "scene",
        ("0:8-11",),
    ),
    PracticeItem(
        "frisbee",
        _("Fetch is a game: you can point at the players, but not at the game."),
        "none",
        ("2:7-8",),
    ),
    PracticeItem("kite", _("You cannot point at a day, however nice it is."), "none", ("3:6-9",)),
    PracticeItem(
        "stage",
        _("The curtains are cut off by the edges, but what can be seen of them gets boxes."),
        "box",
        ("0:18-20",),
    ),
)

_EXAMPLES = (
    PracticeExample(
        True,
        PracticeItem("kite", _("the kite can be pointed at"), "box", ("0:9-12",)),
    ),
    PracticeExample(
        False,
        PracticeItem("wedding", _("the room is the whole place: a scene"), "box", ("1:8-11",)),
    ),
)


PRACTICE.register(BoxRequirement.key, Practice(BoxRequirement.key, _ITEMS, _EXAMPLES))
