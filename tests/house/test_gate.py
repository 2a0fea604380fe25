"""The gate before the live server of the browser's tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.gate import Gate


def ask(gate: Gate) -> tuple[str, list[bytes]]:
    """Return status and body of a request, sent and closed as by a server."""
    message: list[str] = []
    requested = {"REQUEST_METHOD": "POST", "PATH_INFO": "/api/x"}
    answer = gate(requested, lambda status, headers: message.append(status))
    try:
        return message[0], list(answer)
    finally:
        if hasattr(answer, "close"):
            answer.close()


def test_shut_it_waits_for_what_is_inside_and_lets_nothing_new_in():
    entered, release, order = threading.Event(), threading.Event(), []

    class Body:
        def __iter__(self) -> Iterator[bytes]:
            entered.set()
            release.wait(30)
            yield b"answered"

        def close(self) -> None:
            order.append("closed")

    def application(environ: dict[str, Any], start_response: Any) -> Body:
        start_response("200 OK", [])
        return Body()

    gate = Gate(application)
    answers: list[tuple[str, list[bytes]]] = []
    slow = threading.Thread(target=lambda: answers.append(ask(gate)))
    slow.start()
    assert entered.wait(30)
    assert gate.shut(0.01) == ["POST /api/x"]
    assert ask(gate) == ("503 Test over", [])
    release.set()
    assert gate.shut(30) == [] and order == ["closed"]
    slow.join(30)
    assert answers == [("200 OK", [b"answered"])]
    gate.open()
    assert ask(gate) == ("200 OK", [b"answered"])


def test_what_fails_is_out_again():
    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        raise ValueError("broken")

    gate = Gate(application)
    with pytest.raises(ValueError, match="broken"):
        gate({"REQUEST_METHOD": "GET", "PATH_INFO": "/"}, lambda *_: None)
    assert gate.shut(0.01) == []
