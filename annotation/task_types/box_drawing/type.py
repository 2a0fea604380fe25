"""Draw one more box, or say that none is required. Plummer et al. 2015, section 2.2, "Box Drawing"."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.protocol.contents import corners
from annotation.protocol.questions import BOX_DRAWING, DRAWING_WAYS, Answer
from annotation.protocol.terms import SMALLEST_SIDE, is_too_small
from annotation.task_types.base import TASK_TYPES, BadAnswer, BoxCorners, Choice, TaskType, WayText

EDGES = ("xmin", "ymin", "xmax", "ymax")


class BoxDrawing(TaskType):
    """A caption with its phrase, the accepted boxes, and an editor for one more."""

    key = BOX_DRAWING
    title = gettext_lazy("Draw a box")
    summary = gettext_lazy(
        "A phrase from a caption: draw a tight box around one person or thing that it names."
    )
    name = gettext_lazy("drawing")
    question_words = gettext_lazy("draw a box")
    answer_words = {
        "drawn": gettext_lazy("drew a box"),
        "none": gettext_lazy("nothing"),
    }
    choices = (
        Choice(
            "drawn", gettext_lazy("Send this box"), gettext_lazy("tight, around all of one person or thing")
        ),
        Choice("none", gettext_lazy("No box"), gettext_lazy("there is nothing to box here")),
    )
    #: The label of "none" if there are boxes already.
    no_further = Choice(
        "none", gettext_lazy("No further box"), gettext_lazy("all of them already have a box")
    )

    #: Version 2: a drawn box may have its way of drawing.
    schema_version = 2
    answer_fields = {"box": BoxCorners, "way": WayText}

    def choices_for(self, content: Mapping[str, Any]) -> tuple[Choice, ...]:
        return (self.choices[0], self.no_further if content["boxes"] else self.choices[1])

    def from_form(self, form: Mapping[str, str]) -> dict[str, Any]:
        data = super().from_form(form)
        if data["answer"] != "drawn":
            return data
        values = [form.get(name, "").strip() for name in EDGES]
        if not all(values):
            raise BadAnswer("box", _("Draw a box first, or type its four edges."))
        if not all(edge.isascii() and edge.isdigit() and len(edge) < 7 for edge in values):
            raise BadAnswer("box", _("The edges of a box are whole numbers of pixels."))
        box = [int(edge) for edge in values]
        if is_too_small(box[2] - box[0] + 1, box[3] - box[1] + 1):
            raise BadAnswer(
                "box",
                _("This box is too small: each side needs at least %(pixels)d pixels.")
                % {"pixels": SMALLEST_SIDE},
            )
        # An unknown way of the editor must not lose the box.
        way = form.get("way", "")
        return {**data, "box": box, "way": way if way in DRAWING_WAYS else ""}

    def to_form(self, answer: Answer) -> dict[str, str]:
        drawn = dict(zip(EDGES, map(str, corners(answer.box)), strict=True)) if answer.box else {}
        return {**super().to_form(answer), **drawn, "way": answer.way}


TASK_TYPES.register(BoxDrawing.key, BoxDrawing())
