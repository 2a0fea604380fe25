"""Which questions a second person answers, independent of the first answer, and which two answers are
compared.

Agreement must not depend on the answers. So a question is drawn when it opens, by a hash of its key with the
campaign's seed, and agreement covers only the drawn questions: the first person against the second, each
question weighted by the inverse of its share, the probability with which it was drawn (Horvitz and Thompson
1952), and each pair of workers likewise (`agreement`). If the fold asks two people anyway, its second vote is
the second answer; if one vote settles, a second person is asked outside the fold (`questions.DOUBLE_CHECK`).

Our choices: a report counts as an answer of its own, and a model annotator is neither the first nor the
second.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from annotation.protocol.controls import Seed, draw_number
from annotation.protocol.kinds import kind_of
from annotation.protocol.questions import DOUBLE_CHECK, VOTE, Judgment

#: The word for a report when answers are compared.
REPORTED = "reported"


class _Opening(Protocol):
    """A question as it opens, and its number of answers."""

    @property
    def kind(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def needed(self) -> int: ...


@dataclass(frozen=True, slots=True)
class DoubleChecks:
    """The draw of an image's questions, by the campaign's `seed` and the image's key, with the probability
    `share_in_force` of a kind."""

    seed: Seed
    image: str
    share_in_force: Callable[[str], float]

    def share(self, kind: str, key: str, needed: int) -> float | None:
        """Return the probability with which a question was drawn; None if it was not.

        `needed` is its number of answers as it opens. If it is at least two, two people answer every such
        question anyway, and all are drawn. Kinds whose answers are more than a word (texts, ticks) cannot be
        compared, and none is drawn.
        """
        if not kind_of(kind).comparable:
            return None
        if needed > 1:
            return 1.0
        share = self.share_in_force(kind)
        return share if draw_number(self.seed, "double check", f"{self.image} {key}") < share else None

    def shares(self, questions: Iterable[_Opening]) -> dict[str, float]:
        """Return `share` by key, for the questions that were drawn."""
        drawn = {
            question.key: self.share(question.kind, question.key, question.needed) for question in questions
        }
        return {key: share for key, share in drawn.items() if share is not None}


def asked_outside(questions: Iterable[_Opening], shares: Mapping[str, float]) -> list[str]:
    """Return the keys of drawn questions that one answer may settle."""
    return [question.key for question in questions if question.key in shares and question.needed == 1]


def wait_for_second(
    drawn: Collection[str], judgments: Iterable[Judgment], open_keys: Collection[str]
) -> list[str]:
    """Return the `drawn` keys that a second person must answer outside the fold: one has answered, and the
    fold needs no more answers (it does for `open_keys`)."""
    if not drawn:
        return []
    answers = answers_of_people(judgments)
    return [key for key in drawn if key not in open_keys and len(answers.get(key, ())) == 1]


def answers_of_people(judgments: Iterable[Judgment]) -> dict[str, list[Judgment]]:
    """Return by key the first answer or report of each person, in order of arrival; the first two are
    compared.

    Withdrawn answers, extra ones and those of model annotators are not included.
    """
    answers: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        if judgment.withdrawn or judgment.by_model or judgment.role not in (VOTE, DOUBLE_CHECK):
            continue
        people = answers.setdefault(judgment.key, [])
        if all(judgment.worker != earlier.worker for earlier in people):
            people.append(judgment)
    return answers
