"""A response to a possibly slow client: a thread writes to it, and a loop sends from it."""

import errno
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import IO, NamedTuple

#: Bytes of a response that are collected before they are sent; and that may wait for the client.
GATHERED, UNSENT = 2**16, 2**22
#: Seconds after which collected bytes are sent in any case; parts that are sent by one call.
_GATHERING, _PARTS = 0.05, 64


class _Piece(NamedTuple):
    """A part of a file to be sent, with its own handle."""

    handle: int
    offset: int
    left: int


class Outgoing:
    """Used by Gunicorn as the socket of a response: the loop sends what the client does not accept at
    once."""

    def __init__(self, connection: socket.socket, call_loop: Callable[[], None]) -> None:
        self._connection, self._call_loop = connection, call_loop
        self._lock = threading.Condition()
        self._parts: deque[bytes | _Piece] = deque()
        self._waiting = 0
        self._pushed = 0.0
        #: Since when something waits for the client, and how many bytes were sent since.
        self.since, self.sent, self.broken = 0.0, 0, False

    def __bool__(self) -> bool:
        """Whether something remains to be sent."""
        return bool(self._parts)

    def begin(self) -> None:
        """Begin a new response."""
        self._pushed, self.since, self.sent = time.monotonic(), 0.0, 0

    def sendall(self, data: bytes) -> None:
        """Add a part of a response; wait if the client has not read the earlier ones."""
        with self._lock:
            self._parts.append(data)
            self._waiting += len(data)
            if self._waiting < GATHERED and time.monotonic() - self._pushed < _GATHERING:
                return
            self._push()
            if self._waiting > UNSENT:
                self._call_loop()
                self._lock.wait_for(lambda: self.broken or self._waiting <= UNSENT // 2)
            if self.broken:
                raise BrokenPipeError(errno.EPIPE, "the client is gone, or too slow")

    def sendfile(self, file: IO[bytes], offset: int, count: int) -> None:
        """Add a part of a file, without waiting for the client."""
        with self._lock:
            self._parts.append(_Piece(os.dup(file.fileno()), offset, count))

    def shutdown(self, _how: int) -> None:
        """Do nothing: the loop closes the connection, not Gunicorn."""
        raise OSError(errno.ENOTCONN, "the loop ends connections")

    def push(self) -> None:
        """Send what the client accepts now."""
        with self._lock:
            self._push()
            self._lock.notify_all()

    def fail(self) -> None:
        """Drop everything unsent."""
        with self._lock:
            self.broken, self._waiting = True, 0
            while self._parts:
                part = self._parts.popleft()
                if isinstance(part, _Piece):
                    os.close(part.handle)
            self._lock.notify_all()

    def _push(self) -> None:
        self._pushed = time.monotonic()
        try:
            while self._parts:
                self.sent += self._send_some()
            self.since = 0.0
        except BlockingIOError:
            if not self.since:
                self.since, self.sent = self._pushed, 0
        except OSError:
            self.fail()

    def _send_some(self) -> int:
        first = self._parts[0]
        if isinstance(first, _Piece):
            sent = os.sendfile(self._connection.fileno(), first.handle, first.offset, first.left)
            self._parts.popleft()
            if sent in (0, first.left):  # 0: the file was truncated
                os.close(first.handle)
            else:
                self._parts.appendleft(_Piece(first.handle, first.offset + sent, first.left - sent))
            if not sent:
                raise OSError(errno.EIO, "a file was cut short while it was sent")
            return sent
        run: list[bytes] = []
        for part in self._parts:
            if isinstance(part, _Piece) or len(run) == _PARTS:
                break
            run.append(part)
        sent = left = self._connection.sendmsg(run)
        self._waiting -= sent
        while run and left >= len(run[0]):
            left -= len(run.pop(0))
            self._parts.popleft()
        if left:
            self._parts[0] = run[0][left:]
        return sent
