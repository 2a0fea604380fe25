"""Do all mentions of a chain refer to the same set of entities? Plummer et al. 2015, section 2.1."""

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from annotation.protocol.questions import CHAIN_VERIFICATION
from annotation.protocol.terms import Mention
from annotation.task_types.base import TASK_TYPES, Choice, Pointed, TaskType


class ChainVerification(TaskType):
    """All captions of a chain, its phrases numbered and in one colour, since they are said to be the same
    thing."""

    key = CHAIN_VERIFICATION
    title = _("All the same?")
    summary = _("Phrases that other workers matched: do they all refer to the same people or things?")
    name = _("verification")
    question_words = _("all one thing?")
    answer_words = {
        "true": _("yes"),
        "false": _("no"),
    }
    choices = (
        Choice("true", _("All the same"), _("every phrase refers to exactly the same people or things")),
        Choice("false", _("Not all"), _("at least one phrase refers to something else")),
    )

    def point(self, mentions: Sequence[Mention]) -> tuple[Pointed, ...]:
        return tuple(Pointed(mention, number, 1) for number, mention in enumerate(mentions, 1))


TASK_TYPES.register(ChainVerification.key, ChainVerification())
