"""Draw one more box, or say that none is required. Plummer et al. 2015, sections 2.2 and 2.3.

A drawer's accuracy is that of the boxes: the verdicts of Box Quality.
"""

from collections.abc import Sequence
from typing import Any

from annotation.protocol.grading import Grader
from annotation.protocol.kinds import KINDS, MEASURED_ON_VERDICTS, AnswerTimeEstimate, Kind
from annotation.protocol.questions import ANSWERS, BOX_DRAWING
from annotation.protocol.terms import Box
from annotation.protocol.trust_settings import TrustSettings
from annotation.protocol.words import gettext_noop as _


def _right(answer: Box | None, known: Sequence[Box], settings: TrustSettings) -> bool:
    """Return whether the answer is right: a box on any missing box, or "no further box" if none is
    missing."""
    if answer is None:
        return not known
    return any(answer.iou(box) >= settings.drawing_iou for box in known)


def _stratum(known: Sequence[Box]) -> str:
    return "drawn" if known else "none"


def _from_json(known: Any) -> tuple[Box, ...]:
    return tuple(Box(*corners) for corners in known)


def _graded_answer(answer: Any) -> Box | None:
    box: Box | None = answer.box
    return box


RULES = Kind(
    key=BOX_DRAWING,
    tasks="entities",
    answers=ANSWERS[BOX_DRAWING],
    sort_order=40,
    draws=True,
    about_boxes=True,
    shows_boxes=True,
    model_answers=("drawn",),
    grader=Grader(_right, _stratum),
    strata=ANSWERS[BOX_DRAWING],
    measured_on=MEASURED_ON_VERDICTS,
    bar="drawing_bar",
    verdict="drawing_known",
    window="drawing_window",
    over="drawing_known",
    from_json=_from_json,
    graded=_graded_answer,
    answer_time=AnswerTimeEstimate(
        29.0, 25.5, 32.5, _("between Su et al. 2012 and Papadopoulos et al. 2016, for drawing")
    ),
    built_in=True,
)

KINDS.register(RULES.key, RULES)
