"""Practice of links: are two phrases the same?"""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.coref_link.type import CorefLink
from annotation.task_types.practice.registry import PRACTICE, Practice, PracticeExample, PracticeItem

_ITEMS = (
    PracticeItem(
        "stage",
        _("There is one man on the stage: the one with the beard, at the keyboard."),
        "yes",
        ("1:4-6", "2:0-3"),
    ),
    PracticeItem(
        "stage",
        _("The young lady is one of the two people, not both of them."),
        "no",
        ("0:8-11", "3:0-2"),
    ),
    PracticeItem(
        "kite",
        _("There is one child in the picture, the girl with the hat, and both phrases mean her."),
        "yes",
        ("0:0-3", "4:4-6"),
    ),
    PracticeItem(
        "kite",
        _("The older lady stands behind, with raised arms; the girl is the child who holds the string."),
        "no",
        ("1:0-1", "4:0-3"),
    ),
    PracticeItem(
        "wedding",
        _("The words differ, but the young woman with the flowers is the bride."),
        "yes",
        ("0:0-3", "1:0-2"),
    ),
)

_EXAMPLES = (
    PracticeExample(
        True,
        PracticeItem("wedding", _("both mean the blond man in the suit"), "yes", ("1:3-6", "4:3-6")),
    ),
    PracticeExample(
        False,
        PracticeItem("wedding", _("the bride is one of the couple, not both"), "yes", ("1:0-2", "3:0-2")),
    ),
)


PRACTICE.register(CorefLink.key, Practice(CorefLink.key, _ITEMS, _EXAMPLES))
