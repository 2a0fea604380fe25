"""What a researcher does about several workers at once: suspend, reinstate, withdraw, tell, download.

Paying them is the business of the page of payments, whose form the same table sends to.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence

from django.conf import settings
from django.contrib import messages as page_messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation import jobs
from annotation.common import database
from annotation.common.roles import RESEARCHER
from annotation.common.spreadsheets import escape_formula
from annotation.jobs import emails
from annotation.models import Account, Campaign
from annotation.moderation import bulk
from annotation.moderation.bulk import BulkResult
from annotation.moderation.discarding import CannotDo
from annotation.protocol.campaign_settings import settings_of
from annotation.selectors.campaign.cost import units
from annotation.selectors.workers.worker_table import worker_rows_of
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.staff.crowd.chosen import chosen_workers, page_of_worker, show_again
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS
from annotation.web.staff.workers import standings_together
from annotation.workers import messages
from annotation.workers.messages import MessageError

_COLUMNS = (
    *("worker", "status", "answers", "checked", "right", "seconds", "earned", "bonuses", "paid", "due"),
    *("currency", "faster_than_reading"),
)


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def workers_act(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Do to the ticked workers, or to all of a list, what the button says.

    Where that is refused, the page is shown again with what was ticked and typed.
    """
    sent = request.POST
    query = sent.get("query", "")
    try:
        workers = chosen_workers(campaign, sent)
        if sent.get("act", "") == "csv":
            return _table(campaign, workers)
        told = _act(request, campaign, workers)
    except (CannotDo, MessageError, jobs.JobError) as error:
        return show_again(request, campaign, str(error))
    page_messages.success(request, told)
    if name := page_of_worker(campaign, sent):
        return redirect("worker", campaign.name, name)
    back = reverse("workers", args=[campaign.name])
    return redirect(f"{back}?{query.lstrip('?')}" if query else back)


def _act(request: HttpRequest, campaign: Campaign, workers: Sequence[int]) -> str:
    """Do what the button says, and return what came of it, in words."""
    actor, sent = account_of(request), request.POST
    reason = sent.get("reason", "").replace("\0", "").strip()[:200]
    match sent.get("act", ""):
        case "suspend":
            return _suspended(
                bulk.suspend_workers(campaign=campaign, workers=workers, reason=reason, actor=actor)
            )
        case "reinstate":
            return _reinstated(bulk.reinstate_workers(campaign=campaign, workers=workers, actor=actor))
        case "discard":
            if sent.get("sure") != "yes":
                raise CannotDo(
                    _("Withdrawing answers takes them out of the results: tick the box to confirm.")
                )
            arguments = {"workers": workers, "reason": reason}
            jobs.enqueue(kind="discard_several", arguments=arguments, campaign=campaign, actor=actor)
            return _("Withdrawing their answers; see “Jobs and exports” for the progress.")
        case "message":
            return tell_workers(request, campaign, workers, sent.get("text", ""), actor)
        case _other:
            raise CannotDo(_("Nothing was chosen: use one of the buttons."))


def tell_workers(
    request: HttpRequest, campaign: Campaign, workers: Sequence[int], text: str, actor: Account
) -> str:
    """Send workers a message, by e-mail too where they keep an address for it; what came of it, in words."""
    with database.writing():
        sent = messages.send_messages(campaign=campaign, workers=workers, text=text, actor=actor)
        mailed = emails.ask_for_messages(
            messages=sent,
            domain=request.get_host(),
            secure=request.is_secure(),
            language=get_language() or settings.LANGUAGE_CODE,
        )
    told = ngettext(
        "Message sent to %(n)d worker: it is on their next page.",
        "Message sent to %(n)d workers: it is on their next page.",
        len(sent),
    ) % {"n": len(sent)}
    if mailed:
        more = ngettext("%(n)d gets it by e-mail too.", "%(n)d get it by e-mail too.", mailed)
        told = f"{told} {more % {'n': mailed}}"
    return told


def _suspended(done: BulkResult) -> str:
    told = ngettext("Suspended: %(n)d worker.", "Suspended: %(n)d workers.", done.changed)
    return _with_others(told % {"n": done.changed}, done, _("already suspended: %(n)d"))


def _reinstated(done: BulkResult) -> str:
    told = ngettext("Reinstated: %(n)d worker.", "Reinstated: %(n)d workers.", done.changed)
    return _with_others(told % {"n": done.changed}, done, _("not suspended: %(n)d"))


def _with_others(told: str, done: BulkResult, same: str) -> str:
    """What was done, and what became of those for whom nothing changed."""
    parts = [told]
    if done.same:
        parts.append(f"({same % {'n': done.same}})")
    if done.refused:
        parts.append(
            _("Refused for %(n)d: %(why)s")
            % {"n": len(done.refused), "why": next(iter(done.refused.values()))}
        )
    return " ".join(parts)


def _table(campaign: Campaign, workers: Sequence[int]) -> HttpResponse:
    """The workers as CSV for a spreadsheet, amounts in units; simulated answers have no speed."""
    currency = settings_of(campaign.settings).pay.currency
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{campaign.name}-workers.csv"'
    writer = csv.writer(answer, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row, fast in worker_rows_of(campaign, workers):
        seconds = "" if campaign.simulated else round(row.seconds, 1)
        writer.writerow(
            escape_formula(cell)
            for cell in (
                *(row.pseudonym, standings_together(row), row.answers),
                *(sum(kind.known for kind in row.kinds), sum(kind.right for kind in row.kinds), seconds),
                *(units(row.earned), units(row.bonuses), units(row.paid), units(row.due), currency),
                "yes" if fast else "",
            )
        )
    return answer
