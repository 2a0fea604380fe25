"""Are boxes missing? Plummer et al. 2015, section 2.2."""

from annotation.protocol.grading import one_of
from annotation.protocol.kinds import KINDS, AnswerTimeEstimate, Kind
from annotation.protocol.questions import ANSWERS, BOX_COVERAGE
from annotation.protocol.words import gettext_noop as _

RULES = Kind(
    key=BOX_COVERAGE,
    tasks="entities",
    answers=ANSWERS[BOX_COVERAGE],
    sort_order=60,
    about_boxes=True,
    shows_boxes=True,
    needs_boxes=True,
    grader=one_of(ANSWERS[BOX_COVERAGE]),
    strata=ANSWERS[BOX_COVERAGE],
    answer_time=AnswerTimeEstimate(
        5.15, 2.5, 7.8, _("between Papadopoulos et al. 2016 and Su et al. 2012, for coverage")
    ),
    built_in=True,
)

KINDS.register(RULES.key, RULES)
