"""A campaign's workers for lists and files."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, NewFile, OneOf, OperationContext, Pages, result_of
from annotation.models import Campaign
from annotation.protocol.money import amount_text
from annotation.selectors.campaign.cost import units
from annotation.selectors.campaign.crowd import WorkerRow, workers
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.workers.choosing import (
    ChosenWorkers,
    Pseudonym,
    QuestionKind,
    TrustStateName,
    check_kind,
    chosen_workers,
    worker_id,
)
from annotation.selectors.workers.trust_labels import trust_summary
from annotation.selectors.workers.worker_table import SORTS, WorkerTableRequest, worker_page, worker_rows_of
from annotation.workers.payments import currency_of
from phrasebox.spreadsheets import escape_formula

_COLUMNS = (
    *("worker", "status", "answers", "checked", "right", "seconds", "earned", "bonuses", "paid", "due"),
    *("currency", "faster_than_reading", "flagged_captions"),
)

WorkerSort = Annotated[str, OneOf(lambda: dict.fromkeys(SORTS))]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkersRequest(CampaignRequest):
    """A campaign's workers, with their answers, accuracy, and amounts due."""

    sort: Annotated[WorkerSort, Help(_("Sort by"), _("The most first"))] = "answers"
    up: Annotated[bool, Help(_("Ascending"), _("The least first"))] = False
    kind: Annotated[QuestionKind | None, Help(_("Kind of question"), _("By default all of them"))] = None
    state: Annotated[TrustStateName | None, Help(_("Status"), _("For any kind of question"))] = None
    find: Annotated[str, Field(max_length=100), Help(_("Pseudonym contains"))] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowWorkerRequest(CampaignRequest):
    """One worker of a campaign, by kind of question."""

    worker: Annotated[Pseudonym, Help(_("Worker"), _("Their pseudonym"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportWorkersRequest(ChosenWorkers):
    """The workers as CSV for a spreadsheet; simulated answers have no speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerAtKind:
    """A worker's work on one kind of question. `blocked`: suspended by a researcher. `accuracy` is over the
    newest `checked` answers."""

    kind: str
    state: str
    blocked: bool
    reason: str
    withdrawn_at: datetime | None
    answers: int
    checked: int
    right: int
    accuracy: float | None
    median_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignWorker:
    """A worker of a campaign, under a pseudonym. Amounts are decimal numbers of its currency.
    `flagged_captions`: how many captions that they wrote are flagged."""

    worker: str
    erased: bool
    is_model: bool
    answers: int
    flagged_captions: int
    seconds: float
    earned: str
    bonuses: str
    paid: str
    due: str
    hourly: str | None
    kinds: tuple[WorkerAtKind, ...]


def list_workers(request: WorkersRequest, context: OperationContext) -> Pages:
    """Return the workers page by page; each page requires sorting all."""
    campaign = request.row()
    check_kind(request.kind, campaign)
    currency = currency_of(campaign)

    def page(mark: Any, size: int) -> tuple[Iterable[CampaignWorker], Any]:
        table = WorkerTableRequest(
            sort=request.sort,
            up=request.up,
            kind=request.kind or "",
            state=request.state or "",
            find=request.find,
            after=mark or 0,
        )
        rows = worker_page(campaign, table, size=size)
        return (_campaign_worker(row, currency) for row, _figures in rows.rows), rows.after

    return Pages(page)


def show_worker(request: ShowWorkerRequest, context: OperationContext) -> CampaignWorker:
    """Return one worker. Raises Invalid."""
    campaign = request.row()
    (row,) = workers(campaign, only=[worker_id(request.worker, campaign)])
    return _campaign_worker(row, currency_of(campaign))


def export_workers(request: ExportWorkersRequest, context: OperationContext) -> NewFile:
    """Return the table of the chosen workers."""
    campaign = request.row()
    chosen = list(chosen_workers(request, campaign).values())
    return NewFile(f"{campaign.name}-workers.csv", partial(_write_table, campaign, chosen))


def _write_table(campaign: Campaign, chosen: list[int], path: Path) -> None:
    currency = currency_of(campaign)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for row, fast in worker_rows_of(campaign, chosen):
            seconds = "" if campaign.simulated else round(row.seconds, 1)
            writer.writerow(
                escape_formula(cell)
                for cell in (
                    *(row.pseudonym, trust_summary(row), row.answers),
                    *(sum(kind.known for kind in row.kinds), sum(kind.right for kind in row.kinds), seconds),
                    *(units(row.earned), units(row.bonuses), units(row.paid), units(row.due), currency),
                    *("yes" if fast else "", row.flagged),
                )
            )


def _campaign_worker(row: WorkerRow, currency: str) -> CampaignWorker:
    text = partial(amount_text, currency=currency)
    return CampaignWorker(
        worker=row.pseudonym,
        erased=row.erased,
        is_model=row.is_model,
        answers=row.answers,
        flagged_captions=row.flagged,
        seconds=row.seconds,
        earned=text(row.earned),
        bonuses=text(row.bonuses),
        paid=text(row.paid),
        due=text(row.due),
        hourly=text(row.hourly) if row.hourly is not None else None,
        kinds=tuple(result_of(WorkerAtKind, trust_row, checked=trust_row.known) for trust_row in row.kinds),
    )
