"""Is the newest box good? Plummer et al. 2015, section 2.2, "Box Quality"."""

from django.utils.translation import gettext_lazy as _

from annotation.protocol.questions import BOX_QUALITY
from annotation.task_types.base import TASK_TYPES, Choice, TaskType


class BoxQuality(TaskType):
    """A caption with its phrase, the accepted boxes, and the one to be judged."""

    key = BOX_QUALITY
    title = _("Is this box good?")
    summary = _("A box that somebody drew for a phrase: is it good?")
    name = _("quality")
    question_words = _("is the box good?")
    answer_words = {
        "good": _("good"),
        "bad": _("bad"),
    }
    choices = (
        Choice("good", _("Good"), _("tight, around all of one person or thing that had no box yet")),
        Choice("bad", _("Bad"), _("loose, cut off, around something else, or a duplicate")),
    )


TASK_TYPES.register(BoxQuality.key, BoxQuality())
