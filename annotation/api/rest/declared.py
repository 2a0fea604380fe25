"""Operations of the API that are made from declarations: the request is read from address, query and body."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils import translation

from annotation import jobs
from annotation.api.problems import Problem, invalid_problem
from annotation.api.rest import operations as rest_operations
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import missing, no_role
from annotation.api.rest.operations import ApiCall, Created, OperationAnswer, serves
from annotation.common.files import received_files, sent_file, upload_fields
from annotation.common.operations import (
    File,
    Forbidden,
    Invalid,
    Listing,
    NewFile,
    Operation,
    OperationContext,
    Pages,
    all_operations,
    invalid,
    plain_result,
    read_request,
    request_fields,
)
from annotation.workers.picture_addresses import signed_picture_address


def serve_operations() -> list[str]:
    """Let the API serve every operation that declares how, and is not served yet; the routes of these."""
    known = {one.about.declared for one in rest_operations.served()}
    added = [one for one in all_operations() if one.rest is not None and one not in known]
    for operation in added:
        serves(_about(operation))(_handler(operation))
    return [one.about.route for one in rest_operations.served() if one.about.declared in added]


def _about(operation: Operation) -> rest_operations.ApiRoute:
    rest = operation.rest
    assert rest is not None
    return rest_operations.ApiRoute(
        route=rest.route or operation.name,
        method=rest.method,
        path=rest.path,
        tag=rest.tag,
        declared=operation,
        listed=operation.listed,
        job=operation.as_job,
        makes=bool(rest.creates),
        file=operation.result.media_type if isinstance(operation.result, File) else "",
        uploads=tuple(one.name for one in upload_fields(operation)),
        json_too=not any(one.required for one in upload_fields(operation)),
        own_transactions=rest.own_transactions,
        confirms=operation.confirms,
        secret=operation.secret,
        refuses=operation.errors,
        stale=operation.stale,
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
            for one in upload_fields(operation):
                if one.name in call.data:
                    raise _problem(invalid(one.name, "file_expected"), {})
            with received_files(operation, call.request.FILES) as files:
                return _done(operation, call, {**call.data, **place, **files})
        except Invalid as error:
            raise _problem(error, place) from error
        except Forbidden as error:
            raise no_role(*error.roles) from error

    handler.__name__ = operation.name
    with translation.override("en"):
        handler.__doc__ = f"{operation.title}.\n\n{operation.request.__doc__}"
    handler.__module__ = operation.run.__module__
    return handler


def _done(operation: Operation, call: ApiCall, data: Mapping[str, Any]) -> OperationAnswer:
    """What an operation answers that was asked for with `data`."""
    request = read_request(operation.request, data)
    row = operation.admit(request, call.account)
    if operation.as_job:
        return jobs.enqueue_operation(operation, request, row=row, actor=call.account)
    picture = partial(signed_picture_address, call.request)
    result = operation.run(request, OperationContext(call.account, picture=picture))
    match result:
        case None:
            return None
        case Listing():
            return _page(call, result)
        case Pages():
            results, mark = result.page(call.rows.mark, call.rows.limit)
            return call.rows.page(map(plain_result, results), mark)
        case NewFile():
            return sent_file(operation, result)
    if operation.rest is not None and operation.rest.creates:
        address = operation.rest.creates.format(**asdict(result))
        return Created(plain_result(result), f"{reverse('v1_openapi').removesuffix('openapi.json')}{address}")
    return plain_result(result)


def _page(call: ApiCall, listing: Listing) -> CursorPage:
    rows, by = listing.rows, listing.by
    if isinstance(rows, QuerySet) and isinstance(by, str):
        return call.rows.of_rows(rows, by, lambda row: plain_result(listing.result(row)))
    assert callable(by) and not isinstance(rows, QuerySet)
    return call.rows.of_values(rows, by, lambda row: plain_result(listing.result(row)))


def address_values(request: type[Any], query: Mapping[str, list[str]]) -> dict[str, Any]:
    """What a query or a form says of a request's fields, as JSON has it; the others as they are, to be
    refused."""
    fields = {name: one for name, one in request_fields(request).items() if one.upload is None}
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
    return invalid_problem(error)
