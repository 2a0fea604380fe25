"""How a batch stands: what is judged, by whom, at what price, and how far it is to be trusted.

Reading all answers and all rankings takes seconds at the size of the paper: `state` is for commands,
and `kept_state` for pages, which may look at figures of the last minute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.campaign_settings import settings_of
from annotation.campaigns import OF_PAIRS
from annotation.selectors.campaign import costs, money, pace, tasks
from annotation.selectors.campaign.kept import kept
from annotation.selectors.pair_judgments import Judge, seconds_an_answer
from evaluation.agreement.coefficients import as_ratings, krippendorff
from evaluation.agreement.estimates import Estimate
from evaluation.formats.base import JudgedPair
from evaluation.models import Batch, BatchRun
from evaluation.pooling.omissions import LeftOut, leave_out
from evaluation.pooling.pools import Integers, among, pool
from evaluation.pooling.unlikely import FilterLoss, filter_loss
from evaluation.qrels import AnyRule
from evaluation.services.collecting import answers_of, batch_named, short_of
from evaluation.services.next_pairs import USUAL
from evaluation.services.planning import SECONDS
from evaluation.services.pooled import Pooled, pooled
from evaluation.services.stored_answers import Answers
from evaluation.services.topping_up import TopUp, wanted
from evaluation.services.waves import told

#: The level at which Krippendorff's alpha takes the answers.
LEVELS = {"relevance": "nominal", "graded": "interval"}


@dataclass(frozen=True, slots=True)
class BatchState:
    """How a batch stands.

    `open` tasks want `wanting` answers, which cost what is `to_come` and end `ends_at`, at the pace of the
    last day. Of the pairs asked `judged` have as many answers as wanted and `short` have fewer; `stored`
    are the answers about pairs that its judgments would hold. `people` is everybody who judged, `unused`
    who of them does not count, and `top_up` what asking again would cost. `agreement` is Krippendorff's
    alpha over the pairs asked. `loss` is what the filter loses (None: no filler was judged), `left_out` what
    runs lose that are left out (None where not asked for, or too early). `waves` is `waves.Advanced` as plain
    data where the batch asks in waves.
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
    wanting: int
    judged: int
    short: int
    answers: int
    stored: int
    earned: str
    to_come: str
    ends_at: datetime | None
    people: Mapping[str, Judge]
    unused: Mapping[str, str]
    top_up: TopUp
    agreement: Estimate
    loss: FilterLoss | None
    left_out: list[LeftOut] | None
    waves: Mapping[str, Any] | None

    @property
    def complete(self) -> bool:
        """Whether nothing is asked any more, and every pair has its answers."""
        return not self.wanting and not self.short


def state(name: str, *, omissions: bool = False, measure: str = "R-precision") -> BatchState:
    """How a batch stands; with `omissions` also what each run loses that is left out of its pool."""
    batch = batch_named(name)
    campaign = batch.campaign
    answers, who = answers_of(batch)
    people = who[name]
    asked = tasks(campaign, fresh=True)
    pay = settings_of(campaign.settings).pay
    cost = costs(campaign, pay)
    wanting = sum(one.wanting + one.in_hand for one in asked.values())
    each = seconds_an_answer(campaign) or SECONDS[campaign.tasks]
    runs = [row.run for row in BatchRun.objects.filter(batch=batch).select_related("run__corpus")]
    found = pooled(batch.corpus.name, runs)
    known, relevant, some_yes = _judged(found, answers, USUAL[campaign.tasks])
    short = short_of(batch, answers)
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
        open=sum(one.open for one in asked.values()),
        wanting=wanting,
        judged=batch.numbers["asked"] - short,
        short=short,
        answers=cost.answers,
        stored=sum(map(len, answers.of.values())),
        earned=money(cost.earned, pay.currency),
        to_come=money(wanting * pay.amount(OF_PAIRS[campaign.tasks], each), pay.currency),
        ends_at=pace(campaign, fresh=True).ends_at if wanting else None,
        people=people,
        unused={judge: one.unused for judge, one in people.items() if one.unused and one.answers},
        top_up=wanted(batch, people),
        agreement=_agreement(answers, name, LEVELS[campaign.tasks]),
        loss=_loss(batch, found, answers, known, relevant, some_yes),
        left_out=leave_out(
            found.shortlists,
            pool(found.shortlists, found.space, depth=batch.depth),
            known,
            relevant,
            measure=measure,
        )
        if omissions and len(known)
        else None,
        waves=asdict(told(batch)) if batch.strategy else None,
    )


def kept_state(batch: Batch, *, fresh: bool = False) -> BatchState:
    """As `state`, a minute old at most."""
    return kept(batch.campaign, "batch-state", lambda: state(batch.name), fresh=fresh)


def _agreement(answers: Answers, batch: str, level: str) -> Estimate:
    """How far the answers agree about the pairs that the batch asks for."""
    wanted = answers.wanted[batch]
    given: Sequence[list[float]] = [
        list(own.values()) for pair, own in answers.of.items() if pair in wanted and len(own) > 1
    ]
    if not given:
        return Estimate(None, 0, "no pair was judged twice yet")
    return krippendorff(as_ratings(given), level=level)


def _judged(
    found: Pooled, answers: Answers, rule: AnyRule
) -> tuple[Integers, NDArray[np.bool_], NDArray[np.bool_]]:
    """Judged pairs, sorted; which are relevant under `rule`; and which anybody thinks so of."""
    images, captions, _, values = answers.arrays()
    pairs, ours = found.numbers(images, captions)
    given = [values[place] for place in np.flatnonzero(ours)]
    relevant = np.array([rule.holds(JudgedPair("", "", tuple(one))) for one in given], dtype=bool)
    some = np.array([rule.holds(JudgedPair("", "", (max(one),))) for one in given], dtype=bool)
    order = np.argsort(pairs)
    return pairs[order], relevant[order], some[order]


def _loss(
    batch: Batch,
    found: Pooled,
    answers: Answers,
    known: Integers,
    relevant: NDArray[np.bool_],
    some_yes: NDArray[np.bool_],
) -> FilterLoss | None:
    """What the filter loses, from all fillers judged so far; None without a filter, or a judged filler."""
    if batch.threshold is None or not answers.fillers:
        return None
    pairs = np.array(sorted(answers.fillers), dtype=np.int64)
    fillers, _ = found.numbers(pairs[:, 0], pairs[:, 1])
    is_filler = among(known, np.sort(fillers))
    images, _ = found.space.parts(known[is_filler])
    return filter_loss(
        images,
        relevant[is_filler],
        some_yes[is_filler],
        filtered=int(batch.numbers["filtered"]),
        found=int(relevant[~is_filler].sum()),
        seed=batch.seed,
    )
