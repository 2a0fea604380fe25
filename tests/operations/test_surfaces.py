"""Every operation in every interface: the same fields, defaults, choices, bounds, help and errors."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.http import QueryDict
from django.test import Client
from django.utils import translation
from pydantic_core import to_jsonable_python

from annotation.common.files import upload_fields
from annotation.common.operations import (
    File,
    Operation,
    RequestField,
    all_operations,
    read_request,
    request_fields,
)
from annotation.common.operations.errors import WORDING, Invalid
from annotation.management.operations import OperationCommand
from annotation.models import Account
from annotation.web.common.request_forms import RequestForm
from annotation.workers.sessions import mark_confirmed
from tests.api.v1.test_operations import openapi

EVERY = list(all_operations())
#: What a request needs in addition to its required fields, and which of their values are valid.
ALSO: dict[str, dict[str, Any]] = {
    "agreement": {"file": "x"},
    "freeze_qrels": {"protocol": "first caption"},
    "import_judgments": {"format": "table"},
    "begin_upload": {"files": [{"path": "a.zip", "size": 1}]},
    "send_upload_part": {"sha256": 64 * "0"},
    "add_control_items": {
        "items": [{"kind": "coref_link", "purpose": "control", "image": "x", "mentions": ["0:0-2"]}]
    },
}


def schemas_of_fields(operation: Operation) -> dict[str, dict[str, Any]]:
    """Return field -> its schema in the OpenAPI document, including "required"."""
    assert operation.rest is not None
    address = "/api/v1/" + re.sub(r"<\w+:(\w+)>", r"{\1}", operation.rest.path)
    call = openapi()["paths"][address][operation.rest.method.lower()]
    assert call["operationId"] == operation.name
    result = {
        item["name"]: {"description": item.get("description"), **item["schema"], "required": item["required"]}
        for item in call.get("parameters", [])
        if item["in"] == "path" or item["name"] not in ("cursor", "limit", "Idempotency-Key")
        for item in [{"required": False, **item}]
    }
    content = call.get("requestBody", {}).get("content", {})
    body = (content.get("multipart/form-data") or content.get("application/json", {})).get("schema", {})
    assert not body or body["additionalProperties"] is False
    for name, schema in body.get("properties", {}).items():
        result[name] = {**schema, "required": name in body.get("required", ())}
    return result


def simplified(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without null, and a list's item schema in its place."""
    kinds = [item for item in schema.get("anyOf", [schema]) if item.get("type") != "null"]
    return kinds[0]["items"] | {"list": True} if kinds[0].get("type") == "array" else kinds[0]


@pytest.mark.parametrize(
    "operation", [o for o in EVERY if request_fields(o.request)], ids=lambda operation: operation.name
)
def test_a_field_is_the_same_everywhere(operation: Operation, db: None) -> None:
    schemas = schemas_of_fields(operation) if operation.rest is not None else {}
    actions: dict[str, argparse.Action] = {}
    if operation.command is not None:
        parser = OperationCommand(operation).create_parser("manage.py", operation.name)
        actions = {action.dest: action for action in parser._actions}
    form = RequestForm(operation, Account()) if operation.page is not None else None
    for name, request_field in request_fields(operation.request).items():
        with translation.override("en"):
            words = [str(part).rstrip(".") for part in (request_field.label, request_field.help) if part]
        rule = request_field.rule
        if request_field.many and rule.element is not None:
            rule = rule.element
        if operation.rest is not None:
            schema = schemas[name]
            assert schema["required"] == request_field.required, name
            if f":{name}>" not in operation.rest.path:
                assert schema["description"] == ". ".join(words) + ".", name
                if not request_field.required:
                    assert schema["default"] == to_jsonable_python(request_field.default), name
                held = simplified(schema)
                assert tuple(held.get("enum", ())) == rule.choices, name
                if not request_field.many:
                    assert (held.get("minimum"), held.get("maximum")) == (rule.least, rule.most), name
        if operation.command is not None:
            action = actions[name]
            assert action.help is not None, name
            assert action.required == request_field.required, name
            assert action.help.replace("%%", "%").startswith(". ".join(words)), name
            if request_field.default not in (None, "", (), {}) and request_field.rule.sort != "boolean":
                assert f"(default: {request_field.default})" in action.help, name
            assert all(choice in action.help for choice in rule.choices), name
        if form is not None:
            field = form.fields[name]
            assert (field.label, field.help_text, field.initial) == (
                request_field.label,
                request_field.help,
                request_field.default,
            ), name
            choices = (
                [value for value, _ in getattr(field.widget, "choices", []) if value] if rule.choices else []
            )
            assert tuple(choices) == rule.choices, name


def sample(request_field: RequestField) -> Any:
    """Return a valid value of a field, even if no object has that name."""
    rule = request_field.rule
    if request_field.many and rule.element is not None:
        rule = rule.element
    texts = {"email": "x@example.org", "address": "https://example.org/"}
    kinds = {"boolean": True, "array": ["x"], "integer": 1, "number": 1.0}
    value: Any = rule.choices[0] if rule.choices else kinds.get(rule.sort, texts.get(request_field.name, "x"))
    return [value] if request_field.many else value


def wrong_values(request_field: RequestField) -> Iterator[tuple[str, Any]]:
    """Yield invalid values of a field, as text and as JSON."""
    rule = request_field.rule
    if request_field.many and rule.element is not None:
        rule = rule.element
    if rule.sort in ("integer", "number"):
        yield "many", "many"
        if rule.least is not None:
            yield f"{rule.least - 1}", type(rule.least)(rule.least - 1)
        if rule.most is not None:
            yield f"{rule.most + 1}", type(rule.most)(rule.most + 1)
    elif rule.choices:
        yield "nonsense", "nonsense"
    elif request_field.named is not None:
        yield (
            "no-such-thing" if request_field.named.kind else "a b",
            "no-such-thing" if request_field.named.kind else "a b",
        )


def other_values(operation: Operation) -> dict[str, Any]:
    """Return values of the right types for an operation; names refer to nothing."""
    fields = request_fields(operation.request)
    values = {name: sample(row) for name, row in fields.items() if row.required}
    try:
        read_request(operation.request, values | ALSO.get(operation.name, {}))
    except Invalid as error:  # one of two is required
        values |= {item.field: sample(fields[item.field]) for item in error.errors if item.code == "missing"}
    return values | ALSO.get(operation.name, {})


def takes_wrong_values(operation: Operation) -> bool:
    return any(any(wrong_values(item)) for item in request_fields(operation.request).values())


@pytest.mark.parametrize(
    "operation", [*filter(takes_wrong_values, EVERY)], ids=lambda operation: operation.name
)
def test_a_wrong_value_is_the_same_error_everywhere(operation: Operation, admin_client: Client) -> None:
    session = admin_client.session
    mark_confirmed(session)
    session.save()
    for request_field in request_fields(operation.request).values():
        for text, value in wrong_values(request_field):
            print(f"{request_field.name}: {text!r}")
            _is_the_same_error_everywhere(operation, request_field, text, value, admin_client)


def _is_the_same_error_everywhere(
    operation: Operation, request_field: RequestField, text: str, value: Any, admin_client: Client
) -> None:
    others = {name: value for name, value in other_values(operation).items() if name != request_field.name}
    data = {**others, request_field.name: [value] if request_field.many else value}
    account = Account.objects.get(username="admin")
    try:
        operation.authorize(read_request(operation.request, data), account)
        pytest.fail("it was taken")
    except Invalid as error:
        expected = [(item.field, item.code, item.detail) for item in error.errors]
    mine = [item for item in expected if item[0].partition(".")[0] == request_field.name]
    assert mine, expected
    if operation.rest is not None and f":{request_field.name}>" not in operation.rest.path:
        index = re.sub(r"<\w+:(\w+)>", lambda result: str(data.pop(result[1], "x")), operation.rest.path)
        if files := [item.name for item in upload_fields(operation)]:
            parts = {name: SimpleUploadedFile("x", b"x") if name in files else data[name] for name in data}
            answer = admin_client.post(f"/api/v1/{index}", parts)
        elif operation.rest.method == "GET":
            answer = admin_client.get(f"/api/v1/{index}", data)
        else:
            answer = admin_client.generic(
                operation.rest.method, f"/api/v1/{index}", json.dumps(data), "application/json"
            )
        if answer.status_code != 404:  # otherwise the object in the address is missing
            body = [(item["field"], item["code"], item["detail"]) for item in answer.json()["errors"]]
            assert [item for item in body if item[0].partition(".")[0] == request_field.name] == mine
        data = {**others, request_field.name: [value] if request_field.many else value}
    if operation.page is not None:
        query_dict = QueryDict(mutable=True)
        for name, held in data.items():
            query_dict.setlist(name, [str(item) for item in held] if isinstance(held, list) else [str(held)])
        query_dict.setlist(request_field.name, [text])
        received = {item.name: "x" for item in upload_fields(operation) if item.name in data}
        form = RequestForm(operation, account, query_dict, only_fields=data.keys(), files=received)
        assert not form.is_valid()
        assert form.errors.as_data()[request_field.name][0].code == mine[0][1]
        assert form.errors[request_field.name][0] == mine[0][2]
    if operation.command is not None:
        options = {name: held for name, held in data.items() if name not in operation.positional}
        if isinstance(operation.result, File) or operation.command.out:
            options["out"] = "x"
        options[request_field.name] = [text] if request_field.many else text
        before = [data[name] for name in operation.positional if name in data and name != request_field.name]
        positional = [str(item) for held in before for item in (held if isinstance(held, list) else [held])]
        flags = [
            f"--{name.replace('_', '-')}"
            for name, held in data.items()
            if held is True and options.pop(name, False)
        ]
        if request_field.name in operation.positional:
            positional.insert(operation.positional.index(request_field.name), text)
            options.pop(request_field.name)
        with pytest.raises(CommandError) as caught:
            call_command(operation.name, *positional, *flags, **options)
        option = (
            request_field.name
            if request_field.name in operation.positional
            else f"--{request_field.name.replace('_', '-')}"
        )
        line = next(line for line in str(caught.value).splitlines() if line.startswith(option))
        assert mine[0][2] in line or mine[0][1].startswith("unknown")


def test_every_code_of_an_error_is_worded() -> None:
    codes: set[str] = set()
    for operation in EVERY:
        for request_field in request_fields(operation.request).values():
            entry: Any
            for entry in ("x y", -1, 10**9, 0.5, None, [], ["x y"], {}, True, "x" * 10**4):
                try:
                    read_request(operation.request, {request_field.name: entry, "nothing": 1})
                except Invalid as error:
                    codes |= {item.code for item in error.errors}
    assert codes and codes <= set(WORDING), codes - set(WORDING)
