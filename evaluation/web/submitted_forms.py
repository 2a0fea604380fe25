"""Forms of operations as pages of evaluation have them: filled by an address, sent, and what came of it."""

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

#: The field of the button that says which of a page's forms was sent.
ACT = "act"


@dataclass(frozen=True)
class SubmittedForm:
    """The form of an operation, and the `data` of the page; `result` is what was done, or its job. `error`
    says why it could not be done."""

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
    """The form of an operation, as its address fills it; what a POST sends of it is done, or enqueued.

    Of a page with several forms, the field `ACT` of the button names the `act` whose form is sent, and the
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
    """Let a field of a form offer these rows of a table alone, by their names; `none`: or none of them."""
    names = [(row.name, row.name) for row in rows]
    widget: Any = form.fields[name].widget
    widget.choices = [("", ""), *names] if none and not form.known[name].many else names


def _initial(operation: Operation, query: QueryDict) -> dict[str, Sequence[str] | str]:
    """What an address says of the fields of a form."""
    return {
        name: text_parameters(query, name) if field.many else text_parameter(query, name)
        for name, field in request_fields(operation.request).items()
        if name in query
    }
