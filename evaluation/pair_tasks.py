"""The tasks that batches may ask about pairs, and how their answers are read, as the kinds of questions
declare it."""

from collections.abc import Mapping
from dataclasses import dataclass

from annotation.protocol.grading import GRADES
from annotation.protocol.kinds import ABOUT_PAGE, Kind, all_kinds
from phrasebox.registry import UnknownName
from phrasebox.relevance.grades import MEAN_GRADE
from phrasebox.relevance.qrels import MAJORITY, AnyRule
from phrasebox.relevance.scales import ONE_TO_FOUR, VOTE_SCALE, Scale

#: The default task of a batch.
USUAL_TASKS = "relevance"


@dataclass(frozen=True)
class PairTasks:
    """How answers about pairs are read.

    `scale`: of the answers, `values` as whole numbers. `level`: of measurement, for agreement. `rule`: the
    default rule by which a pair is relevant. `seconds`: the assumed time for one task before it is measured.
    `format`: of published judgments that may be reused, or "". `paged`: pairs are asked on pages. `filtered`:
    unlikely pairs are removed by BLEU_pre by default.
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
    """Return every question that batches may ask, by the `tasks` of campaigns, in the order of the kinds."""
    return {kind.tasks: _read(kind) for kind in all_kinds() if kind.batch is not None}


def pair_tasks(tasks: str) -> PairTasks:
    """Return how answers to campaigns of these `tasks` are read; raises UnknownName listing the known
    ones."""
    known = all_pair_tasks()
    if tasks not in known:
        raise UnknownName(f"tasks {tasks!r}: expected one of {', '.join(known)}")
    return known[tasks]


def _read(kind: Kind) -> PairTasks:
    """Return how answers of a kind are read: ticks on pages are votes for each text, pairs asked singly are
    graded from 1 to 4."""
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
