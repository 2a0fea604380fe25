"""The product as an operator runs it, on a small disk and with a clock that can step: one per database.

SQLite: `manage.py serve`, which includes the jobs and the periodic work. PostgreSQL: the services of
`docker-compose.yml`, with the same commands: the database, Redis, the web processes, a worker for jobs, the
clock. Everything uses 127.0.0.1.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg2

from tests import prepare, services
from tests.soak.clock import Clock
from tests.soak.disk import Disk
from tests.soak.processes import Program, RunningProcess, table, tail

REPOSITORY = Path(__file__).resolve().parents[2]
MANAGE = str(REPOSITORY / "manage.py")
SQLITE, POSTGRESQL = "sqlite", "postgresql"
#: Megabytes of the file systems that are filled.
DATA_SIZE, DATABASE_SIZE = 1500, 3000
#: Seconds for a command, and until everything is ready.
PATIENCE = 180.0
PRODUCTION = {
    "PHRASEBOX_ENV": "production",
    "SITE_URL": "http://127.0.0.1",
    "CONTACT_EMAIL": "people@phrasebox.example",
}


class Failed(RuntimeError):
    """The product did not start, or a command failed; the message ends with its output."""


class Product:
    """The product's programs, disks, clock and address."""

    def __init__(self, database: str, folder: Path, clock: Clock, *, mounts: bool) -> None:
        self.database, self.folder, self.clock = database, folder, clock
        self.logs = folder / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.port = services.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.programs: list[Program] = []
        self.disks = [Disk("data", folder / "data", DATA_SIZE, value=mounts, writers=self._pids)]
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "DATA_DIR": str(folder / "data" / "var"),
            "SECRET_KEY": secrets.token_hex(32),
            **clock.environment(),
        }
        (folder / "home").mkdir(exist_ok=True)
        self._stack = contextlib.ExitStack()
        self.mounts = mounts
        self.store: str | Path = Path(self.environment["DATA_DIR"]) / "phrasebox.sqlite3"

    def _pids(self) -> list[int]:
        return [process.pid for process in self.processes()]

    def processes(self) -> list[RunningProcess]:
        now = table()
        return [process for program in self.programs for process in program.processes(now)]

    def program(self, name: str) -> Program:
        return next(program for program in self.programs if program.name == name)

    def run(self, *command: str, seconds: float = PATIENCE) -> str:
        """Run a command with this Python and the product's environment; return its output. Raises Failed."""
        try:
            done = subprocess.run(
                [sys.executable, *command],
                cwd=REPOSITORY,
                env={**self.environment, "PYTHONPATH": str(REPOSITORY)},
                capture_output=True,
                text=True,
                timeout=seconds,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{' '.join(command)} took more than {seconds:.0f} s") from error
        with (self.logs / "commands.log").open("a") as log:
            log.write(f"$ {' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}\n")
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def manage(self, *arguments: str) -> str:
        return self.run(MANAGE, *arguments)

    def prepare(self) -> None:
        """Start the database and its services, and make all tables."""
        self.manage("migrate", "--verbosity", "0")

    def start(self) -> None:
        """Start all programs that do not run yet; return when the pages answer."""
        for program in self.programs:
            if not program.alive:
                program.start()
        self.until_ready()

    def until_ready(self, seconds: float = PATIENCE) -> None:
        deadline = time.monotonic() + seconds
        while not self.ready():
            self.restart()
            if time.monotonic() > deadline:
                text = "\n".join(tail(program.log, 800) for program in self.programs)
                raise Failed(f"not ready after {seconds:.0f} s:\n{text}")
            time.sleep(0.3)

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def restart(self) -> list[str]:
        """Restart ended programs; return their names."""
        return [program.name for program in self.programs if program.restart()]

    def stop(self) -> None:
        """End everything, the newest first."""
        for program in reversed(self.programs):
            program.end()
        self._stack.close()


def _serve_names(pid: int, first: bool, command: str, index: int) -> str:
    if first:
        return "web master"
    if " run_jobs " in f"{command} ":
        return "jobs process"
    return "web worker" if " serve " in command else ""


class OnSqlite(Product):
    """The embedded process group: everything in one folder, started by one command."""

    def __init__(self, folder: Path, clock: Clock, *, mounts: bool) -> None:
        super().__init__(SQLITE, folder, clock, mounts=mounts)
        serve = [sys.executable, MANAGE, "serve", "--port", str(self.port), "--workers", "2"]
        self.programs = [
            # Not in a container: processes that a killed master leaves end themselves, or block the restart.
            Program("serve", serve, self.logs / "serve.log", _serve_names, self.environment, contained=False)
        ]


def _web_names(pid: int, first: bool, command: str, index: int) -> str:
    return "web master" if first else "web worker"


def _jobs_names(pid: int, first: bool, command: str, index: int) -> str:
    return "jobs master" if first else "jobs child"


def _clock_names(pid: int, first: bool, command: str, index: int) -> str:
    if first:
        return "clock master"
    return "beat" if _is_beat(pid) else "clock child"


def _is_beat(pid: int) -> bool:
    """Return whether a process is Beat: it closes inherited files; a pool's process keeps the lock of
    DATA_DIR, a folder."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if os.path.isdir(os.readlink(link)):
                return False
    return True


def _redis_names(pid: int, first: bool, command: str, index: int) -> str:
    return "redis" if first else ""


def _postgres_names(pid: int, first: bool, command: str, index: int) -> str:
    if first:
        return "postmaster"
    if "127.0.0.1(" in command:
        return "backend"
    for helper in ("checkpointer", "background writer", "walwriter", "autovacuum launcher"):
        if helper in command:
            return f"postgres {helper}"
    return ""


class OnPostgres(Product):
    """As in production, but without containers: the commands are those of docker-compose.yml."""

    def __init__(self, folder: Path, clock: Clock, *, mounts: bool) -> None:
        super().__init__(POSTGRESQL, folder, clock, mounts=mounts)
        # In /tmp, which every user may enter: root runs the server as another user.
        path = Path(tempfile.mkdtemp(prefix="phrasebox-soak-", dir="/tmp"))
        self._stack.callback(shutil.rmtree, path, ignore_errors=True)
        database = Disk("database", path, DATABASE_SIZE, value=mounts, writers=self._servers)
        self._stack.callback(database.leave)
        self.disks.append(database)
        binaries, redis = prepare.find("postgresql"), prepare.find("redis")
        if binaries is None or redis is None:
            raise Failed(
                "PostgreSQL or Redis is not installed; `python -m tests.prepare` says what to install"
            )
        os.chmod(database.folder, 0o755)
        self.cluster = self._stack.enter_context(
            services.cluster(binaries, durable=True, connections=100, inside=database.folder)
        )
        self.store = self.cluster.url
        broker = services.free_port()
        (folder / "broker").mkdir()
        self.environment |= {
            **PRODUCTION,
            "DATABASE_URL": self.cluster.url,
            "REDIS_URL": f"redis://127.0.0.1:{broker}/0",
            "STATIC_ROOT": str(folder / "static"),
        }
        bare = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        server = ["--port", str(broker), "--bind", "127.0.0.1", "--dir", str(folder / "broker")]
        self.programs = [
            Program(
                "database",
                self.cluster.command,
                self.logs / "database.log",
                _postgres_names,
                bare,
                user=self.cluster.user,
            ),
            Program(
                "broker",
                [str(redis), *_command("broker")[1:], *server],
                self.logs / "broker.log",
                _redis_names,
                bare,
            ),
            self._celery("worker", _jobs_names),
            self._celery("beat", _clock_names),
            Program("web", self._web(), self.logs / "web.log", _web_names, self.environment),
        ]

    def _web(self) -> list[str]:
        text = (REPOSITORY / "Dockerfile").read_text()
        match = re.search(r"^CMD (\[.*\])$", text, re.M)
        assert match
        command: list[str] = json.loads(match[1])
        assert command[:3] == ["python", "manage.py", "serve"]
        command[command.index("--host") + 1] = "127.0.0.1"
        return [sys.executable, MANAGE, *command[2:], "--port", str(self.port)]

    def _celery(self, service: str, names: Any) -> Program:
        command = [part.replace("/data", self.environment["DATA_DIR"]) for part in _command(service)]
        messages = [sys.executable, "-m", *command]
        return Program(
            service, messages, self.logs / f"{service}.log", names, self.environment, folder=REPOSITORY
        )

    def _servers(self) -> Iterator[int]:
        for process in self.program("database").processes():
            yield process.pid

    def prepare(self) -> None:
        for name in ("database", "broker"):
            self.program(name).start()
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg2.connect(self.cluster.url, connect_timeout=2).close()
                break
            except psycopg2.OperationalError as error:
                if time.monotonic() > deadline:
                    raise Failed(f"PostgreSQL does not answer: {tail(self.logs / 'database.log')}") from error
                time.sleep(0.1)
        self.manage("collectstatic", "--no-input", "--verbosity", "0")
        super().prepare()


def _command(service: str) -> list[str]:
    """Return the command of a service of docker-compose.yml."""
    text = (REPOSITORY / "docker-compose.yml").read_text()
    section = re.search(rf"^  {service}:\n((?:    .*\n|\n)+)", text, re.M)
    assert section, service
    match = re.search(r"command: (\[.*\])", section[1])
    assert match, service
    payload: list[str] = json.loads(match[1])
    return payload


def start_product(database: str, folder: Path, clock: Clock, *, mounts: bool) -> Product:
    kinds: Mapping[str, Any] = {SQLITE: OnSqlite, POSTGRESQL: OnPostgres}
    product: Product = kinds[database](folder, clock, mounts=mounts)
    return product
