"""The queue over HTTP: cycles per second, latencies, CPU, over-assignments.

    python -m studies.queue [--databases postgresql sqlite] [--tasks 5000 500000] [--clients 8 32]
                               [--rate 100] [--seconds 20] [--rounds 3] [--jobs]

A cycle is one request that hands in an answer and brings the next task. Everything is started here and
gone afterwards: a durable PostgreSQL (or SQLite), the product's own server (`manage.py serve` in
production mode: Gunicorn, on PostgreSQL 3 processes of 8 threads, on SQLite 2 of 8), the load
(`studies.queue_load`). Each run starts from a fresh copy of a filled database
(`studies.queue_fill`); runs of different sizes take turns within a round, and medians over the rounds
are printed. CPU is from /proc, in ms an answer; "by process" are the clients' connections of each of the
server's processes. Over-assigned tasks, and whatever else may never be, are
counted in the database after every run (`annotation.simulation_driver.soundness`). `--jobs` lets the server
do its periodic jobs meanwhile (layers, leases), as it does embedded.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2

from annotation.common.plain_text import text_table
from annotation.management.base import progress_bar
from tests import prepare, services
from tests.services import free_port

REPOSITORY = Path(__file__).resolve().parent.parent
WORKERS = 64
TICK = os.sysconf("SC_CLK_TCK")
PROCESSES = {"postgresql": 3, "sqlite": 2}
SETTLE = 3.0
ENVIRONMENT = {
    "PHRASEBOX_ENV": "production",
    "SECRET_KEY": "known-to-this-benchmark-alone-0123456789-0123456789-abcdefghij",
    "SITE_URL": "http://127.0.0.1",
    "CONTACT_EMAIL": "people@phrasebox.example",
}
#: Where no Redis is: the server then leaves the jobs to a worker, which nobody starts.
NO_JOBS = {"REDIS_URL": "redis://127.0.0.1:1/0"}

_CHECK = """
import json
from annotation.models import Campaign
from annotation.simulation_driver.soundness import violations
print(json.dumps(violations(Campaign.objects.get(name="bench"))))
"""


@dataclass(frozen=True)
class Run:
    """A measurement: the numbers of open tasks and clients, at a rate or as fast as possible."""

    tasks: int
    clients: int
    rate: float | None


class Store:
    """Filled databases of one kind, and fresh copies of them."""

    def __init__(self, kind: str, folder: Path, server: services.Postgres | None) -> None:
        self.kind = kind
        self.folder = folder
        self.server = server

    def environment(self, name: str) -> dict[str, str]:
        """Return the environment for a process that uses the database `name`."""
        data = self.folder / name
        data.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, **ENVIRONMENT, "DATA_DIR": str(data)}
        environment.pop("DATABASE_URL", None)
        if self.server is not None:
            environment["DATABASE_URL"] = self.server.url.rsplit("/", 1)[0] + f"/{name}"
        return environment

    def filled(self, tasks: int) -> Path:
        """Return the list of workers of the database with that many tasks, filled if necessary."""
        name = f"filled_{tasks}"
        workers = self.folder / f"{name}.json"
        if not workers.exists():
            self._statement(f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}")
            shutil.rmtree(self.folder / name, ignore_errors=True)
            command = ["studies.queue_fill", "--tasks", str(tasks), "--workers", str(WORKERS)]
            subprocess.run(
                [sys.executable, "-m", *command, "--out", str(workers)],
                check=True,
                cwd=REPOSITORY,
                env=self.environment(name),
            )
        return workers

    @contextlib.contextmanager
    def copy(self, tasks: int) -> Iterator[str]:
        """The name of a fresh copy of a filled database."""
        name, source = f"run_{tasks}", f"filled_{tasks}"
        self._drop(name)
        if self.server is not None:
            self._statement(f"CREATE DATABASE {name} TEMPLATE {source}", "CHECKPOINT")
        else:
            shutil.copytree(self.folder / source, self.folder / name)
        try:
            yield name
        finally:
            self._drop(name)

    def _drop(self, name: str) -> None:
        self._statement(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def _statement(self, *statements: str) -> None:
        if self.server is None:
            return
        connection = psycopg2.connect(self.server.url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.close()


@contextlib.contextmanager
def serving(store: Store, name: str, *, jobs: bool) -> Iterator[tuple[int, int]]:
    """The product's server on the database `name`: (port, process id)."""
    port = free_port()
    command = [sys.executable, str(REPOSITORY / "manage.py"), "serve", "--port", str(port)]
    command += ["--workers", str(PROCESSES[store.kind])]
    environment = store.environment(name) | ({} if jobs else NO_JOBS)
    with (store.folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            services.until_it_answers(port, process)
            time.sleep(SETTLE)  # until all processes accept connections
            yield port, process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def cpu_of(root: int) -> float:
    """CPU seconds of a process, of all that descend from it, and of those of its children that ended."""
    parents: dict[int, list[int]] = defaultdict(list)
    spent: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(entry.name)
        parents[int(fields[1])].append(pid)
        spent[pid] = (int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14]))
    ticks, family = spent.get(root, (0, 0))[1], [root]
    while family:
        pid = family.pop()
        ticks += spent.get(pid, (0, 0))[0]
        family += parents[pid]
    return ticks / TICK


def connections_by_process(server: int, port: int) -> list[int]:
    """Clients' connections of each process that accepts them on the port, the most first."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ours = [
        (state, inode)
        for _, local, _, state, *rest in lines
        if int(local[-4:], 16) == port
        for inode in rest[5:6]
    ]
    established = {f"socket:[{inode}]" for state, inode in ours if state == "01"}
    listening = {f"socket:[{inode}]" for state, inode in ours if state == "0A"}
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    files = [{os.readlink(file) for file in Path(f"/proc/{child}/fd").iterdir()} for child in children]
    return sorted((len(established & held) for held in files if listening & held), reverse=True)


def measured(store: Store, run: Run, database: int | None, *, seconds: float, jobs: bool) -> dict[str, Any]:
    """One run: the load's own report, CPU in ms a cycle, and what may never be."""
    workers = store.filled(run.tasks)
    with store.copy(run.tasks) as name:
        with serving(store, name, jobs=jobs) as (port, server):
            before = cpu_of(server), cpu_of(database) if database else 0.0
            command = ["studies.queue_load", "--port", str(port), "--workers", str(workers)]
            command += ["--clients", str(run.clients), "--seconds", str(seconds)]
            command += ["--rate", str(run.rate)] if run.rate else []
            with subprocess.Popen(
                [sys.executable, "-m", *command], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
            ) as load:
                time.sleep(seconds / 2)
                shares = connections_by_process(server, port)
                output, _ = load.communicate()
            if load.returncode:
                raise SystemExit(f"studies.queue_load: exit status {load.returncode}")
            after = cpu_of(server), cpu_of(database) if database else 0.0
        report: dict[str, Any] = json.loads(output)
        report["connections"] = "/".join(map(str, shares))
        per_answer = 1000 / max(report["answers"], 1)
        report["cpu_server"] = (after[0] - before[0]) * per_answer
        report["cpu_database"] = (after[1] - before[1]) * per_answer
        report["cpu_client"] = report["cpu"] * per_answer
        check = subprocess.run(
            [sys.executable, str(REPOSITORY / "manage.py"), "shell", "--no-imports", "-c", _CHECK],
            check=True,
            env=store.environment(name),
            capture_output=True,
            text=True,
        )
        report["violations"] = json.loads(check.stdout.splitlines()[-1])
    return report


def rows_of(results: Mapping[tuple[str, Run], list[dict[str, Any]]]) -> list[list[Any]]:
    """One line for each kind of run: medians over its rounds, and the sum of what may never be."""
    rows = []
    for (kind, run), reports in results.items():

        def median(name: str, scale: float = 1.0, of: list[dict[str, Any]] = reports) -> float:
            return statistics.median((report[name] or 0.0) * scale for report in of)

        over = sum(report["violations"]["tasks given to more workers than they want"] for report in reports)
        amiss = sum(sum(report["violations"].values()) for report in reports) - over
        errors = sum(sum(report["errors"].values()) for report in reports)
        rows.append(
            [
                kind,
                run.tasks,
                run.clients,
                f"open, {run.rate:.0f}/s" if run.rate else "closed",
                round(median("rate")),
                *(round(median(name, 1000), 1) for name in ("p50", "p95", "p99")),
                *(f"{median(f'cpu_{who}'):.2f}" for who in ("server", "database", "client")),
                ", ".join(sorted({report["connections"] for report in reports})),
                over,
                amiss,
                errors,
            ]
        )
    return rows


HEAD = ["database", "open tasks", "clients", "loop", "cycles/s", "p50 ms", "p95 ms", "p99 ms"]
HEAD += [
    "CPU server",
    "CPU database",
    "CPU client",
    "by process",
    "over-assigned",
    "other violations",
    "errors",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--databases", nargs="+", choices=list(PROCESSES), default=list(PROCESSES))
    parser.add_argument("--tasks", nargs="+", type=int, default=[5_000, 500_000])
    parser.add_argument("--clients", nargs="+", type=int, default=[8, 32])
    parser.add_argument("--rate", type=float, default=100.0, help="of the open loop; 0: none")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", action="store_true")
    options = parser.parse_args()
    plan = [Run(tasks, clients, None) for clients in options.clients for tasks in options.tasks]
    plan += [Run(tasks, max(options.clients), options.rate) for tasks in options.tasks if options.rate]
    results: dict[tuple[str, Run], list[dict[str, Any]]] = defaultdict(list)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for kind in options.databases:
            bar = progress_bar(what=kind, total=options.rounds * len(plan))
            stack.callback(bar.close)
            with database_of(kind, folder) as (store, database):
                for _ in range(options.rounds):
                    for run in plan:
                        report = measured(store, run, database, seconds=options.seconds, jobs=options.jobs)
                        results[kind, run].append(report)
                        bar.update()
                        print(json.dumps({"database": kind, **run.__dict__, **report}), file=sys.stderr)
    print(text_table(HEAD, rows_of(results)))


@contextlib.contextmanager
def database_of(kind: str, folder: Path) -> Iterator[tuple[Store, int | None]]:
    """A place for filled databases of this kind, and the process id of its server, where it has one."""
    if kind == "sqlite":
        yield Store(kind, folder / kind, None), None
        return
    binaries = prepare.find("postgresql")
    if binaries is None:
        raise SystemExit("PostgreSQL is not installed; `python -m tests.prepare` says how to get it")
    with services.cluster(binaries, durable=True, connections=120) as server:
        with server.running() as process:
            yield Store(kind, folder / kind, server), process.pid


if __name__ == "__main__":
    main()
