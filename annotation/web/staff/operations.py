"""The pages of operations that have none made by hand: their form, their jobs, what came out."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation import jobs
from annotation.common.operations import (
    Invalid,
    Operation,
    OperationContext,
    all_operations,
    operation_named,
    plain_result,
)
from annotation.common.registry import UnknownName
from annotation.models import Account, Job
from annotation.web.common.access import account_of, role_missing
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.job_lines import job_line

#: Jobs on a page, the newest.
_JOBS = 10


def _has_page(operation: Operation) -> bool:
    return operation.page is not None and not operation.page.route


def _may(account: Account, operation: Operation) -> bool:
    permission = operation.permission
    return account.has_role_somewhere(*permission.roles, corpora=permission.corpora)


@require_safe
@login_required
def operation_list(request: HttpRequest) -> HttpResponse:
    """The operations that whoever asks may have done on pages like the next one."""
    account = account_of(request)
    offered = [one for one in all_operations() if _has_page(one) and _may(account, one)]
    return render(request, "operations/list.html", {"operations": offered})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def operation_page(request: HttpRequest, name: str) -> HttpResponse:
    """The form of an operation. Sent, it is done, or its job is enqueued."""
    account, operation = account_of(request), _operation(name)
    if not _may(account, operation):
        return role_missing(request, *operation.permission.roles)
    form = RequestForm(operation, account, request.POST if request.method == "POST" else None)
    result, wrong, status = None, "", 200
    if request.method == "POST":
        status = 400
        errors: Any = (jobs.JobError, *operation.errors)
        try:
            if form.is_valid() and operation.as_job:
                jobs.enqueue_operation(operation, form.request, row=form.row, actor=account)
                started = operation.page.started if operation.page is not None else ""
                messages.success(request, str(started or _("The job is queued.")))
                return redirect("operation", name)
            if form.is_valid():
                result = plain_result(operation.run(form.request, OperationContext(account)))
                status = 200
        except Invalid as error:
            form.refuse(error)
        except errors as error:
            wrong, status = str(error), 409
    newest = Job.objects.filter(kind=name, created_by=account).order_by("-pk")[:_JOBS]
    about = {
        "operation": operation,
        "form": form,
        "result": result.items() if result is not None else (),
        "wrong": wrong,
        "jobs": [job_line(job, "") for job in newest],
    }
    return render(request, "operations/operation.html", about, status=status)


def _operation(name: str) -> Operation:
    try:
        found = operation_named(name)
    except UnknownName:
        found = None
    if found is None or not _has_page(found):
        raise Http404(_("There is no operation “%(name)s” here.") % {"name": name})
    return found


urlpatterns = [
    path("", operation_list, name="operation_list"),
    path("<slug:name>/", operation_page, name="operation"),
]
