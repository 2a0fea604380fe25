"""Are all required boxes present? Plummer et al. 2015, section 2.2, "Box Coverage"."""

from django.utils.translation import gettext_lazy as _

from annotation.protocol.questions import BOX_COVERAGE
from annotation.task_types.base import TASK_TYPES, Choice, TaskType


class BoxCoverage(TaskType):
    """A caption with its phrase, and the accepted boxes."""

    key = BOX_COVERAGE
    title = _("Is a box missing?")
    summary = _("The boxes drawn for a phrase: is everything it names boxed?")
    name = _("coverage")
    question_words = _("are boxes missing?")
    answer_words = {
        "more": _("more are missing"),
        "complete": _("complete"),
    }
    choices = (
        Choice("complete", _("All have a box"), _("everything that the phrase means is boxed")),
        Choice("more", _("A box is missing"), _("at least one has no box")),
    )


TASK_TYPES.register(BoxCoverage.key, BoxCoverage())
