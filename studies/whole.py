"""Real captions from file to dataset, with all services running: prints time and result of each step.

    python -m studies.whole [--images 1000] [--workers 24] [--processes 2] [--data FOLDER]

Started for the run: a durable PostgreSQL, Redis, the server (Gunicorn, 3 processes of 8 threads), a Celery
worker for jobs, and one with the clock for the periodic work. The captions are those of Flickr30k's
validation images (flickr30k/validation.json of the real data: REAL_DATA_DIR, or ../shared/data). They have no
gold: the chunker finds mentions, and a simulated crowd answers over HTTP from a stand-in, so the figures say
nothing about pictures.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotation.common.plain_text import text_table
from tests import prepare, services
from tests.services import free_port

REPOSITORY = Path(__file__).resolve().parent.parent
CONFIG = 'boxes = "always"\n[trust]\nqualification = false\n[lease]\nminutes = 0.5\n'
CELERY = [sys.executable, "-m", "celery", "-A", "config.celery", "worker", "--loglevel", "INFO"]
JOBS = [*CELERY, "--queues", "jobs", "--concurrency", "1", "--hostname", "jobs@%h"]
CLOCK = [*CELERY, "--beat", "--queues", "periodic", "--concurrency", "1", "--hostname", "clock@%h"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=24)
    parser.add_argument("--processes", type=int, default=2)
    usual = os.environ.get("REAL_DATA_DIR") or REPOSITORY.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(usual))
    options = parser.parse_args()
    captions = options.data / "flickr30k" / "validation.json"
    if not captions.exists():
        raise SystemExit(f"real data absent: no file {captions} (--data can name another folder)")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(services.cluster(_need("postgresql"), durable=True, connections=120))
        stack.enter_context(server.running())
        redis = stack.enter_context(services.redis_server(_need("redis")))
        world = World(folder, DATABASE_URL=server.url, REDIS_URL=redis)
        world.manage("migrate", "--verbosity", "0")
        for name, command in (("jobs", JOBS), ("clock", [*CLOCK, "--schedule", str(folder / "beat")])):
            stack.enter_context(world.running(name, command))
        port = free_port()
        serve = [sys.executable, "manage.py", "serve", "--port", str(port), "--workers", "3"]
        stack.enter_context(world.running("server", serve))
        services.until_it_answers(port)
        rows = through(world, captions, f"http://127.0.0.1:{port}", options)
        rows.append(
            ["periodic work", f"{world.log_count('clock', 'succeeded')} turns done by the clock's worker"]
        )
    print(text_table(["step", "figure"], rows))


def through(world: World, captions: Path, url: str, options: argparse.Namespace) -> list[list[Any]]:
    """Import, open, answer, export: return a line for each."""
    config, out = world.folder / "campaign.toml", world.folder / "out"
    config.write_text(CONFIG)
    rows: list[list[Any]] = []

    def timed(step: str, *arguments: str) -> dict[str, Any]:
        begun = time.perf_counter()
        report = world.manage(*arguments, "--json")
        rows.append([step, f"{time.perf_counter() - begun:.1f} s"])
        return report

    timed("import", "import_corpus", "real", str(captions), "--format", "flickr30k")
    opening = ["open_campaign", "real", "--corpus", "real", "--tasks", "entities", "--unpaid"]
    opening += ["--campaign-settings", str(config)]
    timed("open", *opening, "--images", str(options.images))
    crowd = ["simulate_crowd", "real", "--through", "http", "--url", url]
    crowd += ["--workers", str(options.workers), "--processes", str(options.processes)]
    done = timed("crowd over HTTP", *crowd)
    export_options = ["--layer", "real", "--format", "entities", "--simulated", "--out", str(out)]
    timed("export", "export_dataset", "real", *export_options)
    visits = done["visits"]
    answered = sum(visits["answered"].values())
    rows += [
        ["answers", f"{answered}, {answered / done['seconds']:.0f}/s"],
        ["late, counted and extra", f"{visits['late_counted']}, {visits['late_extra']}"],
        ["sent twice, refused, returned", _three(visits, "repeated", "refused_twice", "returned")],
        ["images left unfinished", done["cost"]["unfinished"]],
        ["open tasks, leases left", f"{done['left']['open_tasks']}, {done['left']['leased']}"],
        ["what may never be", sum(done["violations"].values())],
        ["amiss", len(visits["amiss"])],
        ["exported", f"{len(list((out / 'Annotations').iterdir()))} images"],
    ]
    return rows


def _three(visits: dict[str, Any], *names: str) -> str:
    return ", ".join(str(visits[name]) for name in names)


class World:
    """One environment for all processes, and a log for each of the services."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.environment = {**os.environ, "DATA_DIR": str(folder / "data"), **environment}
        (folder / "data").mkdir()

    def manage(self, *arguments: str) -> dict[str, Any]:
        """Return the report of a `manage.py` command, {} if it has none. Raises if it fails."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=REPOSITORY,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1]) if "--json" in arguments else {}
        return report

    @contextlib.contextmanager
    def running(self, name: str, command: list[str]) -> Iterator[None]:
        """Run a process until the block ends."""
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, cwd=REPOSITORY, env=self.environment, stdout=log, stderr=log)
            try:
                yield
            finally:
                process.terminate()
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def log_count(self, name: str, word: str) -> int:
        """Return the number of lines of a process's log that contain a word."""
        return (self.folder / f"{name}.log").read_text(errors="replace").count(word)


def _need(key: str) -> Path:
    component = prepare.find(key)
    if component is None:
        raise SystemExit(f"{key} is not installed; `python -m tests.prepare` says how to get it")
    return component


if __name__ == "__main__":
    main()
