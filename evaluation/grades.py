"""Rules for graded judgments: from grades of 1 to 4 to the gains of nDCG, and to what is relevant.

Source: Hodosh et al. 2013, section 4.2.1: three judges grade a pair from 1 (unrelated) to 4 (described
without mistakes), and "the final score of each image-caption pair was obtained by averaging"; section
4.3.2 reads scores as binary relevance. Gain is the score less 1, so that an unrelated pair adds nothing;
it is kept for all pairs, relevant or not, since nDCG asks for it. Measures that know yes and no alone
count a pair as relevant whose score is at least the rule's threshold:

- `mean_grade`, the default: a mean of 8/3 or more, "a good caption (assuming a threshold of >= 2.66)";
- `mean_grade_strict`: 10/3 or more, where experts agree best with two of three of the crowd (Table 10);
- `median_grade`: the median instead, relevant from 3: most judges saw minor mistakes at most.

Qrels hold whole numbers, so gains are counted in sixtieths of a grade and rounded down: exact for two to
six judges, and never across a threshold. nDCG is the same in any unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from annotation.protocol.grading import GRADES
from annotation.registry import Registry
from evaluation.formats.base import JudgedPair

#: Steps of a gain to one grade.
UNIT = 60
LOWEST, HIGHEST = GRADES[0], GRADES[-1]


@dataclass(frozen=True, slots=True)
class GradedRule:
    """A pair's score is the `summary` of its grades; it is relevant where that is at least `threshold`."""

    name: str
    threshold: Fraction
    summary: Literal["mean", "median"] = "mean"

    def __post_init__(self) -> None:
        if not LOWEST < self.threshold <= HIGHEST or (self.threshold * UNIT).denominator != 1:
            raise ValueError(f"{self}: expected a threshold over {LOWEST}, in steps of 1/{UNIT} of a grade")

    @property
    def level(self) -> int:
        """The least gain that is relevant."""
        return int((self.threshold - LOWEST) * UNIT)

    @property
    def highest(self) -> int:
        """The gain of the highest grade, which originals have."""
        return (HIGHEST - LOWEST) * UNIT

    def score(self, pair: JudgedPair) -> Fraction:
        """The score, from 1 to 4; raises ValueError for an answer that is no grade."""
        grades = sorted(Fraction(grade) for grade in pair.grades)
        if not grades or not LOWEST <= grades[0] <= grades[-1] <= HIGHEST:
            given = ", ".join(f"{grade:g}" for grade in pair.grades)
            raise ValueError(
                f"{pair.query!r} with {pair.document!r} was answered by {given or 'nobody'}: rule "
                f"{self.name!r} is for grades from {LOWEST} to {HIGHEST}"
            )
        if self.summary == "mean":
            return sum(grades, Fraction(0)) / len(grades)
        return (grades[(len(grades) - 1) // 2] + grades[len(grades) // 2]) / 2

    def relevance(self, pair: JudgedPair) -> int:
        """The gain of a pair, as qrels hold it."""
        return int((self.score(pair) - LOWEST) * UNIT)

    def holds(self, pair: JudgedPair) -> bool:
        return self.score(pair) >= self.threshold

    def grade(self, relevance: int) -> float:
        """The score that a gain stands for, from 1 to 4."""
        return LOWEST + relevance / UNIT

    def described(self) -> str:
        """One line that says everything, as the digest of qrels has it."""
        return f"{self.summary} grade, relevant from {self.threshold}, gains in 1/{UNIT}"


GRADED_RULES: Registry[GradedRule] = Registry("rule for grades")
MEAN_GRADE = GRADED_RULES.register("mean_grade", GradedRule("mean_grade", Fraction(8, 3)))
GRADED_RULES.register("mean_grade_strict", GradedRule("mean_grade_strict", Fraction(10, 3)))
GRADED_RULES.register("median_grade", GradedRule("median_grade", Fraction(3), "median"))
