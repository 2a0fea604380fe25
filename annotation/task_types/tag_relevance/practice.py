"""Practice of tags: pictures with tags to be ticked."""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.practice.registry import PRACTICE, PracticeExample, PracticeItem
from annotation.task_types.tag_relevance.type import TagRelevance
from annotation.task_types.ticked_pages.practising import PagePractice

_ITEMS = (
    PracticeItem(
        "frisbee",
        _("A dog is an animal, so “animal” fits. There is no ball, and nobody but the boy."),
        "judged",
        blocks=(
            (
                "frisbee",
                (
                    ("dog", True),
                    ("ball", False),
                    ("boy", True),
                    ("frisbee", True),
                    ("owner", False),
                    ("animal", True),
                    ("beach", False),
                    ("hat", True),
                    ("field", True),
                    ("crowd", False),
                ),
            ),
        ),
    ),
    PracticeItem(
        "stage",
        _("The woman plays a violin, not a guitar. Concerts often have a singer and a crowd: not here."),
        "judged",
        blocks=(
            (
                "stage",
                (
                    ("guitar", False),
                    ("violin", True),
                    ("singer", False),
                    ("musician", True),
                    ("curtain", True),
                    ("drum", False),
                    ("beard", True),
                    ("crowd", False),
                    ("keyboard", True),
                    ("street", False),
                ),
            ),
        ),
    ),
    PracticeItem(
        "skiers",
        _("No tag names anything in this picture, so none is ticked."),
        "judged",
        blocks=(
            (
                "skiers",
                (
                    ("sand", False),
                    ("dog", False),
                    ("bicycle", False),
                    ("swimmer", False),
                    ("bench", False),
                ),
            ),
        ),
    ),
)

_EXAMPLES = (
    PracticeExample(
        True,
        PracticeItem("kite", _("ticked: the girl holds one by its string"), sentence="kite"),
    ),
    PracticeExample(
        False,
        PracticeItem("kite", _("ticked, only because it must be windy"), sentence="wind turbine"),
    ),
)

PRACTICE.register(TagRelevance.key, PagePractice(TagRelevance.key, _ITEMS, _EXAMPLES))
