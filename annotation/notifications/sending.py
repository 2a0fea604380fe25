"""One request to a receiver: to a number that was checked, by TLS, without redirects, and never for long."""

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from annotation.notifications.receivers import AddressError, Receiver, public_numbers_of, receiver_of

#: Seconds until a connection stands, and until all is over, whatever the receiver does.
CONNECT_SECONDS, ALL_SECONDS = 4.0, 10.0
#: Numbers of a name that are tried.
_MOST_TRIED = 2


#: Why a request counts as failed.
ADDRESS, CERTIFICATE, NO_ANSWER_IN_TIME, NO_ANSWER = "address", "certificate", "timeout", "no_answer"
REDIRECT, STATUS = "redirect", "status"


class _WholeHead(http.client.HTTPResponse):
    """An answer whose head ends: `http.client` takes the end of the connection for that."""

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
    """What came of a request: the status of the answer, None where there was none; and why it counts as
    failed, one of the words above, or "", with what is known besides."""

    status: int | None
    why: str = ""
    detail: str = ""


def send(address: str, headers: Mapping[str, str], body: bytes) -> SendOutcome:
    """Post `body` to `address`. Any status from 200 to 299 counts as received; redirects are not followed.

    The name is resolved once; what is connected to is one of the numbers that were checked. Of the answer
    only its status is read: what a receiver says is kept nowhere.
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
    """A connection to the first of the numbers that takes one; connecting included, it lasts ALL_SECONDS."""
    began = time.monotonic()
    raw = _first(receiver, numbers)
    # Ends the connection from outside, as a receiver that sends a byte a second never runs into a timeout of
    # a single read. A descriptor of its own: TLS takes the other away.
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
    """A socket that is connected to the first of the numbers that answers."""
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
