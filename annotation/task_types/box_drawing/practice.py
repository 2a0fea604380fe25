"""Practice of drawing: one more box, or none."""

from django.utils.translation import gettext_lazy as _

from annotation.protocol.questions import Answer
from annotation.protocol.terms import Box
from annotation.task_types.box_drawing.type import BoxDrawing
from annotation.task_types.practice.registry import PRACTICE, Practice, PracticeExample, PracticeItem, Verdict
from annotation.task_types.practice.scenes import TREES, WOMAN_WITH_VIOLIN, practice_scene

_ITEMS = (
    PracticeItem(
        "frisbee",
        _("The right box reaches from the dog's nose to the tip of its tail, and from its head to its paws."),
        "drawn",
        ("0:0-2",),
    ),
    PracticeItem(
        "frisbee",
        _("The hat, the outstretched hand and both shoes belong inside."),
        "drawn",
        ("1:0-3",),
    ),
    PracticeItem(
        "stage",
        _("The woman has a box already, so the man gets one of his own, from his hair to his shoes."),
        "drawn",
        ("3:0-2",),
        (WOMAN_WITH_VIOLIN,),
    ),
    PracticeItem(
        "wedding",
        _("The box holds only the flowers: dress and arms stay outside as far as possible."),
        "drawn",
        ("0:4-5",),
    ),
    PracticeItem(
        "kite",
        _("The phrase means two trees, and both have a box: no further one is needed."),
        "none",
        ("1:9-11",),
        TREES,
    ),
)

_EXAMPLES = (
    PracticeExample(
        True,
        PracticeItem(
            "kite", _("it touches hat, shoes and arm"), "drawn", ("1:0-1",), pending=(74, 254, 172, 455)
        ),
    ),
    PracticeExample(
        False,
        PracticeItem("kite", _("the feet are left out"), "drawn", ("4:0-3",), pending=(170, 175, 270, 370)),
    ),
)

#: Minimum overlap (IoU) of a right box: what careful people reach, as for control items.
GOOD_FIT = 0.8


class DrawingPractice(Practice):
    """A box is right if it fits one of the scene's gold boxes that the item does not show."""

    def judged(self, item: PracticeItem, answer: Answer) -> Verdict:
        taken = {Box(*corners) for corners in item.boxes}
        remaining = tuple(
            box for box in practice_scene(item.scene).boxes(item.mentions[0]) if box not in taken
        )
        if answer.box is None:
            return Verdict(not remaining, remaining)
        overlap = max(map(answer.box.iou, remaining), default=None)
        return Verdict(overlap is not None and overlap >= GOOD_FIT, remaining, overlap)


PRACTICE.register(BoxDrawing.key, DrawingPractice(BoxDrawing.key, _ITEMS, _EXAMPLES))
