"""What a batch comes to before it is launched: answers, judgments, time and money.

Relevance is asked on pages, which are laid out to be counted; graded pairs are a task each. Not in it: the
pages of known images alone that newcomers see, and what is asked again when a judge is discarded.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Price:
    """`tasks` are pages or graded pairs, each answered by `judges`; `amount` is in millionths of a unit.

    `judgments` counts answers about pairs that are wanted, `answers` those to tasks.
    """

    pairs: int
    tasks: int
    judges: int
    answers: int
    judgments: int
    seconds: float
    amount: int


def price(*, pairs: int, tasks: int, judges: int, seconds: float, pay: Callable[[float], int]) -> Price:
    """The price of asking about `pairs` on `tasks`.

    `seconds` is how long an answer to a task takes, `pay` what one of so many seconds earns.
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
