"""`manage.py serve`, as a process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.management.commands import serve
from annotation.management.commands.serve import Command, JobsProcess, run_server
from tests.house.product import NO_BROKER, PATIENCE, PRODUCTION, REPOSITORY, Server, manage, migrated, serving
from tests.services import free_port
from tests.sizes import by_default

#: Processes are inspected in /proc.
linux = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Server]]:
    """A folder and its server with the process of jobs, for tests that do not change them: starting them
    takes five seconds of CPU."""
    folder = tmp_path_factory.mktemp("embedded")
    migrated(folder)
    with serving(folder) as server:
        yield folder, server


def children(process: int) -> dict[int, str]:
    """Return the command lines of a process's children, by their ids."""
    result = {}
    for id in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            result[int(id)] = Path(f"/proc/{id}/cmdline").read_text().replace("\0", " ")
    return result


def jobs_process(server: Server, but: int = 0) -> int:
    """Return the process that runs the jobs, once there is one that is not `but`."""
    deadline = time.monotonic() + PATIENCE
    while True:
        ids = [id for id, line in children(server.process.pid).items() if " run_jobs " in line and id != but]
        if ids:
            return ids[0]
        assert time.monotonic() < deadline, "no process does the jobs"
        time.sleep(0.1)


def is_there(process: int) -> bool:
    """Return whether the process lives."""
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@linux
@pytest.mark.parametrize("how", by_default(1, [signal.SIGINT, signal.SIGTERM]))
def test_it_ends_with_all_its_processes_and_writes_nothing_outside_the_data_folder(
    tmp_path: Path, how: signal.Signals
) -> None:
    migrated(tmp_path)
    with serving(tmp_path, fresh=how == signal.SIGINT) as server:
        if how == signal.SIGINT:
            server.get("/readyz")  # it loads the pages, for seconds: once is enough
        jobs_process(server)
        processes = children(server.process.pid)
        assert len(processes) == 2
        server.stop(how)
        assert server.process.returncode == 0
        assert not any(map(is_there, processes))
        assert list((tmp_path / "home").iterdir()) == []


@linux
def test_a_process_of_jobs_that_was_killed_is_replaced_and_ends_with_a_server_that_was_killed(
    tmp_path: Path,
) -> None:
    migrated(tmp_path)
    with serving(tmp_path) as server:
        first = jobs_process(server)
        os.kill(first, signal.SIGKILL)
        orphan = jobs_process(server, but=first)
        assert orphan != first
        assert server.get("/healthz").status == 200
        server.process.kill()
        server.process.communicate(timeout=PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while is_there(orphan):
            assert time.monotonic() < deadline, "the process of jobs outlives its server"
            time.sleep(0.1)


def test_with_a_broker_celery_gets_the_jobs(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    started: list[JobsProcess | None] = []
    monkeypatch.setattr(serve.Master, "run", lambda master: started.append(master.jobs))
    for url in (NO_BROKER, ""):
        settings.REDIS_URL = url
        serve.Server({"bind": "127.0.0.1:0"}).run()
    with_broker, without = started
    assert with_broker is None and without is not None


@linux
@pytest.mark.slow  # the default run starts no server for it, above
def test_with_a_broker_the_jobs_are_left_to_celery(tmp_path: Path, redis_url: str) -> None:
    with serving(tmp_path, REDIS_URL=redis_url) as server:
        time.sleep(2)
        assert len(children(server.process.pid)) == 1


ASK = """
from annotation.jobs import enqueue
enqueue(kind="export_dataset", arguments={"corpus": "none", "format": "entities"})
"""


def state_of_the_job(folder: Path) -> tuple[str, str]:
    """Return the state of the only job, and its error: read here, since a command costs a second of CPU."""
    with contextlib.closing(sqlite3.connect(folder / "data" / "phrasebox.sqlite3", timeout=60)) as database:
        ((state, error),) = database.execute("SELECT state, error FROM annotation_job")
    return str(state), str(error)


def test_one_command_serves_and_does_the_jobs(embedded: tuple[Path, Server]) -> None:
    folder, server = embedded
    assert manage(folder, "shell", "--no-imports", "-c", ASK).stderr == ""
    deadline = time.monotonic() + PATIENCE
    while (state := state_of_the_job(folder)) != ("failed", "unknown corpus 'none'"):
        assert time.monotonic() < deadline, state
        time.sleep(0.2)
    assert server.get("/healthz").status == 200


@pytest.fixture
def serves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this a fault would serve for ever."""
    monkeypatch.setattr(serve.Server, "run", lambda server: None)


@pytest.mark.usefixtures("serves_nothing")
def test_a_taken_port_is_named_with_another_to_try() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError) as error:
            call_command("serve", port=port)
    assert str(error.value) == (
        f"port {port} of 127.0.0.1 is taken; stop what listens there, "
        f"or choose another: manage.py serve --port {port + 1}"
    )


@pytest.mark.parametrize(
    ("host", "port", "line"),
    [
        ("127.0.0.1", 70000, "there is no port 70000; use one from 1 to 65535"),
        ("192.0.2.1", 8000, "cannot listen on port 8000 of 192.0.2.1: Cannot assign requested address"),
    ],
)
@pytest.mark.usefixtures("serves_nothing")
def test_an_address_that_cannot_be_had_is_named(host: str, port: int, line: str) -> None:
    with pytest.raises(CommandError) as error:
        call_command("serve", host=host, port=port)
    assert str(error.value) == line


def test_unless_told_otherwise_only_this_machine_is_served() -> None:
    parser = Command().create_parser("manage.py", "serve")
    options = parser.parse_args([])
    assert (options.host, options.port, options.workers) == ("127.0.0.1", 8000, 1)


def test_static_files_are_served_from_where_they_lie(embedded: tuple[Path, Server]) -> None:
    file = next((REPOSITORY / "static").rglob("*.css"))
    answer = embedded[1].get(f"/static/{file.relative_to(REPOSITORY / 'static').as_posix()}")
    assert (answer.status, answer.body) == (200, file.read_text())


@pytest.mark.slow  # the default run has pages in production, in `test_security`
def test_production_serves_static_files_under_names_that_may_be_kept_for_ever(tmp_path: Path) -> None:
    collected = manage(tmp_path, "collectstatic", "--no-input", **PRODUCTION)
    assert collected.returncode == 0, collected.stderr
    root = tmp_path / "data" / "static"
    named = next(path for path in root.rglob("*.css") if path.stem.count(".") == 1)
    with serving(tmp_path, port=None, **{**PRODUCTION, "REDIS_URL": NO_BROKER}) as server:
        answer = server.get(f"/static/{named.relative_to(root).as_posix()}", X_Forwarded_Proto="https")
        assert answer.status == 200
        assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
@pytest.mark.usefixtures("serves_nothing")
def test_it_listens_to_nobody_else_under_the_key_that_everybody_knows(host: str) -> None:
    with pytest.raises(CommandError, match="SECRET_KEY is the public default"):
        run_server(host, free_port())


def test_somebody_who_sends_far_too_much_reads_why_and_is_cut_off(
    embedded: tuple[Path, Server],
) -> None:
    server = embedded[1]
    head = (
        f"POST /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: {10**12}\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as client:
        client.sendall(head.encode())
        # Like browsers: they read once they have sent, or cannot send.
        payload, until = 0, time.monotonic() + PATIENCE
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while time.monotonic() < until:
                payload += client.send(b"x" * 2**16)
                time.sleep(0.01)
        assert payload > 2**20, "it was not heard out"
        message = b""
        with contextlib.suppress(ConnectionResetError):
            while got := client.recv(2**16):
                message += got
    assert message.startswith(b"HTTP/1.1 413 ") and b"Sign in, then send it again" in message
    assert server.get("/healthz").status == 200
