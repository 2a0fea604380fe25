"""Does what a phrase refers to require boxes? Plummer et al. 2015, section 2.2, "Box Requirement"."""

from django.utils.translation import gettext_lazy as _

from annotation.protocol.questions import BOX_REQUIREMENT
from annotation.task_types.base import TASK_TYPES, Choice, TaskType


class BoxRequirement(TaskType):
    """A caption with the phrase that represents its chain."""

    key = BOX_REQUIREMENT
    title = _("Is there something to box?")
    summary = _("A phrase from a caption: can a box be drawn around what it means?")
    name = _("requirement")
    question_words = _("needs a box?")
    answer_words = {
        "box": _("a box"),
        "scene": _("scene, no box"),
        "none": _("nothing"),
    }
    choices = (
        Choice("box", _("Yes"), _("at least one box can be drawn")),
        Choice("scene", _("No: a place"), _("the phrase means the whole scene")),
        Choice("none", _("No: nothing to box"), _("not in the picture, or not a thing")),
    )


TASK_TYPES.register(BoxRequirement.key, BoxRequirement())
