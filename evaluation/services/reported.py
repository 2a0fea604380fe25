"""What a report is made of, read from rows: figures of runs, a batch's numbers, what judges said.

`asked` resolves names and says what a report's inputs are; `found` computes. Nothing is written.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from django.utils import translation

from annotation.selectors.corpora import corpus_named
from evaluation.agreement.estimates import AgreementError, Bootstrap
from evaluation.agreement.summary import Resampling
from evaluation.formats.base import JudgedPair
from evaluation.grades import GRADED_RULES
from evaluation.metrics.scoring import evaluate
from evaluation.metrics.table import METRICS
from evaluation.models import Batch, JudgmentSet, QrelsSnapshot, Run
from evaluation.ranked_runs import NotComparable, Placed, Pool, place, pool_of
from evaluation.reporting.directions import Direction, Measured, Test, direction_of, labels_of
from evaluation.reporting.document import DEFINITION, BatchNumbers, Report
from evaluation.reporting.judging import Judging, judging_of
from evaluation.scoring import OF_ORIGINALS, Scored, adjusted_by_holm, against, score_placed
from evaluation.selectors import judgment_set, names_of, pairs_of, run_named, snapshot_named
from evaluation.services.batch_state import state
from evaluation.services.collecting import batch_named
from evaluation.significance.randomisation import ROUNDS
from evaluation.tables import known

#: Told by name, with how many steps of all are done.
Progress = Callable[[str, int, int], None]

#: As in Tables 3, 4 and 6 of Hodosh et al. 2013.
MEASURES = ("R@1", "R@5", "R@10", "median rank", "S@1", "S@5", "S@10", "R-precision")
#: As well, where judges gave grades.
GRADED = ("nDCG@10",)
#: How far curves go.
DEEPEST = 10
RESAMPLES, LEVEL = 1_000, 0.95
_PACKAGES = ("Django", "matplotlib", "numpy", "scipy")


class ReportRefused(ValueError):
    """A report that cannot be built; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A report as it was asked for; names of rows. See `services.reports.build`."""

    name: str
    qrels: str
    runs: Sequence[str]
    batch: str = ""
    baseline: Sequence[str] = ()
    measures: Sequence[str] = ()
    against: str = ""
    seed: int = 0
    rounds: int = ROUNDS
    resamples: int = RESAMPLES
    level: float = LEVEL


@dataclass(frozen=True)
class Asked:
    """The rows that were asked for: runs and baselines by direction, the images asked about first."""

    wanted: Wanted
    snapshot: QrelsSnapshot
    runs: Mapping[str, Sequence[Run]]
    baselines: Mapping[str, Run]
    batch: BatchNumbers | None
    batch_row: Batch | None
    others: JudgmentSet | None
    inputs: Mapping[str, Any]


def system_of(run: Run) -> str:
    """What made a run: the system that the registry knows, else the tag that its maker calls it by."""
    return run.made_by.name if run.made_by is not None else run.system


def asked(wanted: Wanted) -> Asked:
    """Raises UnknownName, UnknownMeasure, BatchRefused, NotComparable, else ReportRefused."""
    for number, word in ((wanted.rounds, "rounds"), (wanted.resamples, "resamples")):
        if number < 1:
            raise ReportRefused(f"{number} {word}: ask for at least 1")
    if not 0 < wanted.level < 1:
        raise ReportRefused(f"level {wanted.level}: expected a share between 0 and 1, as 0.95")
    snapshot = snapshot_named(wanted.qrels)
    names = list(wanted.runs)
    if not names or len(set(names)) != len(names):
        raise ReportRefused("name at least one run, and each once")
    runs = [run_named(name) for name in names]
    for run in runs:
        if run.corpus_id != snapshot.corpus_id:
            raise NotComparable(
                f"run {run.name!r} is of corpus {run.corpus.name!r}, qrels '{snapshot}' of "
                f"{snapshot.corpus.name!r}; leave it out"
            )
    by_direction = {
        direction: own
        for direction in (Run.ANNOTATION, Run.SEARCH)
        if (own := [run for run in runs if run.direction == direction])
    }
    baselines = _baselines(by_direction, wanted.baseline)
    for measure in wanted.measures:
        METRICS.find(measure, family="ranking")
    batch = batch_named(wanted.batch) if wanted.batch else None
    if batch is not None and batch.corpus_id != snapshot.corpus_id:
        raise ReportRefused(f"batch {batch.name!r} is of corpus {batch.corpus.name!r}; leave it out")
    if wanted.against and snapshot.judgments is None:
        raise ReportRefused(f"qrels '{snapshot}' are from no judgments; leave out those of others")
    others = judgment_set(snapshot.corpus.name, wanted.against) if wanted.against else None
    numbers = _numbers(batch) if batch is not None else None
    return Asked(
        wanted,
        snapshot,
        by_direction,
        baselines,
        numbers,
        batch,
        others,
        _inputs(wanted, snapshot, by_direction, baselines, numbers, others),
    )


def found(asked: Asked, progress: Progress) -> Report:
    """Everything computed. Raises NotComparable, UnknownMeasure, AgreementError."""
    steps = _Steps(asked, progress)
    directions = [_direction(asked, direction, steps) for direction in asked.runs]
    steps("agreement of the judges")
    judging, why_not = _judging(asked)
    return Report(asked.wanted.name, asked.inputs, directions, asked.batch, judging, why_not)


class _Steps:
    """Counts what is done: runs scored, runs compared, judges. What does not count is told all the same."""

    def __init__(self, asked: Asked, progress: Progress) -> None:
        runs = sum(len(own) for own in asked.runs.values())
        self.done, self.all, self.progress = 0, 2 * runs + 1, progress

    def __call__(self, phase: str, *, counts: bool = True) -> None:
        self.progress(phase, self.done, self.all)
        self.done += counts


def _baselines(runs: Mapping[str, Sequence[Run]], named: Sequence[str]) -> dict[str, Run]:
    """By direction the run that the others are held against: the one named, or of the system named.

    Where none is named it is the first of each direction.
    """
    if not named:
        return {direction: own[0] for direction, own in runs.items()}
    chosen: dict[str, Run] = {}
    for name in named:
        there = [run for own in runs.values() for run in own]
        its = [run for run in there if run.name == name]
        its += [
            run
            for run in there
            if run not in its and system_of(run) and system_of(run) in {name, *map(system_of, its)}
        ]
        if not its:
            raise ReportRefused(
                f"baseline {name!r} is none of the runs ({', '.join(run.name for run in there)}), nor the "
                "system of one"
            )
        for run in its:
            chosen.setdefault(run.direction, run)
    for direction, own in runs.items():
        if direction not in chosen and len(own) > 1:
            raise ReportRefused(
                f"baseline {', '.join(named)} has no run in {direction}; name one more baseline, of "
                f"{', '.join(run.name for run in own)}"
            )
    return {direction: chosen.get(direction, own[0]) for direction, own in runs.items()}


def _inputs(
    wanted: Wanted,
    snapshot: QrelsSnapshot,
    runs: Mapping[str, Sequence[Run]],
    baselines: Mapping[str, Run],
    batch: BatchNumbers | None,
    others: JudgmentSet | None,
) -> dict[str, Any]:
    judgments = snapshot.judgments
    corpus = corpus_named(snapshot.corpus.name)
    return {
        "corpus": {"corpus": corpus.name, "digest": corpus.digest},
        "qrels": {
            "name": snapshot.name,
            "version": snapshot.version,
            "digest": snapshot.digest,
            "rule": snapshot.rule,
            "originals": snapshot.originals,
            "pool": snapshot.pool,
            "rows": snapshot.row_count,
            "judgments": judgments.name if judgments else "",
            "judgments_digest": judgments.digest if judgments else "",
        },
        "runs": [_of_run(run) for own in runs.values() for run in own],
        "settings": {
            "measures": [METRICS.find(name).name for name in wanted.measures],
            "baseline": {direction: run.name for direction, run in baselines.items()},
            "seed": wanted.seed,
            "rounds": wanted.rounds,
            "resamples": wanted.resamples,
            "level": wanted.level,
            "against": others.name if others else "",
            "against_digest": others.digest if others else "",
        },
        "batch": None
        if batch is None
        else {
            "name": batch.batch,
            "state": batch.state,
            "judges": batch.judges,
            "answers": batch.answers,
            "judged": batch.judged,
            "short": batch.short,
            "earned": batch.earned,
            "left_out": len(batch.unused),
        },
        "versions": {
            "report": DEFINITION,
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
        },
    }


def _of_run(run: Run) -> dict[str, Any]:
    """A run with where it comes from; folders of the machine that it was read on are nobody's affair."""
    return {
        "run": run.name,
        "system": system_of(run),
        "direction": run.direction,
        "digest": run.digest,
        "queries": run.query_count,
        "entries": run.entry_count,
        "depth": run.depth,
        "format": run.format,
        "source": re.sub(r"\S*/", "", run.source),
        "source_digest": run.source_digest,
        "split": run.split,
        "protocol": run.protocol,
        "seed": run.seed,
        "system_digest": run.system_digest,
    }


def _direction(asked: Asked, direction: str, steps: _Steps) -> Direction:
    runs, snapshot, wanted = asked.runs[direction], asked.snapshot, asked.wanted
    pool = pool_of(runs[0], snapshot)
    measures = _measures(pool, snapshot, wanted.measures)
    measured: list[Measured] = []
    scored: dict[str, Scored] = {}
    for run in runs:
        steps(f"scoring {run.name}")
        (placed,) = place(run, [pool])
        scored[run.name] = score_placed(run, snapshot, placed, measures)
        measured.append(_measured(run, placed, scored[run.name], judged=not snapshot.pool))
    labels = dict(zip(scored, labels_of([(run.name, system_of(run)) for run in runs]), strict=True))
    baseline = asked.baselines[direction].name
    # In the order of `scoring.compare`, measure by measure; told run by run, since each takes its time.
    by_run = {}
    for run in runs:
        steps(f"comparing {run.name}")
        if run.name != baseline:
            by_run[run.name] = [
                against(name, scored[baseline], scored[run.name], rounds=wanted.rounds, seed=wanted.seed)
                for name in scored[baseline].scores
            ]
    in_order = [own[number] for number in range(len(scored[baseline].scores)) for own in by_run.values()]
    tests = [
        Test(
            run=one.run,
            label=labels[one.run],
            measure=one.measure,
            difference=known(one.difference),
            test=one.test,
            p=one.p,
            adjusted=one.adjusted,
            mark=one.mark,
            reason=one.reason,
        )
        for one in adjusted_by_holm(in_order)
    ]
    return direction_of(
        direction,
        measured,
        tests,
        queries=len(pool.queries),
        baseline=labels[baseline] if tests else "",
        draws=Bootstrap(_images_of(pool, direction, snapshot), wanted.resamples, wanted.level, wanted.seed),
        told=lambda what: steps(f"intervals of {what}", counts=False),
    )


def _measures(pool: Pool, snapshot: QrelsSnapshot, named: Sequence[str]) -> Sequence[str]:
    """Those named, else what the qrels can answer."""
    if named:
        return named
    usual: Sequence[str] = OF_ORIGINALS if snapshot.pool else MEASURES
    if snapshot.rule in GRADED_RULES:
        usual = [*usual, *GRADED]
    if pool.judged.original.any():
        return usual
    return [name for name in usual if not name.startswith("R@") and name != "median rank"]


def _measured(run: Run, placed: Placed, scored: Scored, *, judged: bool) -> Measured:
    """A run's scores, its curves as deep as its lists go, and the ranks of its originals."""
    deepest = DEEPEST if placed.kept is None else min(DEEPEST, placed.kept)
    originals = bool(placed.pool.judged.original.any())
    letters = [letter for letter, there in (("R", originals), ("S", judged)) if there]
    curves = {}
    for letter in letters:
        points = evaluate(placed.ranked, [f"{letter}@{k}" for k in range(1, deepest + 1)])
        values = [known(one.value) for one in points.values()]
        shares = [value for value in values if value is not None]
        if shares:
            curves[letter] = shares
    ranks: Iterable[float] = ()
    if originals:
        ranks = evaluate(placed.ranked, ["median rank"])["median rank"].per_query.tolist()
    return Measured(
        run=run.name,
        system=system_of(run),
        missing=scored.missing,
        scores=scored.scores,
        curves=curves,
        judged=scored.judged,
        first_ranks=list(ranks),
    )


def _images_of(pool: Pool, direction: str, snapshot: QrelsSnapshot) -> list[int]:
    """The image of each query: the clusters of the bootstrap."""
    queries: list[int] = pool.queries.tolist()
    if direction == Run.ANNOTATION:
        return queries
    owner = names_of(snapshot.corpus.name).owner
    return [owner[caption] for caption in queries]


def _numbers(batch: Batch) -> BatchNumbers:
    # Money is written as the language has it, and a report has one.
    with translation.override("en"):
        now = state(batch.name)
    return BatchNumbers(
        batch=now.batch,
        tasks=now.tasks,
        state=now.state,
        depth=now.depth,
        threshold=now.threshold,
        wanted=now.judges,
        numbers=now.numbers,
        judged=now.judged,
        short=now.short,
        answers=now.answers,
        earned=now.earned,
        judges=len(now.people),
        unused=sorted(now.unused.values()),
        loss=None if now.loss is None else asdict(now.loss),
    )


def _judging(asked: Asked) -> tuple[Judging | None, str]:
    """What the judgments behind the qrels say, or why there is nothing to be said."""
    snapshot, wanted = asked.snapshot, asked.wanted
    if snapshot.judgments is None:
        return None, f"Nobody judged: qrels of a protocol ({snapshot.pool}) know originals alone."
    names = names_of(snapshot.corpus.name)

    def read(judgments: JudgmentSet) -> list[JudgedPair]:
        return list(pairs_of(judgments, names))

    pairs = read(snapshot.judgments)
    if not pairs:
        return None, f"Judgments {snapshot.judgments.name} hold no pair."
    others = (asked.others.name, read(asked.others)) if asked.others is not None else None
    resampling = Resampling(wanted.resamples, wanted.level, wanted.seed)
    try:
        return judging_of(pairs, resampling, name=snapshot.judgments.name, others=others), ""
    except AgreementError as error:
        if others is not None:
            raise ReportRefused(str(error)) from error
        return None, f"No agreement can be said of judgments {snapshot.judgments.name}: {error}."
