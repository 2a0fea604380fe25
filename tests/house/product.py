"""The product as its operator runs it: `manage.py` as a separate process, in a separate environment."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from django.core.management import BaseCommand, get_commands, load_command_class

from tests import launcher
from tests.prepare import CACHE
from tests.services import free_port

REPOSITORY = Path(__file__).resolve().parents[2]
#: Seconds for a command, for a server's start and for its end, on a busy machine.
PATIENCE = 120.0
#: Seconds for which the migrated databases of other states of the code are kept.
LIFETIME = 3600.0
#: No Redis: with a Redis URL a server leaves the jobs to workers.
NO_BROKER = "redis://127.0.0.1:1/0"
#: The variables that production requires.
PRODUCTION = {
    "PHRASEBOX_ENV": "production",
    "SECRET_KEY": "long-enough-and-known-to-this-test-only-0123456789-abcdefghij",
    "SITE_URL": "https://phrasebox.example",
    "CONTACT_EMAIL": "people@phrasebox.example",
    "ALLOWED_HOSTS": "127.0.0.1",
}


def environment(folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with home and data under `folder`, and the `variables`. Matrix products use the
    same kernels as in the tests."""
    base = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "DATA_DIR": str(folder / "data")}
    base |= {name: os.environ[name] for name in launcher.OF_BLAS if name in os.environ}
    (folder / "home").mkdir(exist_ok=True)
    return {**base, **variables}


def manage(
    folder: Path, *arguments: str, fresh: object = False, **provided: str
) -> subprocess.CompletedProcess[str]:
    """Run `manage.py` with these arguments; `fresh` starts a new Python (tests/launcher.py)."""
    command = [sys.executable, str(REPOSITORY / "manage.py"), *arguments]
    return launcher.run(command, env=environment(folder, provided), timeout=PATIENCE, fresh=bool(fresh))


def migrated(folder: Path) -> None:
    """Copy the result of `manage.py migrate` on SQLite to `folder`; migrate only once."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    shutil.copy(migrated_database(), data / "phrasebox.sqlite3")


@functools.cache
def migrated_database() -> Path:
    """Return an empty database with all tables, the result of `manage.py migrate`.

    The first test process that needs it makes it, once for the current code, since it takes as long as a
    hundred tests.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    file = CACHE / f"migrated-{_digest_of_code()}.sqlite3"
    with (CACHE / "migrating").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            for outdated in CACHE.glob("migrated-*.sqlite3"):
                if time.time() - outdated.stat().st_mtime > LIFETIME:
                    outdated.unlink()
            with tempfile.TemporaryDirectory(prefix="phrasebox-migrated-", dir=CACHE) as folder:
                done = manage(Path(folder), "migrate", "--verbosity", "0", fresh=True)
                assert done.returncode == 0, done.stderr
                (Path(folder) / "data" / "phrasebox.sqlite3").rename(file)
    return file


def _digest_of_code() -> str:
    """Return a digest of everything that may affect the result of `manage.py migrate`."""
    files = [
        file
        for package in ("annotation", "evaluation", "config")
        for file in (REPOSITORY / package).rglob("*.py")
    ]
    digest = hashlib.sha256()
    for file in [*sorted(files), REPOSITORY / "constraints.txt"]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


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

    process: launcher.Process | subprocess.Popen[str]
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
        """Send the signal `how`; return the standard error up to the end."""
        self.process.send_signal(how)
        return self.process.communicate(timeout=PATIENCE)[1]


@contextlib.contextmanager
def serving(
    folder: Path, *arguments: str, port: int | None = None, fresh: object = False, **provided: str
) -> Iterator[Server]:
    """Run `manage.py serve` on a free port, or on `port`; yield it after its first response."""
    port = port or free_port()
    process = launcher.start(
        [sys.executable, str(REPOSITORY / "manage.py"), "serve", "--port", str(port), *arguments],
        env=environment(folder, provided),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        fresh=bool(fresh),
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


def command_named(name: str) -> BaseCommand:
    """Return a command: of a module, or made from an operation."""
    command = get_commands()[name]
    return load_command_class(command, name) if isinstance(command, str) else command
