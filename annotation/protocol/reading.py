"""Judgments sorted by the key that they answer, and consumed from there: once each, in order of arrival."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from annotation.protocol import boxes as loop
from annotation.protocol import questions as q
from annotation.protocol.questions import Judgment, Question
from annotation.protocol.redundancy import VoteRule


class _Votes:
    """The votes on one key: one per worker (for a model annotator, each of its boxes), in order of arrival,
    each consumed once."""

    __slots__ = ("next", "queue", "workers")

    def __init__(self) -> None:
        self.queue: list[Judgment] = []
        self.workers: set[str] = set()
        self.next = 0


NOBODY: frozenset[str] = frozenset()
_NO_VOTES = _Votes()


@dataclass(slots=True)
class Reading:
    """One pass over the judgments: votes by key, and the questions that are open.

    `used_by_rulings`: the judgments whose boxes a reviewer left unchanged, which count although no question
    consumed them.
    """

    votes: dict[str, _Votes]
    skipped: list[str]
    questions: list[Question] = field(default_factory=list)
    used_by_rulings: set[str] = field(default_factory=set)

    def take(
        self,
        key: str,
        rule: VoteRule,
        votes: list[str],
        flags: set[str],
        limit: int,
        barred: frozenset[str] = NOBODY,
    ) -> tuple[str | None, Judgment | None]:
        """Consume votes of `key` until `rule` settles: return (outcome, last judgment), or (None, None).

        The consumed votes and flags are added to `votes` and `flags`; `limit` flags settle on FLAGGED. Votes
        of `barred` workers are skipped.
        """
        outcome = rule.settle(votes)
        last: Judgment | None = None
        collected = self.votes.get(key, _NO_VOTES)
        while outcome is None and collected.next < len(collected.queue):
            last = collected.queue[collected.next]
            collected.next += 1
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

    def by_model(self, key: str) -> bool:
        """Whether a model annotator's vote is among the consumed ones of `key`."""
        votes = self.votes.get(key, _NO_VOTES)
        return any(judgment.by_model for judgment in votes.queue[: votes.next])

    def barred(self, key: str, also: frozenset[str] = NOBODY) -> frozenset[str]:
        """Return the workers who voted on `key`, and those of `also`."""
        votes = self.votes.get(key)
        return also if votes is None else also.union(votes.workers)


def sort_votes_by_key(judgments: Iterable[Judgment]) -> Reading:
    """Sort the votes by key. A worker's second vote on a key is extra and never read, except a model
    annotator's box: after people rejected one, it may propose another (`model_annotators.model_tries`).

    A double check or an extra answer is no vote, but its worker does not get the same question again.
    """
    votes: dict[str, _Votes] = {}
    extra: list[str] = []
    for judgment in judgments:
        if judgment.withdrawn or judgment.role == q.CONTROL:
            continue
        q.check_judgment(judgment)
        collected = votes.get(judgment.key)
        if collected is None:
            collected = votes[judgment.key] = _Votes()
        if judgment.role in (q.DOUBLE_CHECK, q.EXTRA):
            collected.workers.add(judgment.worker)
        elif judgment.worker in collected.workers and not (judgment.by_model and judgment.box):
            extra.append(judgment.id)
        else:
            collected.workers.add(judgment.worker)
            collected.queue.append(judgment)
    return Reading(votes, extra)
