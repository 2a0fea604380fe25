"""What stands before the live server: shut, it lets nothing new in and waits for what is inside."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Any

from django.db import connections
from pytest_django.live_server_helper import LiveServer

#: So many threads of a process may each keep their connection to the database for their next request. A
#: browser keeps its connections to the server, each of which has a thread there; PostgreSQL takes 60.
_MOST_THREADS_WITH_CONNECTIONS = 30

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Gate:
    """A WSGI application before another.

    A page that is left sends its last words on its way out. They may reach the server when the test is over
    already, and find the database closed or, worse, being emptied: one of the two then dies of a deadlock. So
    there must be an instant from which nothing new begins; looking at what has begun is not enough.
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
        """Let requests in again."""
        with self._changed:
            self._is_open = True

    def shut(self, patience: float) -> list[str]:
        """Let nothing more in; what is still being answered after so many seconds (nothing, as a rule)."""
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
    """A response on its way; its sender closes it, be the browser still there or not."""

    def __init__(self, parts: Iterable[bytes], ended: Callable[[], None]) -> None:
        self._parts = parts
        self._ended = ended

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)

    def close(self) -> None:
        try:
            if hasattr(self._parts, "close"):
                self._parts.close()  # the request ends with it, for Django
        finally:
            self._ended()


def before(server: LiveServer) -> Gate:
    """The gate before the server, put there where there is none yet."""
    application = server.thread.httpd.get_app()
    if isinstance(application, Gate):
        return application
    assert application is not None, "the live server serves"
    gate = Gate(application)
    server.thread.httpd.set_app(gate)
    return gate
