"""Planning a batch: pool its runs, remove the pairs that need no judge, and estimate the cost.

A pair is asked about if it is no original, the filter keeps it, and it has fewer stored answers than
requested. A pair with too few answers is asked again by the full number of judges, since all pairs of a page
have the same number; all its answers count. With a strategy, a first round of these pairs is planned.

Source: Hodosh et al. 2013, section 4.3.2.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.campaigns import count_pairs
from annotation.campaigns.settings import settings_in_field
from annotation.common.operations import FieldError, Help, Named, OneOf
from annotation.protocol.campaign_settings import CampaignSettings, settings_of_tasks
from annotation.protocol.kinds import kinds_of_tasks
from annotation.protocol.paging import Filling
from annotation.selectors.campaign.cost import money
from annotation.selectors.corpora import CORPORA, corpus_named
from annotation.selectors.pair_judgments import seconds_an_answer
from annotation.task_types.base import TASK_TYPES
from evaluation.models import Batch, Run
from evaluation.pair_tasks import USUAL_TASKS, all_pair_tasks, pair_tasks
from evaluation.selectors import BATCH_FORMAT, judgment_set, judgments_source, run_named
from evaluation.services.batches.next_pairs import (
    SHARE,
    RoundChoice,
    known_pairs,
    next_pairs_of_round,
    split_by_filter,
)
from evaluation.services.batches.pooled_runs import WIDEST, PooledRuns, pooled
from evaluation.services.batches.stamps import earlier
from evaluation.services.batches.stored_answers import BatchError, answers_of_batches, reusable
from evaluation.services.phases import ProgressCallback, part_of_progress, silent
from evaluation.services.stored_kinds import JUDGMENT_SETS, STORED_RUNS
from phrasebox.pooling.omissions import unjudged_in_top
from phrasebox.pooling.pools import PairIds, among, pool
from phrasebox.pooling.pricing import Price, price
from phrasebox.pooling.unlikely import BLEU_PRE_THRESHOLD

#: Increase this when what a batch's digest covers changes.
_DEFINITION = 1
#: As in the paper.
BATCH_DEPTH = 10


@dataclass(frozen=True, slots=True)
class RunPart:
    """A run's part in a batch: its number of `pairs`, of those only it contributes (`alone`), and of those
    without any judgment."""

    run: str
    system: str
    direction: str
    digest: str
    pairs: int
    alone: int
    unjudged: int
    unjudged_share: float


@dataclass(frozen=True, slots=True)
class BatchSize:
    """The size and the cost of a batch.

    Of the `pooled` pairs, `originals` need no judge, `filtered` are unlikely, `known` have enough answers,
    and `askable` can be asked, of which `selected` are in the first round; `begun` have some answers.
    `task_count` is the number of pages, or of graded pairs, with `fillers` among them; their `answers` give
    that many `judgments` of the selected pairs. `missing` captions are lacking on pages, and `short_blocks`
    of the `blocks` are incomplete. An answer takes `seconds_an_answer`, measured in the batch `measured_on`
    ("": assumed). The cost is `micros`, in millionths of the currency; `price` is the same as text.
    """

    pooled: int
    originals: int
    filtered: int
    known: int
    begun: int
    selected: int
    task_count: int
    fillers: int
    missing: int
    blocks: int
    short_blocks: int
    answers: int
    judgments: int
    seconds_an_answer: float
    measured_on: str
    hours: float
    micros: int
    price: str
    askable: int
    caption_numbers: tuple[int, ...]
    runs: tuple[RunPart, ...]


@dataclass(frozen=True)
class Plan:
    """A batch before it is launched. `selected` and `fillers` are pairs in the space of `pooled`.

    `fillers` may fill up pages; `filling` says how many are used and what is missing, counted on the pages
    that the batch will open.

    Of the `pooled_pairs`, `originals` need no judge, `filtered` are unlikely, `known` have enough answers
    (`begun`: some, but too few), and the rest is `selected`. `seconds` is the time per answer, measured or
    assumed (`measured` is the batch it was measured on, else ""). Without a `strategy` all pairs of `may_ask`
    are `selected`; with one, a first round of at most a `share` of them, and the price is that round's.
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
    selected: PairIds
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
        """The number of pairs that may be asked about."""
        return len(self.may_ask)

    @property
    def candidates(self) -> bool:
        """Whether the captions themselves are to be judged."""
        return self.pooled.candidates

    @property
    def judges(self) -> int:
        """The number of people who answer about a pair, by the settings."""
        return _judges(self.settings, self.tasks)

    def numbers(self) -> BatchSize:
        """The size and the cost of the batch."""
        return BatchSize(
            pooled=self.pooled_pairs,
            originals=self.originals,
            filtered=self.filtered,
            known=self.known,
            begun=self.begun,
            selected=len(self.selected),
            task_count=self.price.tasks,
            **page_fill_numbers(self.filling),
            answers=self.price.answers,
            judgments=self.price.judgments,
            seconds_an_answer=self.seconds,
            measured_on=self.measured,
            hours=self.price.seconds / 3600,
            micros=self.price.amount,
            price=money(self.price.amount, self.settings.pay.currency),
            askable=self.askable,
            caption_numbers=tuple(self.pooled.caption_numbers),
            runs=self.runs,
        )


def _questions() -> dict[str, Any]:
    """Return the tasks that a batch may ask, with their titles."""
    pages, alone = _("Pages with boxes to tick"), _("Pair by pair, from 1 to 4")
    return {
        tasks: format_lazy(
            "{} {}", TASK_TYPES.get(kinds_of_tasks(tasks)[0]).title, pages if pages_kind.paged else alone
        )
        for tasks, pages_kind in all_pair_tasks().items()
    }


#: Strategies with their titles; random order is the baseline for the others.
_ORDERS = {
    "move_to_front": _("pairs near relevant ones first (move to front)"),
    "thompson": _("pairs from runs that found relevant ones first (a bandit)"),
    "depth": _("pairs at the best ranks first"),
    "spread": _("pairs at random ranks"),
}


def _orders() -> Mapping[str, Any]:
    return _ORDERS


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """The best pairs of the runs are pooled, in both directions; originals, unlikely pairs and pairs that
    were judged before are removed, and people judge the others."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    runs: Annotated[
        Sequence[Annotated[str, Named(STORED_RUNS)]],
        Field(min_length=1, max_length=200),
        Help(_("Runs"), _("Runs whose best pairs are pooled")),
    ]
    tasks: Annotated[str, OneOf(_questions), Help(_("Question"))] = USUAL_TASKS
    depth: Annotated[
        int, Field(ge=1, le=WIDEST), Help(_("Pool depth"), _("How many of each ranking's best are pooled"))
    ] = BATCH_DEPTH
    threshold: Annotated[
        float | None,
        Field(ge=0, le=1),
        Help(
            _("Lowest BLEU_pre of a pair"),
            _(
                "The share of a caption’s words that also occur in the image’s captions; pairs below it are "
                "not asked. By default 0.25, and 0 for grades and tags; 0 leaves all pairs in"
            ),
        ),
    ] = None
    judges: Annotated[
        int | None,
        Field(ge=1, le=100),
        Help(_("Judges per pair"), _("By default as in the campaign’s settings, 3")),
    ] = None
    known_from: Annotated[
        str | None,
        Field(max_length=40),
        Help(_("Control items from the split"), _("Without them, accuracy is not measured")),
    ] = None
    reuse: Annotated[
        Sequence[Annotated[str, Named(JUDGMENT_SETS)]] | None,
        Field(max_length=100),
        Help(
            _("Imported judgments to reuse"),
            _("Their pairs are not asked again. By default those that are certain to be on the same scale"),
        ),
    ] = None
    seconds: Annotated[
        float | None,
        Field(gt=0),
        Help(_("Seconds for an answer"), _("To estimate the price; by default as in the last batch")),
    ] = None
    strategy: Annotated[
        Annotated[str, OneOf(_orders, none=_("all at once"))] | None,
        Help(
            _("Ask in rounds"),
            _(
                "Answers decide which pairs to ask next; the batch ends when the order of the systems is "
                "stable, and other pairs stay unjudged. By default all pairs are asked at once"
            ),
        ),
    ] = None
    rounds: Annotated[
        int | None,
        Field(ge=1, le=1000),
        Help(_("Rounds to ask all pairs"), _("With a strategy only; by default 20")),
    ] = None
    simulated: Annotated[
        bool,
        Help(
            _("A trial with simulated workers"),
            _("No person is asked, and no batch of people reuses the answers"),
        ),
    ] = False
    campaign_settings: Annotated[
        Mapping[str, Any], Help(_("Settings of the campaign"), _("Those that differ from the defaults"))
    ] = field(default_factory=dict)

    def problems(self) -> Iterator[FieldError]:
        """Errors: rounds without a strategy."""
        if self.rounds is not None and self.strategy is None:
            yield FieldError("rounds", "only_with", {"other": "strategy"})


@settings_in_field("campaign_settings")
def plan(request: BatchRequest, *, report_progress: ProgressCallback = silent) -> Plan:
    """Plan a batch and estimate its cost; writes nothing. `report_progress` is called with the progress.

    Raises UnknownName, BadPool, CampaignError, BatchError.
    """
    corpus, tasks, depth, threshold = request.corpus, request.tasks, request.depth, _threshold(request)
    strategy, share = request.strategy or "", 1 / request.rounds if request.rounds is not None else SHARE
    target, kind = corpus_named(corpus), kinds_of_tasks(tasks)[0]
    campaign_settings = {**request.campaign_settings}
    answered = campaign_settings.get("answers", {})
    if request.judges is not None and isinstance(answered, Mapping):  # else it is rejected as a setting
        campaign_settings["answers"] = {**answered, kind: request.judges}
    frozen = settings_of_tasks(tasks, campaign_settings)
    chosen = [run_named(name) for name in request.runs]
    pooled_runs = pooled(
        corpus, chosen, width=max(1, depth), report_progress=part_of_progress(report_progress, 0.0, 0.6)
    )
    whole = pool(pooled_runs.shortlists, pooled_runs.space, depth=depth)
    report_progress("reading answers", 0.6)
    before = earlier(corpus, tasks, simulated=request.simulated)
    names = tuple(reusable(corpus, tasks) if request.reuse is None else request.reuse)
    _check_reused(request, names, before)
    answers, _ = answers_of_batches(corpus=corpus, tasks=tasks, reuse=names, batches=before)
    enough, some = known_pairs(pooled_runs, answers, _judges(frozen, tasks))

    report_progress("leaving unlikely pairs out", 0.8)
    candidates = whole.to_judge
    likely, unlikely = split_by_filter(pooled_runs, candidates, threshold)
    to_ask = may_ask = likely[~among(likely, enough)]
    fillers = np.setdiff1d(unlikely, some)
    if strategy:
        to_ask = next_pairs_of_round(
            pooled_runs,
            whole,
            likely,
            selected_pairs=np.intersect1d(likely, enough),
            answers=answers,
            tasks=tasks,
            choice=RoundChoice(strategy, share, len(may_ask)),
        ).pairs
    seconds, measured = _seconds(before, tasks) if request.seconds is None else (request.seconds, "")
    report_progress("laying out pages", 0.9)
    counted = count_pairs(
        tasks=tasks, pairs=pooled_runs.called(to_ask), fillers=pooled_runs.by_image(fillers), settings=frozen
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
                *_unjudged(pooled_runs, number, some, depth),
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
                **({"rounds": [strategy, share]} if strategy else {}),
                **({"simulated": True} if request.simulated else {}),
            },
        ),
        pooled=pooled_runs,
        selected=to_ask,
        fillers=fillers,
        pooled_pairs=len(whole.pairs),
        originals=len(whole.pairs) - len(candidates),
        filtered=len(unlikely),
        known=len(likely) - len(may_ask),
        begun=int(among(to_ask, some).sum()),
        price=price_of(len(to_ask), counted.tasks, tasks, frozen, seconds),
        filling=counted.filling,
        seconds=seconds,
        measured=measured,
        strategy=strategy,
        share=share,
        may_ask=may_ask,
        simulated=request.simulated,
    )


def _threshold(request: BatchRequest) -> float | None:
    """Return the lowest BLEU_pre of a pair that is asked; None if nothing is filtered."""
    if request.threshold is None:
        return BLEU_PRE_THRESHOLD if pair_tasks(request.tasks).filtered else None
    return request.threshold or None


def _check_reused(request: BatchRequest, names: Sequence[str], before: Sequence[Batch]) -> None:
    """Raise BatchError for simulated answers in a batch of people, and for judgments that are counted
    anyway."""
    of_batches = {judgments_source(batch): batch.name for batch in before}
    for name in names:
        judged = judgment_set(request.corpus, name)
        if judged.simulated and not request.simulated:
            raise BatchError(
                f"judgments {name!r} are of simulated workers, whose answers are not mixed with people's; "
                "leave them out, or have simulated workers answer this batch too"
            )
        if judged.format.startswith(BATCH_FORMAT) and judged.source in of_batches:
            raise BatchError(
                f"judgments {name!r} were collected from batch {of_batches[judged.source]!r}, whose answers "
                "are reused anyway; leave them out"
            )


def _judges(settings: CampaignSettings, tasks: str) -> int:
    return settings.answers.answers_needed(kinds_of_tasks(tasks)[0])


def _unjudged(runs: PooledRuns, number: int, known: PairIds, depth: int) -> tuple[int, float]:
    top = unjudged_in_top(runs.shortlists[number], runs.space, known, depth=depth)
    return top.unjudged, top.share


def _seconds(before: Sequence[Batch], tasks: str) -> tuple[float, str]:
    """Return the seconds per answer, and the batch they were measured on: the newest that was answered."""
    for batch in reversed(before):
        seconds = seconds_an_answer(batch.campaign)
        if seconds is not None:
            return seconds, batch.name
    return pair_tasks(tasks).seconds, ""


def price_of(pairs: int, number: int, tasks: str, settings: CampaignSettings, seconds: float) -> Price:
    """Return the price of asking `pairs` on that many pages, or as graded pairs, at `seconds` per answer."""
    return price(
        pairs=pairs,
        tasks=number,
        judges=_judges(settings, tasks),
        seconds=seconds,
        pay=lambda lasted: settings.pay.amount(kinds_of_tasks(tasks)[0], lasted),
    )


def page_fill_numbers(filling: Filling) -> dict[str, int]:
    """Return how full pages are, in the form in which a batch stores its numbers."""
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
    """Return the SHA-256, in hexadecimal, of everything a batch is made from."""
    content = {
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
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
