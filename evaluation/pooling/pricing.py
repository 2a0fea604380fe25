"""What a batch comes to before it is launched: tasks, judgments, time and money.

Relevance is asked on pages, `captions` of an image in a block and `images - controls` blocks on a page;
an image's last block is filled up. So the number of pages follows from how many captions each image is
asked about, and is exact. Not in it: the pages of known images alone that newcomers see, and what is
asked again when a judge is discarded. Graded pairs are a task each.

Source: Hodosh et al. 2013, section 4.3.2 (six images with ten captions, one of them known).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np

from evaluation.pooling.pools import Integers, Space


@dataclass(frozen=True, slots=True)
class Price:
    """`tasks` are pages or graded pairs, each answered by `judges`; `amount` is in millionths of a unit.

    `fillers` checkboxes are filled up with, where there are as many. `judgments` counts answers
    about pairs that are wanted, `answers` those to tasks.
    """

    pairs: int
    tasks: int
    fillers: int
    judges: int
    answers: int
    judgments: int
    seconds: float
    amount: int


def pages_of(asked: Integers, space: Space, *, captions: int, blocks: int) -> int:
    """How many pages `asked` pairs come to: `captions` of an image in a block, `blocks` on a page."""
    images, _ = space.parts(asked)
    each = np.bincount(images) if len(images) else np.empty(0, np.int64)
    return ceil(int(np.ceil(each / captions).sum()) / blocks)


def price(
    *, pairs: int, tasks: int, places: int, judges: int, seconds: float, pay: Callable[[float], int]
) -> Price:
    """The price of asking about `pairs` on `tasks` with `places` checkboxes in all.

    `seconds` is how long an answer to a task takes, `pay` what one of so many seconds earns.
    """
    answers = tasks * judges
    return Price(
        pairs=pairs,
        tasks=tasks,
        fillers=places - pairs,
        judges=judges,
        answers=answers,
        judgments=pairs * judges,
        seconds=answers * seconds,
        amount=answers * pay(seconds),
    )
