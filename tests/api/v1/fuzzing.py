"""Calls that schemathesis generates from the OpenAPI document, mixed with valid ones, and their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core import NOT_SET
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from annotation.api.rest.endpoints import endpoints
from annotation.models import Account
from tests.api.v1.conftest import Caller
from tests.api.v1.valid import VALID
from tests.api.v1.worker_calls import VALID_OF_WORKERS, worker_headers

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
#: How a generated call is sent: unchanged; with an address of existing objects; or made valid.
AS_DRAWN, AT_VALID_PATH, VALID_CALL = "as drawn", "at a place", "valid"
STRANGER = "stranger"
SEED = 1


@dataclass
class Fuzzed:
    """The results of one role's calls."""

    role: str
    statuses: Counter[int] = field(default_factory=Counter)
    succeeded: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    failures: dict[str, str] = field(default_factory=dict)

    def note(self, name: str, status: int) -> None:
        self.calls += 1
        self.statuses[status] += 1
        self.succeeded[name] += 200 <= status < 300

    @property
    def successes(self) -> int:
        return sum(self.succeeded.values())

    @property
    def failures_text(self) -> str:
        return "\n".join(f"# {name}: {text}" for name, text in self.failures.items())

    def __str__(self) -> str:
        text = ", ".join(f"{status}: {number}" for status, number in sorted(self.statuses.items()))
        return f"{self.role}: {self.calls} calls, {self.successes} succeeded ({text})"


@dataclass
class Drawn:
    """An operation and its generated cases: the same for each role, as generating costs more than calling."""

    operation: Any
    strategy: Any
    cases: list[Any] = field(default_factory=list)
    turns: int = 0

    def first(self, number: int) -> list[Any]:
        """Return copies of the first `number` cases, since sending changes a case; generate missing ones."""
        while len(self.cases) < number:
            # For an operation with only a few possible calls, each is generated once per turn.
            seeded(SEED + self.turns)(
                _settings(number - len(self.cases))(given(self.strategy)(self._collect))
            )()
            self.turns += 1
        return [_copied(case) for case in self.cases[:number]]

    def _collect(self, case: Any) -> None:
        self.cases.append(case)


def fuzz(document: dict[str, Any], drawn: Iterable[Drawn], role: str, calls_each: int) -> Fuzzed:
    """Call every operation `calls_each` times as a role; undo the changes of each call.

    A failure is a response that the document does not declare, or an accepted call that the document does not
    allow.
    """
    fuzzed = Fuzzed(role)
    handlers = {box.name: box for box in endpoints()}
    works = role == "annotator"
    caller = None if works or role == STRANGER else Caller(Account.objects.get(username=role))
    headers = {"Authorization": f"Bearer {caller.secret}"} if caller else worker_headers(role)
    valid = {**(VALID if caller else {}), **(VALID_OF_WORKERS if works else {})}

    def send(name: str, case: Any, way: str) -> None:
        if way == VALID_CALL and caller is not None:
            answer = caller.perform(handlers[name], valid[name]())
            for _chunk in answer.streaming_content if answer.streaming else ():
                pass
            fuzzed.note(name, answer.status_code)
            return
        if way != AS_DRAWN:
            call = valid[name]()
            case.path_parameters = call.path_values
            if way == VALID_CALL:
                case.body = NOT_SET if call.body is None else call.body
        # With another address schemathesis can no longer decide whether a case is invalid.
        checks = [*CHECKS, negative_data_rejection] if way == AS_DRAWN else CHECKS
        answer = case.call_and_validate(headers=headers, checks=checks)
        if answer.status_code < 300 and isinstance(case.body, dict) and case.media_type == "application/json":
            body_schema(document, case.operation).validate(case.body)
        fuzzed.note(name, answer.status_code)

    # Not the server's own: that handles workers in a separate thread, which cannot see the test's rows.
    application = WSGIHandler()
    for box in drawn:
        box.operation.app = application
        name = box.operation.definition.raw["operationId"]
        # About a third of a role's calls should succeed, and some operations are not allowed for it.
        ways = [AS_DRAWN, AT_VALID_PATH, *[VALID_CALL] * 3] if name in valid else [AS_DRAWN]
        rng = Random(f"{SEED} {name}")
        chosen = [rng.choice(ways) for _ in range(calls_each)]
        # A valid call of the API needs no case, and generating one costs more than the call.
        cases = iter(box.first(sum(way != VALID_CALL or caller is None for way in chosen)))
        for way in chosen:
            case = None if way == VALID_CALL and caller is not None else next(cases)
            with keep_connections(), transaction.atomic():
                try:
                    send(name, case, way)
                except (FailureGroup, jsonschema.ValidationError) as error:
                    parts = error.exceptions if isinstance(error, FailureGroup) else [error]
                    fuzzed.failures.setdefault(name, "\n".join(map(str, parts)))
                transaction.set_rollback(True)
    return fuzzed


def body_schema(document: dict[str, Any], operation: Any) -> Any:
    """Return the document's schema of a JSON body."""
    schema = operation.definition.raw["requestBody"]["content"]["application/json"]["schema"]
    return jsonschema.Draft202012Validator({**schema, "components": document["components"]})


def operations(document: dict[str, Any]) -> list[Drawn]:
    """Return all operations of a document, in schemathesis's form, each with the strategy that generates its
    cases: half of them are invalid."""
    read = schemathesis.openapi.from_dict(document).get_all_operations()
    names = [item.ok() for item in read]  # type: ignore[union-attr]
    return [
        Drawn(operation, st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in GenerationMode)))
        for operation in names
    ]


def _copied(case: Any) -> Any:
    """Return a copy of a case."""
    names = "path_parameters headers cookies query body media_type multipart_content_types"
    ours = {part: deepcopy(getattr(case, part)) for part in names.split()}
    return type(case)(case.operation, case.method, case.path, meta=deepcopy(case._meta), **ours)


@contextmanager
def keep_connections() -> Iterator[None]:
    """Prevent the server from closing connections between requests: the test's connection has the world's
    rows."""
    for item in (request_started, request_finished):
        item.disconnect(close_old_connections)
    try:
        yield
    finally:
        for item in (request_started, request_finished):
            item.connect(close_old_connections)


def _settings(calls_each: int) -> Any:
    return settings(
        max_examples=calls_each,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
