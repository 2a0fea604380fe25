"""Which of these captions describe these pictures? Hodosh et al. 2013, section 4.3.2."""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.base import TASK_TYPES, Choice
from annotation.task_types.relevance.rules import RELEVANCE
from annotation.task_types.ticked_pages.pages import TickedPages


class RelevancePages(TickedPages):
    """A page of pictures, each with sentences to be ticked."""

    key = RELEVANCE
    title = _("Which sentences fit?")
    summary = _("Pictures with sentences beside them: tick those that describe the picture.")
    name = _("relevance")
    question_words = _("which sentences fit?")
    yields = _("for each pair of picture and sentence whether it fits: relevance judgments for search")
    answer_words = {
        "judged": _("ticked a page"),
    }
    choices = (
        Choice(
            "judged",
            _("Send this page"),
            _("unticked sentences do not describe their picture"),
        ),
    )


TASK_TYPES.register(RelevancePages.key, RelevancePages())
