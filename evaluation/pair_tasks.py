"""What batches may ask about pairs, and how the answers are read: by what the kinds of questions say."""

from collections.abc import Mapping
from dataclasses import dataclass

from annotation.protocol.grading import GRADES
from annotation.protocol.kinds import ABOUT_PAGE, Kind, all_kinds
from phrasebox.registry import UnknownName
from phrasebox.relevance.grades import MEAN_GRADE
from phrasebox.relevance.qrels import MAJORITY, AnyRule
from phrasebox.relevance.scales import ONE_TO_FOUR, VOTE_SCALE, Scale

#: What a batch asks unless it is told.
USUAL_TASKS = "relevance"


@dataclass(frozen=True)
class PairTasks:
    """How answers about pairs are read.

    `scale`: that of the answers, `values` as whole numbers. `level`: of measurement, for agreement. `rule`:
    which answers make a pair relevant, unless another is asked for. `seconds`: what one task takes while
    nobody has measured it. `format`: of published judgments that may be used again, or "". `paged`: pairs are
    asked on pages. `filtered`: unlikely ones are left out by BLEU_pre unless told otherwise.
    """

    scale: Scale
    values: tuple[int, ...]
    level: str
    rule: AnyRule
    seconds: float
    format: str
    paged: bool
    filtered: bool


def all_pair_tasks() -> Mapping[str, PairTasks]:
    """By the `tasks` of campaigns, every question that batches may ask, in the order of the kinds."""
    return {kind.tasks: _read(kind) for kind in all_kinds() if kind.batch is not None}


def pair_tasks(tasks: str) -> PairTasks:
    """How answers to campaigns of these `tasks` are read; raises UnknownName, which lists what there is."""
    known = all_pair_tasks()
    if tasks not in known:
        raise UnknownName(f"tasks {tasks!r}: expected one of {', '.join(known)}")
    return known[tasks]


def _read(kind: Kind) -> PairTasks:
    """Pages are ticked: a vote for each text. Pairs that are asked alone are graded from 1 to 4."""
    assert kind.batch is not None
    batch_terms = kind.batch
    if kind.about == ABOUT_PAGE:
        return PairTasks(
            VOTE_SCALE,
            (0, 1),
            "nominal",
            MAJORITY,
            batch_terms.seconds,
            batch_terms.published,
            True,
            batch_terms.filtered,
        )
    if set(kind.answers) != set(map(str, GRADES)):
        raise ValueError(
            f"kind {kind.key!r} answers {', '.join(kind.answers)}; batches ask for grades 1 to 4"
        )
    return PairTasks(
        ONE_TO_FOUR,
        GRADES,
        "interval",
        MEAN_GRADE,
        batch_terms.seconds,
        batch_terms.published,
        False,
        batch_terms.filtered,
    )
