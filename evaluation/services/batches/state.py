"""The state of a batch: what is judged, by whom, at what price, and how reliable it is.

At the size of the paper, reading all answers and all rankings takes seconds: commands call `batch_state`;
pages call `cached_batch_state`, which may miss only answers of the last minute.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.paging import Filling
from annotation.selectors.campaign.cached import cached_figure
from annotation.selectors.campaign.cost import costs, money
from annotation.selectors.campaign.glance import forecast_from
from annotation.selectors.campaign.progress import funnel, open_tasks_by_kind, throughput
from annotation.selectors.pair_judgments import Judge, page_filling
from evaluation.models import Batch, BatchRun
from evaluation.pair_tasks import pair_tasks
from evaluation.selectors import selected_pairs_of
from evaluation.services.batches.collecting import answers_of, batch_named, is_collected, short_of
from evaluation.services.batches.next_pairs import known_pairs, split_by_filter
from evaluation.services.batches.pooled_runs import WIDEST, PooledRuns, pooled
from evaluation.services.batches.reassignment import Reassignment, plan_reassignment
from evaluation.services.batches.rounds import RoundStatus, round_status, selected_and_displayed_pairs
from evaluation.services.batches.stamps import batch_stamp
from evaluation.services.batches.stored_answers import Answers
from phrasebox.agreement.coefficients import as_ratings, krippendorff
from phrasebox.agreement.estimates import Estimate
from phrasebox.pooling.omissions import OmittedSystem, leave_out
from phrasebox.pooling.pools import PairIds, among, pool
from phrasebox.pooling.unlikely import FilterLoss, filter_loss
from phrasebox.relevance.grades import JudgedPair
from phrasebox.relevance.qrels import AnyRule

#: The measurement level of the answers for Krippendorff's alpha.


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a batch.

    `open` tasks need `answers_to_come` answers, which cost `to_come` ("": too early to tell) and end
    `ends_at` at the speed of the last day; a closed campaign needs none. Of the pairs asked, `judged` have as
    many answers as requested and `short` have fewer; of those judged before and not asked, `reused` still
    have as many and `lacking` have fewer. `stored` is the number of answers that its judgments would hold; if
    `collected`, its newest judgments hold exactly these. `people` are all judges, `unused` those who do not
    count, and `top_up` is the cost of asking again. `filling` says how full the pages are (empty for graded
    pairs). `agreement` is Krippendorff's alpha over the pairs asked. `loss` is what the filter loses (None:
    no filler was judged), `omissions` what each run loses when it is left out of the pool (None if not
    requested, or too early). `rounds` is set where the batch asks in rounds.
    """

    batch: str
    corpus: str
    tasks: str
    runs: tuple[str, ...]
    depth: int
    threshold: float | None
    judges: int
    state: str
    judgments: str
    numbers: Mapping[str, Any]
    open: int
    answers_to_come: int
    judged: int
    short: int
    reused: int
    lacking: int
    answers: int
    stored: int
    collected: bool
    earned: str
    to_come: str
    ends_at: datetime | None
    people: Mapping[str, Judge]
    unused: Mapping[str, str]
    top_up: Reassignment
    filling: Filling
    agreement: Estimate
    loss: FilterLoss | None
    omissions: list[OmittedSystem] | None
    rounds: RoundStatus | None

    @property
    def complete(self) -> bool:
        """Whether no more tasks are open, and every pair has its answers."""
        return not self.answers_to_come and not self.short and not self.lacking


def batch_state(name: str, *, omissions: bool = False, measure: str = "R-precision") -> BatchState:
    """Return the state of a batch; with `omissions` also what each run loses when it is left out of the
    pool."""
    batch = batch_named(name)
    campaign = batch.campaign
    answers, who = answers_of(batch)
    people = who[name]
    counts = funnel(campaign, fresh=True), open_tasks_by_kind(campaign, fresh=True)
    pay = settings_of(campaign.settings).pay
    cost = costs(campaign, pay)
    coming = forecast_from(campaign, *counts, cost)
    answers_to_come = coming.answers or 0
    runs = [row.run for row in BatchRun.objects.filter(batch=batch).select_related("run__corpus")]
    # Reading all rankings takes longest, and most states do not need them.
    load_runs = cache(lambda: pooled(batch.corpus.name, runs, width=max(WIDEST, batch.depth)))
    selected_pairs = selected_pairs_of(batch)
    short = short_of(batch, answers, selected_pairs)
    reused, lacking = _reused(batch, load_runs, answers)
    return BatchState(
        batch=name,
        corpus=batch.corpus.name,
        tasks=campaign.tasks,
        runs=tuple(run.name for run in runs),
        depth=batch.depth,
        threshold=batch.threshold,
        judges=batch.judges,
        state=campaign.state,
        judgments=batch.judgments.name if batch.judgments is not None else "",
        numbers=batch.numbers,
        open=sum(person.open for person in counts[1].values()),
        answers_to_come=answers_to_come,
        judged=batch.numbers["selected"] - short,
        short=short,
        reused=reused,
        lacking=lacking,
        answers=cost.answers,
        stored=sum(map(len, answers.of.values())),
        collected=is_collected(batch, answers, who),
        earned=money(cost.earned, pay.currency),
        to_come=money(coming.pay, pay.currency) if coming.pay is not None else "",
        ends_at=throughput(campaign, fresh=True, counts=counts).ends_at if answers_to_come else None,
        people=people,
        unused={judge: person.unused for judge, person in people.items() if person.unused and person.answers},
        top_up=plan_reassignment(batch, people),
        filling=page_filling(campaign),
        agreement=_agreement(answers, selected_pairs, pair_tasks(campaign.tasks).level),
        loss=_loss(batch, load_runs, answers),
        omissions=_omissions(batch, load_runs(), answers, measure) if omissions and answers.of else None,
        rounds=round_status(batch) if batch.strategy else None,
    )


def cached_batch_state(batch: Batch, *, fresh: bool = False) -> BatchState:
    """Return `batch_state` from a cache; answers of the last minute may be missing, decisions of people never
    are."""
    what = f"batch-state-{batch_stamp(batch, answers=False)}"
    return cached_figure(batch.campaign, what, lambda: batch_state(batch.name), fresh=fresh)


def _reused(batch: Batch, load_runs: Callable[[], PooledRuns], answers: Answers) -> tuple[int, int]:
    """Return how many of the pairs that were judged when the batch was opened still are, and how many are
    not.

    In rounds, a pair that is not asked yet but was judged elsewhere since replaces one.
    """
    before = int(batch.numbers["known"])
    if not before:
        return 0, 0
    runs = load_runs()
    whole = pool(runs.shortlists, runs.space, depth=batch.depth)
    candidates, _ = split_by_filter(runs, whole.to_judge, batch.threshold)
    selected_pairs, _ = selected_and_displayed_pairs(runs, batch)
    enough, _ = known_pairs(runs, answers, batch.judges)
    now = min(before, int(among(np.setdiff1d(candidates, selected_pairs), enough).sum()))
    return now, before - now


def _agreement(answers: Answers, selected_pairs: Collection[tuple[int, int]], level: str) -> Estimate:
    """Return the agreement of the answers on the pairs that the batch asks about."""
    grades_of_pairs: Sequence[list[float]] = [
        list(grades_by_judge.values())
        for pair, grades_by_judge in answers.of.items()
        if pair in selected_pairs and len(grades_by_judge) > 1
    ]
    if not grades_of_pairs:
        return Estimate(None, 0, "no pair has two judgments yet")
    return krippendorff(as_ratings(grades_of_pairs), level=level)


def _judged(
    runs: PooledRuns, answers: Answers, rule: AnyRule
) -> tuple[PairIds, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the judged pairs, sorted; which are relevant under `rule`; and which at least one judge calls
    relevant."""
    images, captions, _, values = answers.arrays()
    pairs, ours = runs.numbers(images, captions)
    grades_of_pairs = [values[index] for index in np.flatnonzero(ours)]
    relevant = np.array(
        [rule.holds(JudgedPair("", "", tuple(grades))) for grades in grades_of_pairs], dtype=bool
    )
    some = np.array(
        [rule.holds(JudgedPair("", "", (max(grades),))) for grades in grades_of_pairs], dtype=bool
    )
    order = np.argsort(pairs)
    return pairs[order], relevant[order], some[order]


def _loss(batch: Batch, load_runs: Callable[[], PooledRuns], answers: Answers) -> FilterLoss | None:
    """Return what the filter loses, estimated from the judged fillers; None without a filter or a judged
    filler.

    Fillers are from all batches so far, but only those that this batch's own filter removed from its own
    pool: others do not represent its filtered pairs. The relevant pairs that the filter kept are the ones
    found.
    """
    if batch.threshold is None or not answers.fillers:
        return None
    runs = load_runs()
    judged, relevant, some_yes = _judged(runs, answers, pair_tasks(batch.campaign.tasks).rule)
    displayed_pairs = np.array(sorted(answers.fillers), dtype=np.int64)
    fillers, _ = runs.numbers(displayed_pairs[:, 0], displayed_pairs[:, 1])
    whole = pool(runs.shortlists, runs.space, depth=batch.depth)
    left, taken = split_by_filter(runs, judged[among(judged, whole.to_judge)], batch.threshold)
    is_filler = among(judged, np.intersect1d(taken, fillers))
    images, _ = runs.space.parts(judged[is_filler])
    return filter_loss(
        images,
        relevant[is_filler],
        some_yes[is_filler],
        filtered=int(batch.numbers["filtered"]),
        relevant_left=int(relevant[among(judged, left)].sum()),
    )


def _omissions(batch: Batch, runs: PooledRuns, answers: Answers, measure: str) -> list[OmittedSystem] | None:
    """Return what each run loses on `measure` when it is left out of the pool; None if no pair of it is
    judged."""
    judged, relevant, _ = _judged(runs, answers, pair_tasks(batch.campaign.tasks).rule)
    if not len(judged):
        return None
    whole = pool(runs.shortlists, runs.space, depth=batch.depth)
    return leave_out(runs.shortlists, whole, judged, relevant, measure=measure)
