"""Do all mentions of a chain refer to the same entities? Plummer et al. 2015, section 2.1."""

from annotation.protocol.grading import one_of
from annotation.protocol.kinds import KINDS, AnswerTimeEstimate, Kind
from annotation.protocol.questions import ANSWERS, CHAIN_VERIFICATION
from annotation.protocol.words import gettext_noop as _

RULES = Kind(
    key=CHAIN_VERIFICATION,
    tasks="entities",
    answers=ANSWERS[CHAIN_VERIFICATION],
    sort_order=20,
    mentions=(2, None),
    grader=one_of(ANSWERS[CHAIN_VERIFICATION]),
    strata=ANSWERS[CHAIN_VERIFICATION],
    answer_time=AnswerTimeEstimate(
        5.75, 2.5, 9.0, _("between Papadopoulos et al. 2016 and Su et al. 2012, for answers by looking")
    ),
    built_in=True,
)

KINDS.register(RULES.key, RULES)
