"""Asking in rounds: the answers so far decide what to ask next, until the order of the systems is stable.

A batch with a strategy of `pooling.active` asks a share of its pairs at a time. When a round is answered,
`ask_next_round` pools its runs again and asks the next pairs in the same campaign, of the same people; or it
ends the batch. Pairs that were never asked stay unjudged, which bpref and judged@k show. A batch stays ended
while the answers it ended with are the same; if they change, the next round is chosen again.
"""

from dataclasses import dataclass, replace
from math import isnan
from typing import Annotated, Any

import numpy as np
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation import campaigns
from annotation.common import database
from annotation.common.operations import Help, Named, OperationContext
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.paging import ROLE_WANTED
from annotation.selectors.campaign.cost import money
from annotation.selectors.campaign.progress import open_tasks_by_kind
from annotation.selectors.pair_judgments import page_filling, selected_pairs
from evaluation.models import Batch, BatchRun
from evaluation.services.batches.collecting import answers_of, batch_named
from evaluation.services.batches.next_pairs import (
    RoundChoice,
    known_pairs,
    next_pairs_of_round,
    split_by_filter,
)
from evaluation.services.batches.planning import page_fill_numbers, price_of
from evaluation.services.batches.pooled_runs import PooledRuns, pooled
from evaluation.services.batches.reassignment import plan_reassignment
from evaluation.services.batches.stamps import answers_at_end, is_ending_outdated
from evaluation.services.batches.stored_answers import BatchError
from evaluation.services.common import work_lock
from evaluation.services.phases import ProgressCallback, part_of_progress, silent
from evaluation.services.stored_kinds import BATCHES
from phrasebox.pooling.active import NextPairs
from phrasebox.pooling.pools import PairIds, pool

#: Why a batch has no more rounds: the order of the systems is stable, or every pair was asked.
STABLE, EXHAUSTED = "stable", "exhausted"


@dataclass(frozen=True, slots=True)
class RoundStatus:
    """The progress of a batch in rounds. `ended` is the reason why there are no more, "" if one was asked.

    `selected` of `askable` pairs were asked by `rounds` rounds in all, `pairs` of them now; `tau` is the
    smallest Kendall's tau with the last rankings, None before there are enough of them. `outdated`: the batch
    had ended, but its answers have changed since, so that neither the reason nor tau is valid.
    """

    batch: str
    rounds: int
    pairs: int
    selected: int
    askable: int
    tau: float | None
    ended: str
    outdated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRoundRequest:
    """When all questions are answered, the next round is asked, or the batch ends: if the order of the
    systems is stable, and if every pair was asked."""

    batch: Annotated[str, Named(BATCHES), Help(_("Batch"))]
    round: Annotated[
        int | None,
        Field(ge=1),
        Help(_("Round"), _("Nothing happens if this round, or a later one, was asked already")),
    ] = None


def number_round(request: NextRoundRequest, context: OperationContext) -> NextRoundRequest:
    """Return the request with the number of the round after the last one; raises BatchError for a batch
    without rounds."""
    batch = batch_named(request.batch)
    _check_rounds(batch)
    return request if request.round is not None else replace(request, round=len(batch.rounds["selected"]) + 1)


def next_round(request: NextRoundRequest, context: OperationContext) -> RoundStatus:
    """Ask the next round as an operation; see `ask_next_round`."""
    return ask_next_round(
        request.batch, number=request.round, actor=context.actor, report_progress=context.report_progress
    )


def _check_rounds(batch: Batch) -> None:
    if not batch.strategy:
        raise BatchError(f"batch {batch.name!r} asks all its pairs at once; there is no next round")


def ask_next_round(
    name: str, *, number: int | None = None, actor: Any = None, report_progress: ProgressCallback = silent
) -> RoundStatus:
    """Ask the next round of the batch `name`, or end it, once everything that was asked is answered.

    With a round's `number`, does nothing if that round or a later one was asked. Writes the round's questions
    and the record that they were asked, both or nothing. Raises BatchError for a batch that asks everything
    at once, while answers are outstanding and while judges have to be discarded first; and Busy.
    """
    with work_lock(f"batch.{name}", "batch", name):
        batch = batch_named(name)
        _check_rounds(batch)
        now = round_status(batch)
        if now.ended or (number is not None and now.rounds >= number):
            return now
        _check_answered(batch)
        by = answers_at_end(batch)
        runs = [row.run for row in BatchRun.objects.filter(batch=batch).select_related("run__corpus")]
        pooled_runs = pooled(
            batch.corpus.name,
            runs,
            width=batch.depth,
            report_progress=part_of_progress(report_progress, 0.0, 0.5),
        )
        whole = pool(pooled_runs.shortlists, pooled_runs.space, depth=batch.depth)
        report_progress("reading answers", 0.5)
        answers, _ = answers_of(batch)
        enough, some = known_pairs(pooled_runs, answers, batch.judges)
        requested_before, displayed_pairs = selected_and_displayed_pairs(pooled_runs, batch)
        report_progress("leaving unlikely pairs out", 0.7)
        candidates, unlikely = split_by_filter(pooled_runs, whole.to_judge, batch.threshold)
        chosen = next_pairs_of_round(
            pooled_runs,
            whole,
            candidates,
            selected_pairs=np.union1d(requested_before, enough),
            answers=answers,
            tasks=batch.campaign.tasks,
            choice=RoundChoice(batch.strategy, batch.rounds["share"], batch.numbers["askable"]),
        )
        report_progress("opening its questions", 0.8)
        return _written(
            batch, pooled_runs, chosen, np.setdiff1d(unlikely, np.union1d(displayed_pairs, some)), by, actor
        )


def _check_answered(batch: Batch) -> None:
    """Raise BatchError unless all answers that decide the next round exist."""
    again = plan_reassignment(batch)
    if again.judges:
        raise BatchError(
            f"{len(again.judges)} judges of batch {batch.name!r} do not count; reassign their pages first"
        )
    left = sum(
        counts.wanting + counts.in_hand for counts in open_tasks_by_kind(batch.campaign, fresh=True).values()
    )
    if left:
        raise BatchError(
            f"{left} answers of batch {batch.name!r} are still missing and decide what to ask next; wait "
            "for them"
        )


def selected_and_displayed_pairs(runs: PooledRuns, batch: Batch) -> tuple[PairIds, PairIds]:
    """Return the pairs that the batch asked about so far, and all pairs that it displayed; both sorted."""
    rows = list(selected_pairs(batch.campaign))
    ids = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2)
    pairs, ours = runs.numbers(ids[:, 0], ids[:, 1])
    for_it = np.array([role == ROLE_WANTED for *_, role in rows], dtype=bool)[ours]
    return np.unique(pairs[for_it]), np.unique(pairs)


def _written(
    batch: Batch, runs: PooledRuns, next_pairs: NextPairs, unlikely: PairIds, by: dict[str, Any], actor: Any
) -> RoundStatus:
    """Open the round's questions, or store why there are no more, and the answers that decided it."""
    rounds: dict[str, Any] = {**batch.rounds, "tau": None if isnan(next_pairs.tau) else next_pairs.tau}
    rounds |= {"ended": "", "answers": None}
    numbers = dict(batch.numbers)
    pairs = runs.called(next_pairs.pairs)
    fillers = runs.by_image(unlikely) if pairs else {}
    with database.writing():
        if Batch.objects.select_for_update().get(pk=batch.pk).rounds != batch.rounds:
            raise BatchError(f"batch {batch.name!r} was advanced by another process; reload it")
        if pairs:
            opened = campaigns.open_pairs(
                campaign=batch.campaign,
                pairs=pairs,
                fillers=fillers,
                round=len(rounds["selected"]) + 1,
                actor=actor,
            )
            rounds["selected"] = [*rounds["selected"], opened.pairs]
            numbers["selected"] += opened.pairs
            numbers["task_count"] += opened.tasks
            numbers |= page_fill_numbers(page_filling(batch.campaign))
            numbers |= _paid(batch, opened)
        else:
            rounds |= {"ended": STABLE if next_pairs.stable else EXHAUSTED, "answers": by}
        Batch.objects.filter(pk=batch.pk).update(rounds=rounds, numbers=numbers)
    batch.rounds, batch.numbers = rounds, numbers
    return round_status(batch, len(next_pairs.pairs))


def _paid(batch: Batch, opened: campaigns.OpenedPairs) -> dict[str, Any]:
    """Return the planned cost of the batch so far plus that of the pairs just `opened`."""
    settings, numbers = settings_of(batch.campaign.settings), batch.numbers
    more = price_of(opened.pairs, opened.tasks, batch.campaign.tasks, settings, numbers["seconds_an_answer"])
    micros = numbers["micros"] + more.amount
    return {
        "answers": numbers["answers"] + more.answers,
        "judgments": numbers["judgments"] + more.judgments,
        "hours": numbers["hours"] + more.seconds / 3600,
        "micros": micros,
        "price": money(micros, settings.pay.currency),
    }


def round_status(batch: Batch, pairs: int = 0) -> RoundStatus:
    """Return the progress of a batch in rounds, of which `pairs` are asked now."""
    outdated = is_ending_outdated(batch)
    return RoundStatus(
        batch=batch.name,
        rounds=len(batch.rounds["selected"]),
        pairs=pairs,
        selected=batch.numbers["selected"],
        askable=batch.numbers["askable"],
        tau=None if outdated else batch.rounds["tau"],
        ended="" if outdated else batch.rounds["ended"],
        outdated=outdated,
    )
