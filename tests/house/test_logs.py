"""Lines of JSON that name their request."""

from __future__ import annotations

import json
import logging
import sys

import pytest
from django.test import Client

from config.logs import JsonFormatter, request_id, without_secrets


def line(record: logging.LogRecord) -> dict[str, object]:
    text = JsonFormatter().format(record)
    assert "\n" not in text
    return json.loads(text)


def record(message: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord(
        "annotation.datasets.importing", logging.WARNING, "file", 1, message, arguments, None
    )


def test_a_record_is_one_line_whatever_it_says() -> None:
    message = line(record("two\nlines of %s", "Bjørn"))
    assert message["message"] == "two\nlines of Bjørn"
    assert (message["level"], message["logger"]) == ("warning", "annotation.datasets.importing")
    assert "request" not in message and "task" not in message


def test_a_record_names_the_request_it_belongs_to() -> None:
    token = request_id.set("abc")
    try:
        assert line(record("x"))["request"] == "abc"
    finally:
        request_id.reset(token)


def test_an_exception_comes_along_with_its_traceback() -> None:
    failed = record("x")
    try:
        raise KeyError("lost")
    except KeyError:
        failed.exc_info = sys.exc_info()
    assert "KeyError: 'lost'" in str(line(failed)["exception"])


def test_fields_of_a_record_are_added_but_replace_nothing() -> None:
    reported = record("x")
    reported.fields = {"milliseconds": 3, "level": "forged"}
    assert (line(reported)["milliseconds"], line(reported)["level"]) == (3, "warning")


@pytest.mark.parametrize("provided", ["proxy-1234", "0af7651916cd43dd8448eb211c80319c"])
def test_the_id_that_a_proxy_gave_is_kept(client: Client, provided: str) -> None:
    assert client.get("/healthz", headers={"X-Request-ID": provided})["X-Request-ID"] == provided


@pytest.mark.parametrize("provided", ["", "a b", '"},{"level":"error', "x" * 65, "é"])
def test_an_id_that_is_none_is_replaced(client: Client, provided: str) -> None:
    name = client.get("/healthz", headers={"X-Request-ID": provided})["X-Request-ID"]
    assert name != provided and name.isalnum() and len(name) == 32


def test_the_way_back_from_another_server_is_logged_without_its_code() -> None:
    reported = without_secrets('"GET /sign-in/elsewhere/oidc-12ab/back/?code=SESAME&state=s HTTP/1.1" 302')
    assert "SESAME" not in reported and "/sign-in/elsewhere/oidc-12ab/back/" in reported
