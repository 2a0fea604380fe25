"""Which judgments settled which question, so that a reader can follow a fold by hand."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from annotation.protocol.image import Fold
from annotation.protocol.questions import Judgment
from annotation.protocol.reading import NOBODY, Reading, sort_votes_by_key
from annotation.protocol.redundancy import VoteRule
from annotation.protocol.state import ImageState


@dataclass(frozen=True, slots=True)
class SettledQuestion:
    """A question that was settled: its key, its judgments in order of arrival, and the outcome.

    A question that returns under the same key is a separate one, settled by further judgments.
    """

    key: str
    judgments: tuple[Judgment, ...]
    outcome: str


@dataclass(slots=True)
class _RecordedReading(Reading):
    settled: list[SettledQuestion] = field(default_factory=list)

    def take(
        self,
        key: str,
        rule: VoteRule,
        votes: list[str],
        flags: set[str],
        limit: int,
        barred: frozenset[str] = NOBODY,
    ) -> tuple[str | None, Judgment | None]:
        before = self.votes[key].next if key in self.votes else 0
        # By name: a dataclass with slots is a new class, which `super` does not know.
        outcome, last = Reading.take(self, key, rule, votes, flags, limit, barred)
        if outcome is not None:
            read = self.votes[key].queue[before : self.votes[key].next]
            judgments = tuple(judgment for judgment in read if judgment.worker not in barred)
            self.settled.append(SettledQuestion(key, judgments, outcome))
        return outcome, last


def settled_questions(
    fold: Fold, judgments: Iterable[Judgment]
) -> tuple[ImageState, tuple[SettledQuestion, ...]]:
    """Return the state of an image, and the questions that led there, in the order of the fold."""
    sorted_votes = sort_votes_by_key(judgments)
    reading = _RecordedReading(sorted_votes.votes, sorted_votes.skipped)
    state = fold.state_after(reading)
    return state, tuple(reading.settled)
