"""Do two mentions refer to the same set of entities? Plummer et al. 2015, section 2.1."""

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from annotation.protocol.questions import COREF_LINK
from annotation.protocol.terms import Mention
from annotation.task_types.base import TASK_TYPES, Choice, Pointed, TaskType


class CorefLink(TaskType):
    """Two captions with a phrase marked in each."""

    key = COREF_LINK
    title = _("Same or different?")
    summary = _("Two phrases from two captions: do they refer to the same people or things?")
    name = _("links")
    question_words = _("same thing?")
    answer_words = {
        "yes": _("yes"),
        "no": _("no"),
    }
    choices = (
        Choice("yes", _("The same"), _("exactly the same people or things")),
        Choice("no", _("Different"), _("others, or only some of them")),
    )

    def point(self, mentions: Sequence[Mention]) -> tuple[Pointed, ...]:
        return tuple(Pointed(mention, number, number) for number, mention in enumerate(mentions, 1))


TASK_TYPES.register(CorefLink.key, CorefLink())
