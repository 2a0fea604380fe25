"""The items to practise on, by kind of question, in the order in which they come.

Each says in one sentence why its answer is the right one: of this picture and this phrase, not in general.
A test compares what is said to be right with the scenes' gold.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from annotation.protocol import questions as q
from annotation.task_types.practice.judgments import JUDGED
from annotation.task_types.practice.records import Item

_WOMAN_WITH_VIOLIN = (144, 104, 223, 288)
_SKIER_IN_RED, _SKIER_IN_BLUE = (113, 127, 215, 344), (333, 92, 426, 294)
_TREES = ((3, 29, 192, 269), (237, 89, 375, 303))

LINKS = (
    Item(
        "stage",
        _("There is one man on the stage: the one with the beard, at the keyboard."),
        "yes",
        ("1:4-6", "2:0-3"),
    ),
    Item(
        "stage",
        _("The young lady is one of the two people, not both of them."),
        "no",
        ("0:8-11", "3:0-2"),
    ),
    Item(
        "kite",
        _("There is one child in the picture, the girl with the hat, and both phrases mean her."),
        "yes",
        ("0:0-3", "4:4-6"),
    ),
    Item(
        "kite",
        _("The older lady stands behind, with raised arms; the girl is the child who holds the string."),
        "no",
        ("1:0-1", "4:0-3"),
    ),
    Item(
        "wedding",
        _("The words differ, but the young woman with the flowers is the bride."),
        "yes",
        ("0:0-3", "1:0-2"),
    ),
)

CHAINS = (
    Item(
        "sheep",
        _("The one man in this picture is the farmer, whatever he is called."),
        "true",
        ("0:0-2", "1:6-8", "2:4-6"),
    ),
    Item(
        "umbrella",
        _("“Two people” are both who lie under the umbrella; the elderly man is one of them."),
        "false",
        ("0:0-2", "1:0-3", "4:0-3"),
    ),
    Item(
        "wedding",
        _("All three phrases mean the blond man in the dark suit."),
        "true",
        ("1:3-6", "2:8-10", "4:3-6"),
    ),
    Item(
        "skiers",
        _("“A skier” with blue skis is only the one in red; the other two phrases mean both men."),
        "false",
        ("0:0-1", "2:0-2", "4:0-2"),
    ),
    Item(
        "kite",
        _("There is one kite, and it is yellow: one writer just does not say so."),
        "true",
        ("0:9-12", "1:3-6", "2:5-7"),
    ),
)

REQUIREMENTS = (
    Item("frisbee", _("The frisbee is small, but you can point at it."), "box", ("0:4-7",)),
    Item(
        "frisbee",
        _("The field is the place as a whole: a box would hold the entire picture."),
        "scene",
        ("0:8-11",),
    ),
    Item(
        "frisbee",
        _("Fetch is a game: you can point at the players, but not at the game."),
        "none",
        ("2:7-8",),
    ),
    Item("kite", _("You cannot point at a day, however nice it is."), "none", ("3:6-9",)),
    Item(
        "stage",
        _("The curtains are cut off by the edges, but what can be seen of them gets boxes."),
        "box",
        ("0:18-20",),
    ),
)

DRAWINGS = (
    Item(
        "frisbee",
        _("The right box reaches from the dog's nose to the tip of its tail, and from its head to its paws."),
        "drawn",
        ("0:0-2",),
    ),
    Item(
        "frisbee",
        _("The hat, the outstretched hand and both shoes belong inside."),
        "drawn",
        ("1:0-3",),
    ),
    Item(
        "stage",
        _("The woman has a box already, so the man gets one of his own, from his hair to his shoes."),
        "drawn",
        ("3:0-2",),
        (_WOMAN_WITH_VIOLIN,),
    ),
    Item(
        "wedding",
        _("The box holds only the flowers: dress and arms stay outside as far as possible."),
        "drawn",
        ("0:4-5",),
    ),
    Item(
        "kite",
        _("The phrase means two trees, and both have a box: no further one is needed."),
        "none",
        ("1:9-11",),
        _TREES,
    ),
)

QUALITIES = (
    Item(
        "frisbee",
        _("The box holds the whole dog, from nose to tail, and hardly anything else."),
        "good",
        ("0:0-2",),
        pending=(318, 261, 401, 333),
    ),
    Item(
        "wedding",
        _("The bride and the groom stand apart, so each of them gets a box: this one holds both."),
        "bad",
        ("3:0-2",),
        pending=(130, 94, 288, 303),
    ),
    Item(
        "frisbee",
        _("There is a broad strip of background on every side of the boy."),
        "bad",
        ("1:0-3",),
        pending=(48, 118, 222, 374),
    ),
    Item(
        "stage",
        _("The box ends at the man's belt, though his legs can be seen."),
        "bad",
        ("0:0-3",),
        pending=(283, 92, 353, 195),
    ),
    Item(
        "stage",
        _("The woman already had a box: this one duplicates it, and the man still has none."),
        "bad",
        ("3:0-2",),
        (_WOMAN_WITH_VIOLIN,),
        (146, 105, 222, 287),
    ),
)

COVERAGES = (
    Item(
        "skiers",
        _("There are two skiers, and each has a box."),
        "complete",
        ("0:0-1",),
        (_SKIER_IN_RED, _SKIER_IN_BLUE),
    ),
    Item(
        "stage",
        _("“Two people” are the woman and the man: the man at the keyboard has no box yet."),
        "more",
        ("3:0-2",),
        (_WOMAN_WITH_VIOLIN,),
    ),
    Item(
        "wedding",
        _("The phrase means the bride alone: the others in the picture need no box."),
        "complete",
        ("0:0-3",),
        ((224, 117, 288, 303),),
    ),
    Item(
        "skiers",
        _("Four birds fly there, and the lowest of them has no box."),
        "more",
        ("0:4-5",),
        ((146, 10, 176, 29), (249, 26, 282, 47), (301, 7, 335, 29)),
    ),
    Item(
        "kite",
        _("Two trees, two boxes: this question is not about how tight they are."),
        "complete",
        ("1:9-11",),
        _TREES,
    ),
)

ITEMS: Mapping[str, tuple[Item, ...]] = {
    q.COREF_LINK: LINKS,
    q.CHAIN_VERIFICATION: CHAINS,
    q.BOX_REQUIREMENT: REQUIREMENTS,
    q.BOX_DRAWING: DRAWINGS,
    q.BOX_QUALITY: QUALITIES,
    q.BOX_COVERAGE: COVERAGES,
    **JUDGED,
}
