"""Batches for lists and their own pages: what is stored, their progress; archiving them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Named, OperationContext, StoredThing, result_of
from annotation.common.roles import RESEARCHER
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.money import amount_text
from annotation.selectors.campaign.cost import costs
from evaluation.models import Batch
from evaluation.services.batches.collecting import batch_named, staying_out
from evaluation.services.batches.state import BatchState, batch_state, cached_batch_state
from evaluation.services.stored import set_archived
from evaluation.services.stored_kinds import BATCHES, ArchivableRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchesRequest(ArchivableRequest):
    """Batches, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSummary:
    """A batch: pairs pooled from runs, and the campaign that asks about them. `selected`: pairs; `judgments`:
    the newest set that was collected; `archived`: lists leave it out."""

    name: str
    corpus: str
    campaign: str
    depth: int
    threshold: float | None
    judges: int
    strategy: str
    selected: int
    judgments: str | None
    digest: str
    created_at: datetime
    archived: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatusRequest:
    """The progress of a batch, and its reliability: what its filter loses, and, with omissions, what its pool
    would lose without each run."""

    batch: Annotated[str, Named(BATCHES), Help(_("Batch"))]
    omissions: Annotated[
        bool, Help(_("Omissions"), _("Leave each run out of the pool in turn, and show the effect"))
    ] = False
    measure: Annotated[str, Field(max_length=40), Help(_("Measure"), _("For omissions"))] = "R-precision"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatus:
    """A batch and its progress. Its judges `earned` a decimal number of the currency. `complete`: no more
    tasks are open. `before` counts answers that are not used, since they were given before their judge's
    reinstatement, and `counted` such answers that are used."""

    summary: BatchSummary
    status: BatchState
    earned: str
    currency: str
    complete: bool
    before: dict[str, int]
    counted: dict[str, int]


def batch_summary(row: Batch) -> BatchSummary:
    """Return what is stored of a batch."""
    return result_of(
        BatchSummary,
        row,
        corpus=row.corpus.name,
        campaign=row.campaign.name,
        depth=row.depth,
        threshold=row.threshold,
        judges=row.judges,
        strategy=row.strategy,
        selected=row.numbers["selected"],
        judgments=row.judgments.name if row.judgments is not None else None,
        archived=row.archived_at is not None,
    )


def batch_status(request: BatchStatusRequest, context: OperationContext) -> BatchStatus:
    """Return the progress of a batch. Without omissions, and for people and programs, answers of the last
    minute may be missing; commands count them."""
    row = batch_named(request.batch)
    if request.omissions or context.actor is None:
        state = batch_state(row.name, omissions=request.omissions, measure=request.measure)
    else:
        state = cached_batch_state(row)
    pay = settings_of(row.campaign.settings).pay
    return BatchStatus(
        summary=batch_summary(row),
        status=state,
        earned=amount_text(costs(row.campaign, pay).earned, pay.currency),
        currency=pay.currency,
        complete=state.complete,
        before=staying_out(state.people),
        counted={judge: person.before for judge, person in state.people.items() if person.counted},
    )


STORED_BATCH = StoredThing(
    kind=BATCHES,
    word="batch",
    words="batches",
    titles=(_("List batches"), "", _("Archive a batch, or bring it back"), ""),
    path="batches",
    roles=(RESEARCHER,),
    listing=BatchesRequest,
    results=(BatchSummary, BatchStatus),
    summary=batch_summary,
    order="-pk",
    related=("campaign", "corpus", "judgments"),
    archive=set_archived,
)
