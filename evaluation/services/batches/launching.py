"""Launching batches: create the campaign that asks people about a plan's pairs, and the batch, in one
transaction."""

from dataclasses import dataclass, fields
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _

from annotation import campaigns
from annotation.campaigns import OpenedPairs
from annotation.common import database
from annotation.common.operations import Help, Named, OperationContext, invalid, read_result, result_to_dict
from annotation.protocol.money import amount_text
from annotation.quality import controls
from annotation.selectors.corpora import check_split, corpus_named
from evaluation.comparison.query_sets import store_queries
from evaluation.models import Batch, BatchRun
from evaluation.selectors import run_named
from evaluation.services.batches.planning import BatchRequest, BatchSize, Plan, page_fill_numbers, plan
from evaluation.services.batches.stored_answers import BatchError
from evaluation.services.common import check_name, work_lock
from evaluation.services.phases import ProgressCallback, part_of_progress


@dataclass(frozen=True, slots=True)
class Launched:
    """A launched batch. `unchanged`: it existed already, made from the same inputs."""

    batch: Batch
    unchanged: bool
    opened: OpenedPairs | None


def launch(
    plan: Plan,
    name: str,
    *,
    known_from: str | None = None,
    begin: bool = True,
    actor: Any = None,
) -> Launched:
    """Create the campaign `name` that asks about the plan's pairs, and store the batch, both or nothing.

    `known_from` is a split whose images become control items; `actor` is the account that requests it.
    Without `begin` the campaign stays a draft. If the batch exists, made from the same inputs, nothing
    changes. Raises BatchError, CampaignError, BadItem, UnknownName, Busy.
    """
    check_name(name, "batch")
    with work_lock(f"batch.{name}", "batch", name):
        existing = Batch.objects.filter(name=name).first()
        if existing is not None:
            if existing.digest != plan.digest:
                raise BatchError(
                    f"batch {name!r} already exists with other runs or settings; choose another name"
                )
            return Launched(existing, True, None)
        if not len(plan.selected) and plan.askable:
            raise BatchError(
                "there is nothing to ask in rounds: existing judgments already determine the order of the "
                f"systems; leave the order out to ask all {plan.askable} pairs"
            )
        if not len(plan.selected):
            raise BatchError(
                f"there is nothing to ask: of {plan.pooled_pairs} pairs {plan.originals} are originals, "
                f"{plan.filtered} are filtered out and {plan.known} are already judged; freeze the "
                "existing judgments instead"
            )
        if known_from is not None:
            check_known(plan, known_from)
        pairs, fillers = plan.pooled.called(plan.selected), plan.pooled.by_image(plan.fillers)
        with database.writing():
            campaign = campaigns.create_campaign(
                name=name,
                corpus=plan.corpus,
                tasks=plan.tasks,
                settings=plan.settings.as_dict(),
                actor=actor,
            )
            if plan.simulated:
                campaigns.mark_simulated(campaign=campaign, actor=actor)
            opened = campaigns.open_pairs(campaign=campaign, pairs=pairs, fillers=fillers, actor=actor)
            if known_from is not None:
                controls.from_split(campaign=campaign, split=known_from, actor=actor)
            if begin:
                campaigns.begin_campaign(campaign=campaign, actor=actor)
            batch = Batch.objects.create(
                corpus=campaign.corpus,
                name=name,
                campaign=campaign,
                depth=plan.depth,
                threshold=plan.threshold,
                judges=plan.judges,
                seed=campaign.seed,
                reused=list(plan.reused),
                digest=plan.digest,
                strategy=plan.strategy,
                rounds={"share": plan.share, "selected": [opened.pairs], "tau": None, "ended": ""}
                if plan.strategy
                else {},
                numbers={
                    **result_to_dict(plan.numbers()),
                    "task_count": opened.tasks,
                    **page_fill_numbers(opened.filling),
                },
            )
            BatchRun.objects.bulk_create(
                BatchRun(batch=batch, run=run_named(part.run), position=position, digest=part.digest)
                for position, part in enumerate(plan.runs)
            )
            store_queries(batch, plan.pooled.queries)
    return Launched(batch, False, opened)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBatchRequest(BatchRequest):
    """The best pairs of the runs are pooled; originals, unlikely pairs and pairs that were judged before are
    removed, and the others become the questions of a campaign."""

    name: Annotated[str, Named(max_length=90), Help(_("Name"), _("The campaign gets the same name"))]
    begin: Annotated[
        bool, Help(_("Begin at once"), _("Else the campaign is a draft, and nobody can join"))
    ] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBatch:
    """What a batch would ask, and its cost. `threshold` is null where nothing is filtered; `candidates`: the
    captions themselves are to be judged, and none is known to describe its image. `amount` is the cost, a
    decimal number of the currency."""

    corpus: str
    tasks: str
    depth: int
    threshold: float | None
    judges: int
    reused: tuple[str, ...]
    digest: str
    strategy: str
    simulated: bool
    candidates: bool
    amount: str
    currency: str
    numbers: BatchSize


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedBatch(PlannedBatch):
    """A batch that was opened. `unchanged`: it existed already, made from the same inputs; `state` is that of
    its campaign."""

    batch: str
    unchanged: bool
    state: str


def check_new(request: OpenBatchRequest, context: OperationContext) -> OpenBatchRequest:
    """Raise Invalid if a batch of that name exists already."""
    if Batch.objects.filter(name=request.name).exists():
        raise invalid("name", "taken", value=request.name)
    return request


def plan_batch(request: BatchRequest, context: OperationContext) -> PlannedBatch:
    """Plan a batch and estimate its cost; writes nothing. Raises as `plan` and `check_known`."""
    planned = _planned(request, context.report_progress)
    return PlannedBatch(**_plan_values(planned), numbers=planned.numbers())


def open_batch(request: OpenBatchRequest, context: OperationContext) -> OpenedBatch:
    """Plan and launch a batch; one that exists already, made from the same inputs, stays. Raises as these two
    do."""
    planned = _planned(request, part_of_progress(context.report_progress, 0.0, 0.8))
    context.report_progress("opening its questions", 0.8)
    done = launch(
        planned, request.name, known_from=request.known_from, begin=request.begin, actor=context.actor
    )
    numbers = read_result(BatchSize, done.batch.numbers)
    return OpenedBatch(
        **_plan_values(planned),
        numbers=numbers,
        batch=request.name,
        unchanged=done.unchanged,
        state=done.batch.campaign.state,
    )


def _planned(request: BatchRequest, report_progress: ProgressCallback) -> Plan:
    planned = plan(request, report_progress=report_progress)
    if request.known_from is not None:
        check_known(planned, request.known_from)
    return planned


def _plan_values(planned: Plan) -> dict[str, Any]:
    """Return the fields of PlannedBatch that a plan has under the same names, and its currency."""
    currency = planned.settings.pay.currency
    names = [
        field.name for field in fields(PlannedBatch) if field.name not in ("amount", "currency", "numbers")
    ]
    values = {name: getattr(planned, name) for name in names}
    return {**values, "amount": amount_text(planned.price.amount, currency), "currency": currency}


def check_known(plan: Plan, split: str) -> None:
    """Check that control items are of images that no batch asks about, in any round: otherwise their answers
    would be needed as judgments too.

    Raises BatchError, and UnknownName if the corpus has no such split.
    """
    corpus = corpus_named(plan.corpus)
    check_split(corpus, split)
    there = set(corpus.images.filter(split=split).values_list("pk", flat=True))
    batch_images = [set(plan.pooled.ids(pairs)[0].tolist()) for pairs in (plan.may_ask, plan.fillers)]
    if both := there & (batch_images[0] | batch_images[1]):
        raise BatchError(
            f"split {split!r} contains {len(both)} images that the batch asks about; make control items "
            "from another split"
        )
