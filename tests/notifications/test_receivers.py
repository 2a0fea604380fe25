"""Permitted addresses of a webhook: not this machine, its network, or its cloud's metadata."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from annotation.notifications.receivers import AddressError, is_public, public_numbers_of, receiver_of
from annotation.notifications.sending import (
    ADDRESS,
    CERTIFICATE,
    NO_ANSWER,
    NO_ANSWER_IN_TIME,
    REDIRECT,
    send,
)
from tests.notifications.receiver import listening

PUBLIC = "93.184.215.14"


@pytest.fixture
def resolver(monkeypatch) -> Callable[..., list[str]]:
    """`resolver("a", "b")` resolves every name to these addresses, one per query, the last one repeatedly;
    returns the queries. Numeric addresses are resolved as usual."""
    real, request = socket.getaddrinfo, list[str]()
    answers: list[list[str]] = []

    def ask(host, port, *rest, **about):
        try:
            return real(host, port, *rest, **{**about, "flags": socket.AI_NUMERICHOST})
        except OSError:
            if about.get("flags", 0) & socket.AI_NUMERICHOST:
                raise
        request.append(host)
        now = answers.pop(0) if len(answers) > 1 else answers[0]
        return [entry for number in now for entry in real(number, port, type=socket.SOCK_STREAM)]

    monkeypatch.setattr(socket, "getaddrinfo", ask)

    def says(*numbers: str | list[str]) -> list[str]:
        answers[:] = [[item] if isinstance(item, str) else item for item in numbers]
        return request

    return says


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.1", "2130706433", "0177.0.0.1", "017700000001", "0x7f000001", "0x7f.1", "0"),
        *("10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.100.100.200"),
        *("169.254.169.254", "2852039166", "0251.0376.0251.0376", "168.63.129.16", "192.0.0.192"),
        *("0.0.0.0", "224.0.0.1", "255.255.255.255", "198.18.0.1", "203.0.113.9"),
        *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[fe80::1]"),
        *("[fd00:ec2::254]", "[fc00::1]", "[ff02::1]", "[2002:7f00:1::]", "[2001::1]", "[2001:db8::1]"),
        *("[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]", "[::ffff:93.184.215.14]"),
        *("localhost", "LOCALHOST.", "a.localhost", "printer.local", "metadata.google.internal", "nas.lan"),
    ],
)
def test_what_is_not_on_the_internet_is_refused_by_number_and_by_name(host: str) -> None:
    with pytest.raises(AddressError, match="not on the internet|private network"):
        receiver_of(f"https://{host}/hook")


@pytest.mark.parametrize(
    "address",
    [
        *(
            "http://example.org/",
            "ftp://example.org/",
            "//example.org/",
            "example.org",
            "https://",
            "https:///x",
        ),
        *("https://user@example.org/", "https://example.org@127.0.0.1/", "https://a:b@example.org/"),
        *(
            "https://example.org/#there",
            "https://example.org#",
            "https://example.org:0/",
            "https://example.org:x/",
        ),
        *(
            "https://example.org:99999/",
            "https://exam ple.org/",
            "https://example.org/\r\nHost: x",
            "https://[::1/",
        ),
        *(
            "https://127.0.0.1\\@example.org/",
            "https://ex%61mple.org/",
            "https://①②⑦.0.0.1/",
            "https://a_b.org/",
        ),
        *("https://[fe80::1%25eth0]/", "https://example.org/" + "x" * 500, ""),
    ],
)
def test_an_address_that_is_not_plainly_https_is_refused(address: str) -> None:
    with pytest.raises(AddressError):
        receiver_of(address)


def test_a_public_address_is_taken_apart() -> None:
    result = receiver_of("https://hooks.example.org:8443/a/b?c=d")
    assert (result.host, result.port, result.target) == ("hooks.example.org", 8443, "/a/b?c=d")
    assert result.authority == "hooks.example.org:8443"
    assert receiver_of(f"https://{PUBLIC}").target == "/"
    assert is_public("2606:2800:21f:cb07:6820:80da:af6b:8b2c") and is_public("64:ff9b::5db8:d70e")


@pytest.mark.parametrize("number", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:10.0.0.1"])
def test_a_name_is_refused_after_it_is_resolved(number: str, resolver) -> None:
    resolver(number)
    with pytest.raises(AddressError, match="not on the internet"):
        public_numbers_of(receiver_of("https://hooks.example.org/"))


def test_a_name_with_one_private_number_among_public_ones_is_refused(resolver) -> None:
    resolver([PUBLIC, "10.0.0.7"])
    with pytest.raises(AddressError, match=r"10\.0\.0\.7"):
        public_numbers_of(receiver_of("https://hooks.example.org/"))


def test_a_name_that_changes_its_number_leads_nowhere_else_than_where_it_was_checked(
    resolver, monkeypatch, certificate: Path
) -> None:
    with listening(certificate) as receiver:
        request = resolver(PUBLIC, "127.0.0.1")
        tried = []

        def connect(index, timeout):
            tried.append(index)
            raise ConnectionRefusedError

        monkeypatch.setattr(socket, "create_connection", connect)
        address = f"https://hooks.example.org:{receiver.port}/"
        assert send(address, {}, b"{}")[:4] == (None, NO_ANSWER, "ConnectionRefusedError", False)
        assert tried == [(PUBLIC, receiver.port)] and request == ["hooks.example.org"]
        # The next attempt resolves again, gets this machine's address, and does not connect.
        outcome = send(address, {}, b"{}")
        assert outcome.why == ADDRESS and "127.0.0.1" in outcome.detail
        assert len(tried) == 1 and not receiver.got


def test_loopback_is_allowed_by_a_setting_alone(settings, to_loopback, certificate: Path) -> None:
    with listening(certificate) as receiver:
        assert send(receiver.address, {}, b"{}")[:4] == (204, "", "", True)
        settings.WEBHOOKS_TO_LOOPBACK = False
        assert send(receiver.address, {}, b"{}").why == ADDRESS
        assert send(f"https://127.0.0.1:{receiver.port}/", {}, b"{}").why == ADDRESS
    assert [(got.path, got.body) for got in receiver.got] == [("/hook?of=tests", b"{}")]


def test_the_setting_opens_no_other_private_address(to_loopback) -> None:
    for host in ("10.0.0.1", "169.254.169.254", "[fe80::1]", "0.0.0.0"):
        with pytest.raises(AddressError):
            receiver_of(f"https://{host}/")


def test_redirects_are_not_followed(to_loopback, certificate: Path) -> None:
    with listening(certificate) as receiver, listening(certificate) as context:
        receiver.status, receiver.location = 302, context.address
        assert send(receiver.address, {}, b"{}")[:3] == (302, REDIRECT, "")
    assert len(receiver.got) == 1 and not context.got


def test_a_certificate_that_nobody_vouches_for_is_refused(
    to_loopback, monkeypatch, certificate: Path
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with listening(certificate) as receiver:
        assert send(receiver.address, {}, b"{}").why == CERTIFICATE
    assert not receiver.got


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 20", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Le"]
)
def test_an_answer_that_is_cut_off_in_its_head_is_none(to_loopback, certificate: Path, answer: bytes) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def cut_off() -> None:
            with context.wrap_socket(listener.accept()[0], server_side=True) as tls:
                tls.recv(2**16)
                tls.sendall(answer)

        thread = threading.Thread(target=cut_off)
        thread.start()
        outcome = send(f"https://localhost:{listener.getsockname()[1]}/hook", {}, b"{}")
        thread.join()
    assert (outcome.status, outcome.why) == (None, NO_ANSWER)


def test_a_receiver_that_never_ends_its_answer_is_left(to_loopback, monkeypatch) -> None:
    monkeypatch.setattr("annotation.notifications.sending.ALL_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"https://127.0.0.1:{silent.getsockname()[1]}/"
        assert send(address, {}, b"{}").why == NO_ANSWER_IN_TIME


def test_a_receiver_may_take_longer_to_answer_than_to_be_connected(
    to_loopback, certificate, monkeypatch
) -> None:
    monkeypatch.setattr("annotation.notifications.sending.CONNECT_SECONDS", 0.2)
    with listening(certificate) as receiver:
        receiver.waits = 0.4
        assert send(receiver.address, {}, b"{}").status == 204
