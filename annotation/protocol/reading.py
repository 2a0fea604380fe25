"""Judgments sorted by the key they answer, and consumed from there: once each, in arrival order."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from annotation.protocol import boxes as loop
from annotation.protocol import questions as q
from annotation.protocol.questions import Judgment, Question
from annotation.protocol.redundancy import VoteRule


class _Votes:
    """The votes on one key: one per worker (of a machine each of its boxes), in arrival order, each consumed
    once."""

    __slots__ = ("next", "queue", "workers")

    def __init__(self) -> None:
        self.queue: list[Judgment] = []
        self.workers: set[str] = set()
        self.next = 0


NOBODY: frozenset[str] = frozenset()
_NO_VOTES = _Votes()


@dataclass(slots=True)
class Reading:
    """One pass over the judgments: votes by key, and the questions found open. `kept`: the judgments whose
    boxes a reviewer kept as they are, which count although no question consumed them."""

    votes: dict[str, _Votes]
    skipped: list[str]
    questions: list[Question] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)

    def take(
        self,
        key: str,
        rule: VoteRule,
        votes: list[str],
        flags: set[str],
        limit: int,
        barred: frozenset[str] = NOBODY,
    ) -> tuple[str | None, Judgment | None]:
        """Consume votes of `key` until `rule` settles: (outcome, last judgment), or (None, None).

        `votes` and `flags` grow by what was consumed; `limit` flags settle on FLAGGED. Votes of
        `barred` workers are passed over.
        """
        outcome = rule.settle(votes)
        last: Judgment | None = None
        found = self.votes.get(key, _NO_VOTES)
        while outcome is None and found.next < len(found.queue):
            last = found.queue[found.next]
            found.next += 1
            if last.worker in barred:
                self.skipped.append(last.id)
            elif last.flag:
                flags.add(last.worker)
                if len(flags) >= limit:
                    return loop.FLAGGED, last
            else:
                votes.append(last.answer)
                outcome = rule.settle(votes)
        return outcome, last

    def by_machine(self, key: str) -> bool:
        """Whether a machine's vote is among those of `key` that were consumed."""
        found = self.votes.get(key, _NO_VOTES)
        return any(judgment.machine for judgment in found.queue[: found.next])

    def barred(self, key: str, also: frozenset[str] = NOBODY) -> frozenset[str]:
        """The workers who voted on `key`, and those of `also`."""
        found = self.votes.get(key)
        return also if found is None else also.union(found.workers)


def sort_votes_by_key(judgments: Iterable[Judgment]) -> Reading:
    """Sort the votes by key. A worker's second vote on a key is surplus and never read, but for a machine's
    box: once people have refused one, it may propose another (`machine.tries`).

    A double check or a surplus answer is no vote, but who gave it is not asked the same again.
    """
    votes: dict[str, _Votes] = {}
    surplus: list[str] = []
    for judgment in judgments:
        if judgment.void or judgment.role == q.CONTROL:
            continue
        q.check_judgment(judgment)
        found = votes.get(judgment.key)
        if found is None:
            found = votes[judgment.key] = _Votes()
        if judgment.role in (q.DOUBLE_CHECK, q.SURPLUS):
            found.workers.add(judgment.worker)
        elif judgment.worker in found.workers and not (judgment.machine and judgment.box):
            surplus.append(judgment.id)
        else:
            found.workers.add(judgment.worker)
            found.queue.append(judgment)
    return Reading(votes, surplus)
