"""A batch's answers collected and frozen in one go. Each of the two may be repeated, and so may both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.services.batches.collecting import Collected, batch_named, collect
from evaluation.services.judgments.freezing import QrelsReport, freeze_qrels
from evaluation.services.judgments.relevance import RelevanceChoice
from evaluation.services.phases import PhaseListener, part_listener, silent


@dataclass(frozen=True, slots=True)
class ClosedBatch:
    """What was collected, and the qrels frozen from it."""

    collected: Collected
    frozen: QrelsReport


def close_batch(
    name: str,
    *,
    qrels: str,
    rule: str | None = None,
    originals: bool = True,
    count: Sequence[str] | None = None,
    tell: PhaseListener = silent,
    actor: Any = None,
) -> ClosedBatch:
    """Collect the batch `name` and freeze that as the next version of `qrels`; raises as the two do.

    `count`: as for `collect`.
    """
    corpus = batch_named(name).corpus.name
    collected = collect(name, count=count, tell=part_listener(tell, 0.0, 0.6), actor=actor)
    frozen = freeze_qrels(
        name=qrels,
        corpus=corpus,
        judgments=collected.judgments,
        relevance=RelevanceChoice(rule, originals=originals),
        tell=part_listener(tell, 0.6, 1.0),
        actor=actor,
    )
    return ClosedBatch(collected, frozen)
