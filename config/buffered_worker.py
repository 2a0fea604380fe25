"""Gunicorn worker process that waits for no client: one loop receives and sends, threads compute.

A thread gets a request when all of it has been received, and is free again when the response is computed. So
a client that sends or reads a byte every few seconds blocks nobody, and one slower than SLOWEST is
disconnected. The bytes of a body are counted as they arrive; large bodies are received only from an account.
Each account has a maximum number of concurrent requests, and of CPU time: others do not wait for one that
sends on sixteen connections (`RequestLimits`).

Gunicorn's own classes parse requests and frame responses.
"""

import errno
import io
import resource
import selectors
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import IO, Any

from django.core.handlers.wsgi import WSGIRequest
from django.utils.translation import gettext as _
from gunicorn.http import wsgi
from gunicorn.http.body import ChunkedReader
from gunicorn.http.errors import LimitRequestHeaders
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader
from gunicorn.workers.gthread import ThreadWorker

from annotation.api.problems import Problem
from config.bodies import LARGEST_BODY, LARGEST_FROM_ANYBODY, sender_of
from config.fair_accept import CONNECTION_COUNTS, OTHERS_FIRST
from config.outgoing import Outgoing
from config.request_limits import CALLER, RequestLimits, RequestSlot, remember_account, slot_of

#: Seconds in which the head of a request must arrive; and minimum speed of a body or a response in bytes a
#: second.
HEAD_SECONDS, SLOWEST = 10.0, 16 * 2**10
#: Seconds for which a rejected client may continue to send: disconnected while sending, it might not read the
#: reason.
HEARD_OUT = 5.0
#: Maximum bytes of a head; and bytes of a body from which it is stored on disk.
LONGEST_HEAD, IN_MEMORY = 2**16, 2**18
#: Bytes received at a time; seconds between two checks for slow clients.
_AT_ONCE, _LOOK = 2**18, 0.5
#: Seconds after which a computing thread yields to others; Python's default is five times as long.
_SWITCH = 0.001
#: Maximum number of open files besides connections.
_OTHER_FILES = 192


class ClientConnection:
    """A client's connection: a request is received, computed, its response sent, and the next one begins."""

    def __init__(self, connection: socket.socket, client: Any, server: Any, call_loop: Any) -> None:
        self.connection, self.client, self.server = connection, client, server
        self.sock = Outgoing(connection, partial(call_loop, self))
        self.received = bytearray()
        self.requests = 0
        self.request: Any = None
        self.missing = 0
        self.body: IO[bytes] = io.BytesIO()
        self.slot: RequestSlot | None = None
        #: The application's information about the caller (`CALLER`).
        self.caller: dict[str, Any] = {}
        #: When it is disconnected; None while a thread computes.
        self.deadline: float | None = None
        self.registered = 0
        self.computing = self.lingers = self.closed = False
        self.keeps, self.expects = True, False


class BufferedWorker(ThreadWorker):
    """See the module. It uses the pool, the queue of calls and the signals of Gunicorn's threaded worker."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.connections: set[ClientConnection] = set()
        self.request_limits = RequestLimits()
        files, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.most = min(self.worker_connections, max(files - _OTHER_FILES, 16))
        self._looked = 0.0
        #: Until when the next connection is left to processes with fewer; None: it is accepted.
        self._others_until: float | None = None
        # In the master: processes that begin to serve earlier already know of this one.
        self._count()

    # The loop -----------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until the master stops it; then finish the requests that have begun."""
        queue = self.method_queue
        self.poller.register(queue.fileno(), selectors.EVENT_READ, queue.run_callbacks)
        self.set_accept_enabled(True)
        # While a page computes, a call gets the interpreter back this soon after each SQL statement.
        sys.setswitchinterval(_SWITCH)
        while self.alive and self.is_parent_alive():
            self._turn()
        self.set_accept_enabled(False)
        until = time.monotonic() + self.cfg.graceful_timeout
        for connection in list(self.connections):
            if not (connection.received or connection.request):
                connection.deadline = time.monotonic() + _LOOK  # a request may be running
        while self.connections and time.monotonic() < until:
            self._turn()
        for connection in list(self.connections):
            self._close(connection)
        self.reaped()
        self.tpool.shutdown(wait=False)

    def reaped(self) -> None:
        """Release the place of this process, which has ended; the master calls it too."""
        CONNECTION_COUNTS.store(self.age, -1)

    def _turn(self) -> None:
        self.notify()
        wait = _LOOK
        if self._others_until is not None:
            wait = max(0.0, self._others_until - time.monotonic())
        self.wait_for_and_dispatch_events(self.request_limits.seconds_until_next(wait))
        if self.alive and self._others_until is not None and time.monotonic() >= self._others_until:
            self.set_accept_enabled(True)
            for listener in self.sockets:
                self.accept(listener)
            self._others_until = None
        for start in self.request_limits.due():
            start()
        if time.monotonic() - self._looked > _LOOK:
            self._cut_off()

    def _cut_off(self) -> None:
        """Close the connections that took too long."""
        now = self._looked = time.monotonic()
        for connection in list(self.connections):
            outgoing = connection.sock
            if outgoing.since and now > outgoing.since + HEAD_SECONDS + outgoing.sent / SLOWEST:
                outgoing.fail()
            late = connection.deadline is not None and now > connection.deadline
            if late and (connection.received or connection.request) and not connection.lingers:
                detail = _("The request took too long to come. Send it again.")
                self._refuse(connection, Problem(HTTPStatus.REQUEST_TIMEOUT, "too_slow", detail))
            elif late or (outgoing.broken and not connection.computing):
                self._close(connection)

    def accept(self, listener: socket.socket) -> None:
        """Accept a connection, unless a process with fewer does; if there are too many, close the one that
        would time out first."""
        if self._others_until is None and len(self.connections) > CONNECTION_COUNTS.fewest():
            self._others_until = time.monotonic() + OTHERS_FIRST
            self.set_accept_enabled(False)
            return
        try:
            taken, client = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._make_room()
            elif error.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        taken.setblocking(False)
        if len(self.connections) >= self.most and not self._make_room():
            taken.close()
            return
        connection = ClientConnection(taken, client, listener.getsockname(), self._call_to_send)
        connection.deadline = time.monotonic() + HEAD_SECONDS
        self.connections.add(connection)
        self._count()
        self._watch(connection, selectors.EVENT_READ)

    def _count(self) -> None:
        CONNECTION_COUNTS.store(self.age, len(self.connections))

    def _make_room(self) -> bool:
        waiting = [(one.deadline, id(one), one) for one in self.connections if one.deadline is not None]
        if waiting:
            self._close(min(waiting)[2])
        return bool(waiting)

    def _watch(self, connection: ClientConnection, event: int) -> None:
        """Watch `connection` for reading or writing; 0: not at all."""
        if connection.registered == event:
            return
        if connection.registered:
            self.poller.unregister(connection.connection)
        if event:
            called = self._receive if event == selectors.EVENT_READ else self._send
            step = partial(self._do, connection, partial(called, connection))
            self.poller.register(connection.connection, event, lambda _file: step())
        connection.registered = event

    def _do(self, connection: ClientConnection, step: Callable[[], None]) -> None:
        """Run a step; an error (a full disk, a bug) ends only this connection."""
        try:
            step()
        except Exception:
            self.log.exception("a connection failed")
            self._close(connection)

    def _close(self, connection: ClientConnection) -> None:
        if connection.closed:
            return
        connection.closed = True
        self._watch(connection, 0)
        self.connections.discard(connection)
        self._count()
        connection.sock.fail()
        connection.connection.close()
        connection.body.close()
        if connection.slot is not None and not connection.computing:
            self._release(connection)

    # Requests come ------------------------------------------------------------------------------

    def _receive(self, connection: ClientConnection) -> None:
        try:
            data = connection.connection.recv(_AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close(connection)
        elif not connection.lingers:
            if not connection.received and not connection.request:
                connection.deadline = time.monotonic() + HEAD_SECONDS
            connection.received += data
            self._read(connection)

    def _read(self, connection: ClientConnection) -> None:
        """Parse a request from the received bytes: its head, then its body; then queue it."""
        if connection.request is None:
            searched = connection.received.find(b"\r\n\r\n")
            if searched < 0 and len(connection.received) <= LONGEST_HEAD:
                self._watch(connection, selectors.EVENT_READ)
                return
            try:
                self._read_head(connection, searched + 4 if searched >= 0 else len(connection.received))
            except Exception as error:  # any error of Gunicorn's parser
                self._refuse(connection, self._problem(connection, error))
            return
        if connection.missing:
            taken = bytes(connection.received[: connection.missing])
            del connection.received[: len(taken)]
            connection.missing -= len(taken)
            connection.body.write(taken)
        if connection.missing:
            self._watch(connection, selectors.EVENT_READ)
            return
        connection.body.seek(0)
        connection.request.body = connection.body
        self._enqueue(connection, self._respond)

    def _read_head(self, connection: ClientConnection, end: int) -> None:
        head = bytes(connection.received[:end])
        if len(head) > LONGEST_HEAD:
            raise LimitRequestHeaders("limit request headers")
        connection.requests += 1
        request = Request(self.cfg, IterUnreader([head]), connection.client, connection.requests)
        del connection.received[:end]
        connection.request, connection.keeps = request, True
        # This worker sends the interim response, not Gunicorn.
        connection.expects, request._expected_100_continue = request._expected_100_continue, False
        if isinstance(request.body.reader, ChunkedReader):
            detail = _("Say how long the body is: Content-Length.")
            self._refuse(connection, Problem(HTTPStatus.LENGTH_REQUIRED, "length_required", detail))
            return
        connection.missing = request.body.reader.length
        if connection.missing > LARGEST_FROM_ANYBODY:
            self._enqueue(connection, self._ask_for_account)
        else:
            self._receive_body(connection)

    def _ask_for_account(self, connection: ClientConnection) -> Callable[[], None]:
        """Determine, in a thread, who sends a large body. If nobody may, the application responds."""
        _response, environ = wsgi.create(
            connection.request, connection.sock, connection.client, connection.server, self.cfg
        )
        account = None
        with suppress(Exception):  # the application gets the same error
            account = sender_of(WSGIRequest(environ))
        connection.caller["account"] = account
        self._remember(connection)
        if account is None or connection.missing > LARGEST_BODY:
            connection.missing, connection.keeps = 0, False
            return partial(self._receive_body, connection)
        return partial(self._receive_large_body, connection)

    def _receive_large_body(self, connection: ClientConnection) -> None:
        """Receive a large body as soon as the sender's limits permit it."""
        self._release(connection)
        connection.slot = slot_of(connection.request, connection.client, large=True)
        self.request_limits.take(connection.slot, partial(self._receive_body, connection))

    def _receive_body(self, connection: ClientConnection) -> None:
        connection.deadline = time.monotonic() + HEAD_SECONDS + connection.missing / SLOWEST
        if connection.missing:
            connection.body = tempfile.SpooledTemporaryFile(IN_MEMORY)
            if connection.expects:
                connection.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                connection.sock.push()
        else:
            connection.body = io.BytesIO()
        self._read(connection)

    def _enqueue(
        self, connection: ClientConnection, work: Callable[[ClientConnection], Callable[[], None]]
    ) -> None:
        """Run `work` in a thread, and its result in the loop, as soon as the caller's limits permit it."""
        self._watch(connection, 0)
        connection.deadline, connection.computing = None, True
        start = partial(self._start, connection, work)
        if connection.slot is not None:
            start()
            return
        connection.slot = slot_of(connection.request, connection.client)
        self.request_limits.take(connection.slot, start)

    def _start(
        self, connection: ClientConnection, work: Callable[[ClientConnection], Callable[[], None]]
    ) -> None:
        def do() -> None:
            began = time.thread_time()
            then: Callable[[], None] = partial(self._close, connection)
            try:
                then = work(connection)
            except Exception:
                self.log.exception("a request failed outside the application")
            finally:
                spent = time.thread_time() - began
                self.method_queue.defer(partial(self._done, connection, then, spent))

        self.tpool.submit(do)

    def _done(self, connection: ClientConnection, then: Callable[[], None], spent: float) -> None:
        connection.computing = False
        if connection.slot is not None:
            self.request_limits.charge(connection.slot, spent)
        if connection.closed:
            self._release(connection)
        else:
            self._do(connection, then)

    def _remember(self, connection: ClientConnection) -> None:
        if connection.slot is not None:
            remember_account(connection.slot.credential, connection.caller.get("account"))

    def _release(self, connection: ClientConnection) -> None:
        slot, connection.slot = connection.slot, None
        if slot is not None:
            self.request_limits.give_back(slot)

    # Responses go -------------------------------------------------------------------------------

    def _respond(self, connection: ClientConnection) -> Callable[[], None]:
        """Compute the response, in a thread."""
        request, outgoing = connection.request, connection.sock
        outgoing.begin()
        keeps = False
        try:
            keeps = self._run_application(connection)
        except OSError as error:
            if not outgoing.broken:
                self.log.exception("a response could not be written: %s", error)
        except Exception as error:
            if outgoing.sent or outgoing:
                self.log.exception("a response ended early")
                outgoing.fail()
            else:
                outgoing.sendall(_bytes_of(self._problem(connection, error, request)))
        outgoing.push()
        return partial(self._computed, connection, keeps)

    def _run_application(self, connection: ClientConnection) -> bool:
        """Run the application; return whether the connection stays open."""
        response, environ = wsgi.create(
            connection.request, connection.sock, connection.client, connection.server, self.cfg
        )
        environ["wsgi.multithread"], environ[CALLER] = True, connection.caller
        if not (self.alive and connection.keeps):
            response.force_close()
        parts = self.wsgi(environ, response.start_response)
        # Before the client can have the response, and send its next request.
        self._remember(connection)
        try:
            if isinstance(parts, environ["wsgi.file_wrapper"]):
                response.write_file(parts)
            else:
                for part in parts:
                    response.write(part)
            response.close()
        finally:
            if hasattr(parts, "close"):
                parts.close()
        return not response.should_close()

    def _computed(self, connection: ClientConnection, keeps: bool) -> None:
        connection.keeps = keeps and self.alive
        connection.body.close()
        self._release(connection)
        self._go_on(connection)

    def _call_to_send(self, connection: ClientConnection) -> None:
        self.method_queue.defer(lambda: None if connection.closed else self._go_on(connection))

    def _send(self, connection: ClientConnection) -> None:
        connection.sock.push()
        self._go_on(connection)

    def _go_on(self, connection: ClientConnection) -> None:
        """Continue after a response, or a part of it."""
        if connection.sock.broken:
            if not connection.computing:
                self._close(connection)
        elif connection.sock:
            self._watch(connection, selectors.EVENT_WRITE)
        elif connection.computing:
            self._watch(connection, 0)
        elif connection.keeps:
            connection.request, connection.caller = None, {}
            connection.deadline = time.monotonic() + (
                HEAD_SECONDS if connection.received else self.cfg.keepalive
            )
            self._read(connection)
        else:
            self._linger(connection)

    def _linger(self, connection: ClientConnection) -> None:
        """Shut down our side of the connection; for a moment incoming data is dropped."""
        connection.lingers = True
        connection.deadline = time.monotonic() + (HEARD_OUT if self.alive else _LOOK)
        try:
            connection.connection.shutdown(socket.SHUT_WR)
        except OSError:
            self._close(connection)
            return
        self._watch(connection, selectors.EVENT_READ)

    def _refuse(self, connection: ClientConnection, problem: Problem) -> None:
        """Respond with a problem without the application, and close the connection."""
        connection.keeps, connection.request, connection.deadline = False, None, time.monotonic() + HEARD_OUT
        connection.received.clear()
        connection.sock.begin()
        connection.sock.sendall(_bytes_of(problem))
        connection.sock.push()
        if connection.slot is not None:
            self._release(connection)
        self._go_on(connection)

    def _problem(self, connection: ClientConnection, error: Exception, request: Any = None) -> Problem:
        """Return Gunicorn's error as problem details."""
        written = _Written()
        self.handle_error(request, written, connection.client, error)
        status = HTTPStatus(int(written.data[9:12] or b"500"))
        fault = status is HTTPStatus.INTERNAL_SERVER_ERROR
        return Problem(status, "fault" if fault else "bad_request", status.description or status.phrase)


class _Written:
    """Captures what Gunicorn writes about an error."""

    data = b""

    def gettimeout(self) -> float:
        return 0.0

    def sendall(self, data: bytes) -> None:
        self.data += data


def _bytes_of(problem: Problem) -> bytes:
    """Return a problem as a complete response, after which the connection closes."""
    response = problem.response()
    head = [f"HTTP/1.1 {problem.status.value} {problem.status.phrase}", "Connection: close"]
    head += [f"Content-Length: {len(response.content)}", f"Content-Type: {response['Content-Type']}"]
    return "\r\n".join([*head, "", ""]).encode() + response.content
