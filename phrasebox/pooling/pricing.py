"""The size and price of a batch before its launch: answers, judgments, time and money.

Relevance is judged on pages, which are laid out in order to count them; each graded pair is one task. Not
included are the pages of known images that newcomers see, and tasks that are repeated when a judge is
discarded.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a batch: `tasks` are pages or graded pairs, each answered by `judges`; `amount` is in
    millionths of a unit.

    `judgments` counts answers about the pairs to judge, `answers` those to tasks.
    """

    pairs: int
    tasks: int
    judges: int
    answers: int
    judgments: int
    seconds: float
    amount: int


def price(*, pairs: int, tasks: int, judges: int, seconds: float, pay: Callable[[float], int]) -> Price:
    """Return the price of asking about `pairs` on `tasks`.

    `seconds` is the duration of an answer to a task, `pay` returns the pay for so many seconds.
    """
    answers = tasks * judges
    return Price(
        pairs=pairs,
        tasks=tasks,
        judges=judges,
        answers=answers,
        judgments=pairs * judges,
        seconds=answers * seconds,
        amount=answers * pay(seconds),
    )
