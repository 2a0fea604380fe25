"""The addresses at which systems, runs, batches and reports are archived and brought back."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.web.common.access import RUNNING, account_of, for_roles_on
from annotation.web.staff.frame import said
from evaluation.models import Batch, Report, System
from evaluation.services.archiving import set_archived
from evaluation.web.batches import BATCH
from evaluation.web.reports import REPORT
from evaluation.web.systems.pages import SYSTEM


@require_POST
@for_roles_on(SYSTEM, *RUNNING)
def system_archive(request: HttpRequest, row: System) -> HttpResponse:
    """Archive a system, or bring it back."""
    return _archived(request, row, "evaluation:system")


@require_POST
@for_roles_on(BATCH, *RUNNING)
def batch_archive(request: HttpRequest, row: Batch) -> HttpResponse:
    """Archive a batch, or bring it back."""
    return _archived(request, row, "evaluation:batch")


@require_POST
@for_roles_on(REPORT, *RUNNING)
def report_put_away(request: HttpRequest, row: Report) -> HttpResponse:
    """Archive a report, or bring it back."""
    return _archived(request, row, "evaluation:report")


def _archived(request: HttpRequest, row: Any, page: str) -> HttpResponse:
    archived = request.POST.get("undo") != "1"
    with said(request) as tell:
        set_archived(row, archived=archived, actor=account_of(request))
        tell(
            _("“%(name)s” is archived: lists leave it out.") % {"name": row.name}
            if archived
            else _("“%(name)s” is in the lists again.") % {"name": row.name}
        )
    return redirect(page, row.name)
