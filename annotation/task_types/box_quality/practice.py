"""Practice of quality: is a box good?"""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.box_quality.type import BoxQuality
from annotation.task_types.practice.registry import PRACTICE, Practice, PracticeExample, PracticeItem
from annotation.task_types.practice.scenes import WOMAN_WITH_VIOLIN

_ITEMS = (
    PracticeItem(
        "frisbee",
        _("The box holds the whole dog, from nose to tail, and hardly anything else."),
        "good",
        ("0:0-2",),
        pending=(318, 261, 401, 333),
    ),
    PracticeItem(
        "wedding",
        _("The bride and the groom stand apart, so each of them gets a box: this one holds both."),
        "bad",
        ("3:0-2",),
        pending=(130, 94, 288, 303),
    ),
    PracticeItem(
        "frisbee",
        _("There is a broad strip of background on every side of the boy."),
        "bad",
        ("1:0-3",),
        pending=(48, 118, 222, 374),
    ),
    PracticeItem(
        "stage",
        _("The box ends at the man's belt, though his legs can be seen."),
        "bad",
        ("0:0-3",),
        pending=(283, 92, 353, 195),
    ),
    PracticeItem(
        "stage",
        _("The woman already had a box: this one duplicates it, and the man still has none."),
        "bad",
        ("3:0-2",),
        (WOMAN_WITH_VIOLIN,),
        (146, 105, 222, 287),
    ),
)

_EXAMPLES = (
    PracticeExample(
        True,
        PracticeItem("umbrella", _("tight, with its pole"), "good", ("0:4-8",), pending=(141, 85, 370, 277)),
    ),
    PracticeExample(
        False,
        PracticeItem(
            "umbrella",
            _("one box around two people who lie apart"),
            "good",
            ("0:0-2",),
            pending=(144, 175, 380, 305),
        ),
    ),
)


PRACTICE.register(BoxQuality.key, Practice(BoxQuality.key, _ITEMS, _EXAMPLES))
