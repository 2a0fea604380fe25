"""The addresses of the REST API: every operation that declares how it is served has one."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.urls import URLPattern, path

from annotation.common.files import upload_fields
from annotation.common.operations import File, Operation, Rest, all_operations

#: How the name of every route of this API begins.
ROUTE_PREFIX = "v1_"


@dataclass(frozen=True)
class Endpoint:
    """An operation as the API serves it."""

    operation: Operation
    rest: Rest

    @property
    def name(self) -> str:
        """How the OpenAPI document calls it."""
        return self.operation.name

    @property
    def route(self) -> str:
        """What names its address, which several methods may share."""
        return self.rest.route or self.operation.name

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.rest.method == "GET"

    @property
    def takes_key(self) -> bool:
        """Whether it is done once under a key. A file is not: no answer with a file is kept."""
        return self.rest.method == "POST" and not self.media_type

    @property
    def status(self) -> int:
        """The status of its answer."""
        if self.operation.as_job:
            return 202
        if self.rest.creates:
            return 201
        return 204 if self.operation.result is None else 200

    @property
    def media_type(self) -> str:
        """The type of the file that it answers with, "" where it answers with none."""
        return self.operation.result.media_type if isinstance(self.operation.result, File) else ""

    @cached_property
    def uploads(self) -> tuple[str, ...]:
        """The fields of a form that carry files."""
        return tuple(field.name for field in upload_fields(self.operation))

    @cached_property
    def takes_json(self) -> bool:
        """Whether it may be sent as JSON: all files can be left out."""
        return not any(field.required for field in upload_fields(self.operation))


def endpoints() -> list[Endpoint]:
    """Every operation that the API serves, by name."""
    return [
        Endpoint(operation, operation.rest) for operation in all_operations() if operation.rest is not None
    ]


def operation_patterns(
    view: Callable[[str, Mapping[str, Endpoint]], Any], served: Iterable[Endpoint]
) -> list[URLPattern]:
    """The addresses of what is served; `view` makes what answers at a route, by method."""
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
