"""What batches may ask about pairs, and how the answers are read: an entry for each `tasks` of campaigns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evaluation.relevance.grades import MEAN_GRADE
from evaluation.relevance.qrels import MAJORITY, AnyRule
from evaluation.relevance.scales import ONE_TO_FOUR, VOTE_SCALE, Scale

#: What a batch asks unless it is told.
USUAL_TASKS = "relevance"


@dataclass(frozen=True)
class PairTasks:
    """How answers about pairs are read.

    `scale`: that of the answers, `values` as whole numbers. `level`: of measurement, for agreement. `rule`:
    which answers make a pair relevant, unless another is asked for. `seconds`: what one task takes while
    nobody has measured it. `format`: of published judgments that may be used again. `paged`: pairs are asked
    on pages, and unlikely ones are left out by BLEU_pre unless told otherwise.
    """

    scale: Scale
    values: tuple[int, ...]
    level: str
    rule: AnyRule
    seconds: float
    format: str
    paged: bool


PAIR_TASKS: Mapping[str, PairTasks] = {
    "relevance": PairTasks(VOTE_SCALE, (0, 1), "nominal", MAJORITY, 90.0, "flickr8k-crowd", True),
    "graded": PairTasks(ONE_TO_FOUR, (1, 2, 3, 4), "interval", MEAN_GRADE, 10.0, "flickr8k-expert", False),
}
