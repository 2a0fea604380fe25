"""The pictures beside the built-in instructions: for each kind of question a good answer, and a bad one.

An example is an item, what somebody answers to it, and whether that is good. `shows` says in words what the
picture shows: it is the picture's alternative text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from annotation.protocol import questions as q
from annotation.task_types.base import Words
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.practice.records import Item
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE

_STAGE = _("A woman plays the violin on a stage, and a bearded man the keyboard.")
_FRISBEE = _("A boy in a brown hat throws a pink frisbee; a white dog sits in the field.")
_KITE = _("A girl in a hat flies a yellow kite; an older lady behind her raises her arms.")
_WEDDING = _("A groom and a bride with flowers stand beside a cake; an older man stands to the left.")
_UMBRELLA = _("Two men lie in the sand under a striped umbrella.")


@dataclass(frozen=True, slots=True)
class Example:
    """An answer to an item: the item's `right` is what was answered, its `why` what is good or bad in it."""

    good: bool
    shows: Words
    item: Item


EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    q.COREF_LINK: (
        Example(
            True,
            _WEDDING,
            Item("wedding", _("both mean the blond man in the suit"), "yes", ("1:3-6", "4:3-6")),
        ),
        Example(
            False,
            _WEDDING,
            Item("wedding", _("the bride is one of the couple, not both"), "yes", ("1:0-2", "3:0-2")),
        ),
    ),
    q.CHAIN_VERIFICATION: (
        Example(
            True,
            _STAGE,
            Item("stage", _("there is one man, at the keyboard"), "true", ("0:0-3", "1:4-6", "2:0-3")),
        ),
        Example(
            False,
            _STAGE,
            Item("stage", _("“two people” are the man and the woman"), "true", ("0:8-11", "2:4-6", "3:0-2")),
        ),
    ),
    q.BOX_REQUIREMENT: (
        Example(
            True,
            _KITE,
            Item("kite", _("the kite can be pointed at"), "box", ("0:9-12",)),
        ),
        Example(
            False,
            _WEDDING,
            Item("wedding", _("the room is the whole place: a scene"), "box", ("1:8-11",)),
        ),
    ),
    q.BOX_DRAWING: (
        Example(
            True,
            _KITE,
            Item(
                "kite", _("it touches hat, shoes and arm"), "drawn", ("1:0-1",), pending=(74, 254, 172, 455)
            ),
        ),
        Example(
            False,
            _KITE,
            Item("kite", _("the feet are left out"), "drawn", ("4:0-3",), pending=(170, 175, 270, 370)),
        ),
    ),
    q.BOX_QUALITY: (
        Example(
            True,
            _UMBRELLA,
            Item("umbrella", _("tight, with its pole"), "good", ("0:4-8",), pending=(141, 85, 370, 277)),
        ),
        Example(
            False,
            _UMBRELLA,
            Item(
                "umbrella",
                _("one box around two people who lie apart"),
                "good",
                ("0:0-2",),
                pending=(144, 175, 380, 305),
            ),
        ),
    ),
    q.BOX_COVERAGE: (
        Example(
            True,
            _WEDDING,
            Item(
                "wedding",
                _("the couple are these two, and no others"),
                "complete",
                ("3:0-2",),
                ((130, 94, 201, 302), (224, 117, 288, 303)),
            ),
        ),
        Example(
            False,
            _UMBRELLA,
            Item(
                "umbrella",
                _("the man on the right has no box"),
                "complete",
                ("2:0-2",),
                ((144, 175, 276, 303),),
            ),
        ),
    ),
    RELEVANCE: (
        Example(
            True,
            _FRISBEE,
            Item(
                "frisbee",
                _("ticked: it says exactly what can be seen"),
                sentence="A boy plays with his dog in a field.",
            ),
        ),
        Example(
            False,
            _FRISBEE,
            Item("frisbee", _("ticked, only because there is a dog"), sentence="A dog swims in a lake."),
        ),
    ),
    GRADED_RELEVANCE: (
        Example(
            True,
            _UMBRELLA,
            Item(
                "umbrella",
                _("the umbrella is yellow and white: one detail is wrong"),
                "3",
                sentence="Two men lie under a blue umbrella on a beach.",
            ),
        ),
        Example(
            False,
            _UMBRELLA,
            Item(
                "umbrella",
                _("a beach alone is not enough: it is another scene"),
                "3",
                sentence="Children build a castle on a beach.",
            ),
        ),
    ),
    CAPTION_WRITING: (
        Example(
            True,
            _KITE,
            Item(
                "kite",
                _("who, what they do, and where"),
                sentence="A girl in a hat flies a yellow kite in a park.",
            ),
        ),
        Example(
            False,
            _KITE,
            Item(
                "kite", _("who they are to each other cannot be seen"), sentence="Grandma visits on a Sunday."
            ),
        ),
    ),
    REGION_DESCRIPTION: (
        Example(
            True,
            _STAGE,
            Item(
                "stage",
                _("tight, and the words set it apart from others"),
                regions=(((285, 132, 345, 206), "white shirt"),),
            ),
        ),
        Example(
            False,
            _STAGE,
            Item(
                "stage",
                _("nearly the whole picture, not a part of it"),
                regions=(((20, 20, 480, 320), "music"),),
            ),
        ),
    ),
}
