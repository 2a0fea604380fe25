"""Rules that turn graded judgments (1 to 4) into gains of nDCG and binary relevance.

Source: Hodosh et al. 2013, section 4.2.1: three judges grade a pair from 1 (unrelated) to 4 (described
without mistakes), and "the final score of each image-caption pair was obtained by averaging"; section 4.3.2
turns scores into binary relevance. The gain is the score less 1, so that an unrelated pair adds nothing; all
pairs have one, relevant or not, since nDCG needs it. For binary measures a pair is relevant if its score is
at least the rule's threshold:

- `mean_grade`, the default: a mean of 8/3 or more, "a good caption (assuming a threshold of >= 2.66)";
- `mean_grade_strict`: 10/3 or more, where experts agree best with two of three of the crowd (Table 10);
- `median_grade`: the median instead, relevant from 3: most judges saw minor mistakes at most.

Qrels hold whole numbers, so gains are counted in sixtieths of a grade and rounded down: exact for two to six
judges, and never across a threshold. nDCG is the same in any unit.

The name of a rule for another scale defines it, for example "mean 0 to 5 from 3": the summary, the scale, and
the score from which a pair is relevant. Their gain is the score less the lowest grade, or, where the name
ends in "exponential", 2 to the power of that, less 1 (Burges et al. 2005, "Learning to rank using gradient
descent"), in three hundredths where they fit.
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from phrasebox.registry import Registry
from phrasebox.relevance.scales import Scale, number


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """All answers about one pair: an image and a caption, or a keyword and a caption.

    `query` and `document` are ids as in the source; for image and caption, the image is the query. `grades`
    are the answers on the source's scale (no is 0 and yes is 1). `judges` names the judge of each answer, in
    the same order; it is empty if the source does not name them, and the order of `grades` then has no
    meaning.
    """

    query: str
    document: str
    grades: tuple[float, ...]
    judges: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """The mean answer, on the source's scale."""
        return sum(self.grades) / len(self.grades)


#: Number of gain steps per grade.
UNIT = 60
#: The same for other scales; the first that fits is used. Exact for two decimal places and for two to six
#: judges.
UNITS = (300, UNIT, 10, 1)
LOWEST, HIGHEST = 1, 4
#: Grades have up to six decimal places.
DECIMALS = 10**6
#: Largest gain that a row can store.
GREATEST_GAIN = 32_767
LINEAR, EXPONENTIAL = "linear", "exponential"
MEAN = "mean"
SUMMARIES = (MEAN, "median")

_NUMBER = r"-?\d+(?:\.\d+)?"
_NAMED = re.compile(rf"(mean|median) ({_NUMBER}) to ({_NUMBER}) from ({_NUMBER}|-?\d+/\d+)( exponential)?")


@dataclass(frozen=True, slots=True)
class GradedRule:
    """A rule: a pair's score is the `summary` of its grades, `low` to `high`; it is relevant from `threshold`
    on.

    A gain of one has `unit` steps.
    """

    name: str
    threshold: Fraction
    summary: Literal["mean", "median"] = "mean"
    low: Fraction = Fraction(LOWEST)
    high: Fraction = Fraction(HIGHEST)
    gains: str = LINEAR
    unit: int = UNIT

    def __post_init__(self) -> None:
        if not self.low < self.threshold <= self.high:
            raise ValueError(
                f"relevant from {number(self.threshold)}: expected more than {number(self.low)}, the lowest "
                f"grade, and at most {number(self.high)}"
            )
        # Powers of two above the sixteenth are too large in any unit.
        too_wide = self.high - self.low > (16 if self.gains == EXPONENTIAL else GREATEST_GAIN)
        if too_wide or self.highest > GREATEST_GAIN:
            raise ValueError(
                f"{self.gains} gains of the scale {number(self.low)} to {number(self.high)} are over "
                f"{GREATEST_GAIN}; "
                f"use {LINEAR} ones, or a smaller scale"
            )

    @property
    def level(self) -> int:
        """Smallest relevant gain."""
        return math.ceil(self._gain(self.threshold) * self.unit)

    @property
    def highest(self) -> int:
        """Gain of the highest grade, which originals have."""
        return int(self._gain(self.high) * self.unit)

    def score(self, pair: JudgedPair) -> Fraction:
        """Return the score, on the scale. Raises ValueError for an answer that is no grade."""
        # Files contain decimals; a float is only the nearest binary fraction.
        grades = sorted(Fraction(grade).limit_denominator(DECIMALS) for grade in pair.grades)
        if not grades or not self.low <= grades[0] <= grades[-1] <= self.high:
            listing = ", ".join(f"{grade:g}" for grade in pair.grades)
            raise ValueError(
                f"{pair.query!r} with {pair.document!r} has the grades {listing or 'none'}: rule "
                f"{self.name!r} is for grades from {number(self.low)} to {number(self.high)}"
            )
        if self.summary == "mean":
            return sum(grades, Fraction(0)) / len(grades)
        return (grades[(len(grades) - 1) // 2] + grades[len(grades) // 2]) / 2

    def relevance(self, pair: JudgedPair) -> int:
        """Return the gain of a pair as in qrels: at least `level` if the pair is relevant, and less
        otherwise."""
        gain = int(self._gain(self.score(pair)) * self.unit)
        return max(gain, self.level) if self.holds(pair) else min(gain, self.level - 1)

    def holds(self, pair: JudgedPair) -> bool:
        """Whether the pair's score is at least the threshold. Raises ValueError as `score` does."""
        return self.score(pair) >= self.threshold

    def grade(self, relevance: int) -> float:
        """Return the score, on the scale, that belongs to a gain."""
        gain = relevance / self.unit
        return float(self.low) + (math.log2(gain + 1) if self.gains == EXPONENTIAL else gain)

    def described(self) -> str:
        """The complete rule in one line, as it enters the digest of qrels."""
        if (
            (self.low, self.high) == (Fraction(LOWEST), Fraction(HIGHEST))
            and self.gains == LINEAR
            and self.unit == UNIT
        ):
            return f"{self.summary} grade, relevant from {self.threshold}, gains in 1/{UNIT}"
        return (
            f"{self.summary} on the scale {number(self.low)} to {number(self.high)}, relevant from "
            f"{self.threshold}, {self.gains} gains in 1/{self.unit}"
        )

    def _gain(self, score: Fraction) -> Fraction:
        above = score - self.low
        return Fraction(2 ** float(above) - 1) if self.gains == EXPONENTIAL else above


def rule_on(
    scale: Scale, relevant_from: Fraction, *, gains: str = LINEAR, summary: str = "mean"
) -> GradedRule:
    """Return the rule for a scale. Raises ValueError for a threshold outside it, and for gains that are too
    large."""
    end = " exponential" if gains == EXPONENTIAL else ""
    low = relevant_from.limit_denominator(DECIMALS)
    if low != relevant_from:
        raise ValueError(f"relevant from {relevant_from}: expected six decimal places at most")
    # Two thirds have no finite decimal.
    threshold = number(low) if DECIMALS % low.denominator == 0 else str(low)
    name = f"{summary} {number(scale.low)} to {number(scale.high)} from {threshold}{end}"
    return graded_rule_named(name)


def graded_rule_named(name: str) -> GradedRule:
    """Return the rule with a name such as "mean 0 to 5 from 3". Raises ValueError for an invalid name."""
    match = _NAMED.fullmatch(name)
    if not match:
        raise ValueError(f"{name!r} is not a rule for grades; expected one such as 'mean 0 to 5 from 3'")
    summary: Literal["mean", "median"] = "mean" if match[1] == "mean" else "median"
    low, high, threshold = (Fraction(match[group]) for group in (2, 3, 4))
    gains = EXPONENTIAL if match[5] else LINEAR
    steps = min(float(high - low), GREATEST_GAIN.bit_length() + 1) if match[5] else float(high - low)
    highest = 2**steps - 1 if match[5] else steps
    unit = next((unit for unit in UNITS if highest * unit <= GREATEST_GAIN), 1)
    return GradedRule(name, threshold, summary, low, high, gains, unit)


GRADED_RULES: Registry[GradedRule] = Registry("rule for grades")
MEAN_GRADE = GRADED_RULES.register("mean_grade", GradedRule("mean_grade", Fraction(8, 3)))
GRADED_RULES.register("mean_grade_strict", GradedRule("mean_grade_strict", Fraction(10, 3)))
GRADED_RULES.register("median_grade", GradedRule("median_grade", Fraction(3), "median"))
