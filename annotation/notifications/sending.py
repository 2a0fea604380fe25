"""One request to a receiver: to a checked IP address, by TLS unless the operator trusts it without, without
redirects, with limits on time and on the response."""

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from annotation.notifications.receivers import AddressError, Receiver, public_numbers_of, receiver_of

#: Maximum seconds for connecting, and in all, whatever the receiver does.
CONNECT_SECONDS, ALL_SECONDS = 4.0, 10.0
#: Maximum number of IP addresses that are tried.
_MOST_TRIED = 2


#: Why a request failed.
ADDRESS, CERTIFICATE, NO_ANSWER_IN_TIME, NO_ANSWER = "address", "certificate", "timeout", "no_answer"
REDIRECT, STATUS, ANSWER_TOO_LARGE = "redirect", "status", "too_large"


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
    the words above, or "", with details. `sent`: the receiver may have got the request. `body` and
    `retry_after` (a header) are those of the response."""

    status: int | None
    why: str = ""
    detail: str = ""
    sent: bool = True
    body: bytes = b""
    retry_after: str = ""


def send(
    address: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    seconds: float | None = None,
    most_bytes: int = 0,
    trusted: Collection[str] = (),
) -> SendOutcome:
    """Post `body` to `address`. Any status from 200 to 299 is success; redirects are not followed.

    The name is resolved once; the connection uses one of the checked IP addresses (`receiver_of`, with its
    `trusted` origins). It ends after `seconds` (default: ALL_SECONDS). Of the response at most `most_bytes`
    are read, by default its status only.
    """
    try:
        receiver = receiver_of(address, trusted=trusted)
        numbers = public_numbers_of(receiver)
    except AddressError as error:
        return SendOutcome(None, ADDRESS, str(error), sent=False)
    sent, status, content, retry_after = False, None, b"", ""
    try:
        with _connected(receiver, numbers, ALL_SECONDS if seconds is None else seconds) as connection:
            sent = True
            connection.request("POST", receiver.target, body, {"Host": receiver.authority, **headers})
            response = connection.getresponse()
            status, retry_after = response.status, response.headers.get("Retry-After", "")
            if most_bytes:
                content = response.read(most_bytes + 1)
                if response.length and len(content) <= most_bytes:
                    raise http.client.IncompleteRead(content)
    except ssl.SSLCertVerificationError as error:
        return SendOutcome(None, CERTIFICATE, error.verify_message, sent=False)
    except TimeoutError:
        return SendOutcome(None, NO_ANSWER_IN_TIME, sent=sent)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return SendOutcome(None, NO_ANSWER, type(error).__name__, sent=sent)
    why = ""
    if len(content) > most_bytes > 0:
        why, content = ANSWER_TOO_LARGE, b""
    elif not 200 <= status < 300:
        why = REDIRECT if 300 <= status < 400 else STATUS
    return SendOutcome(status, why, body=content, retry_after=retry_after)


@contextlib.contextmanager
def _connected(
    receiver: Receiver, numbers: list[str], seconds: float
) -> Iterator[http.client.HTTPConnection]:
    """Yield a connection to the first IP address that accepts one; including connecting, it lasts at most
    `seconds`."""
    began = time.monotonic()
    raw = _first(receiver, numbers)
    # Ends the connection from outside, since a receiver that sends a byte a second never exceeds the timeout
    # of a single read. A separate descriptor, since TLS detaches the other.
    handle, ended = raw.dup(), threading.Event()
    over = threading.Timer(seconds - (time.monotonic() - began), _end, [handle, ended])
    over.daemon = True
    over.start()
    # The time to connect is over, and each read may take as long as all.
    raw.settimeout(seconds + 1)
    try:
        with contextlib.ExitStack() as stack:
            connection = http.client.HTTPConnection(receiver.host, receiver.port)
            connection.sock, connection.response_class = raw, _WholeHead
            if receiver.tls:
                context = ssl.create_default_context()
                connection.sock = stack.enter_context(context.wrap_socket(raw, server_hostname=receiver.host))
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
