"""Every operation on every surface: the same fields, defaults, choices, bounds, help and errors."""

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
#: What a request needs beside its required fields, and which of their values it takes.
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


def of_every_field() -> Iterator[Any]:
    for operation in EVERY:
        for one in request_fields(operation.request).values():
            yield pytest.param(operation, one, id=f"{operation.name}-{one.name}")


def shown_by_api(operation: Operation) -> dict[str, dict[str, Any]]:
    """Field -> its schema in the OpenAPI document, with "required" among it."""
    assert operation.rest is not None
    address = "/api/v1/" + re.sub(r"<\w+:(\w+)>", r"{\1}", operation.rest.path)
    call = openapi()["paths"][address][operation.rest.method.lower()]
    assert call["operationId"] == operation.name
    found = {
        one["name"]: {"description": one.get("description"), **one["schema"], "required": one["required"]}
        for one in call.get("parameters", [])
        if one["in"] == "path" or one["name"] not in ("cursor", "limit", "Idempotency-Key")
        for one in [{"required": False, **one}]
    }
    content = call.get("requestBody", {}).get("content", {})
    body = (content.get("multipart/form-data") or content.get("application/json", {})).get("schema", {})
    assert not body or body["additionalProperties"] is False
    for name, schema in body.get("properties", {}).items():
        found[name] = {**schema, "required": name in body.get("required", ())}
    return found


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without the null that it allows, and what a list holds in its place."""
    kinds = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    return kinds[0]["items"] | {"list": True} if kinds[0].get("type") == "array" else kinds[0]


@pytest.mark.parametrize(("operation", "one"), [*of_every_field()])
def test_a_field_is_the_same_everywhere(operation: Operation, one: RequestField, db: None) -> None:
    with translation.override("en"):
        words = [str(part).rstrip(".") for part in (one.label, one.help) if part]
    rule = one.rule.element if one.many and one.rule.element is not None else one.rule
    if operation.rest is not None:
        schema = shown_by_api(operation)[one.name]
        assert schema["required"] == one.required
        in_address = f":{one.name}>" in operation.rest.path
        if not in_address:
            assert schema["description"] == ". ".join(words) + "."
            if not one.required:
                assert schema["default"] == to_jsonable_python(one.default)
            held = plain(schema)
            assert tuple(held.get("enum", ())) == rule.choices
            if not one.many:
                assert (held.get("minimum"), held.get("maximum")) == (rule.least, rule.most)
    if operation.command is not None:
        parser = OperationCommand(operation).create_parser("manage.py", operation.name)
        actions = {action.dest: action for action in parser._actions}
        action = actions[one.name]
        assert isinstance(action, argparse.Action) and action.help is not None
        assert action.required == one.required
        assert action.help.replace("%%", "%").startswith(". ".join(words))
        if one.default not in (None, "", (), {}) and one.rule.sort != "boolean":
            assert f"(default: {one.default})" in action.help
        assert all(choice in action.help for choice in rule.choices)
    if operation.page is not None:
        field = RequestForm(operation, Account()).fields[one.name]
        assert (field.label, field.help_text, field.initial) == (one.label, one.help, one.default)
        choices = (
            [value for value, _ in getattr(field.widget, "choices", []) if value] if rule.choices else []
        )
        assert tuple(choices) == rule.choices


def sample(one: RequestField) -> Any:
    """A value that a field may hold, though nothing may have that name."""
    rule = one.rule.element if one.many and one.rule.element is not None else one.rule
    texts = {"email": "x@example.org", "address": "https://example.org/"}
    kinds = {"boolean": True, "array": ["x"], "integer": 1, "number": 1.0}
    value: Any = rule.choices[0] if rule.choices else kinds.get(rule.sort, texts.get(one.name, "x"))
    return [value] if one.many else value


def wrong_values(one: RequestField) -> Iterator[tuple[str, Any]]:
    """Texts that a person may type, and what a program would send, which the field cannot hold."""
    rule = one.rule.element if one.many and one.rule.element is not None else one.rule
    if rule.sort in ("integer", "number"):
        yield "many", "many"
        if rule.least is not None:
            yield f"{rule.least - 1}", type(rule.least)(rule.least - 1)
        if rule.most is not None:
            yield f"{rule.most + 1}", type(rule.most)(rule.most + 1)
    elif rule.choices:
        yield "nonsense", "nonsense"
    elif one.named is not None:
        yield "no-such-thing" if one.named.kind else "a b", "no-such-thing" if one.named.kind else "a b"


def other_values(operation: Operation) -> dict[str, Any]:
    """What an operation needs, of the right kind; names name nothing."""
    fields = request_fields(operation.request)
    values = {name: sample(one) for name, one in fields.items() if one.required}
    try:
        read_request(operation.request, values | ALSO.get(operation.name, {}))
    except Invalid as error:  # of two, one is needed
        values |= {each.field: sample(fields[each.field]) for each in error.errors if each.code == "missing"}
    return values | ALSO.get(operation.name, {})


def of_wrong_values() -> Iterator[Any]:
    for operation in EVERY:
        for one in request_fields(operation.request).values():
            for text, value in wrong_values(one):
                yield pytest.param(operation, one, text, value, id=f"{operation.name}-{one.name}-{text}")


@pytest.mark.parametrize(("operation", "one", "text", "value"), [*of_wrong_values()])
def test_a_wrong_value_is_the_same_error_everywhere(
    operation: Operation, one: RequestField, text: str, value: Any, admin_client: Client
) -> None:
    others = {name: value for name, value in other_values(operation).items() if name != one.name}
    data = {**others, one.name: [value] if one.many else value}
    session = admin_client.session
    mark_confirmed(session)
    session.save()
    account = Account.objects.get(username="admin")
    try:
        operation.admit(read_request(operation.request, data), account)
        pytest.fail("it was taken")
    except Invalid as error:
        expected = [(each.field, each.code, each.detail) for each in error.errors]
    mine = [each for each in expected if each[0].partition(".")[0] == one.name]
    assert mine, expected
    if operation.rest is not None and f":{one.name}>" not in operation.rest.path:
        place = re.sub(r"<\w+:(\w+)>", lambda found: str(data.pop(found[1], "x")), operation.rest.path)
        if files := [each.name for each in upload_fields(operation)]:
            parts = {name: SimpleUploadedFile("x", b"x") if name in files else data[name] for name in data}
            answer = admin_client.post(f"/api/v1/{place}", parts)
        elif operation.rest.method == "GET":
            answer = admin_client.get(f"/api/v1/{place}", data)
        else:
            answer = admin_client.generic(
                operation.rest.method, f"/api/v1/{place}", json.dumps(data), "application/json"
            )
        if answer.status_code != 404:  # else what the address names is missing first
            told = [(each["field"], each["code"], each["detail"]) for each in answer.json()["errors"]]
            assert [each for each in told if each[0].partition(".")[0] == one.name] == mine
        data = {**others, one.name: [value] if one.many else value}
    if operation.page is not None:
        sent = QueryDict(mutable=True)
        for name, held in data.items():
            sent.setlist(name, [str(each) for each in held] if isinstance(held, list) else [str(held)])
        sent.setlist(one.name, [text])
        received = {each.name: "x" for each in upload_fields(operation) if each.name in data}
        form = RequestForm(operation, account, sent, fields_shown=data.keys(), files=received)
        assert not form.is_valid()
        assert form.errors.as_data()[one.name][0].code == mine[0][1]
        assert form.errors[one.name][0] == mine[0][2]
    if operation.command is not None:
        options = {name: held for name, held in data.items() if name not in operation.command.positional}
        if isinstance(operation.result, File) or operation.command.out:
            options["out"] = "x"
        options[one.name] = [text] if one.many else text
        before = [data[name] for name in operation.command.positional if name in data and name != one.name]
        positional = [str(each) for held in before for each in (held if isinstance(held, list) else [held])]
        flags = [
            f"--{name.replace('_', '-')}"
            for name, held in data.items()
            if held is True and options.pop(name, False)
        ]
        if one.name in operation.command.positional:
            positional.insert(operation.command.positional.index(one.name), text)
            options.pop(one.name)
        with pytest.raises(CommandError) as refused:
            call_command(operation.name, *positional, *flags, **options)
        option = one.name if one.name in operation.command.positional else f"--{one.name.replace('_', '-')}"
        line = next(line for line in str(refused.value).splitlines() if line.startswith(option))
        assert mine[0][2] in line or mine[0][1].startswith("unknown")


def test_every_code_of_an_error_is_worded() -> None:
    codes: set[str] = set()
    for operation in EVERY:
        for one in request_fields(operation.request).values():
            wrong: Any
            for wrong in ("x y", -1, 10**9, 0.5, None, [], ["x y"], {}, True, "x" * 10**4):
                try:
                    read_request(operation.request, {one.name: wrong, "nothing": 1})
                except Invalid as error:
                    codes |= {each.code for each in error.errors}
    assert codes and codes <= set(WORDING), codes - set(WORDING)
