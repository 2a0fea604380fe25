"""Operations of the API that are made from declarations: the request is read from address, query and body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.utils import translation

from annotation import jobs
from annotation.api.problems import FieldProblem, Problem
from annotation.api.rest import operations as rest_operations
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import Anywhere, missing, no_role
from annotation.api.rest.operations import ApiCall, OperationAnswer, serves
from annotation.common.operations import (
    Forbidden,
    Invalid,
    Listing,
    Operation,
    OperationContext,
    all_operations,
    invalid,
    plain_result,
    read_request,
    request_fields,
)


def serve_operations() -> list[str]:
    """Let the API serve every operation that declares how, and is not served yet; the names under which
    `operation_patterns` makes addresses of them all."""
    known = {one.about.declared for one in rest_operations.served()}
    offered = [one for one in all_operations() if one.rest is not None]
    for operation in offered:
        if operation not in known:
            serves(_about(operation))(_handler(operation))
    return sorted({_home(operation) for operation in offered})


def _home(operation: Operation) -> str:
    return f"{operation.app}.operations"


def _about(operation: Operation) -> rest_operations.ApiRoute:
    rest = operation.rest
    assert rest is not None
    return rest_operations.ApiRoute(
        route=rest.route or operation.name,
        method=rest.method,
        path=rest.path,
        tag=rest.tag,
        opens=Anywhere(operation.permission.roles, corpora=operation.permission.corpora),
        declared=operation,
        listed=operation.listed,
        job=operation.as_job,
        own_transactions=rest.own_transactions,
        refuses=operation.errors,
        example=rest.example,
    )


def _handler(operation: Operation) -> Callable[..., OperationAnswer]:
    """What does the operation for a call; the address holds some fields of its request."""

    def handler(call: ApiCall, **place: Any) -> OperationAnswer:
        try:
            operation.admit_named(place, call.account)
            for name in sorted(place.keys() & call.data.keys()):
                known = ", ".join(field for field in request_fields(operation.request) if field not in place)
                raise _problem(invalid(name, "extra_forbidden", known=known), {})
            request = read_request(operation.request, {**call.data, **place})
            row = operation.admit(request, call.account)
            if operation.as_job:
                return jobs.enqueue_operation(operation, request, row=row, actor=call.account)
            result = operation.run(request, OperationContext(call.account))
        except Invalid as error:
            raise _problem(error, place) from error
        except Forbidden as error:
            raise no_role(*error.roles) from error
        return _page(call, result) if isinstance(result, Listing) else plain_result(result)

    handler.__name__ = operation.name
    with translation.override("en"):
        handler.__doc__ = f"{operation.title}.\n\n{operation.request.__doc__}"
    handler.__module__ = _home(operation)
    return handler


def _page(call: ApiCall, listing: Listing) -> CursorPage:
    return call.rows.of_rows(listing.rows, listing.by, lambda row: plain_result(listing.result(row)))


def query_values(operation: Operation, query: Mapping[str, list[str]]) -> dict[str, Any]:
    """What a query says of a request's fields, as JSON has it; the others as they are, to be refused."""
    fields = request_fields(operation.request)
    found: dict[str, Any] = {}
    for name, texts in query.items():
        values = [fields[name].read_text(text) for text in texts] if name in fields else texts
        found[name] = values if name in fields and fields[name].many else values[-1]
    return found


def _problem(error: Invalid, place: Mapping[str, Any]) -> Problem:
    """What is wrong with a request; a name in the address that nothing has is an address of nothing."""
    for one in error.errors:
        if one.field in place:
            return missing(one.detail)
    errors = [FieldProblem(one.field, one.code, one.detail) for one in error.errors]
    first = errors[0]
    return Problem(
        HTTPStatus.BAD_REQUEST,
        "bad_request",
        f"{first.field}: {first.detail}" if first.field else first.detail,
        field=first.field,
        errors=errors,
    )
