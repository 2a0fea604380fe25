"""An answer against a known answer: is it right?

One grader per question kind, in a table. Known answers stand in control items and in the
tests that come before work. Forms of the answers, and of the known ones:

- questions with a few answers (the chain's, but for drawing): the answer's word, equal or not;
- `box_drawing`: a Box, or None for "no further box"; known: the boxes still to be drawn;
- `relevance`: one bool per caption of one image (True: ticked); known: likewise;
- `graded_relevance`: a grade 1 to 4; known: a grade;
- `caption_writing`: in the test of spelling and grammar, "correct" or "incorrect".

Source: Plummer et al. 2015, section 2.3; Hodosh et al. 2013, sections 4.2.1 and 4.3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.protocol.questions import (
    ANSWERS,
    BOX_DRAWING,
    CAPTION_WRITING,
    GRADED_RELEVANCE,
    RELEVANCE,
    SPELLING,
)
from annotation.protocol.terms import Box
from annotation.protocol.trust_settings import TrustSettings
from annotation.registry import Registry

GRADES = (1, 2, 3, 4)
#: The grades a control may have. On the middle ones two agreeing experts of Hodosh et al. are not
#: matched by the third in a third of the cases, and "2" would be within one grade of three of four.
KNOWN_GRADES = (1, 4)
#: How many captions of a control image are its own (section 4.3.2).
TRUE_CAPTIONS = (1, 2, 3)


class BadKnownAnswer(ValueError):
    """A known answer that its question cannot have, or that grades nothing; says what could."""


@dataclass(frozen=True, slots=True)
class Grader:
    """How one question kind is graded.

    `right(answer, known, settings)` grades. `stratum(known)` names the answer a control stands
    for, over which controls are stratified; it raises BadKnownAnswer on what cannot be a control.
    """

    right: Callable[[Any, Any, TrustSettings], bool]
    stratum: Callable[[Any], str]


GRADERS: Registry[Grader] = Registry("grader")


def is_right(kind: str, answer: Any, known: Any, settings: TrustSettings) -> bool:
    """Whether `answer` to a question of `kind` is right, given the `known` one.

    Raises UnknownName for a kind whose answers cannot be graded (free text), ValueError where
    answer and known answer are not of one form.
    """
    return GRADERS.get(kind).right(answer, known, settings)


def stratum(kind: str, known: Any) -> str:
    """The possible answer that a control with this known answer stands for."""
    return GRADERS.get(kind).stratum(known)


def needed_strata(kind: str) -> tuple[str, ...]:
    """The answers of which some control must be known each, so that nobody passes who always says one thing.

    A page's images need none: to tick nothing, or everything, is wrong on each of them.
    """
    return {GRADED_RELEVANCE: tuple(map(str, KNOWN_GRADES))}.get(kind) or ANSWERS.get(kind, ())


def one_of(answers: Sequence[str]) -> Grader:
    """The grader of a question with a few answers: equal or wrong."""

    def right(answer: str, known: str, settings: TrustSettings) -> bool:
        if answer not in answers:
            raise ValueError(f"answer {answer!r} is none of {', '.join(answers)}")
        return answer == stratum_of(known)

    def stratum_of(known: str) -> str:
        if known not in answers:
            raise BadKnownAnswer(f"gold answer {known!r} is not one of {', '.join(answers)}")
        return known

    return Grader(right, stratum_of)


def _box_right(answer: Box | None, known: Sequence[Box], settings: TrustSettings) -> bool:
    """A box is right on any box still missing; "no further box" is right where none is missing."""
    if answer is None:
        return not known
    return any(answer.iou(box) >= settings.drawing_iou for box in known)


def _box_stratum(known: Sequence[Box]) -> str:
    return "drawn" if known else "none"


def _image_right(answer: Sequence[bool], known: Sequence[bool], settings: TrustSettings) -> bool:
    """At most `page_slips` captions wrong and at least one true caption ticked.

    The second half matters: an image with one true caption would otherwise be right with
    nothing ticked. So does it that fewer slips are let pass than there are wrong captions: an image with
    few captions would otherwise be right with everything ticked. Where none is true nothing is to be ticked.
    """
    if len(answer) != len(known):
        raise ValueError(
            f"{len(answer)} answers on a control image with {len(known)} captions: expected one each"
        )
    wrong = sum(a != k for a, k in zip(answer, known, strict=True))
    found = any(a and k for a, k in zip(answer, known, strict=True))
    slips = min(settings.page_slips, max(0, len(known) - sum(known) - 1)) if any(known) else 0
    return wrong <= slips and (found or not any(known))


def _image_stratum(known: Sequence[bool]) -> str:
    if sum(known) not in TRUE_CAPTIONS:
        raise BadKnownAnswer(f"a control image with {sum(known)} true captions: expected 1 to 3")
    return str(sum(known))


def _grade_right(answer: int, known: int, settings: TrustSettings) -> bool:
    if answer not in GRADES or known not in GRADES:
        raise ValueError(f"grade {answer!r} against {known!r}: expected grades 1 to 4")
    return abs(answer - known) <= settings.grade_slip


def _grade_stratum(known: int) -> str:
    if known not in KNOWN_GRADES:
        raise BadKnownAnswer(
            f"gold grade {known!r}: expected 1 or 4, since judges disagree on what lies between "
            "and a worker who always says 2 would be within one grade of it"
        )
    return str(known)


for _kind, _answers in ANSWERS.items():
    if _kind != BOX_DRAWING:
        GRADERS.register(_kind, one_of(_answers))
GRADERS.register(BOX_DRAWING, Grader(_box_right, _box_stratum))
GRADERS.register(RELEVANCE, Grader(_image_right, _image_stratum))
# Of the test of spelling and grammar: what people write is not graded.
GRADERS.register(CAPTION_WRITING, one_of(SPELLING))
GRADERS.register(GRADED_RELEVANCE, Grader(_grade_right, _grade_stratum))
