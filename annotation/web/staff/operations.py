"""Generic pages of operations without a page of their own: form, jobs, result."""

from typing import Any

from django.apps import apps
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation import jobs
from annotation.common.files import file_download, received_files
from annotation.common.operations import (
    File,
    Forbidden,
    Invalid,
    NewFile,
    Operation,
    OperationContext,
    all_operations,
    operation_named,
    read_result,
    result_to_dict,
)
from annotation.models import Account, Job
from annotation.web.common.access import account_of, role_missing
from annotation.web.common.confirm import confirmed_where
from annotation.web.common.filters import query_number
from annotation.web.common.request_forms import RequestForm, query_request, say_sheet
from annotation.web.staff.job_lines import job_line
from phrasebox.registry import UnknownName

#: Number of jobs on a page, the newest.
_JOBS = 10
#: Layout -> its name, the ending of its files, and their media type.
_LAYOUT_FILES = {
    "csv": ("CSV", "csv", "text/csv"),
    "latex": ("LaTeX", "tex", "application/x-tex"),
    "svg": ("SVG", "svg", "image/svg+xml"),
}


def _has_page(operation: Operation) -> bool:
    return operation.page is not None and not operation.page.route


@require_safe
@login_required
def operation_list(request: HttpRequest) -> HttpResponse:
    """List the operations that this server adds and the caller may run."""
    account, ours = account_of(request), {config.name for config in apps.get_app_configs()}
    added = [
        operation for operation in all_operations() if _has_page(operation) and operation.app not in ours
    ]
    allowed = [operation for operation in added if operation.permission.allows(account)]
    return render(request, "operations/list.html", {"operations": allowed})


def _confirms(request: HttpRequest) -> bool:
    """Whether the operation of an address requires the password of an account that may run it."""
    operation = _operation(request.path.rstrip("/").rpartition("/")[2])
    return operation.confirms and operation.permission.allows(account_of(request))


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
@confirmed_where(_confirms)
def operation_page(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show the form of an operation, or the tables of one that only reads. POST runs it, or enqueues its job,
    and redirects to the page in the field `next`, if there is one."""
    account, operation = account_of(request), _operation(name)
    if not operation.permission.allows(account):
        return role_missing(request, *operation.permission.roles)
    assert operation.page is not None
    if request.method != "POST" and _reads_tables(operation):
        return _tables_page(request, operation)
    if request.method != "POST":
        return _page(request, operation, RequestForm(operation, account, initial=request.GET.dict()))
    form, result, problem, status = RequestForm(operation, account, request.POST), None, "", 400
    try:
        with received_files(operation, request.FILES) as files:
            form = RequestForm(operation, account, request.POST, files=files)
            if form.is_valid() and operation.as_job:
                jobs.enqueue_operation(operation, form.request, row=form.row, actor=account)
                return _after(request, operation, str(operation.page.started or _("The job is queued.")))
            if form.is_valid():
                result = operation.run(form.request, OperationContext(account))
                status = 200
            if isinstance(result, NewFile):
                return file_download(operation, result)
    except Invalid as error:
        form.refuse(error)
    except Forbidden as error:
        return role_missing(request, *error.roles)
    except (*operation.errors, *operation.stale) as error:
        result, problem = None, str(error)
        status = 412 if isinstance(error, operation.stale) else 409
    fields = result_to_dict(result) if result is not None else {}
    fields.pop("sheet", None)
    say_sheet(request, result)
    done = _done_message(operation, result) if status == 200 else ""
    if status == 200 and operation.page.leads is not None:
        messages.success(request, done)
        return redirect(operation.page.leads(result))
    if status == 200 and "next" in request.POST and not operation.secret:
        return _after(request, operation, done)
    about = {"result": fields.items(), "done": done, "secret": fields.get(operation.secret, "")}
    if status == 200:
        about |= _shown(operation, result)
    return _page(request, operation, form, **about, back=_next(request), error=problem, status=status)


def _reads_tables(operation: Operation) -> bool:
    """Whether its result is tables, it changes nothing, and it takes no job."""
    page, rest = operation.page, operation.rest
    return page is not None and page.tables is not None and rest is not None and rest.method == "GET"


def _tables_page(request: HttpRequest, operation: Operation) -> HttpResponse:
    """Show the tables for the query string, with downloads; the form if a field is missing or invalid."""
    account, about = account_of(request), dict[str, Any]()
    form = RequestForm(operation, account, request.GET or None)
    try:
        tables_request, _row = query_request(operation, account, request.GET)
        about = _shown(operation, operation.run(tables_request, OperationContext(account)))
        layouts = operation.command.layouts if operation.command is not None else {}
        query = f"?{request.GET.urlencode()}" if request.GET else ""
        about["downloads"] = [
            (_layout_file(layout)[0], reverse("operation_tables", args=[operation.name, layout]) + query)
            for layout in layouts
        ]
    except Invalid as error:
        if request.GET:
            form.refuse(error)
    except Forbidden as error:
        return role_missing(request, *error.roles)
    return _page(request, operation, form, **about, status=400 if request.GET and form.errors else 200)


@require_safe
@login_required
def operation_tables(request: HttpRequest, name: str, layout: str) -> HttpResponse:
    """Serve the tables of an operation that only reads, for the query string, in a layout such as CSV."""
    operation, account = _operation(name), account_of(request)
    layouts = operation.command.layouts if operation.command is not None else {}
    if layout not in layouts or not _reads_tables(operation):
        raise Http404(_("There is no such file."))
    try:
        tables_request, _row = query_request(operation, account, request.GET)
        return _in_layout(operation, layout, operation.run(tables_request, OperationContext(account)))
    except Forbidden as error:
        return role_missing(request, *error.roles)
    except Invalid as error:
        raise Http404(str(error)) from error


def _shown(operation: Operation, result: Any) -> dict[str, Any]:
    """Return the tables of a result, with their cells as people read them, and its figure."""
    page = operation.page
    assert page is not None
    tables = page.tables(result) if page.tables is not None else {}
    # Several tables with the same remarks have them below the last one.
    below = [table.remarks for table in tables.values()]
    remarks = [own if own not in below[n + 1 :] else [] for n, own in enumerate(below)]
    shown: dict[str, Any] = {
        "tables": [
            (title, table.head, [table.cells(row) for row in table.rows], own)
            for (title, table), own in zip(tables.items(), remarks, strict=True)
        ]
    }
    if page.figure is not None:
        # Drawn here, and sanitized (`annotation.figures.svg`).
        shown["figure"] = mark_safe(page.figure(result))
    return shown


def _done_message(operation: Operation, result: Any) -> str:
    """Return the message after an operation."""
    done = operation.page.done if operation.page is not None else ""
    if callable(done):
        return str(done(result))
    return str(done or _("Done.")) % (result_to_dict(result) if result is not None else {})


@require_safe
@login_required
def operation_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """Serve the file that an operation makes from the query string."""
    account, operation = account_of(request), _operation(name)
    if not isinstance(operation.result, File):
        raise Http404(_("There is no such file."))
    try:
        file_request, _row = query_request(operation, account, request.GET)
        return file_download(operation, operation.run(file_request, OperationContext(account)))
    except Forbidden as error:
        return role_missing(request, *error.roles)
    except Invalid as error:
        raise Http404(str(error)) from error
    except operation.errors as error:
        return render(request, "operations/refused.html", {"error": str(error)}, status=409)


def _page(
    request: HttpRequest,
    operation: Operation,
    form: RequestForm,
    *,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    newest = list(_jobs_of(operation, form.account)[:_JOBS])
    tabled = operation.as_job and operation.page is not None and operation.page.tables is not None
    lines = [
        job_line(job, leads=f"?job={job.pk}" if tabled and job.state == Job.DONE else "") for job in newest
    ]
    about = {"operation": operation, "form": form, "jobs": lines, "following": _next(request), **more}
    about["reads"] = _reads_tables(operation)
    about["live"] = any(line.live for line in lines)
    if tabled:
        about |= _of_job(request, operation, form.account)
    return render(request, "operations/operation.html", about, status=status)


def _jobs_of(operation: Operation, account: Account) -> QuerySet[Job]:
    """Return the jobs of an operation that an account requested, the newest first."""
    return Job.objects.filter(kind=operation.name, created_by=account).order_by("-pk")


def _of_job(request: HttpRequest, operation: Operation, account: Account) -> dict[str, Any]:
    """Return the tables and downloads of the job in the query string, by default the newest one; {} without
    one."""
    jobs_done = _jobs_of(operation, account).filter(state=Job.DONE)
    number = query_number(request.GET, "job")
    job = (jobs_done.filter(pk=number) if number is not None else jobs_done).first()
    if job is None:
        return {}
    assert operation.result is not None and not isinstance(operation.result, File)
    layouts = operation.command.layouts if operation.command is not None else {}
    downloads = [
        (_layout_file(name)[0], reverse("operation_layout", args=[operation.name, job.pk, name]))
        for name in layouts
    ]
    return {"downloads": downloads, **_shown(operation, read_result(operation.result, job.result))}


@require_safe
@login_required
def operation_layout(request: HttpRequest, name: str, number: int, layout: str) -> HttpResponse:
    """Serve the result of a job of the account in a layout of the operation's command, such as CSV."""
    operation = _operation(name)
    job = _jobs_of(operation, account_of(request)).filter(pk=number, state=Job.DONE).first()
    layouts = operation.command.layouts if operation.command is not None else {}
    if job is None or layout not in layouts or operation.result is None or isinstance(operation.result, File):
        raise Http404(_("There is no such file."))
    return _in_layout(operation, layout, read_result(operation.result, job.result))


def _in_layout(operation: Operation, layout: str, result: Any) -> HttpResponse:
    assert operation.command is not None
    text = operation.command.layouts[layout](result)
    _title, ending, media_type = _layout_file(layout)
    response = HttpResponse(f"{text}\n", content_type=f"{media_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{operation.name}.{ending}"'
    return response


def _layout_file(layout: str) -> tuple[str, str, str]:
    return _LAYOUT_FILES.get(layout, (layout, "txt", "text/plain"))


def _after(request: HttpRequest, operation: Operation, done: str) -> HttpResponse:
    """Show that it was done, on the page that requested it."""
    if done:
        messages.success(request, done)
    return redirect(_next(request) or reverse("operation", args=[operation.name]))


def _next(request: HttpRequest) -> str:
    """Return the path of the page that requested it, if it is on this server."""
    following = request.POST.get("next", "")
    same = url_has_allowed_host_and_scheme(following, request.get_host(), request.is_secure())
    return following if same and following.startswith("/") else ""


def _operation(name: str) -> Operation:
    try:
        operation = operation_named(name)
    except UnknownName:
        operation = None
    if operation is None or not _has_page(operation):
        raise Http404(_("There is no operation “%(name)s” here.") % {"name": name})
    return operation


urlpatterns = [
    path("", operation_list, name="operation_list"),
    path("<slug:name>/", operation_page, name="operation"),
    path("<slug:name>/file", operation_file, name="operation_file"),
    path("<slug:name>/tables/<slug:layout>", operation_tables, name="operation_tables"),
    path("<slug:name>/results/<int:number>/<slug:layout>", operation_layout, name="operation_layout"),
]
