"""`manage.py serve`, as a process."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from annotation.management.commands.serve import Command
from tests.house.product import PRODUCTION, REPOSITORY, manage, serving


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_all_its_processes(tmp_path: Path, how: signal.Signals) -> None:
    with serving(tmp_path) as server:
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        if children.exists():  # Linux
            (worker,) = map(int, children.read_text().split())
        server.stop(how)
        assert server.process.returncode == 0
        if children.exists():
            with pytest.raises(ProcessLookupError):
                os.kill(worker, 0)


def test_it_writes_nothing_outside_the_data_folder(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.get("/readyz")
        assert list((tmp_path / "home").iterdir()) == []


def test_a_taken_port_is_named_with_another_to_try(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = manage(tmp_path, "serve", "--port", str(port))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"CommandError: port {port} of 127.0.0.1 is taken; stop what listens there, "
        f"or choose another: manage.py serve --port {port + 1}"
    )


@pytest.mark.parametrize(
    ("host", "port", "line"),
    [
        ("127.0.0.1", "70000", "there is no port 70000; use one from 1 to 65535"),
        ("192.0.2.1", "8000", "cannot listen on port 8000 of 192.0.2.1: Cannot assign requested address"),
    ],
)
def test_an_address_that_cannot_be_had_is_named(tmp_path: Path, host: str, port: str, line: str) -> None:
    done = manage(tmp_path, "serve", "--host", host, "--port", port)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"CommandError: {line}")


def test_unless_told_otherwise_only_this_machine_is_served() -> None:
    parser = Command().create_parser("manage.py", "serve")
    options = parser.parse_args([])
    assert (options.host, options.port, options.workers) == ("127.0.0.1", 8000, 1)


def test_static_files_are_served_from_where_they_lie(tmp_path: Path) -> None:
    file = next((REPOSITORY / "static").rglob("*.css"))
    with serving(tmp_path) as server:
        answer = server.get(f"/static/{file.relative_to(REPOSITORY / 'static').as_posix()}")
        assert (answer.status, answer.body) == (200, file.read_text())


def test_production_serves_static_files_under_names_that_may_be_kept_for_ever(tmp_path: Path) -> None:
    collected = manage(tmp_path, "collectstatic", "--no-input", **PRODUCTION)
    assert collected.returncode == 0, collected.stderr
    root = tmp_path / "data" / "static"
    named = next(path for path in root.rglob("*.css") if path.stem.count(".") == 1)
    with serving(tmp_path, **PRODUCTION) as server:
        answer = server.get(f"/static/{named.relative_to(root).as_posix()}", X_Forwarded_Proto="https")
        assert answer.status == 200
        assert "immutable" in answer.headers["Cache-Control"]
