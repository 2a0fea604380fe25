"""Workers' calls run one after the other in one thread; nothing else waits for them."""

from __future__ import annotations

import io
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from config import single_thread_worker
from config.single_thread_worker import (
    CHANGE_STEP_SECONDS,
    LARGEST_CALL,
    STEP_SECONDS,
    SingleThreadWorker,
)

ANSWER = "/api/assignments/7/answer"


def call(application: SingleThreadWorker, path: str, body: bytes = b"{}", **more: Any) -> tuple[str, bytes]:
    message: list[str] = []
    environ = {"PATH_INFO": path, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body), **more}
    answer = application(environ, lambda status, headers, *rest: message.append(status))
    return message[0], b"".join(answer)


class Answer:
    """An application's result, which its reader closes."""

    def __init__(self, *parts: bytes) -> None:
        self.parts, self.closed_by = parts, ""

    def __iter__(self) -> Any:
        return iter(self.parts)

    def close(self) -> None:
        self.closed_by = threading.current_thread().name


def test_calls_have_one_thread_and_one_goes_after_the_other():
    inside, threads, together = [0], set(), []

    def application(environ: dict[str, Any], start: Any) -> list[bytes]:
        inside[0] += 1
        together.append(inside[0])
        threads.add(threading.current_thread().name)
        threading.Event().wait(0.005)
        inside[0] -= 1
        start("200 OK", [])
        return [environ["wsgi.input"].read()]

    worker = SingleThreadWorker(application)
    with ThreadPoolExecutor(8) as crowd:
        message = list(crowd.map(lambda number: call(worker, ANSWER, b"%d" % number), range(40)))
    assert message == [("200 OK", b"%d" % number) for number in range(40)]
    assert (len(threads), set(together)) == (1, {1})
    assert threading.current_thread().name not in threads


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/tasks/quay/coref_link/", {}),
        ("/pictures/abc", {}),
        (ANSWER, {"CONTENT_LENGTH": str(LARGEST_CALL + 1)}),
        (ANSWER, {"CONTENT_LENGTH": "many"}),
    ],
)
def test_pages_pictures_and_what_is_no_call_stay_in_the_servers_threads(path: str, more: dict[str, Any]):
    def application(environ: dict[str, Any], start: Any) -> list[bytes]:
        start("200 OK", [])
        return [threading.current_thread().name.encode()]

    assert call(SingleThreadWorker(application), path, **more) == (
        "200 OK",
        threading.current_thread().name.encode(),
    )


@pytest.mark.parametrize(
    ("path", "method", "step"),
    [
        (ANSWER, "POST", STEP_SECONDS),
        ("/api/tasks/next", "POST", STEP_SECONDS),
        ("/tasks/quay/coref_link/", "GET", STEP_SECONDS),
        ("/tasks/quay/coref_link/answers/7/", "GET", STEP_SECONDS),
        ("/tasks/quay/coref_link/answers/7/", "POST", CHANGE_STEP_SECONDS),
        ("/api/assignments/7/change", "POST", CHANGE_STEP_SECONDS),
    ],
)
def test_how_long_an_answer_took_is_told_in_steps_only(
    path: str, method: str, step: float, monkeypatch: pytest.MonkeyPatch
):
    clock = [5.0]
    waited: list[float] = []

    def application(environ: dict[str, Any], start: Any) -> list[bytes]:
        clock[0] += took
        start("200 OK", [])
        return [b""]

    monkeypatch.setattr(single_thread_worker.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(single_thread_worker.time, "sleep", waited.append)
    worker = SingleThreadWorker(application)
    for took in (0.003, 0.011, 0.034):
        call(worker, path, REQUEST_METHOD=method)
        steps = (took + waited[-1]) / step
        assert steps == pytest.approx(round(steps)) and 0 <= waited[-1] <= step
    call(worker, "/pictures/abc")
    assert len(waited) == 3


def test_a_client_that_dawdles_holds_nobody_up():
    event = threading.Event()

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            assert event.wait(60)
            return super().read(size)

    def application(environ: dict[str, Any], start: Any) -> list[bytes]:
        start("200 OK", [])
        return [environ["wsgi.input"].read()]

    worker = SingleThreadWorker(application)
    with ThreadPoolExecutor(1) as slow:
        late = slow.submit(call, worker, ANSWER, b"late", **{"wsgi.input": Slow(b"late")})
        assert call(worker, ANSWER, b"at once") == ("200 OK", b"at once")
        event.set()
        assert late.result(60) == ("200 OK", b"late")


def test_an_answer_is_closed_where_it_was_made_and_an_error_reaches_the_server():
    answers = [Answer(b"a", b"b")]

    def application(environ: dict[str, Any], start: Any) -> Answer:
        start("200 OK", [])
        return answers.pop()

    worker, answer = SingleThreadWorker(application), answers[0]
    assert call(worker, ANSWER) == ("200 OK", b"ab")
    assert answer.closed_by.startswith("worker-calls")
    with pytest.raises(IndexError):
        call(worker, ANSWER)
