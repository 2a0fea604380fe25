"""Bodies are strict: required fields are required, unknown ones are refused, and no value is converted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from django.db import transaction

from annotation.api.rest.endpoints import endpoints
from annotation.models import Account
from tests.api.conftest import Program
from tests.api.v1.conftest import Caller, names_for_admins
from tests.api.v1.test_document import operations
from tests.api.v1.test_operations import openapi
from tests.api.v1.valid import VALID, ValidCall
from tests.api.v1.worker_calls import VALID_OF_WORKERS
from tests.sizes import sized

pytestmark = pytest.mark.django_db
#: Values of wrong types that no field accepts: `archived: "off"`, `depth: "3"`, `licence: 0`.
OTHERS: tuple[Any, ...] = ("off", "3", 0)


def wrong_bodies(document: dict[str, Any], schema: dict[str, Any], body: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name of an invalid field, and a body with it. In a thorough run each field has every value of
    a wrong type; that requests refuse all of them is tested in `operations/test_documented`."""
    for name in schema.get("required", ()):
        yield name, {field: value for field, value in body.items() if field != name}
    yield "nothing", {**body, "nothing": 1}
    for name, of in schema["properties"].items():
        allowed = jsonschema.Draft202012Validator({**of, "components": document["components"]})
        wrong = [value for value in OTHERS if not allowed.is_valid(value)]
        for value in wrong[: sized(1, len(OTHERS))]:
            yield name, {**body, name: value}


def test_a_wrong_body_is_refused_and_its_field_named(researcher: Caller, admin: Caller) -> None:
    """Dearer than a test may be: one world, and some calls of each operation in it."""
    document, handlers, taken = openapi(), {endpoint.name: endpoint for endpoint in endpoints()}, []
    worker = Program(Account.objects.get(username="annotator"))
    for path, _method, operation in operations(document):
        name = operation["operationId"]
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            continue
        schema = content["schema"]
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        assert schema["additionalProperties"] is False, name
        with transaction.atomic():
            call: ValidCall = {**VALID, **VALID_OF_WORKERS}[name]()
            for field, body in wrong_bodies(document, schema, call.body or {}):
                if name in handlers:
                    caller = admin if name in names_for_admins() else researcher
                    answer = caller.perform(handlers[name], replace(call, body=body, files={}))
                    status, text = answer.status_code, answer.content
                else:
                    status, message = worker.post(path.format(**call.path_values), body)
                    text = json.dumps(message).encode()
                named = status == 400 and {endpoint["field"] for endpoint in json.loads(text)["errors"]}
                if not named or field not in named:
                    taken.append((name, field, body.get(field), status, text[:200]))
            transaction.set_rollback(True)
    assert taken == []
