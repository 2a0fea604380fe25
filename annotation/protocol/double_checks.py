"""Which questions a second person is asked, whatever the first one says, and which two answers are compared.

Agreement may not depend on which answers were given. So a question is drawn when it opens, by a hash of its
key with the campaign's seed, and agreement is over the drawn questions alone: the first person against the
second, each question weighted by one over its share, the chance with which it was drawn (Horvitz and
Thompson 1952), and each pair of workers likewise (`agreement`). Where the fold asks two people
anyway, its second vote is the second answer; where one vote settles, a second person is asked outside the
fold (`questions.DOUBLE_CHECK`).

That a report counts as an answer of its own, and that a model annotator is neither the first nor the second,
is decided here.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from annotation.protocol.controls import Seed, draw_number
from annotation.protocol.kinds import kind_of
from annotation.protocol.questions import DOUBLE_CHECK, VOTE, Judgment

#: What a report counts as where answers are compared.
REPORTED = "reported"


class _Opening(Protocol):
    """A question as it opens, and the answers that it wants."""

    @property
    def kind(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def needed(self) -> int: ...


@dataclass(frozen=True, slots=True)
class DoubleChecks:
    """The draw of an image's questions: by the campaign's `seed` and the image's key, with the chance that
    `share_in_force` gives for a kind."""

    seed: Seed
    image: str
    share_in_force: Callable[[str], float]

    def share(self, kind: str, key: str, needed: int) -> float | None:
        """The chance with which a question was drawn; None where it was not.

        `needed`: the answers that it wants as it opens. Where these are two or more, two people answer every
        such question anyway, and all are drawn. None is drawn of a kind whose answers' words do not say all
        of them (texts, ticks): two cannot be compared by them.
        """
        if not kind_of(kind).comparable:
            return None
        if needed > 1:
            return 1.0
        share = self.share_in_force(kind)
        return share if draw_number(self.seed, "double check", f"{self.image} {key}") < share else None

    def shares(self, questions: Iterable[_Opening]) -> dict[str, float]:
        """Key -> `share`, of those of the questions that were drawn."""
        drawn = {
            question.key: self.share(question.kind, question.key, question.needed) for question in questions
        }
        return {key: share for key, share in drawn.items() if share is not None}


def asked_outside(questions: Iterable[_Opening], shares: Mapping[str, float]) -> list[str]:
    """The keys of questions that were drawn, and that one answer may settle."""
    return [question.key for question in questions if question.key in shares and question.needed == 1]


def wait_for_second(
    drawn: Collection[str], judgments: Iterable[Judgment], open_keys: Collection[str]
) -> list[str]:
    """The `drawn` keys that a second person is to be asked outside the fold: one has answered, and the fold
    asks no more of them (`open_keys` it does)."""
    if not drawn:
        return []
    answers = answers_of_people(judgments)
    return [key for key in drawn if key not in open_keys and len(answers.get(key, ())) == 1]


def answers_of_people(judgments: Iterable[Judgment]) -> dict[str, list[Judgment]]:
    """By key, the first answer or report of each person, in the order in which they came; the first two are
    those that are compared. Withdrawn answers, extra ones and those of model annotators are not there."""
    answers: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        if judgment.withdrawn or judgment.by_model or judgment.role not in (VOTE, DOUBLE_CHECK):
            continue
        people = answers.setdefault(judgment.key, [])
        if all(judgment.worker != earlier.worker for earlier in people):
            people.append(judgment)
    return answers
