"""A request accepts exactly what its JSON schema allows: the OpenAPI document has that schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from pydantic import ValidationError

from annotation.api.requests import WorkerCall
from annotation.api.urls import urlpatterns
from annotation.common.operations import Invalid, all_operations, json_schema, operation_named, requests

#: A value of every JSON type, and common texts for others.
VALUES: list[Any] = [None, True, 0, 3, -1, 10**9, 1.5, "", "off", "3", "a b", "x" * 3000]
VALUES += [[], [1], ["x"], [None], [[True]], {}, {"x": 1}, {"x": "y"}]
FORMATS = jsonschema.Draft202012Validator.FORMAT_CHECKER


def every_request() -> Iterator[Any]:
    for operation in all_operations():
        yield pytest.param(operation.request, id=operation.name)
    for urlpattern in urlpatterns:
        calls: dict[str, WorkerCall] = urlpattern.callback.calls  # type: ignore[attr-defined]
        for call in calls.values():
            yield pytest.param(call.asks(), id=call.name)


def errors_of(kind: Any, data: dict[str, Any]) -> set[tuple[Any, str]]:
    """Return the refused fields, each with the code of its error."""
    try:
        requests._model(kind).model_validate_json(json.dumps(data))
    except ValidationError as error:
        return {(item["loc"][0], item["type"]) for item in error.errors()}
    return set()


@pytest.mark.parametrize("kind", [*every_request()])
def test_a_request_takes_what_its_schema_allows(kind: Any, db: None) -> None:
    schema = json_schema(kind)
    assert schema["additionalProperties"] is False
    parts = {"components": {"schemas": schema.get("$defs", {})}}
    assert {name for name, code in errors_of(kind, {}) if code == "missing"} == set(
        schema.get("required", ())
    )
    assert ("nothing", "extra_forbidden") in errors_of(kind, {"nothing": 1})
    for name, of in schema["properties"].items():
        if requests.request_fields(kind)[name].upload is not None:
            continue
        allowed = jsonschema.Draft202012Validator({**of, **parts}, format_checker=FORMATS)
        for value in VALUES:
            taken = name not in {field for field, _code in errors_of(kind, {name: value})}
            assert taken == allowed.is_valid(value), f"{name}: {value!r}"


def lists_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the schemas of lists in a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "array":
            yield schema
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from lists_in(part)


@pytest.mark.parametrize("kind", [*every_request()])
def test_every_list_of_a_request_has_a_longest_length_and_one_more_is_refused_first(
    kind: Any, db: None
) -> None:
    schema = json_schema(kind)
    assert all("maxItems" in part for part in lists_in(schema))
    for name, of in schema["properties"].items():
        for most in {part["maxItems"] for part in (of, *of.get("anyOf", ())) if part.get("type") == "array"}:
            with pytest.raises(Invalid) as error:
                requests.read_request(kind, {name: [{"none": 1}] * (most + 1)})
            assert [(one.field, one.code) for one in error.value.errors] == [(name, "too_long")]


def test_a_list_within_a_list_has_a_longest_length_too_and_errors_are_named_up_to_a_number() -> None:
    kind = operation_named("add_control_items").request
    with pytest.raises(Invalid) as error:
        requests.read_request(kind, {"items": [{}, {"mentions": ["x"] * 1000}]})
    assert [(one.field, one.code) for one in error.value.errors] == [("items.1.mentions", "too_long")]
    with pytest.raises(Invalid) as error:
        requests.read_request(kind, {"items": [{"nothing": 1}] * 500})
    assert len(error.value.errors) == requests.MOST_ERRORS
