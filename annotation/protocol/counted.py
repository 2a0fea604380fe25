"""The fold of an image for counted questions: a fixed number of workers answers each.

Relevance pages, graded pairs, captions to be written and regions to be described need a fixed number of
answers; no answer opens or closes another question. As with `image.Fold`, the state is a fold over all
judgments that are not withdrawn, so that withdrawing a worker's answers reopens as many. A page belongs to
its first image.

Source: Hodosh et al. 2013, sections 2.1 (five captions an image) and 4.3.2 (three judgments a pair). The
number of workers who describe regions, and that flags close a question, are our choices.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from annotation.protocol.kinds import Number, all_kinds, settings_numbers
from annotation.protocol.questions import VOTE, Judgment, Question
from annotation.protocol.state import ImageState
from annotation.protocol.terms import LayerRecord
from models_core.checked_fields import BadField, check_value


def number_type(number: Number) -> Any:
    """Return the type of a number's values, with its bounds."""
    return Annotated[int, Field(ge=1, le=number.most)]


class AnswerSettings:
    """The number of workers who answer each counted question, and the other numbers of kinds, by name.

    The names, their defaults and sources are defined by the kinds (`kinds.settings_numbers`). Raises
    TypeError for an unknown name, and BadField (a ValueError), naming it, for anything but a whole number
    within its bounds.
    """

    __slots__ = ("_numbers",)

    def __init__(self, **numbers: int) -> None:
        known = settings_numbers() if numbers else {}
        for name, value in numbers.items():
            if name not in known:
                raise TypeError(f"unknown number {name!r}; known: {', '.join(known)}")
            check_value(name, value, number_type(known[name]))
        self._numbers = dict(numbers)
        for name, number in known.items():
            if number.from_number and self.number(name) < (least := self.number(number.from_number)):
                expected = f"at least the {least} of {number.from_number}"
                raise BadField(name, self.number(name), expected)

    def number(self, name: str) -> int:
        """Return the number of that name. Raises KeyError if no kind has it."""
        return self._numbers[name] if name in self._numbers else settings_numbers()[name].default

    def answers_needed(self, kind: str) -> int:
        """Return the number of workers who answer a question of `kind`."""
        return self.number(kind)

    def as_dict(self) -> dict[str, int]:
        """Return the numbers that a row stores: those of the built-in kinds, and all that were changed."""
        names = {name for kind in all_kinds() if kind.built_in for name in kind.numbers}
        return {
            name: value
            for name, number in settings_numbers().items()
            if (value := self._numbers.get(name, number.default)) != number.default or name in names
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnswerSettings) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.as_dict().items()))

    def __repr__(self) -> str:
        return f"AnswerSettings({', '.join(f'{name}={value}' for name, value in self._numbers.items())})"


class CountedQuestion(NamedTuple):
    """A question of an image, and its number of answers."""

    kind: str
    key: str
    needed: int


class CountedFold:
    """The fold of one image over `questions`; `fold(judgments)` may be called any number of times.

    A question closes after `flags_to_review` workers flagged it. A flag is no answer, and a worker answers or
    flags a key once.
    """

    def __init__(self, questions: Iterable[CountedQuestion], *, flags_to_review: int = 2) -> None:
        self.questions = tuple(questions)
        if len({question.key for question in self.questions}) < len(self.questions):
            raise ValueError("two questions of this image have the same key")
        self.flags_to_review = flags_to_review

    def __call__(self, judgments: Iterable[Judgment]) -> ImageState:
        votes: dict[str, list[Judgment]] = {question.key: [] for question in self.questions}
        superseded = []
        for judgment in judgments:
            if judgment.withdrawn or judgment.role != VOTE:
                continue
            if judgment.key in votes:
                votes[judgment.key].append(judgment)
            elif not judgment.flag:
                superseded.append(judgment.id)
        open_ones = []
        for question in self.questions:
            answers = [vote for vote in votes[question.key] if not vote.flag]
            superseded += [vote.id for vote in answers[question.needed :]]
            missing = question.needed - len(answers)
            if missing > 0 and not self._is_refused(votes[question.key]):
                barred = frozenset(vote.worker for vote in votes[question.key])
                open_ones.append(Question(question.kind, question.key, missing, barred, ()))
        result = LayerRecord((), ()) if not open_ones else None
        return ImageState((), tuple(open_ones), tuple(superseded), result, ())

    def _is_refused(self, votes: Sequence[Judgment]) -> bool:
        return len({vote.worker for vote in votes if vote.flag}) >= self.flags_to_review


def questions_json(questions: Iterable[CountedQuestion]) -> list[list[object]]:
    """Return questions as stored in a row: [[kind, key, needed], ...]."""
    return [[question.kind, question.key, question.needed] for question in questions]
