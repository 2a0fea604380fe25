"""What a batch would ask about, and cost: its runs pooled, and what needs no judge left out.

A pair is asked about that is no original, that the filter leaves, and that has fewer answers in store than
wanted. One with some answers, but too few, is asked about anew by as many judges as any other, since a page
has one number of judges; all its answers count. With a strategy a first round of these pairs is planned.

Source: Hodosh et al. 2013, section 4.3.2.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from annotation.campaigns import count_pairs
from annotation.protocol.campaign_settings import CampaignSettings, settings_of_tasks
from annotation.protocol.kinds import kinds_of_tasks
from annotation.protocol.paging import Filling
from annotation.selectors.campaign import money
from annotation.selectors.corpora import corpus_named
from annotation.selectors.pair_judgments import seconds_an_answer
from evaluation.models import Batch, Run
from evaluation.pooling.omissions import unjudged_in_top
from evaluation.pooling.pools import PairIds, among, pool
from evaluation.pooling.pricing import Price, price
from evaluation.pooling.unlikely import BLEU_PRE_THRESHOLD
from evaluation.relevance.pair_tasks import USUAL_TASKS, all_pair_tasks, pair_tasks
from evaluation.selectors import BATCH_FORMAT, judgment_set, judgments_source, run_named
from evaluation.services.batches.next_pairs import (
    SHARE,
    RoundChoice,
    known_pairs,
    next_pairs_of_round,
    split_by_filter,
)
from evaluation.services.batches.pooled_runs import PooledRuns, pooled
from evaluation.services.batches.sources import earlier
from evaluation.services.batches.stored_answers import BatchRefused, answers_of_batches, reusable
from evaluation.services.phases import PhaseListener, part_listener, silent

#: Raised where what a batch's digest covers changes.
_DEFINITION = 1
#: As in the paper.
BATCH_DEPTH = 10


@dataclass(frozen=True, slots=True)
class RunPart:
    """What a run has to do with a batch: its `pairs`, those `alone` its, and those nobody judged yet."""

    run: str
    system: str
    direction: str
    digest: str
    pairs: int
    alone: int
    unjudged: int
    unjudged_share: float


@dataclass(frozen=True)
class Plan:
    """A batch before it is launched. `asked` and `fillers` are pairs of `pooled`'s space.

    Of the `fillers`, which pages may be filled up with, `filling` says how many are, and what is missing:
    it is counted on the pages that the batch will open.

    Of the `pooled_pairs`, `originals` need no judge, `filtered` are unlikely, `known` have enough answers
    (`begun`: some, but too few), and the rest is `asked`. `seconds` an answer takes, as measured or
    assumed (`measured` is the batch it was measured on, else ""). Of the pairs that it `may_ask` all are
    `asked`; with a `strategy` a first round of them, a `share` at most, and the price is that round's.
    """

    corpus: str
    tasks: str
    runs: tuple[RunPart, ...]
    depth: int
    threshold: float | None
    settings: CampaignSettings
    reused: tuple[str, ...]
    digest: str
    pooled: PooledRuns
    asked: PairIds
    fillers: PairIds
    pooled_pairs: int
    originals: int
    filtered: int
    known: int
    begun: int
    price: Price
    filling: Filling
    seconds: float
    measured: str
    may_ask: PairIds
    strategy: str = ""
    share: float = SHARE
    simulated: bool = False

    @property
    def askable(self) -> int:
        """How many pairs may be asked about."""
        return len(self.may_ask)

    @property
    def judges(self) -> int:
        """How many people answer about a pair, by the settings."""
        return _judges(self.settings, self.tasks)

    def numbers(self) -> dict[str, Any]:
        """What it comes to, as plain data."""
        return {
            "pooled": self.pooled_pairs,
            "originals": self.originals,
            "filtered": self.filtered,
            "known": self.known,
            "begun": self.begun,
            "asked": len(self.asked),
            "task_count": self.price.tasks,
            **page_fill_numbers(self.filling),
            "answers": self.price.answers,
            "judgments": self.price.judgments,
            "seconds_an_answer": self.seconds,
            "measured_on": self.measured,
            "hours": self.price.seconds / 3600,
            "amount": self.price.amount,
            "price": money(self.price.amount, self.settings.pay.currency),
            "askable": self.askable,
            "caption_numbers": list(self.pooled.caption_numbers),
            "runs": [asdict(part) for part in self.runs],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """A batch about the top `depth` of `runs`.

    `threshold`: of BLEU_pre; None leaves all pairs in. `judges` a pair (default: as the campaign's
    `settings` say). `reuse` names judgments from files (default: those certain to be on the scale of
    `tasks`); batches of the corpus are always reused, but simulated ones only by a batch that is itself
    `simulated`, which nobody but simulated workers may answer. `seconds` an answer (default: as in the last
    batch that was answered). With a `strategy` of `pooling.active` it asks in rounds, each of at most a
    `share` of the pairs that can be asked, until the order of the systems is stable.
    """

    corpus: str
    runs: Sequence[str]
    tasks: str = USUAL_TASKS
    depth: int = BATCH_DEPTH
    threshold: float | None = BLEU_PRE_THRESHOLD
    judges: int | None = None
    settings: Mapping[str, Any] | None = None
    reuse: Sequence[str] | None = None
    seconds: float | None = None
    strategy: str = ""
    share: float = SHARE
    simulated: bool = False


def plan(request: BatchRequest, *, tell: PhaseListener = silent) -> Plan:
    """What a batch would ask, and cost; nothing is written. `tell` is told how far it is.

    Raises UnknownName, BadPool, CampaignError, BatchRefused.
    """
    corpus, tasks, depth, threshold = request.corpus, request.tasks, request.depth, request.threshold
    strategy, share = request.strategy, request.share
    if tasks not in (known := all_pair_tasks()):
        raise BatchRefused(f"tasks {tasks!r}: expected one of {', '.join(known)}")
    if threshold is not None and not 0 <= threshold <= 1:
        raise BatchRefused(f"threshold {threshold}: expected a share of words, 0 to 1, or none")
    target, kind = corpus_named(corpus), kinds_of_tasks(tasks)[0]
    wanted = {**(request.settings or {})}
    answered = wanted.get("answers", {})
    if request.judges is not None and isinstance(answered, Mapping):  # else it is refused as a setting
        wanted["answers"] = {**answered, kind: request.judges}
    frozen = settings_of_tasks(tasks, wanted)
    chosen = [run_named(name) for name in request.runs]
    found = pooled(corpus, chosen, width=max(1, depth), tell=part_listener(tell, 0.0, 0.6))
    whole = pool(found.shortlists, found.space, depth=depth)
    tell("reading answers", 0.6)
    before = earlier(corpus, tasks, simulated=request.simulated)
    names = tuple(reusable(corpus, tasks) if request.reuse is None else request.reuse)
    _check_reused(request, names, before)
    answers, _ = answers_of_batches(corpus=corpus, tasks=tasks, reuse=names, batches=before)
    enough, some = known_pairs(found, answers, _judges(frozen, tasks))

    tell("leaving unlikely pairs out", 0.8)
    candidates = whole.to_judge
    likely, unlikely = split_by_filter(found, candidates, threshold)
    asked = may_ask = likely[~among(likely, enough)]
    fillers = np.setdiff1d(unlikely, some)
    if strategy:
        asked = next_pairs_of_round(
            found,
            whole,
            likely,
            asked=np.intersect1d(likely, enough),
            answers=answers,
            tasks=tasks,
            choice=RoundChoice(strategy, share, len(may_ask)),
        ).pairs
    seconds, measured = _seconds(before, tasks) if request.seconds is None else (request.seconds, "")
    if seconds <= 0:
        raise BatchRefused(f"{seconds} seconds an answer: expected more than 0")
    tell("laying out pages", 0.9)
    counted = count_pairs(
        tasks=tasks, pairs=found.called(asked), fillers=found.by_image(fillers), settings=frozen
    )
    return Plan(
        corpus=corpus,
        tasks=tasks,
        runs=tuple(
            RunPart(
                run.name,
                run.system,
                run.direction,
                run.digest,
                len(whole.of_run[run.name]),
                len(whole.pairs) - len(whole.without([run.name])),
                *_unjudged(found, number, some, depth),
            )
            for number, run in enumerate(chosen)
        ),
        depth=depth,
        threshold=threshold,
        settings=frozen,
        reused=names,
        digest=_digest(
            target.digest,
            chosen,
            tasks,
            depth,
            threshold,
            frozen,
            names,
            {
                **({"waves": [strategy, share]} if strategy else {}),
                **({"simulated": True} if request.simulated else {}),
            },
        ),
        pooled=found,
        asked=asked,
        fillers=fillers,
        pooled_pairs=len(whole.pairs),
        originals=len(whole.pairs) - len(candidates),
        filtered=len(unlikely),
        known=len(likely) - len(may_ask),
        begun=int(among(asked, some).sum()),
        price=price_of(len(asked), counted.tasks, tasks, frozen, seconds),
        filling=counted.filling,
        seconds=seconds,
        measured=measured,
        strategy=strategy,
        share=share,
        may_ask=may_ask,
        simulated=request.simulated,
    )


def _check_reused(request: BatchRequest, names: Sequence[str], before: Sequence[Batch]) -> None:
    """Raises BatchRefused for simulated answers in a batch of people, and for those that count anyway."""
    of_batches = {judgments_source(batch): batch.name for batch in before}
    for name in names:
        found = judgment_set(request.corpus, name)
        if found.simulated and not request.simulated:
            raise BatchRefused(
                f"judgments {name!r} are of simulated workers, whose answers are not mixed with people's; "
                "leave them out, or have simulated workers answer this batch too (--simulated)"
            )
        if found.format.startswith(BATCH_FORMAT) and found.source in of_batches:
            raise BatchRefused(
                f"judgments {name!r} were collected from batch {of_batches[found.source]!r}, whose answers "
                "are reused anyway; leave them out"
            )


def _judges(settings: CampaignSettings, tasks: str) -> int:
    return settings.answers.wanted(kinds_of_tasks(tasks)[0])


def _unjudged(found: PooledRuns, number: int, known: PairIds, depth: int) -> tuple[int, float]:
    one = unjudged_in_top(found.shortlists[number], found.space, known, depth=depth)
    return one.unjudged, one.share


def _seconds(before: Sequence[Batch], tasks: str) -> tuple[float, str]:
    """How long an answer takes, and the batch that says so: the newest that was answered."""
    for batch in reversed(before):
        seconds = seconds_an_answer(batch.campaign)
        if seconds is not None:
            return seconds, batch.name
    return pair_tasks(tasks).seconds, ""


def price_of(pairs: int, number: int, tasks: str, settings: CampaignSettings, seconds: float) -> Price:
    """What asking `pairs` on so many pages, or as graded pairs, comes to at `seconds` an answer."""
    return price(
        pairs=pairs,
        tasks=number,
        judges=_judges(settings, tasks),
        seconds=seconds,
        pay=lambda lasted: settings.pay.amount(kinds_of_tasks(tasks)[0], lasted),
    )


def page_fill_numbers(filling: Filling) -> dict[str, int]:
    """How full pages are, as a batch's numbers have it."""
    return {
        "fillers": filling.fillers,
        "missing": filling.missing,
        "blocks": filling.blocks,
        "short_blocks": filling.short_blocks,
    }


def _digest(
    corpus: str,
    runs: Sequence[Run],
    tasks: str,
    depth: int,
    threshold: float | None,
    settings: CampaignSettings,
    reused: Sequence[str],
    more: Mapping[str, object],
) -> str:
    """SHA-256 over what a batch is made from, in hexadecimal."""
    made_from = {
        "definition": _DEFINITION,
        "corpus": corpus,
        "runs": [[run.name, run.direction, run.digest] for run in runs],
        "tasks": tasks,
        "depth": depth,
        "threshold": threshold,
        "settings": settings.as_dict(),
        "reused": list(reused),
        **more,
    }
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()
