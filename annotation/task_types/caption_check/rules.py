"""Does a sentence describe the picture, and is it a good one? Asked a second person about captions that
people wrote.

The question is ours; Hodosh et al. 2013, section 2.3, screened writers and looked at their captions. Control
items know only whether a caption describes the picture: its own caption, or one of another picture.
"""

from functools import partial

from annotation.protocol.grading import BadGoldAnswer, Grader
from annotation.protocol.kinds import (
    ABOUT_PAIR,
    KINDS,
    AnswerTimeEstimate,
    Kind,
    Number,
)
from annotation.protocol.trust_settings import TrustSettings
from annotation.protocol.words import gettext_noop as _
from annotation.task_types.single_caption.items import caption_details, caption_item

CAPTION_CHECK = "caption_check"
#: The answers; those that say that the sentence describes the picture.
GOOD, BAD_SENTENCE, NOT_DESCRIBED, NEITHER = "good", "bad_sentence", "not_described", "neither"
_DESCRIBES = (GOOD, BAD_SENTENCE)
_KNOWN = (GOOD, NOT_DESCRIBED)


def _stratum(known: str) -> str:
    if known not in _KNOWN:
        raise BadGoldAnswer(f"gold answer {known!r} is not one of {', '.join(_KNOWN)}")
    return known


def _right(answer: str, known: str, settings: TrustSettings) -> bool:
    return (answer in _DESCRIBES) == (_stratum(known) in _DESCRIBES)


RULES = Kind(
    key=CAPTION_CHECK,
    tasks="checks",
    answers=(GOOD, BAD_SENTENCE, NOT_DESCRIBED, NEITHER),
    about=ABOUT_PAIR,
    sort_order=95,
    faults=(BAD_SENTENCE, NOT_DESCRIBED, NEITHER),
    grader=Grader(_right, _stratum),
    strata=_KNOWN,
    item=partial(caption_item, CAPTION_CHECK),
    pair_known=_KNOWN,
    numbers={CAPTION_CHECK: Number(1, "decided", _("Workers who check each caption"))},
    details=caption_details,
    answer_time=AnswerTimeEstimate(8.0, 4.0, 16.0, _("assumed; nobody has measured it")),
    built_in=True,
)

KINDS.register(RULES.key, RULES)
