"""The addresses of the REST API: one for every operation that declares them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.urls import URLPattern, path

from annotation.common.files import upload_fields
from annotation.common.operations import File, Operation, Rest, all_operations

#: Prefix of the name of every route of this API.
ROUTE_PREFIX = "v1_"


@dataclass(frozen=True)
class Endpoint:
    """An operation as served by the API; computed once from its declaration.

    `name` is its name in the OpenAPI document, and `route` that of its address, which several methods may
    share. It `reads` if it changes nothing, and `takes_key` if an idempotency key is supported: not for
    responses with a file, which are not stored. `status` is that of its response, `media_type` the type of
    its file, "" without one.
    """

    operation: Operation
    rest: Rest
    name: str
    route: str
    reads: bool
    takes_key: bool
    status: int
    media_type: str

    @cached_property
    def uploads(self) -> tuple[str, ...]:
        """The form fields with files; computed on first use, since the fields of all requests take a
        quarter of a server's start."""
        return tuple(field.name for field in upload_fields(self.operation))

    @cached_property
    def takes_json(self) -> bool:
        """Whether all files are optional."""
        return not any(field.required for field in upload_fields(self.operation))


def endpoints() -> list[Endpoint]:
    """Return every operation that the API serves, by name."""
    return [_endpoint(operation, operation.rest) for operation in all_operations() if operation.rest]


def _endpoint(operation: Operation, rest: Rest) -> Endpoint:
    media_type = operation.result.media_type if isinstance(operation.result, File) else ""
    return Endpoint(
        operation=operation,
        rest=rest,
        name=operation.name,
        route=rest.route or operation.name,
        reads=rest.method == "GET",
        takes_key=rest.method == "POST" and not media_type,
        status=202 if operation.as_job else 201 if rest.creates else 200 if operation.result else 204,
        media_type=media_type,
    )


def operation_patterns(
    view: Callable[[str, Mapping[str, Endpoint]], Any], served: Iterable[Endpoint]
) -> list[URLPattern]:
    """Return the URL patterns; `view` returns the view of a route, by method."""
    routes: dict[str, dict[str, Endpoint]] = defaultdict(dict)
    for endpoint in served:
        methods = routes[endpoint.route]
        if endpoint.rest.method in methods:
            raise ValueError(f"two operations {endpoint.rest.method} {endpoint.route}")
        methods[endpoint.rest.method] = endpoint
    patterns = []
    for route, methods in routes.items():
        places = {endpoint.rest.path for endpoint in methods.values()}
        assert len(places) == 1, f"{route} has several addresses: {places}"
        patterns.append(path(places.pop(), view(route, methods), name=ROUTE_PREFIX + route))
    return patterns
