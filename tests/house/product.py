"""The product as its operator meets it: `manage.py` as a process of its own, in an environment of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from tests.services import free_port

REPOSITORY = Path(__file__).resolve().parents[2]
#: Seconds for a command, for a server's start and for its end, on a busy machine.
PATIENCE = 120.0
#: What production asks for, and gets.
PRODUCTION = {
    "PHRASEBOX_ENV": "production",
    "SECRET_KEY": "long-enough-and-known-to-this-test-only-0123456789-abcdefghij",
    "ALLOWED_HOSTS": "phrasebox.example,127.0.0.1",
}


def environment(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """A bare environment with home and data under `folder`, and what is `given`."""
    base = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "DATA_DIR": str(folder / "data")}
    (folder / "home").mkdir(exist_ok=True)
    return {**base, **given}


def manage(folder: Path, *arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(REPOSITORY / "manage.py"), *arguments],
        env=environment(folder, given),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@dataclass
class Answer:
    status: int
    headers: Message
    body: str


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: object) -> None:
        return None


@dataclass
class Server:
    """A running `manage.py serve`."""

    process: subprocess.Popen[str]
    port: int

    def get(self, path: str, **headers: str) -> Answer:
        """GET without following redirects; header names with `_` for `-`."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.build_opener(_Stay).open(request, timeout=PATIENCE) as response:
                return Answer(response.status, response.headers, response.read().decode())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.headers, error.read().decode())

    def stop(self, how: signal.Signals = signal.SIGINT) -> str:
        """Send `how`; what was written on standard error until the end."""
        self.process.send_signal(how)
        return self.process.communicate(timeout=PATIENCE)[1]


@contextlib.contextmanager
def serving(folder: Path, *arguments: str, port: int | None = None, **given: str) -> Iterator[Server]:
    """`manage.py serve` on a free port, or on `port`, from its first answer on."""
    port = port or free_port()
    process = subprocess.Popen(
        [sys.executable, str(REPOSITORY / "manage.py"), "serve", "--port", str(port), *arguments],
        env=environment(folder, given),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    server = Server(process, port)
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                server.get("/healthz")
                break
            except OSError:
                assert process.poll() is None, process.communicate()[1]
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.1)
        yield server
    finally:
        if process.poll() is None:
            server.stop()
