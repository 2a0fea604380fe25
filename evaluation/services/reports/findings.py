"""The content of a report, computed from rows: figures of runs in both directions, statistics of judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from annotation.common.operations import result_of
from evaluation.comparison.original_pairs import AnyQrels
from evaluation.comparison.provenance import with_provenance
from evaluation.comparison.ranked_runs import Placed, RunPool, pool_of, rank_in_pools
from evaluation.comparison.scoring import (
    OF_ORIGINALS,
    Scored,
    adjusted_by_holm,
    against,
    figure_basis,
    images_of_queries,
    remarks_on,
    score_placed,
    scored_queries,
)
from evaluation.models import JudgmentSet, Run
from evaluation.report_data.directions import (
    DirectionHead,
    DirectionTable,
    MeasuredRun,
    SignificanceTest,
    direction_of,
    labels_of,
)
from evaluation.report_data.judging import JudgingSummary, judging_of
from evaluation.report_data.tag_scores import ScoredTags
from evaluation.reporting.document import ReportDocument
from evaluation.selectors import judged_pairs, names_of
from evaluation.services.reports.request import ReportError, ReportRows, system_of
from evaluation.services.tagging.scores import score_tag_set
from evaluation.services.tagging.true_tags import TagScoring
from phrasebox.agreement.estimates import AgreementError, Bootstrap
from phrasebox.agreement.summary import Resampling
from phrasebox.figure_basis import basis_from_dict
from phrasebox.figure_tables import finite_or_none
from phrasebox.metrics.scoring import evaluate
from phrasebox.relevance.grades import GradedRule, JudgedPair
from phrasebox.relevance.qrels import FileRelevance, rule_named

#: Called with a step's name, the number of steps done, and their total.
FindingsProgress = Callable[[str, int, int], None]

#: Measures in Tables 3, 4 and 6 of Hodosh et al. 2013.
REPORT_MEASURES = ("R@1", "R@5", "R@10", "median rank", "S@1", "S@5", "S@10", "R-precision")
#: Additional measures where judges gave grades.
GRADED = ("nDCG@10",)
#: The largest k of curves.
_DEEPEST = 10


def compute_findings(rows: ReportRows, progress: FindingsProgress) -> ReportDocument:
    """Compute everything. Raises PhraseboxError, UnknownMeasure, AgreementError."""
    steps = _Steps(rows, progress)
    directions = [_direction(rows, direction, steps) for direction in rows.runs]
    steps("agreement of the judges")
    judging, why_not = _judging(rows)
    return ReportDocument(
        rows.request.name, rows.inputs, directions, rows.batch, judging, why_not, _tags(rows, steps)
    )


def _tags(rows: ReportRows, steps: _Steps) -> list[ScoredTags]:
    """Return the scores of each tag set; images without tags count as missing output, like queries.

    Raises MissingOutput, and InputError if none of its images has a true tag.
    """
    request = rows.request
    scored_tags: list[ScoredTags] = []
    how = TagScoring(
        missing=request.missing,
        resampling=Resampling(request.resamples, request.level, request.seed),
    )
    for tag_set in rows.tags:
        steps(f"scoring tags of {tag_set.name}", counts=False)
        scored_tags.append(score_tag_set(tag_set, how=how, subset=rows.subset))
    return scored_tags


class _Steps:
    """Counts steps: runs scored, runs compared, judges. Other work is reported without counting."""

    def __init__(self, rows: ReportRows, progress: FindingsProgress) -> None:
        runs = sum(len(of_direction) for of_direction in rows.runs.values())
        self.done, self.all, self.progress = 0, 2 * runs + 1, progress

    def __call__(self, phase: str, *, counts: bool = True) -> None:
        self.progress(phase, self.done, self.all)
        self.done += counts


def _direction(rows: ReportRows, direction: str, steps: _Steps) -> DirectionTable:
    runs, snapshot, request = rows.runs[direction], rows.snapshot, rows.request
    whole = pool_of(runs[0], snapshot, rows.subset)
    pool = scored_queries(whole, runs, snapshot, request.missing)
    measures = _measures(pool, snapshot, request.measures)
    measured: list[MeasuredRun] = []
    scored: dict[str, Scored] = {}
    for run in runs:
        steps(f"scoring {run.name}")
        (placed,) = rank_in_pools(run, [pool])
        scored[run.name] = score_placed(run, snapshot, placed, whole, measures)
        measured.append(_measured(run, placed, scored[run.name], judged=not snapshot.pool))
    labels = dict(zip(scored, labels_of([(run.name, system_of(run)) for run in runs]), strict=True))
    baseline = rows.baselines[direction].name
    images = images_of_queries(pool.queries, direction, snapshot)
    # In the order of `scoring.score_against_first`, measure by measure; reported run by run, since each takes
    # time.
    by_run = {}
    for run in runs:
        steps(f"comparing {run.name}")
        if run.name != baseline:
            by_run[run.name] = [
                against(
                    name,
                    scored[baseline],
                    scored[run.name],
                    images=images,
                    rounds=request.rounds,
                    seed=request.seed,
                )
                for name in scored[baseline].scores
            ]
    in_order = [
        tests_of_run[number]
        for number in range(len(scored[baseline].scores))
        for tests_of_run in by_run.values()
    ]
    tests = [
        result_of(SignificanceTest, test, label=labels[test.run], difference=finite_or_none(test.difference))
        for test in adjusted_by_holm(in_order)
    ]
    remarks = remarks_on(list(scored.values()))
    basis = figure_basis([scored[baseline]], snapshot, subset=rows.subset, missing=request.missing)
    baseline_label = labels[baseline] if tests else ""
    by_label = {labels[run.name]: run for run in runs}
    seen = with_provenance({"basis": basis.as_dict()}, by_label, snapshot.corpus, images)
    return direction_of(
        DirectionHead(
            direction,
            basis_from_dict(seen["basis"]),
            remarks,
            baseline_label,
            seen["provenance"],
        ),
        measured,
        tests,
        draws=Bootstrap(images, request.resamples, request.level, request.seed),
        report_progress=lambda what: steps(f"intervals of {what}", counts=False),
    )


def _measures(pool: RunPool, snapshot: AnyQrels, named: Sequence[str]) -> Sequence[str]:
    """Return the requested measures, or those that the qrels support."""
    if named:
        return named
    usual: Sequence[str] = OF_ORIGINALS if snapshot.pool else REPORT_MEASURES
    rule = rule_named(snapshot.rule)
    if isinstance(rule, GradedRule) or (isinstance(rule, FileRelevance) and (pool.judged.grade > 1).any()):
        usual = [*usual, *GRADED]
    if pool.judged.original.any():
        return usual
    return [name for name in usual if not name.startswith("R@") and name != "median rank"]


def _measured(run: Run, placed: Placed, scored: Scored, *, judged: bool) -> MeasuredRun:
    """Return a run's scores, its curves to the depth of its lists, and the ranks of its originals."""
    deepest = _DEEPEST if placed.complete_to is None else min(_DEEPEST, placed.complete_to)
    originals = bool(placed.pool.judged.original.any())
    letters = [letter for letter, there in (("R", originals), ("S", judged)) if there]
    curves = {}
    for letter in letters:
        points = evaluate(placed.ranked, [f"{letter}@{k}" for k in range(1, deepest + 1)])
        values = [finite_or_none(score_at.value) for score_at in points.values()]
        shares = [value for value in values if value is not None]
        if shares:
            curves[letter] = shares
    ranks: Iterable[float] = ()
    if originals:
        ranks = evaluate(placed.ranked, ["median rank"])["median rank"].per_query.tolist()
    return MeasuredRun(
        run=run.name,
        system=system_of(run),
        missing=scored.missing,
        candidates=len(scored.candidates.items),
        scores=scored.scores,
        curves=curves,
        judged=scored.judged,
        first_ranks=list(ranks),
    )


def _judging(rows: ReportRows) -> tuple[JudgingSummary | None, str]:
    """Return statistics of the judgments behind the qrels, or why there are none."""
    snapshot, request = rows.snapshot, rows.request
    if snapshot.source:
        return None, f"Relevance was imported from {snapshot.source}; its judges are not known here."
    if snapshot.judgments is None:
        return None, f"There are no judgments: the qrels ({snapshot.pool}) contain only originals."
    names = names_of(snapshot.corpus.name)

    def read(judgments: JudgmentSet) -> list[JudgedPair]:
        return list(judged_pairs(judgments, names))

    pairs = read(snapshot.judgments)
    if not pairs:
        return None, f"Judgments {snapshot.judgments.name} contain no pair."
    others = (rows.others.name, read(rows.others)) if rows.others is not None else None
    resampling = Resampling(request.resamples, request.level, request.seed)
    try:
        return judging_of(pairs, resampling, name=snapshot.judgments.name, others=others), ""
    except AgreementError as error:
        if others is not None:
            raise ReportError(str(error)) from error
        return None, f"The agreement of judgments {snapshot.judgments.name}: {error}."
