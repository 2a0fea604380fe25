"""When votes settle: one answer, two that agree, best of three, k judgments.

A rule takes the votes of one round, in order of arrival, and returns their outcome, or None while more are
needed. It requests no vote that could not change the outcome.

Source: Plummer et al. 2015, section 2.2 (requirement and coverage), section 2.1 (links); Hodosh et al. 2013,
section 4.3.2 (three judgments a pair).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class VoteRule(Protocol):
    """How many answers a question needs, and their outcome."""

    def settle(self, votes: Sequence[str]) -> str | None:
        """Return the outcome of `votes`, or None while they do not settle."""

    def votes_needed(self, votes: Sequence[str]) -> int:
        """Return the number of further votes that are needed in any case; 0 if settled."""

    def most(self) -> int:
        """Return the maximum number of votes."""


@dataclass(frozen=True, slots=True)
class FirstVote:
    """The first answer settles."""

    def settle(self, votes: Sequence[str]) -> str | None:
        """Return the first vote; None if there is none."""
        return votes[0] if votes else None

    def votes_needed(self, votes: Sequence[str]) -> int:
        """Return 1 until there is a vote."""
        return 0 if votes else 1

    def most(self) -> int:
        """Return 1."""
        return 1


@dataclass(frozen=True, slots=True)
class AgreeingVotes:
    """Two votes for the same outcome settle; a first vote for `eager` settles alone.

    `outcome_of` maps a vote to its outcome; a vote not in it raises.
    """

    outcome_of: Mapping[str, str]
    eager: str = ""
    agreeing: int = 2

    def settle(self, votes: Sequence[str]) -> str | None:
        """Return the first outcome with enough votes, or None. Raises ValueError for an unknown vote."""
        counted: dict[str, int] = {}
        for index, vote in enumerate(votes):
            outcome = self.outcome_of.get(vote)
            if outcome is None:
                raise ValueError(f"vote {vote!r} is none of {', '.join(sorted(self.outcome_of))}")
            counted[outcome] = count = counted.get(outcome, 0) + 1
            if count >= self.agreeing or (index == 0 and outcome == self.eager):
                return outcome
        return None

    def votes_needed(self, votes: Sequence[str]) -> int:
        """Return the number of votes missing for the leading outcome; 0 if settled."""
        if self.settle(votes) is not None:
            return 0
        if not votes and self.eager:
            return 1
        best = max(Counter(self.outcome_of[v] for v in votes).values(), default=0)
        return self.agreeing - best

    def most(self) -> int:
        """Return the number with one vote missing for each outcome, plus one."""
        return len(set(self.outcome_of.values())) * (self.agreeing - 1) + 1


def majority_rule(votes: int, outcomes: Sequence[str]) -> VoteRule:
    """Return the rule of one answer (votes = 1), or of a majority of an odd number of votes over two
    `outcomes`."""
    if votes < 1 or votes % 2 == 0:
        raise ValueError(f"best of {votes}: expected an odd number of votes, 1 or more")
    if votes == 1:
        return FirstVote()
    return AgreeingVotes({outcome: outcome for outcome in outcomes}, agreeing=votes // 2 + 1)


@dataclass(frozen=True, slots=True)
class Exactly:
    """All of k judgments are collected; the majority is the outcome, `tie` if there is none."""

    k: int
    tie: str

    def settle(self, votes: Sequence[str]) -> str | None:
        """Return the majority of the first k votes, `tie` if two lead; None while there are fewer."""
        if len(votes) < self.k:
            return None
        ranked = Counter(votes[: self.k]).most_common(2)
        return self.tie if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]

    def votes_needed(self, votes: Sequence[str]) -> int:
        """Return the number of missing votes."""
        return max(0, self.k - len(votes))

    def most(self) -> int:
        """Return k."""
        return self.k
