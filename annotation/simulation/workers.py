"""Simulated workers: how each kind errs, and the resulting answers.

The presets are fixed: figures in docs and benchmarks refer to them by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.protocol.gold import Truth
from annotation.protocol.questions import Answer, Question, answers_to
from annotation.protocol.rng import SeededRng
from annotation.protocol.terms import Box
from annotation.simulation.judging import CrowdKnowledge
from annotation.simulation.kinds import SIMULATED

HONEST, _RANDOM, YES = "honest", "random", "yes"


@dataclass(frozen=True, slots=True)
class Habits:
    """An error model.

    `error` is the probability of a wrong answer, by question in `errors` if it differs. `jitter` is the
    standard deviation of each side of a drawn box, as a share of the box's extent. `style`: honest, or random
    answers, or always the affirmative one. `stays` is the mean number of answers before a worker leaves for
    good; 0: to the end.
    """

    name: str
    error: float = 0.0
    errors: Mapping[str, float] = field(default_factory=dict)
    jitter: float = 0.0
    style: str = HONEST
    stays: int = 0

    def rate(self, question: str) -> float:
        """Return the probability of a wrong answer to a kind of question."""
        return self.errors.get(question, self.error)


PERFECT = Habits("perfect")
CAREFUL = Habits("careful", error=0.03, jitter=0.02)
AVERAGE = Habits("average", error=0.08, jitter=0.03)
SLOPPY = Habits("sloppy", error=0.20, jitter=0.05)
RANDOM_CLICKER = Habits("random", style=_RANDOM)
ALWAYS_YES = Habits("always_yes", style=YES)
JITTERED = Habits("jittered", error=0.03, jitter=0.15)
LEAVER = Habits("leaver", error=0.08, jitter=0.03, stays=40)

PRESETS: dict[str, Habits] = {
    habits.name: habits
    for habits in (PERFECT, CAREFUL, AVERAGE, SLOPPY, RANDOM_CLICKER, ALWAYS_YES, JITTERED, LEAVER)
}


@dataclass(frozen=True, slots=True)
class SimulatedWorker:
    """One simulated worker. Answers depend only on the seed, their name, the image and the key."""

    name: str
    habits: Habits
    seed: int

    @property
    def number(self) -> int:
        """Their number among their kind, from 1."""
        return int(self.name.rpartition("-")[2])

    @property
    def honest(self) -> bool:
        """Whether they look at what is shown."""
        return self.habits.style == HONEST

    @property
    def affirms(self) -> bool:
        """Whether they say yes to everything."""
        return self.habits.style == YES

    @property
    def exact(self) -> bool:
        """Whether they never err."""
        return self.habits is PERFECT

    def errs(self, kind: str, rng: SeededRng) -> bool:
        """Whether they err this time, at a question of `kind`."""
        return not self.exact and rng.chance(self.habits.rate(kind))

    def leaves_after(self) -> float:
        """Return how many answers they give in all (infinite for those who stay)."""
        if not self.habits.stays:
            return float("inf")
        return 5 + SeededRng(self.seed, self.name, "leaves").below(2 * self.habits.stays - 9)

    def answer(self, question: Question, truth: Truth) -> tuple[str, Box | None]:
        """Return their answer, with a box if it is "drawn"."""
        if self.exact:
            return truth.answer(question)
        kind = SIMULATED.get(question.kind)
        rng = SeededRng(self.seed, self.name, truth.image, question.key)
        if self.honest:
            error, jitter = self.habits.rate(question.kind), self.habits.jitter
            return kind.erring(question, truth, rng, error=error, jitter=jitter)
        answer = kind.yes if self.affirms else rng.choice(answers_to(question.kind))
        return answer, kind.blind(answer, truth, rng)

    def judge(self, kind: str, image: str, content: Mapping[str, Any], known: CrowdKnowledge) -> Answer:
        """Return their answer to a counted question about the image with this key.

        `content` is as in the API. Raises ValueError if `kind` is not counted.
        """
        judge = SIMULATED.get(kind).judge
        if judge is None:
            raise ValueError(f"answers to {kind!r} are not only counted; ask with a question and its truth")
        return judge(self, image, content, known)


def make_crowd(mix: Mapping[str, int], *, seed: int) -> list[SimulatedWorker]:
    """Return workers by preset name and number, e.g. {"careful": 8, "sloppy": 2}.

    Raises ValueError for an unknown preset, listing the known ones.
    """
    unknown = sorted(set(mix) - set(PRESETS))
    if unknown:
        raise ValueError(f"unknown kind of worker {unknown[0]!r}; known: {', '.join(PRESETS)}")
    return [
        SimulatedWorker(f"{name}-{i + 1:02d}", PRESETS[name], seed)
        for name, count in mix.items()
        for i in range(count)
    ]


def with_error(rate: float, count: int, *, seed: int) -> list[SimulatedWorker]:
    """Return `count` workers who err at `rate` on every question and draw slightly loosely."""
    habits = Habits(f"error-{rate:.2f}", error=rate, jitter=0.02) if rate else PERFECT
    return [SimulatedWorker(f"{habits.name}-{i + 1:02d}", habits, seed) for i in range(count)]
