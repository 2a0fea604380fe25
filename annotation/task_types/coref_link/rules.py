"""Do two mentions refer to the same entities? Plummer et al. 2015, section 2.1."""

from annotation.protocol.grading import one_of
from annotation.protocol.kinds import KINDS, AnswerTimeEstimate, Kind
from annotation.protocol.questions import ANSWERS, COREF_LINK
from annotation.protocol.words import gettext_noop as _

RULES = Kind(
    key=COREF_LINK,
    tasks="entities",
    answers=ANSWERS[COREF_LINK],
    sort_order=10,
    mentions=(2, 2),
    grader=one_of(ANSWERS[COREF_LINK]),
    strata=ANSWERS[COREF_LINK],
    model_answers=("yes",),
    answer_time=AnswerTimeEstimate(
        5.75, 2.5, 9.0, _("between Papadopoulos et al. 2016 and Su et al. 2012, for answers by looking")
    ),
    built_in=True,
)

KINDS.register(RULES.key, RULES)
