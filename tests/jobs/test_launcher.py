"""Processes forked by the tests behave like newly started ones (tests/launcher.py)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import launcher
from tests.house.product import PATIENCE, REPOSITORY, environment

PRINT = """
import json, os, signal, sys, threading
print(json.dumps({
    "environment": dict(os.environ),
    "arguments": [sys.argv, sys.orig_argv[1:], sys.path],
    "folder": os.getcwd(),
    "files": sorted(os.listdir("/proc/self/fd")),
    "signals": [str(signal.getsignal(number)) for number in signal.valid_signals()],
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "python": [list(sys.flags), sys.stdout.encoding, sys.stderr.errors, sys.getfilesystemencoding()],
    "threads": len(os.listdir("/proc/self/task")),
    "leader": os.getpid() == os.getsid(0) == os.getpgid(0),
    "name": __name__,
}))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every process begins from nothing")


def output(folder: Path, *command: str, fresh: object = False, **value: str) -> dict:
    done = launcher.run(
        [sys.executable, *command], env=environment(folder, value), timeout=PATIENCE, fresh=bool(fresh)
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_process_has_what_it_is_given_and_nothing_of_ours(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "of the tests")
    form_data = {"DATA_DIR": str(tmp_path / "other"), "REDIS_URL": "redis://nowhere"}
    file = tmp_path / "tell.py"
    file.write_text(PRINT)
    for command in (["-c", PRINT, "one", "two"], [str(file), "--three"]):
        forked = output(tmp_path, *command, **form_data)
        assert forked == output(tmp_path, *command, fresh=True, **form_data)
        assert forked["environment"]["DATA_DIR"] == form_data["DATA_DIR"]
        assert forked["leader"] and "SECRET_KEY" not in forked["environment"]


def test_settings_are_read_from_the_environment_of_each_process(tmp_path: Path) -> None:
    ask = "from django.conf import settings; print(settings.DATA_DIR, settings.REDIS_URL, settings.DATABASES)"
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        url = f"redis://{name}"
        command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", ask]
        text = launcher.run(command, env=environment(folder, {"REDIS_URL": url}), timeout=PATIENCE).stdout
        assert text.startswith(f"{folder / 'data'} {url} ") and str(folder / "data" / "phrasebox") in text


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("pass", 0),
        ("raise SystemExit(3)", 3),
        ("import sys; sys.exit('no such thing')", 1),
        ("1 / 0", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
    ],
)
def test_it_ends_with_the_same_status_and_last_words(tmp_path: Path, code: str, status: int) -> None:
    before = "import atexit; atexit.register(print, 'the end'); print('begun')\n"
    ends = [
        launcher.run(
            [sys.executable, "-c", before + code],
            env=environment(tmp_path, {}),
            timeout=PATIENCE,
            fresh=fresh,
        )
        for fresh in (False, True)
    ]
    assert [end.returncode for end in ends] == [status, status]
    assert ends[0].stdout == ends[1].stdout
    assert ends[0].stderr.splitlines()[-1:] == ends[1].stderr.splitlines()[-1:]


def test_it_can_be_killed_waited_for_and_signalled(tmp_path: Path) -> None:
    sleep, env = [sys.executable, "-c", "import time; time.sleep(600)"], environment(tmp_path, {})
    first, second = launcher.start(sleep, env=env), launcher.start(sleep, env=env)
    assert first.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        first.wait(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    second.terminate()
    assert (first.wait(PATIENCE), second.wait(PATIENCE)) == (-signal.SIGKILL, -signal.SIGTERM)
    second.kill()
    assert second.poll() == -signal.SIGTERM
    assert launcher.run([sys.executable, "-c", "pass"], env=env, timeout=PATIENCE).returncode == 0


LEAVE = """
import sys
from tests import launcher
process = launcher.start([sys.executable, "-c", "import time; time.sleep(600)"], env={"PATH": "/bin"})
print(process.pid, *[one.process.pid for one in launcher._launchers], flush=True)
if sys.argv[1] == "killed":
    import os
    os.kill(os.getpid(), 9)
"""


@pytest.mark.slow  # the default run has the launcher that it shares, below
@pytest.mark.parametrize("how", ["killed", "ended"])
def test_nothing_of_it_is_left_when_the_tests_are_over_or_killed(how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVE, how],
        cwd=REPOSITORY,
        env={**os.environ, launcher.SHARED: ""},
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
    )
    process, *launchers = map(int, done.stdout.split())
    assert launchers
    deadline = time.monotonic() + PATIENCE
    for pid in (process, *launchers):
        while _lives(pid):
            assert time.monotonic() < deadline, "it outlives the tests"
            time.sleep(0.05)


SHARE = """
import os, sys
from pathlib import Path
from tests import launcher
with launcher.shared(Path(sys.argv[1])) as variables:
    os.environ |= variables
    process = launcher.start([sys.executable, "-c", "import time; time.sleep(600)"], env={"PATH": "/bin"})
    state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    print(process.pid, state[1], flush=True)
    os.kill(os.getpid(), 9)
"""


def test_a_launcher_that_a_run_shares_ends_with_the_run_and_what_it_started(tmp_path: Path) -> None:
    """Dearer than a test may be: it loads all libraries once more."""
    command = [sys.executable, "-c", SHARE, str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, timeout=PATIENCE)
    deadline = time.monotonic() + PATIENCE
    process, parent = map(int, done.stdout.split())
    for pid in (process, parent):
        while _lives(pid):
            assert time.monotonic() < deadline, "it outlives the run"
            time.sleep(0.05)


def _lives(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
