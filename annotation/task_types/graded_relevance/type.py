"""How well does a caption describe a picture? Hodosh et al. 2013, section 4.2.1 and figure 4."""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.base import TASK_TYPES, Choice
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.single_caption.pages import SingleCaption


class GradedRelevance(SingleCaption):
    """A picture and one caption, written for it or for another; four grades."""

    key = GRADED_RELEVANCE
    title = _("How well does it fit?")
    summary = _("A picture and one sentence: how well does the sentence describe it?")
    name = _("grading")
    question_words = _("how well does it fit?")
    yields = _("a grade from 1 to 4 for each pair of picture and sentence")
    answer_words = {
        "4": _("4: without errors"),
        "3": _("3: minor errors"),
        "2": _("2: somewhat related"),
        "1": _("1: unrelated"),
    }
    choices = (
        Choice("4", _("Without errors"), _("everything it says is true")),
        Choice("3", _("Minor errors"), _("a detail is wrong")),
        Choice("2", _("Somewhat related"), _("some of what it says is there")),
        Choice("1", _("Unrelated"), _("it is about something else")),
    )


TASK_TYPES.register(GradedRelevance.key, GradedRelevance())
