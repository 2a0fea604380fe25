"""Does a sentence describe the picture, and is it a good one? Asked a second person about captions that
people wrote.

The question is ours; Hodosh et al. 2013, section 2.3, screened writers and looked at their captions. Control
items know only whether a caption describes the picture: its own caption, or one of another picture.
"""

from collections.abc import Mapping
from typing import Any

from annotation.protocol.grading import BadGoldAnswer, Grader
from annotation.protocol.kinds import (
    ABOUT_PAIR,
    KINDS,
    AnswerTimeEstimate,
    BadItem,
    Kind,
    Number,
    WrittenControlItem,
)
from annotation.protocol.questions import pair_key
from annotation.protocol.trust_settings import TrustSettings
from annotation.protocol.words import gettext_noop as _

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


def _item(item: WrittenControlItem) -> tuple[dict[str, Any], str]:
    if len(item.caption_ids) != 1:
        raise BadItem(f"{len(item.caption_ids)} captions to be checked; expected one")
    key, index = item.captions[0]
    return {"caption": item.caption_ids[0]}, pair_key(CAPTION_CHECK, item.image, f"{key}#{index}")


def _answer_details(key: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {"caption": key.split("|", 2)[2]}


RULES = Kind(
    key=CAPTION_CHECK,
    tasks="checks",
    answers=(GOOD, BAD_SENTENCE, NOT_DESCRIBED, NEITHER),
    about=ABOUT_PAIR,
    sort_order=95,
    faults=(BAD_SENTENCE, NOT_DESCRIBED, NEITHER),
    grader=Grader(_right, _stratum),
    strata=_KNOWN,
    item=_item,
    pair_known=_KNOWN,
    numbers={CAPTION_CHECK: Number(1, "decided", _("Workers who check each caption"))},
    details=_answer_details,
    answer_time=AnswerTimeEstimate(8.0, 4.0, 16.0, _("assumed; nobody has measured it")),
    built_in=True,
)

KINDS.register(RULES.key, RULES)
