"""Temporary servers for the tests: PostgreSQL and Redis on free ports of 127.0.0.1.

Each is a context manager that yields the server's address. It runs the server as a child in the foreground,
in its own session (Ctrl-C stops the tests first, then the servers), and asks the kernel to end it if this
process is killed. Files are written to one temporary folder only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
import redis

PATIENCE = 120.0  # seconds until a server must answer, or must have stopped


class ServerFailed(RuntimeError):
    """A server did not start; the message ends with its output."""


def until_it_answers(port: int, process: subprocess.Popen[Any] | None = None, *, seconds: float = 60) -> None:
    """Wait until the product's server at `port` reports that it is healthy. Raises OSError if its process has
    ended, or after a timeout."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
                answer.read()
            return
        except OSError:
            if (process is not None and process.poll() is not None) or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def free_port() -> int:
    """Return a free TCP port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def postgres(binaries: Path) -> Iterator[str]:
    """Run a new cluster of the server in `binaries`; yield its DATABASE_URL.

    It never syncs: its data is not needed after the tests.
    """
    with cluster(binaries) as server, server.running():
        yield server.url


@contextlib.contextmanager
def cluster(
    binaries: Path, *, durable: bool = False, connections: int = 60, inside: Path | None = None
) -> Iterator[Postgres]:
    """Make a new cluster of the server in `binaries`, without starting it.

    PostgreSQL refuses to run as root, so root runs it as the user postgres or nobody. A `durable` cluster
    syncs, like an operator's; `connections` is the maximum number of connections. The cluster lies `inside` a
    folder that everybody may enter, or in /tmp.
    """
    user = _somebody_else()
    with _folder("postgres", owner=user, inside=inside) as folder:
        data, password_file = folder / "data", folder / "password"
        password = secrets.token_hex(16)
        password_file.write_text(password)
        if user:
            shutil.chown(password_file, *user)
        log = folder / "log"
        initialise = [str(binaries / "initdb"), "--pgdata", str(data), "--username=phrasebox", "--no-sync"]
        initialise += ["--auth=scram-sha-256", f"--pwfile={password_file}", "--encoding=UTF8", "--locale=C"]
        with log.open("wb") as out:
            done = subprocess.run(initialise, stdout=out, stderr=out, **_as(user, folder))
        if done.returncode != 0:
            raise ServerFailed(f"initdb ended with status {done.returncode}:\n{_tail(log)}")
        port = free_port()
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": folder,
            "max_connections": connections,
        }
        if not durable:
            settings |= {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
            settings["autovacuum"] = "off"  # see `uncounted` of tests/conftest.py
        command = [str(binaries / "postgres"), "-D", str(data)]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        yield Postgres(f"postgresql://phrasebox:{password}@127.0.0.1:{port}/postgres", command, log, user)


@dataclass
class Postgres:
    """A cluster on disk, which can be run, killed and run again on the same data."""

    url: str
    command: list[str]
    log: Path
    user: tuple[str, int] | None

    @contextlib.contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run the server and yield it once it answers; stop it at the end unless it has ended."""
        with _server(
            self.command,
            self.log,
            stop=signal.SIGINT,
            answers=lambda: _postgres_answers(self.url),
            user=self.user,
        ) as process:
            yield process


@contextlib.contextmanager
def redis_server(binary: Path, *, port: int | None = None) -> Iterator[str]:
    """Run a Redis without persistence, at `port` or a free one; yield its REDIS_URL."""
    with _folder("redis") as folder:
        port = port or free_port()
        command = [str(binary), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
        command += ["--save", "", "--appendonly", "no", "--daemonize", "no"]
        url = f"redis://127.0.0.1:{port}/0"
        with _server(command, folder / "log", stop=signal.SIGTERM, answers=lambda: _redis_answers(url)):
            yield url


@contextlib.contextmanager
def _folder(name: str, *, owner: tuple[str, int] | None = None, inside: Path | None = None) -> Iterator[Path]:
    """Make a temporary folder `inside` another, owned by `owner` if given; then it is in /tmp, which every
    user may enter, by default."""
    usual = "/tmp" if owner else None
    folder = Path(tempfile.mkdtemp(prefix=f"phrasebox-{name}-", dir=inside or usual))
    if owner:
        shutil.chown(folder, *owner)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _somebody_else() -> tuple[str, int] | None:
    """Return the name and group of a user to run servers as, if this process is root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres") or known["nobody"]
    return entry.pw_name, entry.pw_gid


@contextlib.contextmanager
def _server(
    command: list[str],
    log: Path,
    *,
    stop: signal.Signals,
    answers: Callable[[], bool],
    user: tuple[str, int] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command` as a child: yield it when it `answers`, and end it with the signal `stop`."""
    with log.open("ab") as out:
        child = subprocess.Popen(
            command,
            stdout=out,
            stderr=out,
            start_new_session=True,
            preexec_fn=_die_with_parent(stop),
            **_as(user, log.parent),
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while not answers():
            if child.poll() is not None:
                raise ServerFailed(f"{command[0]} ended with status {child.returncode}:\n{_tail(log)}")
            if time.monotonic() > deadline:
                raise ServerFailed(f"{command[0]} did not answer in {PATIENCE:.0f} s:\n{_tail(log)}")
            time.sleep(0.05)
        yield child
    finally:
        child.send_signal(stop)
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _as(user: tuple[str, int] | None, folder: Path) -> dict[str, Any]:
    """Return arguments for Popen: from `folder` (which the server may enter), as `user`, without our
    environment."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    common: dict[str, Any] = {"cwd": folder, "env": environment, "stdin": subprocess.DEVNULL}
    if user:
        common |= {"user": user[0], "group": user[1], "extra_groups": []}
    return common


def _die_with_parent(stop: signal.Signals) -> Callable[[], None] | None:
    """Return a function with which Linux sends `stop` to a child whose parent was killed; None elsewhere."""
    if not sys.platform.startswith("linux"):
        return None
    libc, set_death_signal = ctypes.CDLL(None), 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
    return lambda: libc.prctl(set_death_signal, int(stop))


def _postgres_answers(url: str) -> bool:
    try:
        psycopg2.connect(url, connect_timeout=2).close()
    except psycopg2.OperationalError:
        return False
    return True


def _redis_answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=2) as client:
            return bool(client.ping())
    except redis.ConnectionError:
        return False


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-2000:]
