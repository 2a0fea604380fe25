"""The WSGI application around Django: UTF-8 only; workers' calls run in one thread of a process, all other
requests in the server's threads.

Threads that run Python at the same time switch the interpreter at every statement, and each has its own
connection, with its own plans and caches in the database: eight threads take twice the CPU time of one for
the same calls (docs/queue.md). Workers' calls are short, so they run one after the other; pages and pictures,
which may wait for a slow client, use the server's threads. For more concurrent calls, run more processes.

A response to a worker is sent at a multiple of a step after the call arrived. Selecting, grading and
following a control item takes other statements than a question, and a few milliseconds more or less: without
the step, a program with a clock could distinguish them. The thread of calls does not wait for it. The step
is twice the time of a call that returns a task, alone or with the response to an answer; it is longer for
changes of answers, since for a question the image is computed again.
"""

import io
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.utils.http import parse_header_parameters

#: Prefixes of workers' calls.
CALLS = ("/api/tasks", "/api/assignments/")
#: Prefixes of addresses that return tasks, by calls and by pages; and the step of their responses, in
#: seconds.
HANDED = (*CALLS, "/tasks/")
STEP_SECONDS = 0.04
#: Parts of addresses that change answers, and their step.
CHANGES, CHANGE_STEP_SECONDS = ("/change", "/answers/"), 0.25
#: Maximum size of a worker's call; a larger one is rejected by its view, in another thread.
LARGEST_CALL = 65_536

UTF_8 = ("", "utf-8", "utf8")

Started = tuple[Any, ...]


class Utf8Only:
    """A WSGI application that only gets requests in UTF-8."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if in_utf_8(environ.get("CONTENT_TYPE", "")):
            return self.application(environ, start_response)
        message = b"This server reads UTF-8 alone: leave the charset out.\n"
        start_response(
            "400 Bad Request", [("Content-Type", "text/plain"), ("Content-Length", str(len(message)))]
        )
        return [message]


def in_utf_8(content_type: str) -> bool:
    """Return whether a body of this type, and its address, are UTF-8."""
    if "charset" not in content_type.lower():
        return True
    try:
        _type, parameters = parse_header_parameters(content_type)
    except (ValueError, LookupError):
        return False
    return str(parameters.get("charset", "")).lower() in UTF_8


class SingleThreadWorker:
    """A WSGI application that runs workers' calls one after the other, each received before its turn."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="worker-calls")

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        came = time.monotonic()
        answer = self._submit_and_wait(environ, start_response)
        path = environ.get("PATH_INFO", "")
        if path.startswith(HANDED):
            changes = environ.get("REQUEST_METHOD") == "POST" and any(name in path for name in CHANGES)
            time.sleep((came - time.monotonic()) % (CHANGE_STEP_SECONDS if changes else STEP_SECONDS))
        return answer

    def _submit_and_wait(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        if not environ.get("PATH_INFO", "").startswith(CALLS):
            return self.application(environ, start_response)
        length = environ.get("CONTENT_LENGTH") or "0"
        if not length.isdigit() or int(length) > LARGEST_CALL:
            return self.application(environ, start_response)
        # Read here: in the thread of calls, a slow client would block all others.
        body_file = io.BytesIO(environ["wsgi.input"].read(int(length)))
        started, body = self._thread.submit(self._answered, {**environ, "wsgi.input": body_file}).result()
        start_response(*started)
        return [body]

    def _answered(self, environ: dict[str, Any]) -> tuple[Started, bytes]:
        started: list[Started] = []
        answer = self.application(environ, lambda *arguments: started.append(arguments))
        try:
            body = b"".join(answer)
        finally:
            close = getattr(answer, "close", None)
            if close is not None:
                close()
        return started[-1], body
