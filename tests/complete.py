"""The whole product as installed: PostgreSQL, Redis, the web server, Celery's worker and its scheduler.

All are processes of their own on 127.0.0.1, with the commands of `docker-compose.yml`, and share nothing with
the test process: a test only uses its pages and its API. The database is empty except for its tables.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import launcher, services
from tests.house import product

REPOSITORY = product.REPOSITORY
#: Seconds until the server must respond, on a busy machine.
PATIENCE = 180.0


@dataclass(frozen=True)
class CompleteProduct:
    """Its address, the folder of its logs, and its environment."""

    url: str
    folder: Path
    environment: Mapping[str, str]

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def manage(self, *arguments: str) -> str:
        """Return the output of a `manage.py` command."""
        done = product.manage(self.folder, *arguments, **self.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def first_account(self) -> str:
        """Return the link to the first account, as printed by the server."""
        match = re.search(r"Create the first: (\S+)", (self.logs / "web").read_text())
        assert match, (self.logs / "web").read_text()
        return match[1]


@contextlib.contextmanager
def complete_product(
    folder: Path, *, postgresql: Path, redis: Path, **variables: str
) -> Iterator[CompleteProduct]:
    """Run the product in `folder`, with these servers' binaries.

    `variables` are added to its environment.
    """
    logs = folder / "logs"
    logs.mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        variables["DATABASE_URL"] = stack.enter_context(services.postgres(postgresql))
        variables["REDIS_URL"] = stack.enter_context(services.redis_server(redis))
        done = product.manage(folder, "migrate", "--verbosity", "0", **variables)
        assert done.returncode == 0, done.stderr
        port = services.free_port()
        serve = [sys.executable, "manage.py", "serve", "--port", str(port), "--workers", "2"]
        web = stack.enter_context(_at_work("web", serve, folder, variables))
        for name in ("worker", "beat"):
            command = [part.replace("/data", str(folder / "data")) for part in celery_command(name)]
            stack.enter_context(_at_work(name, [sys.executable, "-m", *command], folder, variables))
        deadline = time.monotonic() + PATIENCE
        server = product.Server(web, port)
        while True:
            try:
                assert server.get("/readyz").status == 200
                break
            except OSError:
                assert web.poll() is None, (logs / "web").read_text()
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.1)
        try:
            yield CompleteProduct(f"http://127.0.0.1:{port}", folder, variables)
        except BaseException:
            for log in sorted(logs.iterdir()):
                print(f"== {log.name} ==\n{log.read_text()[-4000:]}")
            raise


def celery_command(name: str) -> list[str]:
    """Return the command of a Celery service of `docker-compose.yml`."""
    text = (REPOSITORY / "docker-compose.yml").read_text()
    section = re.search(rf"^  {name}:\n((?:    .*\n|\n)+)", text, re.M)
    assert section, name
    match = re.search(r"command: (\[.*\])", section[1])
    assert match, name
    command: list[str] = json.loads(match[1])
    assert command[0] == "celery"
    return command


@contextlib.contextmanager
def _at_work(
    name: str, command: list[str], folder: Path, provided: dict[str, str]
) -> Iterator[launcher.Process | subprocess.Popen[str]]:
    """Run `command` within the context; it writes to the log of that name."""
    with (folder / "logs" / name).open("ab") as out:
        process = launcher.start(command, env=product.environment(folder, provided), stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(product.PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
