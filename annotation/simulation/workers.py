"""Simulated workers: how each kind errs, and what it therefore answers.

The presets are pinned: figures in docs and benchmarks refer to them by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from annotation.protocol import questions as q
from annotation.protocol.dice import Dice
from annotation.protocol.gold import Truth, anywhere, erring
from annotation.protocol.questions import Question
from annotation.protocol.terms import Box
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE

HONEST, RANDOM, YES = "honest", "random", "yes"

_YES_ANSWERS = {
    q.COREF_LINK: "yes",
    q.CHAIN_VERIFICATION: "true",
    q.BOX_REQUIREMENT: "box",
    q.BOX_DRAWING: "drawn",
    q.BOX_QUALITY: "good",
    q.BOX_COVERAGE: "complete",
}


@dataclass(frozen=True, slots=True)
class Habits:
    """An error model.

    `error` is the chance of a wrong answer, by question in `errors` where it differs. `jitter`
    is the standard deviation of each side of a drawn box, as a share of the box's extent.
    `style`: honest, or random answers, or always the affirmative one. `stays` is how many
    answers a worker gives before leaving for good, at the mean; 0: to the end.
    """

    name: str
    error: float = 0.0
    errors: Mapping[str, float] = field(default_factory=dict)
    jitter: float = 0.0
    style: str = HONEST
    stays: int = 0

    def rate(self, question: str) -> float:
        return self.errors.get(question, self.error)


PERFECT = Habits("perfect")
CAREFUL = Habits("careful", error=0.03, jitter=0.02)
AVERAGE = Habits("average", error=0.08, jitter=0.03)
SLOPPY = Habits("sloppy", error=0.20, jitter=0.05)
RANDOM_CLICKER = Habits("random", style=RANDOM)
ALWAYS_YES = Habits("always_yes", style=YES)
JITTERED = Habits("jittered", error=0.03, jitter=0.15)
LEAVER = Habits("leaver", error=0.08, jitter=0.03, stays=40)

PRESETS: dict[str, Habits] = {
    habits.name: habits
    for habits in (PERFECT, CAREFUL, AVERAGE, SLOPPY, RANDOM_CLICKER, ALWAYS_YES, JITTERED, LEAVER)
}

#: Seconds an answer takes, from which paid minutes are reckoned. Drawing: 35 s, the median of
#: conventional drawing in Papadopoulos et al. 2017; the others are our estimate.
SECONDS: dict[str, float] = {
    q.COREF_LINK: 6.0,
    q.CHAIN_VERIFICATION: 8.0,
    q.BOX_REQUIREMENT: 5.0,
    q.BOX_DRAWING: 35.0,
    q.BOX_QUALITY: 6.0,
    q.BOX_COVERAGE: 7.0,
    RELEVANCE: 120.0,
    GRADED_RELEVANCE: 8.0,
    CAPTION_WRITING: 40.0,
    REGION_DESCRIPTION: 150.0,
}


@dataclass(frozen=True, slots=True)
class Worker:
    """One simulated worker. What they answer depends on the seed, their name, the image and the key alone."""

    name: str
    habits: Habits
    seed: int

    @property
    def number(self) -> int:
        """Which of their kind they are, from 1."""
        return int(self.name.rpartition("-")[2])

    def leaves_after(self) -> float:
        """How many answers they give in all (infinite for those who stay)."""
        if not self.habits.stays:
            return float("inf")
        return 5 + Dice(self.seed, self.name, "leaves").below(2 * self.habits.stays - 9)

    def answer(self, question: Question, truth: Truth) -> tuple[str, Box | None]:
        """Their answer, with a box where it is "drawn"."""
        if self.habits is PERFECT:
            return truth.answer(question)
        dice = Dice(self.seed, self.name, truth.image, question.key)
        answers = q.ANSWERS[question.kind]
        if self.habits.style == HONEST:
            error, jitter = self.habits.rate(question.kind), self.habits.jitter
            return erring(question, truth, dice, error=error, jitter=jitter)
        answer = _YES_ANSWERS[question.kind] if self.habits.style == YES else dice.choice(answers)
        return answer, anywhere(truth, dice) if answer == "drawn" else None


def crowd(mix: Mapping[str, int], *, seed: int) -> list[Worker]:
    """Workers by preset name and number, e.g. {"careful": 8, "sloppy": 2}.

    Raises ValueError on an unknown preset, listing the known ones.
    """
    unknown = sorted(set(mix) - set(PRESETS))
    if unknown:
        raise ValueError(f"unknown kind of worker {unknown[0]!r}; known: {', '.join(PRESETS)}")
    return [
        Worker(f"{name}-{i + 1:02d}", PRESETS[name], seed)
        for name, count in mix.items()
        for i in range(count)
    ]


def with_error(rate: float, count: int, *, seed: int) -> list[Worker]:
    """`count` workers who err at `rate` on every question and draw a little loosely."""
    habits = Habits(f"error-{rate:.2f}", error=rate, jitter=0.02) if rate else PERFECT
    return [Worker(f"{habits.name}-{i + 1:02d}", habits, seed) for i in range(count)]
