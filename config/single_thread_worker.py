"""What a WSGI server calls, around Django: UTF-8 alone; and answers and hand-outs in one thread of a process,
all other requests in the server's threads.

Threads that run the same Python at once hand the interpreter to and fro at every statement, and each has
its own connection, with plans and caches of its own in the database: eight threads cost twice the CPU of
one for the same calls (docs/queue.md). The calls of workers are short, so that one goes after the other;
pages and pictures, which may have to wait for a slow client, keep the server's threads. More calls
at a time: more processes.

An answer to a worker leaves at a multiple of a step after the call came. A control item is found, graded and
followed by other statements than a question, which takes some milliseconds more or less: without the
step, a program with a clock could tell them apart. Nobody waits for it in the thread of calls. The step is
twice what a call takes on a busy machine: longer where a task alone is handed out, and where an answer is
changed, for of a question the image is computed again.
"""

import io
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.utils.http import parse_header_parameters

#: Where workers' calls begin.
CALLS = ("/api/tasks", "/api/assignments/")
#: Where what workers are handed begins, by calls and by pages; and the step in which it leaves, in seconds.
HANDED = (*CALLS, "/tasks/")
STEP_SECONDS = 0.02
#: Where a task alone is handed out, and its step.
TAKES, TAKE_STEP_SECONDS = "/api/tasks/next", 0.04
#: What changes an answer has in its address, and its step.
CHANGES, CHANGE_STEP_SECONDS = ("/change", "/answers/"), 0.25
#: No call of a worker carries more; what does is refused by its view, in another thread.
LARGEST_CALL = 65_536

UTF_8 = ("", "utf-8", "utf8")

Started = tuple[Any, ...]


class Utf8Only:
    """A WSGI application that is asked nothing in any charset but UTF-8."""

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
    """Whether a body of this type, and the address that it came to, are to be read as UTF-8."""
    if "charset" not in content_type.lower():
        return True
    try:
        _type, parameters = parse_header_parameters(content_type)
    except (ValueError, LookupError):
        return False
    return str(parameters.get("charset", "")).lower() in UTF_8


class SingleThreadWorker:
    """A WSGI application whose workers' calls go one after the other, each read whole before its turn."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="worker-calls")

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        came = time.monotonic()
        answer = self._submit_and_wait(environ, start_response)
        path = environ.get("PATH_INFO", "")
        if path.startswith(HANDED):
            changes = environ.get("REQUEST_METHOD") == "POST" and any(name in path for name in CHANGES)
            step = TAKE_STEP_SECONDS if path == TAKES else STEP_SECONDS
            time.sleep((came - time.monotonic()) % (CHANGE_STEP_SECONDS if changes else step))
        return answer

    def _submit_and_wait(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        if not environ.get("PATH_INFO", "").startswith(CALLS):
            return self.application(environ, start_response)
        length = environ.get("CONTENT_LENGTH") or "0"
        if not length.isdigit() or int(length) > LARGEST_CALL:
            return self.application(environ, start_response)
        # Read here: in the thread of calls, a slow client would hold everybody up.
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
