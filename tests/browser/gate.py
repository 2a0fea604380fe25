"""A gate before the live server: when closed, it admits no new requests and waits for the current ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Any

from django.db import connections
from pytest_django.live_server_helper import LiveServer

#: Number of threads of a process that may keep their database connection for their next request. A browser
#: keeps its connections to the server, each with a thread; PostgreSQL accepts 60.
_MOST_THREADS_WITH_CONNECTIONS = 30

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Gate:
    """A WSGI application that wraps another.

    A page sends its last requests when it is left. They may arrive after the test, when the database is
    closed or being emptied, which can cause a deadlock. So no request may begin after a certain moment;
    checking for current requests is not enough.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._changed = threading.Condition()
        self._is_open = True
        self._inside: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        text = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
        with self._changed:
            if not self._is_open:
                start_response(f"{HTTPStatus.SERVICE_UNAVAILABLE.value} Test over", [("Content-Length", "0")])
                return []
            self._inside.append(text)
        try:
            answer = self._application(environ, start_response)
        except BaseException:
            self._out(text)
            raise
        return _Answer(answer, lambda: self._out(text))

    def open(self) -> None:
        """Admit requests again."""
        with self._changed:
            self._is_open = True

    def shut(self, patience: float) -> list[str]:
        """Admit no more requests; return those still in progress after `patience` seconds (usually none)."""
        with self._changed:
            self._is_open = False
            self._changed.wait_for(lambda: not self._inside, patience)
            return list(self._inside)

    def _out(self, request: str) -> None:
        if threading.active_count() > _MOST_THREADS_WITH_CONNECTIONS:
            connections.close_all()  # those of this thread
        with self._changed:
            self._inside.remove(request)
            self._changed.notify_all()


class _Answer:
    """A response in progress; its sender closes it, whether the browser is still connected or not."""

    def __init__(self, parts: Iterable[bytes], ended: Callable[[], None]) -> None:
        self._parts = parts
        self._ended = ended

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)

    def close(self) -> None:
        try:
            if hasattr(self._parts, "close"):
                self._parts.close()  # this ends the request for Django
        finally:
            self._ended()


def before(server: LiveServer) -> Gate:
    """Return the gate before the server; add one if there is none."""
    application = server.thread.httpd.get_app()
    if isinstance(application, Gate):
        return application
    assert application is not None, "the live server serves"
    gate = Gate(application)
    server.thread.httpd.set_app(gate)
    return gate
