"""Pages of a campaign's workers: the table, one worker, and a researcher's acts on them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.common.roles import RESEARCHER
from annotation.models import Campaign, Worker
from annotation.moderation import worker_status
from annotation.moderation.worker_status import CannotDo
from annotation.protocol import kinds
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.money import amount_text, payable_amount
from annotation.selectors.campaign.cost import cents
from annotation.selectors.campaign.crowd import WorkerRow
from annotation.selectors.campaign.crowd import workers as worker_rows
from annotation.selectors.caption_flags import flags_by_reason
from annotation.selectors.workers.reading_speed import (
    WORDS_A_MINUTE,
    ReadingSpeed,
    reading_paces,
    words_in_a_caption,
)
from annotation.selectors.workers.trust_labels import WORKER_STATE_LABELS, is_off, trust_label, trust_summary
from annotation.selectors.workers.worker_table import (
    SORTS,
    WORKER_STATES,
    WorkerFigures,
    WorkerTableRequest,
    worker_page,
)
from annotation.web.common.access import for_roles_on
from annotation.web.staff.campaign_pages import (
    CAMPAIGN_OF_ADDRESS,
    act_form,
    campaign_frame,
    is_paid,
    query_string,
)
from annotation.web.staff.wording import kind_in_words, kinds_in_words
from annotation.workers import payments, pseudonyms
from annotation.workers.messages import messages_to

#: Heads of the table's columns, by sort order.
HEADS = {
    "worker": gettext_lazy("Worker"),
    "answers": gettext_lazy("Answers"),
    "accuracy": gettext_lazy("Control items correct"),
    "seconds": gettext_lazy("Seconds each"),
    "earned": gettext_lazy("Earned"),
    "due": gettext_lazy("Due"),
}


@dataclass(frozen=True, slots=True)
class Head:
    """A column's head: its label, the address that sorts by it, and the current direction."""

    sort: str
    name: str
    address: str
    way: str


@dataclass(frozen=True, slots=True)
class WorkerView:
    """A worker as a line of the table; for one kind of question if the table is for one."""

    row: WorkerRow
    figures: WorkerFigures
    earned: str
    due: str
    trust: str
    off: bool
    too_fast: bool


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def worker_list(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """List all workers of a campaign."""
    query = table_request(request.GET)
    page = worker_page(campaign, query)
    pay = settings_of(campaign.settings).pay
    return render(
        request,
        "annotation/staff/workers.html",
        campaign_frame(
            request,
            campaign,
            "workers",
            rows=[
                _worker_line(row, figures, query.kind, pay.currency, page.paces.get(row.id))
                for row, figures in page.rows
            ],
            suspend=act_form(request, "suspend_workers"),
            message=act_form(request, "message_workers"),
            pay=act_form(request, "pay_workers", reference=payments.usual_reference(campaign)),
            total=page.total,
            query=query,
            heads=[
                _head(query, sort) for sort in SORTS if is_paid(campaign) or sort not in ("earned", "due")
            ],
            paid=is_paid(campaign),
            models_answer=bool(kinds.model_kinds(campaign.kinds)),
            kinds=kinds_in_words(campaign),
            states=WORKER_STATE_LABELS.items(),
            later=_as_query(replace(query, after=page.after)) if page.after else "",
            first=_as_query(replace(query, after=0)) or "?" if query.after else "",
        ),
    )


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def worker_detail(request: HttpRequest, campaign: Campaign, pseudonym: str) -> HttpResponse:
    """Show one worker of a campaign, by kind of question, with what can be done about them."""
    row = worker_rows(campaign, only=[_worker(campaign, pseudonym)])[0]
    speed = reading_paces(campaign, [row.id]).get(row.id)
    pay = settings_of(campaign.settings).pay
    owed = payable_amount(row.due, pay.currency)
    amount = amount_text(owed, pay.currency) if owed else ""
    reference = payments.usual_reference(campaign)
    return render(
        request,
        "annotation/staff/worker.html",
        campaign_frame(
            request,
            campaign,
            "workers",
            worker=row,
            kinds=[(kind, kind_in_words(kind.kind), trust_label(kind)) for kind in row.kinds],
            earned=cents(row.earned, pay.currency),
            due=cents(row.due, pay.currency),
            hourly=cents(row.hourly, pay.currency) if row.hourly is not None else "",
            paid=is_paid(campaign),
            bonuses=cents(row.bonuses, pay.currency) if row.bonuses else "",
            owed=owed,
            suspend=act_form(request, "suspend_workers"),
            message=act_form(request, "message_workers"),
            pay=act_form(request, "pay_worker", amount=amount, reference=reference),
            bonus=act_form(request, "give_bonus", ids="bonus-%s"),
            erase=act_form(request, "erase_worker"),
            erasable=not row.erased or pseudonyms.has_reasons(Worker.objects.get(pk=row.id)),
            currency=pay.currency,
            reading_speed=speed if speed is not None and speed.flagged else None,
            flags=flags_by_reason(campaign, row.id) if row.flagged else [],
            words=round(words_in_a_caption(campaign)) if speed is not None and speed.flagged else 0,
            words_a_minute=WORDS_A_MINUTE,
            messages_to_worker=messages_to(campaign, row.id),
        ),
    )


def _worker_line(
    row: WorkerRow, figures: WorkerFigures, kind: str, currency: str, speed: ReadingSpeed | None
) -> WorkerView:
    """Return a worker's line: all kinds together, or one of them."""
    return WorkerView(
        row=row,
        figures=figures,
        earned=cents(figures.earned, currency),
        due=cents(figures.due, currency),
        trust=trust_summary(row, kind),
        off=any(is_off(kind_row) for kind_row in row.kinds if kind in ("", kind_row.kind)),
        too_fast=speed is not None and speed.flagged,
    )


def table_request(query_data: Mapping[str, str]) -> WorkerTableRequest:
    """Return the table request of a query string; invalid values are ignored."""
    sort, after = query_data.get("sort", ""), query_data.get("after", "")
    kind, state = query_data.get("kind", ""), query_data.get("state", "")
    return WorkerTableRequest(
        sort=sort if sort in SORTS else "answers",
        up=query_data.get("way", "") == "up",
        kind=kind if kind in kinds.names() else "",
        state=state if state in WORKER_STATES else "",
        find=query_data.get("find", "").replace("\0", "").strip(),
        after=int(after) if after.isascii() and after.isdigit() and len(after) < 18 else 0,
    )


def _as_query(query: WorkerTableRequest) -> str:
    """Return the query string of a table request."""
    return query_string(
        sort=query.sort if query.sort != "answers" else "",
        way="up" if query.up else "",
        kind=query.kind,
        state=query.state,
        find=query.find,
        after=query.after or "",
    )


def _head(query: WorkerTableRequest, sort: str) -> Head:
    """Return a column's head: another column begins with the largest, the name with the first; again reverses
    it."""
    now = query.sort == sort
    up = not query.up if now else sort == "worker"
    way = ("ascending" if query.up else "descending") if now else ""
    return Head(sort, str(HEADS[sort]), _as_query(replace(query, sort=sort, up=up, after=0)) or "?", way)


def _worker(campaign: Campaign, pseudonym: str) -> int:
    try:
        if "\0" in pseudonym:
            raise CannotDo(pseudonym)
        return worker_status.worker_named(pseudonym, campaign)
    except CannotDo:
        raise Http404(
            _("Campaign “%(campaign)s” has no worker “%(name)s”.")
            % {"campaign": campaign.name, "name": pseudonym}
        ) from None
