"""Pages of a campaign's workers: the table, one worker, and what a researcher does about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST, require_safe

from annotation import jobs
from annotation.common.registry import UnknownName
from annotation.common.roles import ADMIN, RESEARCHER, WHOLE_SERVER
from annotation.models import Campaign, Worker
from annotation.moderation import discarding
from annotation.moderation.discarding import CannotDo
from annotation.protocol import kinds
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.money import amount_text, payable_amount
from annotation.protocol.work import UNPAID
from annotation.selectors.campaign import KindRow, WorkerRow
from annotation.selectors.campaign import workers as worker_rows
from annotation.selectors.campaign.cost import cents
from annotation.selectors.workers.reading_speed import (
    WORDS_A_MINUTE,
    ReadingPace,
    reading_paces,
    words_in_a_caption,
)
from annotation.selectors.workers.worker_table import (
    SORTS,
    WORKER_STATES,
    WorkerFigures,
    WorkerTableRequest,
    worker_page,
)
from annotation.web.common.access import account_of, for_roles_on, role_missing
from annotation.web.common.confirm import confirmed
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS, campaign_frame, query_string, said
from annotation.web.staff.wording import STANDINGS, kind_in_words, kinds_in_words
from annotation.workers import payments, pseudonyms
from annotation.workers.messages import told_to
from annotation.workers.pseudonyms import CannotErase

#: Heads of the table's columns, by what they sort by.
HEADS = {
    "worker": gettext_lazy("Worker"),
    "answers": gettext_lazy("Answers"),
    "accuracy": gettext_lazy("Control items correct"),
    "seconds": gettext_lazy("Seconds each"),
    "earned": gettext_lazy("Earned"),
    "due": gettext_lazy("Due"),
}
#: Standings as the table is filtered by them.
FILTERS = {
    **STANDINGS,
    "blocked": gettext_lazy("suspended by a researcher"),
    "withdrawn": gettext_lazy("answers withdrawn"),
}


@dataclass(frozen=True, slots=True)
class Head:
    """A column's head: what it says, the address that sorts by it, and how it is sorted now."""

    sort: str
    name: str
    address: str
    way: str


@dataclass(frozen=True, slots=True)
class ShownWorker:
    """A worker as a line of the table; of one kind of question where the table is of one."""

    row: WorkerRow
    figures: WorkerFigures
    earned: str
    due: str
    standing: str
    off: bool
    too_fast: bool


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def worker_list(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """All workers of a campaign; sorted, filtered and paged by the address."""
    return show_workers(request, campaign, asked_in(request.GET))


def show_workers(
    request: HttpRequest, campaign: Campaign, asked: WorkerTableRequest, *, refused: QueryDict | None = None
) -> HttpResponse:
    """The page of a campaign's workers; where its form was `refused`, with what was ticked and typed, as
    status 409."""
    given = refused if refused is not None else QueryDict()
    page = worker_page(campaign, asked)
    pay = settings_of(campaign.settings).pay
    return render(
        request,
        "annotation/staff/workers.html",
        campaign_frame(
            request,
            campaign,
            "workers",
            rows=[
                _shown(row, figures, asked.kind, pay.currency, page.paces.get(row.id))
                for row, figures in page.rows
            ],
            query=_as_query(replace(asked, after=0)).lstrip("?"),
            reference=f"{campaign.name}-{timezone.now():%Y-%m-%d}"[: payments.LONGEST_REFERENCE],
            currency=pay.currency,
            total=page.total,
            asked=asked,
            heads=[_head(asked, sort) for sort in SORTS if _pays(campaign) or sort not in ("earned", "due")],
            paid=_pays(campaign),
            machines_answer=bool(kinds.machine_kinds(campaign.kinds)),
            kinds=kinds_in_words(campaign),
            states=FILTERS.items(),
            later=_as_query(replace(asked, after=page.after)) if page.after else "",
            first=_as_query(replace(asked, after=0)) or "?" if asked.after else "",
            given=given,
            ticked=given.getlist("worker"),
            # What takes a form has another address than the list.
            here=reverse("workers", args=[campaign.name]) if refused is not None else "",
        ),
        status=200 if refused is None else 409,
    )


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def worker_detail(request: HttpRequest, campaign: Campaign, pseudonym: str) -> HttpResponse:
    """One worker of a campaign, by kind of question, with what can be done about them."""
    return show_worker(request, campaign, pseudonym)


def show_worker(
    request: HttpRequest, campaign: Campaign, pseudonym: str, *, refused: QueryDict | None = None
) -> HttpResponse:
    """The page of one worker; where a form of it was `refused`, with what was typed, as status 409."""
    row = worker_rows(campaign, only=[_worker(campaign, pseudonym)])[0]
    pace = reading_paces(campaign, [row.id]).get(row.id)
    pay = settings_of(campaign.settings).pay
    owed = payable_amount(row.due, pay.currency)
    given = refused if refused is not None else QueryDict()
    return render(
        request,
        "annotation/staff/worker.html",
        campaign_frame(
            request,
            campaign,
            "workers",
            worker=row,
            kinds=[(kind, kind_in_words(kind.kind), standing_of(kind)) for kind in row.kinds],
            earned=cents(row.earned, pay.currency),
            due=cents(row.due, pay.currency),
            hourly=cents(row.hourly, pay.currency) if row.hourly is not None else "",
            paid=_pays(campaign),
            bonuses=cents(row.bonuses, pay.currency) if row.bonuses else "",
            owed=amount_text(owed, pay.currency) if owed else "",
            currency=pay.currency,
            pace=pace if pace is not None and pace.flagged else None,
            words=round(words_in_a_caption(campaign)) if pace is not None and pace.flagged else 0,
            words_a_minute=WORDS_A_MINUTE,
            told=told_to(campaign, row.id),
            given=given,
            chosen_kind=given.get("kind") if given.get("kind") in campaign.kinds else "",
        ),
        status=200 if refused is None else 409,
    )


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def worker_act(request: HttpRequest, campaign: Campaign, pseudonym: str) -> HttpResponse:
    """Take a worker off a kind or all, let them back, withdraw their answers or restore them.

    Where that is refused, the page is shown again with what was chosen and typed.
    """
    try:
        told = _act_on(request, campaign, _worker(campaign, pseudonym))
    except (CannotDo, UnknownName, jobs.JobError) as error:
        messages.error(request, str(error))
        return show_worker(request, campaign, pseudonym, refused=request.POST)
    messages.success(request, told)
    return redirect("worker", campaign.name, pseudonym)


def _act_on(request: HttpRequest, campaign: Campaign, worker: int) -> str:
    """Do what the button says, and return what came of it, in words."""
    actor = account_of(request)
    kind = request.POST.get("kind", "") or None
    reason = request.POST.get("reason", "").strip()[:200]
    if kind is not None and kind not in campaign.kinds:
        raise CannotDo(_("“%(kind)s” is not a kind of question.") % {"kind": kind[:60]})
    match request.POST.get("act", ""):
        case "suspend":
            changed = discarding.suspend_worker(
                campaign=campaign, worker=worker, kind=kind, reason=reason, actor=actor
            )
            return _changed(changed, _("Suspended: %(kinds)s."), _("They are already suspended."))
        case "reinstate":
            changed = discarding.reinstate_worker(campaign=campaign, worker=worker, kind=kind, actor=actor)
            return _changed(
                changed, _("Reinstated: %(kinds)s."), _("They were not suspended: nothing changed.")
            )
        case "discard":
            arguments = {"worker": worker, "kind": kind, "reason": reason}
            jobs.enqueue(kind="discard", arguments=arguments, campaign=campaign, actor=actor)
            return _("Withdrawing their answers; see “Jobs and exports” for the progress.")
        case "restore":
            arguments = {"worker": worker, "kind": kind}
            jobs.enqueue(kind="restore", arguments=arguments, campaign=campaign, actor=actor)
            return _("Restoring their answers; see “Jobs and exports” for the progress.")
        case _other:
            raise CannotDo(_("Nothing was chosen: use one of the buttons."))


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, ADMIN)
@confirmed
def worker_erase(request: HttpRequest, campaign: Campaign, pseudonym: str) -> HttpResponse:
    """Forget who a worker is; their answers stay under the pseudonym. For admins of the whole server: who
    they are is known, and forgotten, in every campaign."""
    if not account_of(request).has_role(ADMIN, on=WHOLE_SERVER):
        return role_missing(request, ADMIN)
    found = Worker.objects.get(pk=_worker(campaign, pseudonym))
    with said(request, CannotErase) as tell:
        if request.POST.get("sure") != "yes":
            raise CannotErase(_("Deleting cannot be undone: tick the box to confirm."))
        pseudonyms.erase_worker(worker=found, actor=account_of(request))
        tell(_("Worker erased: nothing links the pseudonym to a person any more."))
    return redirect("worker", campaign.name, pseudonym)


def _pays(campaign: Campaign) -> bool:
    """Whether answers earn anything: not where they are simulated."""
    return settings_of(campaign.settings).pay.basis != UNPAID and not campaign.simulated


def _shown(
    row: WorkerRow, figures: WorkerFigures, kind: str, currency: str, pace: ReadingPace | None
) -> ShownWorker:
    """A worker's line: all kinds together, or one of them."""
    kinds = [each for each in row.kinds if kind in ("", each.kind)]
    off = sorted({standing_of(each) for each in kinds if _off(each)})
    trusted = sum(each.state == "trusted" and not _off(each) for each in kinds)
    return ShownWorker(
        row=row,
        figures=figures,
        earned=cents(figures.earned, currency),
        due=cents(figures.due, currency),
        standing=standing_of(kinds[0]) if len(kinds) == 1 else _together(len(kinds), trusted, off),
        off=bool(off),
        too_fast=pace is not None and pace.flagged,
    )


def standings_together(row: WorkerRow) -> str:
    """How a worker stands for all kinds together, in words."""
    off = sorted({standing_of(each) for each in row.kinds if _off(each)})
    trusted = sum(each.state == "trusted" and not _off(each) for each in row.kinds)
    return _together(len(row.kinds), trusted, off)


def standing_of(kind: KindRow) -> str:
    """How a worker stands for a kind, in a word or two."""
    if kind.withdrawn_at:
        return _("answers withdrawn")
    if kind.blocked:
        return _("suspended by a researcher")
    return str(STANDINGS.get(kind.state, kind.state))


def asked_in(given: Mapping[str, str]) -> WorkerTableRequest:
    """Which workers an address asks for; what it cannot mean is left out."""
    sort, after = given.get("sort", ""), given.get("after", "")
    kind, state = given.get("kind", ""), given.get("state", "")
    return WorkerTableRequest(
        sort=sort if sort in SORTS else "answers",
        up=given.get("way", "") == "up",
        kind=kind if kind in kinds.names() else "",
        state=state if state in WORKER_STATES else "",
        find=given.get("find", "").replace("\0", "").strip(),
        after=int(after) if after.isascii() and after.isdigit() and len(after) < 18 else 0,
    )


def _as_query(asked: WorkerTableRequest) -> str:
    """The address of what is asked for."""
    return query_string(
        sort=asked.sort if asked.sort != "answers" else "",
        way="up" if asked.up else "",
        kind=asked.kind,
        state=asked.state,
        find=asked.find,
        after=asked.after or "",
    )


def _head(asked: WorkerTableRequest, sort: str) -> Head:
    """Sorting by another column begins with the most, by name with the first; again turns it round."""
    now = asked.sort == sort
    up = not asked.up if now else sort == "worker"
    way = ("ascending" if asked.up else "descending") if now else ""
    return Head(sort, str(HEADS[sort]), _as_query(replace(asked, sort=sort, up=up, after=0)) or "?", way)


def _off(kind: KindRow) -> bool:
    return kind.blocked or kind.withdrawn_at is not None or kind.state == "suspended"


def _together(kinds: int, trusted: int, off: list[str]) -> str:
    """How a worker stands for several kinds."""
    told = ngettext(
        "trusted for %(trusted)d of %(kinds)d kind", "trusted for %(trusted)d of %(kinds)d kinds", kinds
    )
    return "; ".join([told % {"trusted": trusted, "kinds": kinds}, *off])


def _changed(kinds: tuple[str, ...], text: str, nothing: str) -> str:
    return text % {"kinds": ", ".join(str(kind_in_words(kind)) for kind in kinds)} if kinds else nothing


def _worker(campaign: Campaign, pseudonym: str) -> int:
    try:
        if "\0" in pseudonym:
            raise CannotDo(pseudonym)
        return discarding.worker_named(pseudonym, campaign)
    except CannotDo:
        raise Http404(
            _("Campaign “%(campaign)s” has no worker “%(name)s”.")
            % {"campaign": campaign.name, "name": pseudonym}
        ) from None
