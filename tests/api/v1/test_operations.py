"""Every operation of the REST API succeeds as documented in OpenAPI, independently of the others."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from django.db import transaction

from annotation.api import document
from annotation.api.rest.endpoints import endpoints
from tests.api.v1.conftest import Caller, names_for_admins
from tests.api.v1.recording import record
from tests.api.v1.valid import VALID

pytestmark = pytest.mark.django_db


def openapi() -> dict[str, Any]:
    body: dict[str, Any] = json.loads(document._document())
    return body


def schema_of(answers: dict[str, Any], name: str, status: int, kind: str) -> dict[str, Any]:
    """Return the document's schema of a response; fail if there is none."""
    for methods in answers["paths"].values():
        for method in methods.values():
            if method["operationId"] == name:
                message = method["responses"].get(str(status))
                assert message is not None, f"{name} answered {status}, which the document does not tell"
                content = message.get("content")
                if content is None:
                    return {}
                assert kind in content, f"{name} answered {kind}; the document tells {list(content)}"
                schema: dict[str, Any] = content[kind].get("schema", {})
                return {**schema, "components": answers["components"]}
    raise AssertionError(f"the document has no operation {name}")


def test_every_operation_has_a_valid_call() -> None:
    assert {endpoint.name for endpoint in endpoints()} == set(VALID)


def test_every_operation_succeeds_as_the_document_says(researcher: Caller, admin: Caller) -> None:
    """Dearer than a test may be: one world, and a call of each operation in it."""
    message = openapi()
    failed = {}
    for endpoint in endpoints():
        name = endpoint.name
        with transaction.atomic():
            caller = admin if name in names_for_admins() else researcher
            answer = caller.perform(endpoint, VALID[name]())
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
            transaction.set_rollback(True)
        if answer.status_code != endpoint.status:
            failed[name] = (answer.status_code, body[:300])
            continue
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        schema = schema_of(message, name, answer.status_code, kind)
        if kind == "application/json":
            jsonschema.validate(json.loads(body), schema, cls=jsonschema.Draft202012Validator)
            record(endpoint.operation.app, name, json.loads(body))
        assert answer["Cache-Control"] == "no-store"
        assert answer.status_code not in (201, 202) or answer["Location"].startswith("/api/v1/")
    assert failed == {}
