"""Practice of verification: are all phrases of a chain the same?"""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.chain_verification.type import ChainVerification
from annotation.task_types.practice.registry import PRACTICE, Practice, PracticeExample, PracticeItem

_ITEMS = (
    PracticeItem(
        "sheep",
        _("The one man in this picture is the farmer, whatever he is called."),
        "true",
        ("0:0-2", "1:6-8", "2:4-6"),
    ),
    PracticeItem(
        "umbrella",
        _("“Two people” are both who lie under the umbrella; the elderly man is one of them."),
        "false",
        ("0:0-2", "1:0-3", "4:0-3"),
    ),
    PracticeItem(
        "wedding",
        _("All three phrases mean the blond man in the dark suit."),
        "true",
        ("1:3-6", "2:8-10", "4:3-6"),
    ),
    PracticeItem(
        "skiers",
        _("“A skier” with blue skis is only the one in red; the other two phrases mean both men."),
        "false",
        ("0:0-1", "2:0-2", "4:0-2"),
    ),
    PracticeItem(
        "kite",
        _("There is one kite, and it is yellow: one writer just does not say so."),
        "true",
        ("0:9-12", "1:3-6", "2:5-7"),
    ),
)

_EXAMPLES = (
    PracticeExample(
        True,
        PracticeItem("stage", _("there is one man, at the keyboard"), "true", ("0:0-3", "1:4-6", "2:0-3")),
    ),
    PracticeExample(
        False,
        PracticeItem(
            "stage", _("“two people” are the man and the woman"), "true", ("0:8-11", "2:4-6", "3:0-2")
        ),
    ),
)


PRACTICE.register(ChainVerification.key, Practice(ChainVerification.key, _ITEMS, _EXAMPLES))
