"""Whether an answer is right, given a gold answer.

Each kind provides its grader (`kinds.Kind`). Control items and the tests before work have gold answers. Forms
of answers and of gold answers:

- questions with a few answers (the chain's, except drawing): the answer's word, equal or not;
- `box_drawing`: a Box, or None for "no further box"; gold: the boxes still to be drawn;
- `relevance`: one bool per caption of one image (True: ticked); gold: likewise;
- `graded_relevance`: a grade 1 to 4; gold: a grade;
- `caption_check`: whether the caption describes the image, by the answer's word; gold: "good" or
  "not_described";
- `caption_writing`: in the test of spelling and grammar, "correct" or "incorrect".

Source: Plummer et al. 2015, section 2.3; Hodosh et al. 2013, sections 4.2.1 and 4.3.2.
"""

from collections.abc import Sequence
from typing import Any

from annotation.protocol.kinds import Grader, kind_of
from annotation.protocol.trust_settings import TrustSettings
from phrasebox.registry import UnknownName

GRADES = (1, 2, 3, 4)


class BadGoldAnswer(ValueError):
    """A gold answer that its question cannot have, or that grades nothing; the message lists valid ones."""


def is_right(kind: str, answer: Any, known: Any, settings: TrustSettings) -> bool:
    """Whether `answer` to a question of `kind` is right, given the gold answer `known`.

    Raises UnknownName for a kind whose answers cannot be graded (free text), ValueError if answer and gold
    answer have different forms.
    """
    return _grader(kind).right(answer, known, settings)


def stratum(kind: str, known: Any) -> str:
    """Return the stratum of a control item with this gold answer."""
    return _grader(kind).stratum(known)


def needed_strata(kind: str) -> tuple[str, ...]:
    """Return the answers each of which needs some control items, so that always giving the same answer fails.

    The images of a page need none: ticking nothing, or everything, is wrong for each of them.
    """
    return kind_of(kind).strata


def _grader(kind: str) -> Grader:
    grader = kind_of(kind).grader
    if grader is None:
        raise UnknownName(f"answers to {kind!r} cannot be graded: it has no grader")
    return grader


def one_of(answers: Sequence[str]) -> Grader:
    """Return the grader of a question with a few answers: equal or wrong."""

    def right(answer: str, known: str, settings: TrustSettings) -> bool:
        if answer not in answers:
            raise ValueError(f"answer {answer!r} is none of {', '.join(answers)}")
        return answer == stratum_of(known)

    def stratum_of(known: str) -> str:
        if known not in answers:
            raise BadGoldAnswer(f"gold answer {known!r} is not one of {', '.join(answers)}")
        return known

    return Grader(right, stratum_of)
