"""Scales of judgments: votes of no and yes, grades from 1 to 4, or any range of numbers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from phrasebox.errors import PhraseboxError

_NUMBER = r"-?\d{1,6}(?:\.\d{1,6})?"
_RANGE = re.compile(rf"({_NUMBER})-({_NUMBER})")
EXPECTED = "votes, 1-4, or the least and the greatest grade as 0-5"


class BadScale(PhraseboxError):
    """The scale is invalid, or does not contain the answers; the message is one line with what would be
    right."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Answers from `low` to `high`; for `votes`, only 0 (no) and 1 (yes) are answers."""

    low: Fraction
    high: Fraction
    votes: bool = False

    @property
    def name(self) -> str:
        """The name that `scale_named` reads."""
        return "votes" if self.votes else f"{number(self.low)}-{number(self.high)}"

    def holds(self, answer: float) -> bool:
        """Return whether an answer is on the scale."""
        return answer in (0, 1) if self.votes else self.low <= answer <= self.high


VOTE_SCALE = Scale(Fraction(0), Fraction(1), votes=True)
#: The grades of Hodosh et al. 2013, section 4.2.1.
ONE_TO_FOUR = Scale(Fraction(1), Fraction(4))


def scale_named(text: str) -> Scale:
    """Return the scale `text`: "votes", or its least and greatest grade, as "1-4" or "0-5"; raises
    BadScale."""
    if text.strip().lower() == VOTE_SCALE.name:
        return VOTE_SCALE
    match = _RANGE.fullmatch(text.strip())
    low, high = (Fraction(part) for part in match.groups()) if match else (Fraction(0), Fraction(0))
    if not low < high:
        raise BadScale(f"{text!r} is not a scale; expected {EXPECTED}")
    return Scale(low, high)


def score_named(text: str) -> Fraction:
    """Return the score of a text with the decimals that scales have; raises BadScale."""
    if not re.fullmatch(_NUMBER, text.strip()):
        raise BadScale(f"{text[:20]!r} is not a score; expected a number such as 3 or 2.66")
    return Fraction(text.strip())


def scale_of(answers: Iterable[float]) -> Scale:
    """Return the scale of the distinct answers of a whole file, if it is unambiguous.

    Answers 0 and 1 are votes; integers from 1 to 4 that are not all 1 are grades. Raises BadScale for all
    others: answers that are all 1 may be yeses or the lowest grade.
    """
    distinct = set(answers)
    if distinct == {0, 1}:
        return VOTE_SCALE
    if distinct <= {1, 2, 3, 4} and len(distinct | {1}) > 1:
        return ONE_TO_FOUR
    if len(distinct) == 1:
        raise BadScale(
            f"every answer is {number(distinct.pop())}, which does not determine the scale; name it: "
            f"{EXPECTED}"
        )
    raise BadScale(
        f"answers reach from {number(min(distinct))} to {number(max(distinct))}, which fits no known "
        f"scale; name it: {EXPECTED}"
    )


def number(value: float | Fraction) -> str:
    """Return a number as people write it: 3, 0.5."""
    return f"{float(value):.12g}"
