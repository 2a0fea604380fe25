"""One request to a receiver: to a checked IP address, by TLS, without redirects, with a time limit."""

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from annotation.notifications.receivers import AddressError, Receiver, public_numbers_of, receiver_of

#: Maximum seconds for connecting, and in all, whatever the receiver does.
CONNECT_SECONDS, ALL_SECONDS = 4.0, 10.0
#: Maximum number of IP addresses that are tried.
_MOST_TRIED = 2


#: Why a request failed.
ADDRESS, CERTIFICATE, NO_ANSWER_IN_TIME, NO_ANSWER = "address", "certificate", "timeout", "no_answer"
REDIRECT, STATUS = "redirect", "status"


class _WholeHead(http.client.HTTPResponse):
    """A response that requires a complete head: `http.client` accepts the end of the connection instead."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        read = self.fp.readline

        def readline(limit: int | None = -1) -> bytes:
            line = read(limit)
            if not line:
                raise http.client.IncompleteRead(b"")
            return line

        self.fp.readline = readline  # type: ignore[method-assign]


class SendOutcome(NamedTuple):
    """The result of a request: the status of the response, None if there was none; and why it failed, one of
    the words above, or "", with details."""

    status: int | None
    why: str = ""
    detail: str = ""


def send(address: str, headers: Mapping[str, str], body: bytes) -> SendOutcome:
    """Post `body` to `address`. Any status from 200 to 299 is success; redirects are not followed.

    The name is resolved once; the connection uses one of the checked IP addresses. Only the status of the
    response is read; nothing else is stored.
    """
    try:
        receiver = receiver_of(address)
        numbers = public_numbers_of(receiver)
    except AddressError as error:
        return SendOutcome(None, ADDRESS, str(error))
    try:
        with _connected(receiver, numbers) as connection:
            connection.request("POST", receiver.target, body, {"Host": receiver.authority, **headers})
            status = connection.getresponse().status
    except ssl.SSLCertVerificationError as error:
        return SendOutcome(None, CERTIFICATE, error.verify_message)
    except TimeoutError:
        return SendOutcome(None, NO_ANSWER_IN_TIME)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return SendOutcome(None, NO_ANSWER, type(error).__name__)
    if 200 <= status < 300:
        return SendOutcome(status)
    return SendOutcome(status, REDIRECT if 300 <= status < 400 else STATUS)


@contextlib.contextmanager
def _connected(receiver: Receiver, numbers: list[str]) -> Iterator[http.client.HTTPConnection]:
    """Yield a connection to the first IP address that accepts one; including connecting, it lasts at most
    ALL_SECONDS."""
    began = time.monotonic()
    raw = _first(receiver, numbers)
    # Ends the connection from outside, since a receiver that sends a byte a second never exceeds the timeout
    # of a single read. A separate descriptor, since TLS detaches the other.
    handle, ended = raw.dup(), threading.Event()
    over = threading.Timer(ALL_SECONDS - (time.monotonic() - began), _end, [handle, ended])
    over.daemon = True
    over.start()
    # The time to connect is over, and each read may take as long as all.
    raw.settimeout(ALL_SECONDS + 1)
    try:
        with ssl.create_default_context().wrap_socket(raw, server_hostname=receiver.host) as tls:
            connection = http.client.HTTPConnection(receiver.host, receiver.port)
            connection.sock, connection.response_class = tls, _WholeHead
            yield connection
    except (OSError, http.client.HTTPException) as error:
        if ended.is_set():
            raise TimeoutError from error
        raise
    finally:
        over.cancel()
        raw.close()
        handle.close()


def _first(receiver: Receiver, numbers: list[str]) -> socket.socket:
    """Return a socket that is connected to the first IP address that responds."""
    tried = numbers[:_MOST_TRIED]
    for number in tried:
        try:
            return socket.create_connection((number, receiver.port), timeout=CONNECT_SECONDS)
        except OSError:
            if number == tried[-1]:
                raise
    raise OSError("no number was given")


def _end(handle: socket.socket, ended: threading.Event) -> None:
    ended.set()
    with contextlib.suppress(OSError):
        handle.shutdown(socket.SHUT_RDWR)
