"""Which of these tags fit this picture?"""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.base import TASK_TYPES, Choice
from annotation.task_types.tag_relevance.rules import TAG_RELEVANCE
from annotation.task_types.ticked_pages.pages import TickedPages


class TagRelevance(TickedPages):
    """A picture with ten tags to be ticked."""

    key = TAG_RELEVANCE
    title = _("Which tags fit?")
    summary = _("A picture with tags beside it: tick those that name something in the picture.")
    name = _("tag relevance")
    question_words = _("which tags fit?")
    yields = _("for each pair of picture and tag whether it fits")
    answer_words = {"judged": _("ticked the tags")}
    choices = (Choice("judged", _("Send these tags"), _("unticked tags do not fit")),)


TASK_TYPES.register(TagRelevance.key, TagRelevance())
