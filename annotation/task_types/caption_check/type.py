"""Does a sentence describe the picture, and is it a good one?"""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.base import TASK_TYPES, Choice
from annotation.task_types.caption_check.rules import (
    BAD_SENTENCE,
    CAPTION_CHECK,
    GOOD,
    NEITHER,
    NOT_DESCRIBED,
)
from annotation.task_types.single_caption.pages import SingleCaption


class CaptionCheck(SingleCaption):
    """A picture and a sentence that somebody wrote; four answers to two questions."""

    key = CAPTION_CHECK
    title = _("Check a sentence")
    summary = _("A picture and a sentence: does it describe the picture, and is it a good sentence?")
    name = _("caption check")
    question_words = _("is the sentence right and good?")
    yields = _("for each sentence, whether it describes its picture and is a good sentence")
    answer_words = {
        GOOD: _("describes it, good sentence"),
        BAD_SENTENCE: _("describes it, bad sentence"),
        NOT_DESCRIBED: _("does not describe it"),
        NEITHER: _("neither"),
    }
    choices = (
        Choice(GOOD, _("Both"), _("it describes the picture, in a good sentence")),
        Choice(BAD_SENTENCE, _("Only describes it"), _("the sentence has mistakes, or is none")),
        Choice(NOT_DESCRIBED, _("Only a good sentence"), _("the picture shows something else")),
        Choice(NEITHER, _("Neither"), _("another picture, and no good sentence")),
    )


TASK_TYPES.register(CaptionCheck.key, CaptionCheck())
