"""Is a drawn box good? Plummer et al. 2015, section 2.2."""

from annotation.protocol.grading import one_of
from annotation.protocol.kinds import KINDS, AnswerTimeEstimate, Kind
from annotation.protocol.questions import ANSWERS, BOX_DRAWING, BOX_QUALITY
from annotation.protocol.words import gettext_noop as _

RULES = Kind(
    key=BOX_QUALITY,
    tasks="entities",
    answers=ANSWERS[BOX_QUALITY],
    sort_order=50,
    about_boxes=True,
    shows_boxes=True,
    judges=BOX_DRAWING,
    grader=one_of(ANSWERS[BOX_QUALITY]),
    strata=ANSWERS[BOX_QUALITY],
    answer_time=AnswerTimeEstimate(
        5.75, 2.5, 9.0, _("between Papadopoulos et al. 2016 and Su et al. 2012, for answers by looking")
    ),
    built_in=True,
)

KINDS.register(RULES.key, RULES)
