"""The OpenAPI document: the command that writes it, the calls of workers, and what it never requires."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import jsonschema  # type: ignore[import-untyped]
import jsonschema_rs
import pytest
from django.core.management import call_command
from django.test import Client
from drf_spectacular import validation

from annotation.api.urls import urlpatterns
from annotation.api.worker_shapes import WorkerTask
from annotation.protocol.questions import FLAGS, answers_to
from annotation.task_types.base import TASK_TYPES
from tests.api.conftest import Program
from tests.api.v1.recording import RECORDED
from tests.api.v1.test_operations import openapi, schema_of
from tests.queue.world import World

METHODS = ("get", "post", "patch", "delete")


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield path, method, methods[method]


@pytest.mark.slow  # the default run validates the served document
def test_the_command_writes_a_valid_document(tmp_path: Path) -> None:
    file = tmp_path / "openapi.yaml"
    call_command("spectacular", "--file", str(file), "--validate", "--fail-on-warn")
    assert "operationId: pause_campaign" in file.read_text()


def test_the_document_that_is_served_is_valid() -> None:
    """By the schema of OpenAPI that drf-spectacular brings; its own check of it takes eight seconds."""
    schema = Path(validation.__file__).with_name("openapi_3_1_schema.json")
    jsonschema_rs.validator_for(json.loads(schema.read_text())).validate(openapi())


def test_every_operation_is_called_once_and_explained() -> None:
    values = [operation for _path, _method, operation in operations(openapi())]
    names = [operation["operationId"] for operation in values]
    assert len(names) == len(set(names)) and len(names) > 80
    assert [item["operationId"] for item in values if not item["summary"] or not item["security"]] == []
    items = [item for item in values if "work" not in item["tags"]]
    assert [
        item["operationId"] for item in items if set(item["responses"]) < {"401", "403", "404", "429"}
    ] == []


def test_writes_take_a_key_and_lists_a_cursor() -> None:
    for path, method, operation in operations(openapi()):
        taken = {item["name"] for item in operation.get("parameters", [])}
        if path.startswith("/api/v1/"):
            sends_file = "text/csv" in operation["responses"].get("200", {}).get("content", {})
            assert ("Idempotency-Key" in taken) == (method == "post" and not sends_file), path
            assert ("cursor" in taken) == ("limit" in taken)


def test_every_body_and_the_main_answers_have_an_example_that_fits_its_schema() -> None:
    document, values = openapi(), set()
    for _path, _method, operation in operations(document):
        name, text = operation["operationId"], "work" not in operation["tags"]
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            assert content.get("examples") or not text, f"{name}: its body ({kind}) has no example"
            check_examples(document, name, content)
        for answer in operation["responses"].values():
            for content in answer.get("content", {}).values():
                if content.get("examples") and text:
                    values.add(name)
                    check_examples(document, name, content)
    assert values == RECORDED, "record them: python -m tests.api.v1.recording"


def check_examples(document: dict[str, Any], name: str, content: dict[str, Any]) -> None:
    schema = {**content["schema"], "components": document["components"]}
    for example in content.get("examples", {}).values():
        try:
            jsonschema.validate(example["value"], schema, cls=jsonschema.Draft202012Validator)
        except jsonschema.ValidationError as error:
            raise AssertionError(f"{name}: {error.message}") from error


def test_no_call_takes_a_place_on_the_server_or_an_address_to_fetch() -> None:
    document = openapi()
    forbidden = re.compile(r"(^|_)(path|url|uri|href|folder|directory|dir|host|callback)s?($|_)")
    values = set()
    for path, _method, operation in operations(document):
        names = {item["name"] for item in operation.get("parameters", [])}
        for content in operation.get("requestBody", {}).get("content", {}).values():
            schema = content["schema"]
            if "$ref" in schema:
                schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            names |= set(schema.get("properties", {}))
        values |= {(path, name) for name in names if forbidden.search(name)}
    assert values == set()


def test_tags_servers_the_licence_and_names_of_schemas_are_sound() -> None:
    document = openapi()
    used = {tag for _path, _method, operation in operations(document) for tag in operation["tags"]}
    assert used == {tag["name"] for tag in document["tags"] if tag["description"]}
    # Client generators make classes of these names, without their underscores.
    names = [name.replace("_", "").lower() for name in document["components"]["schemas"]]
    assert len(names) == len(set(names))
    assert document["servers"] and document["info"]["license"]["identifier"] == "BSD-3-Clause"


def test_tasks_and_answers_have_what_each_task_type_declares() -> None:
    document = openapi()
    schemas = document["components"]["schemas"]
    kinds = schemas["WorkerTask"]["discriminator"]["mapping"]
    assert set(kinds) == set(TASK_TYPES.keys())
    messages = [
        operation["requestBody"]["content"]["application/json"]["schema"]["properties"]
        for _path, _method, operation in operations(document)
        if operation["operationId"] in ("worker_answer", "worker_change")
    ]
    for kind, index in kinds.items():
        type, schema = TASK_TYPES.get(kind), schemas[index.rpartition("/")[2]]
        assert set(schema["required"]) == {*get_type_hints(WorkerTask), *type.task_fields}
        assert all(word in schema["description"] for word in answers_to(kind))
        assert all({"answer", "form", "kind", *type.answer_fields} <= set(fields) for fields in messages)
    assert all(item["flag"]["anyOf"][0]["enum"] == list(FLAGS) for item in messages)


def test_every_call_of_workers_is_in_the_document() -> None:
    values = {path for path, _method, _operation in operations(openapi()) if not path.startswith("/api/v1/")}
    places = [re.sub(r"<[a-z]+:([a-z]+)>", r"{\1}", str(urlpattern.pattern)) for urlpattern in urlpatterns]
    addresses = {f"/api/{location}" for location in places}
    assert values == addresses


@pytest.mark.django_db
def test_workers_are_answered_as_the_document_says(work: World, ann: Program) -> None:
    document = openapi()

    def held(name: str, answer: tuple[int, Any]) -> Any:
        status, text = answer
        kind = "application/json" if status == 200 else "application/problem+json"
        schema = schema_of(document, name, status, kind)
        jsonschema.validate(text, schema, cls=jsonschema.Draft202012Validator)
        return text

    kind = {"campaign": "quay", "kind": "coref_link"}
    held("worker_tasks", ann.get("/api/tasks"))
    task = held("worker_next", ann.post("/api/tasks/next", kind))
    held("worker_heartbeat", ann.post(f"/api/assignments/{task['id']}/heartbeat"))
    by_name = {"answer": "yes", "token": "t", "seconds": 1.5}
    held("worker_answer", ann.post(f"/api/assignments/{task['id']}/answer", by_name))
    held("worker_answer", ann.post(f"/api/assignments/{task['id']}/answer", by_name))
    held("worker_answer", ann.post(f"/api/assignments/{task['id']}/answer", {**by_name, "token": "u"}))
    held("worker_return", ann.post(f"/api/assignments/{task['id']}/return"))
    held("worker_heartbeat", ann.post(f"/api/assignments/{task['id']}/heartbeat"))
    held("worker_consent", ann.get("/api/campaigns/quay/consent"))
    held("worker_agree", ann.post("/api/campaigns/quay/consent", {"version": 99}))
    held("worker_test", ann.post("/api/tasks/test", kind))
    held("worker_spelling", ann.post("/api/spelling", {"text": "Two dgos run."}))
    held("worker_next", ann.post("/api/tasks/next", {"campaign": "nothing", "kind": "coref_link"}))


def test_the_document_and_its_pages_are_there_for_everybody_and_ask_no_other_server() -> None:
    response = Client().get("/api/v1/openapi.json")
    assert json.loads(response.content)["openapi"].startswith("3.1")
    page = Client().get("/api/v1/docs").content.decode()
    assert re.findall(r'(?:src|href)="(?!/static/)[^"]*"', page) == []
    assert "<script>" not in page and "style=" not in page
