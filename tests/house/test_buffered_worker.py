"""The worker process of `serve`, inside the tests: its loop runs in a thread, with a test application."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest
from gunicorn.config import Config
from gunicorn.glogging import Logger

from config import buffered_worker, request_limits
from config.buffered_worker import BufferedWorker
from config.fair_accept import CONNECTION_COUNTS
from config.outgoing import Outgoing
from config.request_limits import CALLER, RequestLimits, RequestSlot

THREADS = 2


def echo(environ: dict[str, Any], start: Any) -> list[bytes]:
    """Respond with the request's line, and the number of bytes of the body."""
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    text = f"{environ['PATH_INFO']} {len(body)}".encode()
    start("200 OK", [("Content-Length", str(len(text)))])
    return [text]


@contextlib.contextmanager
def served(application: Callable[..., Any] = echo) -> Iterator[int]:
    """Run a worker of `application`; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener, working(listener, application):
        yield listener.getsockname()[1]


@contextlib.contextmanager
def working(
    listener: socket.socket, application: Callable[..., Any] = echo, *, number: int = 1
) -> Iterator[BufferedWorker]:
    """Run worker `number` of a listening socket."""
    config = Config()
    for name, value in {"threads": THREADS, "graceful_timeout": 5}.items():
        config.set(name, value)
    worker = BufferedWorker(number, os.getppid(), [listener], None, 30, config, Logger(config))
    worker.wsgi = application
    worker.tpool, worker.poller = worker.get_thread_pool(), buffered_worker.selectors.DefaultSelector()
    worker.method_queue.init()
    loop = threading.Thread(target=worker.run)
    loop.start()
    try:
        yield worker
    finally:
        worker.handle_exit(None, None)
        loop.join(30)
        assert not loop.is_alive() and not worker.connections
        worker.poller.close()
        worker.method_queue.close()


@pytest.fixture(autouse=True)
def accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """No session belongs to an account yet."""
    monkeypatch.setattr(request_limits, "_accounts", type(request_limits._accounts)())


def connected(port: int, sent: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=30)
    client.sendall(sent)
    return client


def all_of(client: socket.socket) -> bytes:
    """Return everything until the server closes the connection."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(2**16):
            parts.append(part)
    return b"".join(parts)


def ask(port: int, path: str = "/healthz", body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(connection):
        connection.request("POST" if body is not None else "GET", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def known_senders(monkeypatch: pytest.MonkeyPatch) -> list[HttpRequest]:
    """Only the session "known" belongs to an account; return the requests for which that was checked."""
    lookups: list[HttpRequest] = []

    def sender_of(request: HttpRequest) -> int | None:
        lookups.append(request)
        return 7 if request.headers.get("Cookie") == "session=known" else None

    monkeypatch.setattr(buffered_worker, "sender_of", sender_of)
    return lookups


def test_requests_come_in_any_pieces_and_one_after_the_other_on_a_connection() -> None:
    request = b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
    with served() as port, connected(port) as client:
        for at in range(0, len(request), 7):
            client.sendall(request[at : at + 7])
            time.sleep(0.001)
        assert client.recv(2**16).endswith(b"\r\n\r\n/a 5")
        # Two at once; the second says that it is the last.
        client.sendall(request + b"GET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answers = all_of(client)
        assert b"/a 5HTTP/1.1 200" in answers and answers.endswith(b"/b 0")


def test_clients_that_send_nothing_or_too_slowly_hold_up_nobody() -> None:
    head = b"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n"
    with served() as port, contextlib.ExitStack() as stack:
        for sent in (b"", b"GET /slow HTT", head, head + b"\r\n12345") * 10:
            stack.enter_context(connected(port, sent))
        began = time.monotonic()
        for _ in range(20):
            assert ask(port) == (200, b"/healthz 0")
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nX-",
        b"POST / HTTP/1.1\r\nContent-Length: 90\r\n\r\n",
        b"POST / HTTP/1.1\r\nCookie: session=known\r\nContent-Length: 900000\r\n\r\n",
    ],
)
def test_a_client_that_drips_meets_a_deadline(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    known_senders(monkeypatch)
    monkeypatch.setattr(buffered_worker, "HEAD_SECONDS", 0.6)
    monkeypatch.setattr(buffered_worker, "SLOWEST", 2**24)
    monkeypatch.setattr(buffered_worker, "_LOOK", 0.05)
    with served() as port, connected(port, sent) as client:
        began = time.monotonic()
        client.settimeout(0.05)
        answer = b""
        while not answer:
            assert time.monotonic() - began < 10, "it may drip for ever"
            client.sendall(b"a")
            with contextlib.suppress(TimeoutError):
                answer = client.recv(2**16)
        assert 0.5 < time.monotonic() - began
        assert (
            answer.startswith(b"HTTP/1.1 408 ")
            and json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "too_slow"
        )


@pytest.mark.parametrize("kind", ["bytes", "file"])
def test_a_client_that_reads_nothing_is_cut_off_and_holds_no_thread_for_longer(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffered_worker, "HEAD_SECONDS", 0.6)
    monkeypatch.setattr(buffered_worker, "_LOOK", 0.05)
    size = 40 * 2**20
    (tmp_path / "large").write_bytes(bytes(size))
    ended = threading.Event()

    def large(environ: dict[str, Any], start: Any) -> Any:
        if environ["PATH_INFO"] != "/large":
            return echo(environ, start)
        start("200 OK", [("Content-Length", str(size))])
        if kind == "file":
            ended.set()
            return environ["wsgi.file_wrapper"]((tmp_path / "large").open("rb"))
        return stream()

    def stream() -> Iterator[bytes]:
        try:
            for _ in range(40):
                yield bytes(2**20)
        finally:
            ended.set()

    request = b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n"
    with served(large) as port, contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connected(port, request)) for _ in range(THREADS)]
        assert ask(port, "/other") == (200, b"/other 0")
        assert ended.wait(10)
        time.sleep(1.5)
        assert all(len(all_of(client)) < size for client in idle)
        # A client that reads gets all of it.
        status, body = ask(port, "/large")
        assert (status, len(body)) == (200, size)


def test_a_body_without_a_length_is_refused_before_it_is_received() -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    with served() as port, connected(port, head) as client:
        answer = client.recv(2**16)
    assert answer.startswith(b"HTTP/1.1 411 ") and b"application/problem+json" in answer


def test_of_a_body_that_is_too_large_for_its_sender_nothing_is_received(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lookups = known_senders(monkeypatch)
    body = bytes(2**20)
    with served() as port:
        assert ask(port, "/", body, Cookie="session=known") == (200, b"/ 1048576")
        head = f"POST / HTTP/1.1\r\nCookie: session=any\r\nContent-Length: {2**20}\r\n"
        head += "Expect: 100-continue\r\n\r\n"
        with connected(port, head.encode()) as client:
            answer = all_of(client)
        # The application got an empty body: it refuses because of the head.
        assert b"100 Continue" not in answer and answer.endswith(b"/ 0") and b"Connection: close" in answer
        assert len(lookups) == 2
        # A client that waits for it is told to continue.
        with connected(port, head.replace("any", "known").encode()) as client:
            assert client.recv(2**16) == b"HTTP/1.1 100 Continue\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 9000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 20_000, 431),
        (b"GET /\x01 HTTP/1.1\r\n\r\n", 400),
        (b"\x16\x03\x01\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
    ],
)
def test_what_is_no_request_is_refused_as_a_problem(sent: bytes, status: int) -> None:
    with served() as port:
        with connected(port, sent) as client:
            head, _separator, body = all_of(client).partition(b"\r\n\r\n")
        assert head.startswith(f"HTTP/1.1 {status} ".encode())
        assert b"Content-Type: application/problem+json" in head and json.loads(body)["status"] == status
        assert ask(port)[0] == 200


def test_an_application_that_fails_is_a_problem_and_a_response_that_breaks_off_ends_the_connection() -> None:
    def application(environ: dict[str, Any], start: Any) -> Iterator[bytes]:
        if environ["PATH_INFO"] == "/late":
            start("200 OK", [("Content-Length", "200000")])
            yield bytes(100_000)
        raise ValueError("a fault")

    with served(application) as port:
        assert ask(port)[0] == 500
        with connected(port, b"GET /late HTTP/1.1\r\nHost: a\r\n\r\n") as client:
            assert len(all_of(client)) < 200_000


def test_what_is_under_way_is_answered_after_the_signal_to_stop() -> None:
    began, go_on = threading.Event(), threading.Event()

    def application(environ: dict[str, Any], start: Any) -> list[bytes]:
        began.set()
        assert go_on.wait(30)
        return echo(environ, start)

    with contextlib.ExitStack() as stack:
        server = served(application)
        port = server.__enter__()
        client = stack.enter_context(connected(port, b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n"))
        assert began.wait(30)
        threading.Timer(0.3, go_on.set).start()
        server.__exit__(None, None, None)
        assert all_of(client).endswith(b"/a 0")


def test_connections_of_one_account_wait_for_each_other_and_nobody_waits_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    push = Outgoing.push

    def slow_push(self: Outgoing) -> None:
        push(self)
        time.sleep(0.1)

    inside: dict[str, int] = {}
    most: dict[str, int] = {}
    go_on = threading.Event()
    lock = threading.Lock()

    def application(environ: dict[str, Any], start: Any) -> list[bytes]:
        who = environ["HTTP_COOKIE"].removeprefix("session=")[0]
        environ[CALLER]["account"] = who
        with lock:
            inside[who] = inside.get(who, 0) + 1
            most[who] = max(most.get(who, 0), inside[who])
        if environ["PATH_INFO"] == "/tasks/wait":
            go_on.wait(30)
        with lock:
            inside[who] -= 1
        return echo(environ, start)

    with served(application) as port, contextlib.ExitStack() as stack:
        # Two sessions of one account, known as soon as their first response is sent.
        with monkeypatch.context() as patch:
            patch.setattr(Outgoing, "push", slow_push)
            for session in ("a1", "a2"):
                ask(port, "/tasks/", Cookie=f"session={session}")
        for number in range(16):
            request = f"GET /tasks/wait HTTP/1.1\r\nCookie: session=a{1 + number % 2}\r\n\r\n"
            stack.enter_context(connected(port, request.encode()))
        for _ in range(10):
            assert ask(port, "/tasks/", Cookie="session=b1")[0] == 200
        assert (most, inside["a"]) == ({"a": 1, "b": 1}, 1)
        go_on.set()


def test_workers_of_one_socket_share_its_connections_and_none_waits_long_for_one_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Threads of one process wait for each other, unlike processes.
    monkeypatch.setattr(buffered_worker, "OTHERS_FIRST", 0.5)
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        workers = [stack.enter_context(working(listener, number=number)) for number in (1, 2, 3)]
        port = listener.getsockname()[1]
        for _ in range(12):
            stack.enter_context(connected(port))
        give_up = time.monotonic() + 30
        while sum(len(worker.connections) for worker in workers) < 12 and time.monotonic() < give_up:
            time.sleep(0.01)
        # Not exactly four each where a thread did not run for half a second.
        assert min(len(worker.connections) for worker in workers) >= 3
        # One that accepts nothing, with the fewest.
        CONNECTION_COUNTS.store(4, 0)
        stack.callback(CONNECTION_COUNTS.store, 4, -1)
        assert ask(port)[0] == 200


def test_who_computed_more_than_their_pace_waits_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(request_limits.time, "monotonic", lambda: now[0])
    order, started = RequestLimits(), []
    busy, other = RequestSlot("1", "page", "s"), RequestSlot("2", "page", "t")

    def take(slot: RequestSlot) -> None:
        order.take(slot, lambda: started.append(slot.caller))

    take(busy)
    order.charge(busy, request_limits.SAVED + 60)
    order.give_back(busy)
    take(busy)
    take(other)
    assert started == ["1", "2"] and 0 < order.seconds_until_next(9.0) <= request_limits.LONGEST_DEBT
    now[0] += request_limits.LONGEST_DEBT
    for start in order.due():
        start()
    assert started == ["1", "2", "1"]
    # The quota recovers with time.
    now[0] += 60
    take(busy)
    assert started == ["1", "2", "1", "1"]


def test_who_is_not_known_yet_does_not_wait_for_all_connections_of_another_who_is_not() -> None:
    order, started = RequestLimits(), []
    flooding, other = (RequestSlot(f"with {name}", "task", name, "from a") for name in ("s", "t"))
    nobody = RequestSlot("from a", "page", "", "from a")
    for slot in [*[flooding] * 16, other, *[nobody] * 8]:
        order.take(slot, lambda slot=slot: started.append(slot.caller))  # type: ignore[misc]
    # One of each session, and the other places of the address.
    assert started == ["with s", "with t", *["from a"] * 4]
    order.give_back(other)
    request_limits.remember_account(other.credential, 7)
    assert started[6:] == ["from a"]
    assert request_limits.slot_of(_Request("t"), ("a", 1)) == RequestSlot("7", "page", "t")


class _Request:
    path = "/"

    def __init__(self, session: str) -> None:
        self.headers = [("COOKIE", f"session={session}")]
