"""The harness itself: servers clean up after themselves, and skipped tests are reported."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psycopg2
import pytest
import redis

from tests import prepare, services
from tests.conftest import need
from tests.house.product import PATIENCE, REPOSITORY
from tests.run import running

HOLD_A_REDIS = """
import sys, time
from tests import prepare, services
with services.redis_server(prepare.find("redis")) as url:
    print(url, flush=True)
    time.sleep(60)
"""


def test_a_postgres_is_new_closed_to_strangers_on_this_machine_and_gone_afterwards() -> None:
    with services.postgres(need("postgresql")) as url:
        connection = psycopg2.connect(url)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('server_version_num')::int, current_setting('data_directory')"
            )
            version, folder = cursor.fetchone() or (0, "")
        connection.close()
        assert version >= 10_000 * prepare.OLDEST_POSTGRES
        assert Path(folder).is_dir()
        with pytest.raises(psycopg2.OperationalError):
            psycopg2.connect(url, password="guessed")
    assert not Path(folder).parent.exists()
    with pytest.raises(psycopg2.OperationalError):
        psycopg2.connect(url, connect_timeout=2)


def test_a_server_that_cannot_start_shows_what_it_said(tmp_path: Path) -> None:
    broken = tmp_path / "redis-server"
    broken.write_text("#!/bin/sh\necho no such option >&2\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(services.ServerFailed, match="status 3:\nno such option"):
        with services.redis_server(broken):
            pytest.fail("it runs")


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="Only Linux tells children of a parent's death"
)
def test_a_server_ends_with_a_killed_test_run(tmp_path: Path) -> None:
    need("redis")
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLD_A_REDIS],
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout
    client = redis.Redis.from_url(owner.stdout.readline().strip())
    assert client.ping()
    owner.kill()
    owner.communicate()
    deadline = time.monotonic() + PATIENCE
    with pytest.raises(redis.ConnectionError):
        while time.monotonic() < deadline:
            client.ping()
            time.sleep(0.05)


WAITS = """
import time
from pathlib import Path
def test_waits(redis_url):
    Path("{told}").write_text(redis_url)
    time.sleep(60)
"""
#: Starts a process that only a signal that nobody can ignore ends.
STARTS = """
import subprocess, sys
HOLDS_ON = '''
import os, signal, time
from pathlib import Path
signal.signal(signal.SIGTERM, signal.SIG_IGN)
Path("{file}").write_text(str(os.getpid()))
time.sleep(600)
'''
def test_waits():
    subprocess.run([sys.executable, "-c", HOLDS_ON])
"""


@pytest.mark.slow  # the default run ends a pytest as a run does, below
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_pytest_stops_its_servers_and_removes_their_folders(
    tmp_path: Path, how: signal.Signals
) -> None:
    need("redis")
    url_file = tmp_path / "url"
    (tmp_path / "test_waits.py").write_text(WAITS.format(told=url_file))
    child = pytest_on(tmp_path, TMPDIR=str(tmp_path))
    url = written_in(url_file)
    child.send_signal(how)
    child.communicate(timeout=PATIENCE)
    with pytest.raises(redis.ConnectionError):
        redis.Redis.from_url(url).ping()
    assert list(tmp_path.glob("phrasebox-*")) == []


def test_a_pytest_that_a_run_has_started_ends_with_all_its_processes(tmp_path: Path) -> None:
    (tmp_path / "test_waits.py").write_text(STARTS.format(file=tmp_path / "id"))
    options = ["--noconftest", "-p", "no:django", "-p", "no:cacheprovider", "-c", os.devnull]
    with (tmp_path / "output").open("wb") as output:
        with running([*options, "--rootdir", str(tmp_path), str(tmp_path)], None, into=output) as child:
            started = int(written_in(tmp_path / "id"))
    assert child.returncode is not None
    deadline = time.monotonic() + PATIENCE
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < deadline:
            os.kill(started, 0)
            time.sleep(0.05)


@pytest.mark.slow  # the default run ends one pytest as a run does, above: this starts three, and servers
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Only Linux lists processes in /proc")
def test_ctrl_c_ends_all_that_a_run_has_started(tmp_path: Path) -> None:
    need("redis")
    need("postgresql")
    url_file = tmp_path / "url"
    (tmp_path / "test_waits.py").write_text(WAITS.format(told=url_file))
    run = pytest_on(tmp_path, "-n", "1", module="tests.run", TMPDIR=str(tmp_path))
    url = written_in(url_file)
    started = below(run.pid)
    assert {"postgres", "redis-server"} <= {*started.values()}
    assert sum(name.startswith("python") for name in started.values()) >= 3, (
        "pytest, its process, and pytest on PostgreSQL"
    )
    run.send_signal(signal.SIGINT)
    message = run.communicate(timeout=PATIENCE)[0]
    assert run.returncode == 130, message
    assert {pid: name for pid, name in started.items() if Path(f"/proc/{pid}").exists()} == {}
    with pytest.raises(redis.ConnectionError):
        redis.Redis.from_url(url).ping()
    assert list(tmp_path.glob("phrasebox-*")) == []


def written_in(file: Path) -> str:
    """Return what a test writes there, once it has."""
    deadline = time.monotonic() + PATIENCE
    while not (file.exists() and (text := file.read_text())):
        assert time.monotonic() < deadline, f"nothing in {file}"
        time.sleep(0.05)
    return text


def below(process: int) -> dict[int, str]:
    """Return all descendants of a process: names by id."""
    parents: dict[int, tuple[int, str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            parents[int(folder.name)] = int(rest.split()[1]), name
    result: dict[int, str] = {}
    while more := {
        pid: name
        for pid, (parent, name) in parents.items()
        if parent in {process, *result} and pid not in result
    }:
        result |= more
    return result


@pytest.mark.parametrize(
    ("text", "debian"),
    [
        ("ID=debian\n", True),
        ('ID=ubuntu\nID_LIKE=debian\nNAME="Ubuntu"\n', True),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', True),
        ('ID=fedora\nID_LIKE="rhel"\n', False),
        ("", False),
    ],
)
def test_only_debian_and_its_kin_get_packages(tmp_path: Path, text: str, debian: bool) -> None:
    (tmp_path / "os-release").write_text(text)
    assert prepare.is_debian(tmp_path / "os-release") is debian


def test_nothing_is_installed_without_saying_so_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    apt = tmp_path / "apt-get"
    apt.write_text('#!/bin/sh\necho "apt-get $*"\n[ "$5" != redis-server ]\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(prepare, "NO_SERVICES", {tmp_path / "folder" / "note": ("text\n", 0o644)})
    prepare.install([c for c in prepare.COMPONENTS if c.key in ("redis", "wordnet")])
    assert capfd.readouterr().out == textwrap.dedent(
        """\
        The tests need Redis server, WordNet's noun files.
        Installing with apt-get, as root: redis-server wordnet-base
        apt-get -q update
        apt-get -q install -y --no-install-recommends redis-server
        apt-get install -y --no-install-recommends redis-server failed; what it said stands above.
        apt-get -q install -y --no-install-recommends wordnet-base
        """
    )
    assert not (tmp_path / "folder" / "note").exists()


def test_what_is_missing_is_told_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = prepare.Component("nothing", "A thing", "thing-base", lambda: None, "elsewhere: look there")
    monkeypatch.setattr(prepare, "COMPONENTS", (missing,))
    monkeypatch.setattr(prepare, "may_install", lambda: False)
    assert prepare.prepare() == [missing]
    assert capsys.readouterr().out == (
        "left out: A thing is missing (Debian's package: thing-base; elsewhere: look there)\n"
    )


SKIPS = """
import pytest
def test_needs_a_server(): pytest.skip("left out: Redis server is missing")
def test_needs_photographs(): pytest.skip("real data absent: no folder")
"""


def test_a_test_left_out_fails_a_run_that_may_leave_nothing_out(tmp_path: Path) -> None:
    (tmp_path / "test_skips.py").write_text(SKIPS)
    child = pytest_on(tmp_path, "--nothing-left-out")
    message = child.communicate(timeout=PATIENCE)[0]
    assert child.returncode == 1
    must_not = message.partition("left out, and must not be")[2]
    assert "test_needs_a_server" in must_not and "test_needs_photographs" not in must_not


KINDS = """
import pytest
def test_pure(): pass
def test_fixture(db): pass
def test_server(transactional_db): pass
@pytest.mark.django_db
def test_marked(): pass
@pytest.mark.django_db
@pytest.mark.only_on("nobody's")
def test_of_a_database_that_nobody_has(): pass
"""


@pytest.mark.slow
def test_a_thorough_run_takes_what_uses_no_database_on_sqlite_alone(tmp_path: Path) -> None:
    (tmp_path / "test_kinds.py").write_text(KINDS)
    assert "test_pure" in collected(tmp_path, "--thorough", "--divided")
    with services.postgres(need("postgresql")) as url:
        assert collected(tmp_path, "--thorough", "--divided", DATABASE_URL=url) == [
            "test_fixture",
            "test_marked",
            "test_server",
        ]


def collected(folder: Path, *arguments: str, **environment: str) -> list[str]:
    """Return the names of the tests in `folder` that a run would select, sorted."""
    message = pytest_on(folder, *arguments, "--collect-only", "-q", **environment).communicate(
        timeout=PATIENCE
    )[0]
    return sorted(line.split("::")[1] for line in message.splitlines() if "::" in line)


FAILS = """
import pytest
@pytest.fixture
def broken(): raise OSError("no such server")
def test_counts(): assert 1 + 1 == 3
def test_asks(broken): pass
def test_holds(): pass
"""


@pytest.mark.slow  # the default run fails because of skipped tests, above
def test_a_run_tells_at_its_end_what_failed_and_how_and_only_absent_real_data_may_leave_a_test_out(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_fails.py").write_text(FAILS)
    reported = tmp_path / "told"
    assert pytest_on(tmp_path, f"--tell={reported}").wait(timeout=PATIENCE) == 1
    failures = reported.read_text()
    assert "test_counts (call at" in failures and "assert (1 + 1) == 3" in failures
    assert "test_asks (setup at" in failures and "no such server" in failures
    assert "test_holds" not in failures
    (tmp_path / "test_skips.py").write_text(SKIPS)
    child = pytest_on(tmp_path, f"--tell={reported}", "--nothing-left-out", "-k", "holds or photographs")
    assert "real data absent" in child.communicate(timeout=PATIENCE)[0]
    assert child.returncode == 0
    assert reported.read_text() == ""


def pytest_on(
    folder: Path, *arguments: str, module: str = "pytest", **environment: str
) -> subprocess.Popen[str]:
    """Run pytest, or tests.run, with our conftest, on the tests in `folder`."""
    command = [sys.executable, "-m", module, "-p", "tests.conftest", "-p", "no:cacheprovider"]
    return subprocess.Popen(
        [
            *command,
            "-c",
            str(REPOSITORY / "pyproject.toml"),
            "--rootdir",
            str(folder),
            *arguments,
            str(folder),
        ],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A background run ignores Ctrl-C, and its children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
