"""How well does a caption describe a picture? Grades of 1 to 4. Hodosh et al. 2013, section 4.2.1."""

from functools import partial
from typing import Any

from annotation.protocol.grading import GRADES, BadGoldAnswer, Grader
from annotation.protocol.kinds import ABOUT_PAIR, KINDS, Kind, Number, PairBatch
from annotation.protocol.trust_settings import TrustSettings
from annotation.protocol.words import gettext_noop as _
from annotation.task_types.single_caption.items import caption_details, caption_item

GRADED_RELEVANCE = "graded_relevance"
#: Possible grades of a control item. For the middle ones, two agreeing experts of Hodosh et al. are not
#: matched by the third in a third of the cases, and "2" would be within one grade of three of four.
KNOWN_GRADES = (1, 4)


def _right(answer: int, known: int, settings: TrustSettings) -> bool:
    if answer not in GRADES or known not in GRADES:
        raise ValueError(f"grade {answer!r} against {known!r}: expected grades 1 to 4")
    return abs(answer - known) <= settings.grade_slip


def _stratum(known: int) -> str:
    if known not in KNOWN_GRADES:
        raise BadGoldAnswer(
            f"gold grade {known!r}: expected 1 or 4, since judges disagree on what lies between "
            "and a worker who always says 2 would be within one grade of it"
        )
    return str(known)


def _graded_answer(answer: Any) -> int:
    return int(answer.answer)


RULES = Kind(
    key=GRADED_RELEVANCE,
    tasks="graded",
    answers=tuple(map(str, GRADES)),
    about=ABOUT_PAIR,
    sort_order=80,
    grader=Grader(_right, _stratum),
    strata=tuple(map(str, KNOWN_GRADES)),
    from_json=int,
    graded=_graded_answer,
    item=partial(caption_item, GRADED_RELEVANCE),
    pair_known=("4", "1"),
    numbers={
        GRADED_RELEVANCE: Number(3, "Hodosh et al. 2013, section 4.2.1", _("Workers who grade each pair"))
    },
    details=caption_details,
    batch=PairBatch(10.0, published="flickr8k-expert"),
    built_in=True,
)

KINDS.register(RULES.key, RULES)
