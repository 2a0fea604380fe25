"""Forms of operations on evaluation's pages: filled from an address, submitted, and their results."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, QueryDict

from annotation import jobs
from annotation.common.files import received_files
from annotation.common.operations import Invalid, Operation, OperationContext, request_fields
from annotation.web.common.access import account_of
from annotation.web.common.request_forms import RequestForm, say_sheet
from evaluation.web.page_context import text_parameter, text_parameters

#: The field of the button that names the submitted form of a page with several.
ACT = "act"


@dataclass(frozen=True)
class SubmittedForm:
    """The form of an operation, and the `data` of the page; `result` is the operation's result, or its job.
    `error` says why it failed."""

    form: RequestForm
    data: QueryDict
    result: Any = None
    error: str = ""
    status: int = 200


def submitted_form(
    request: HttpRequest,
    operation: Operation,
    *,
    only_fields: Collection[str] | None = None,
    act: str = "",
) -> SubmittedForm:
    """Return the form of an operation, filled from its address; a POST runs or queues the operation.

    On a page with several forms, the button's field `ACT` names the `act` whose form is submitted, and the
    ids of its fields begin with it.
    """
    account, data = account_of(request), request.POST if request.method == "POST" else request.GET
    how: dict[str, Any] = {"only_fields": only_fields, "ids": f"{act}-%s" if act else "%s"}
    if request.method != "POST" or request.POST.get(ACT, "") != act:
        form = RequestForm(operation, account, initial=_initial(operation, request.GET), **how)
        return SubmittedForm(form, data)
    result, message, status = None, "", 400
    form = RequestForm(operation, account, data, **how)
    try:
        with received_files(operation, request.FILES) as files:
            form = RequestForm(operation, account, data, files=files, **how)
            if form.is_valid() and operation.as_job:
                result = jobs.enqueue_operation(operation, form.request, row=form.row, actor=account)
            elif form.is_valid():
                result = operation.run(form.request, OperationContext(account))
                say_sheet(request, result)
    except Invalid as error:
        form.refuse(error)
    except operation.errors as error:
        message, status = str(error), 409
    return SubmittedForm(form, data, result, message, status)


def set_row_choices(form: RequestForm, name: str, rows: Iterable[Any], *, none: bool = True) -> None:
    """Restrict a form field to these rows of a table, by name; with `none`, also to none of them."""
    names = [(row.name, row.name) for row in rows]
    widget: Any = form.fields[name].widget
    widget.choices = [("", ""), *names] if none and not form.known[name].many else names


def _initial(operation: Operation, query: QueryDict) -> dict[str, Sequence[str] | str]:
    """Return the initial values of a form's fields from the address."""
    return {
        name: text_parameters(query, name) if field.many else text_parameter(query, name)
        for name, field in request_fields(operation.request).items()
        if name in query
    }
