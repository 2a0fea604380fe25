"""`serve` beside two hundred slow clients, and beside an account that sends on sixteen connections."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from studies import queue
from tests.house.product import REPOSITORY

pytestmark = pytest.mark.slow

TASKS, SECONDS = 3_000, 10.0
#: Clients that work, and those that disturb them.
WORKING, SLOW, CONNECTIONS = 32, 200, 16
HEAD = "Host: 127.0.0.1\r\nCookie: session={session}\r\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[queue.Store]:
    folder = tmp_path_factory.mktemp("many")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STATIC_ROOT", str(folder / "static"))  # which pages need in production
        collect = [sys.executable, str(REPOSITORY / "manage.py"), "collectstatic", "--no-input"]
        held = queue.Store("sqlite", folder, None)
        subprocess.run(collect, env=held.environment("collecting"), check=True, capture_output=True)
        yield held


def report(store: queue.Store, clients: int, disturbed: Callable[..., AbstractContextManager[Any]]) -> Any:
    """What clients at work measure, while `disturbed(port, session)`; the session is of another worker."""
    workers = store.filled(TASKS)
    session = json.loads(workers.read_text())["workers"][-1]["session"]
    command = ["studies.queue_load", "--workers", str(workers), "--clients", str(clients)]
    with store.copy(TASKS) as name, queue.serving(store, name, jobs=False) as (port, _process):
        with disturbed(port, session):
            time.sleep(2)
            done = subprocess.run(
                [sys.executable, "-m", *command, "--port", str(port), "--seconds", str(SECONDS)],
                cwd=REPOSITORY,
                capture_output=True,
                text=True,
                timeout=120,
            )
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    print({name: measured[name] for name in ("rate", "p50", "p95", "errors")})
    return measured


@contextlib.contextmanager
def nothing(_port: int, _session: str) -> Iterator[None]:
    yield


@contextlib.contextmanager
def slow_clients(port: int, _session: str) -> Iterator[None]:
    """Two hundred connections without an account that send a byte a second, or nothing, or read nothing; each
    that is ended comes again."""
    head = b"POST /sign-in/ HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n"
    static = next((REPOSITORY / "static").rglob("*.js")).relative_to(REPOSITORY / "static").as_posix()
    kinds = [
        b"",
        b"GET /sign-in/ HTT",
        head,
        head + b"\r\n",
        f"GET /static/{static} HTTP/1.1\r\n\r\n".encode(),
    ]
    over = threading.Event()

    def drip() -> None:
        clients: dict[int, socket.socket] = {}
        while not over.wait(1):
            for number in range(SLOW):
                with contextlib.suppress(OSError):
                    if number not in clients:
                        clients[number] = socket.create_connection(("127.0.0.1", port), timeout=0.2)
                        clients[number].sendall(kinds[number % len(kinds)])
                    elif number % len(kinds) not in (0, 4):
                        clients[number].sendall(b"a")
                    continue
                if number in clients:
                    clients.pop(number).close()
        for client in clients.values():
            client.close()

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def flood(path: str) -> Callable[..., AbstractContextManager[Any]]:
    """Sixteen connections of one account that ask for `path` again as soon as they have an answer."""

    @contextlib.contextmanager
    def flooding(port: int, session: str) -> Iterator[None]:
        request = f"GET {path} HTTP/1.1\r\n{HEAD.format(session=session)}\r\n".encode()
        over = threading.Event()

        def ask() -> None:
            while not over.is_set():
                with (
                    contextlib.suppress(OSError),
                    socket.create_connection(("127.0.0.1", port), 60) as client,
                ):
                    while not over.is_set():
                        client.sendall(request)
                        if not client.recv(2**16):
                            break
                        client.settimeout(0.005)
                        with contextlib.suppress(TimeoutError):
                            while client.recv(2**16):
                                pass
                        client.settimeout(60)

        threads = [threading.Thread(target=ask) for _ in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()

    return flooding


def test_two_hundred_slow_clients_slow_down_no_worker(store: queue.Store) -> None:
    alone, beside = (report(store, WORKING, by) for by in (nothing, slow_clients))
    assert not beside["errors"] and beside["rate"] > 0.8 * alone["rate"]


@pytest.mark.parametrize("path", ["/api/tasks", "/tasks/", "/tasks/earnings/"])
def test_sixteen_connections_of_one_account_slow_others_down_by_half_at_most(
    store: queue.Store, path: str
) -> None:
    alone, beside = (report(store, 4, by) for by in (nothing, flood(path)))
    assert not beside["errors"] and beside["p50"] < 1.5 * alone["p50"]
