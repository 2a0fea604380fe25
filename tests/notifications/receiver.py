"""A receiver of webhooks on this machine: TLS with its own certificate, and the received requests."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Got:
    """A received request: its headers in lower case, and its body."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """The received requests, and the status and delay in seconds of the next response."""

    port: int
    got: list[Got] = field(default_factory=list)
    status: int = 204
    location: str = ""
    waits: float = 0.0

    @property
    def address(self) -> str:
        return f"https://localhost:{self.port}/hook?of=tests"


def make_certificate(folder: Path) -> Path:
    """Make a certificate for localhost and 127.0.0.1 with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    created = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "receiver.pem"
    reference = serialization.NoEncryption()
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, reference)
        + created.public_bytes(serialization.Encoding.PEM)
    )
    return file


@contextmanager
def listening(certificate: Path, port: int = 0) -> Iterator[Receiver]:
    """Run a receiver on `port`; 0 selects a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.got.append(Got(self.path, headers, body))
            time.sleep(receiver.waits)
            self.send_response(receiver.status)
            if receiver.location:
                self.send_header("Location", receiver.location)
            self.end_headers()

        def log_message(self, *about: object) -> None:
            """Log nothing: tests read the received requests."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    receiver = Receiver(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
