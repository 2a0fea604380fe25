"""The whole test run: prepare the system, then run pytest on SQLite and on PostgreSQL in parallel.

    python -m tests.run [--slow] [--nothing-left-out] [--reach FOLDER] [what pytest takes]

`tests/databases.py` defines which test runs on which database. On SQLite pytest-xdist divides the files among
one process per core plus one: tests wait for browsers and servers. PostgreSQL is started for the run and
stopped after it; its tests' output is shown when the others have finished. At the end the run prints the ten
slowest tests of each side, its duration, and all failed tests again. `--slow` also runs the slow tests, and
all tests on both databases, with more examples and in every theme. Exit status 0 means that all tests ran and
passed, except for announced skips; `--nothing-left-out` allows no skips. Ctrl-C ends everything that was
started, including servers.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import IO

from tests import launcher, prepare, services

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = ("annotation", "config", "evaluation", "models_core", "phrasebox", "scenes")
SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"
PASSED, NO_TESTS_COLLECTED = 0, 5  # pytest's exit statuses
WORDS = {PASSED: "passed", NO_TESTS_COLLECTED: "no such test"}
INTERRUPTED = 130
#: How pytest-xdist divides the tests: by file, in the order of tests/conftest.py.
BY_FILE = ("--dist", "loadfile", "--no-loadscope-reorder")

#: One thread per numerical library: the processes share few cores, and threads that wait for each other use
#: CPU.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

#: Linux's file system in memory, and the bytes that must be free there: a run writes a tenth of that.
MEMORY, ROOM = Path("/dev/shm"), 4 << 30
#: Seconds that an interrupted pytest has to clean up before it is killed.
PATIENCE = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.run",
        description="Run the tests on SQLite and PostgreSQL",
        allow_abbrev=False,
    )
    parser.add_argument("--slow", action="store_true", help="The slow tests too, and all on both databases")
    parser.add_argument("--nothing-left-out", action="store_true", help="Fail where something is missing")
    parser.add_argument("--reach", type=Path, metavar="FOLDER", help="Record there what each test runs")
    options, arguments = parser.parse_known_args()
    # A script's background job ignores Ctrl-C, and so would everything started from here.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)

    # Without this each process that a test starts would compile our code again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for compiler in (("compileall", "-q", *PACKAGES), ("tests.rewritten",)):
        subprocess.run([sys.executable, "-m", *compiler], cwd=REPOSITORY, check=False)
    missing = prepare.prepare()
    if missing and options.nothing_left_out:
        print("Nothing may be left out, so nothing was run.")
        return 1
    chosen = ["--thorough"] if options.slow else ["-m", "not slow"]
    chosen += ["--durations", "10", "--durations-min", "1", *arguments]
    if options.nothing_left_out:
        chosen.append("--nothing-left-out")
    fine = {PASSED, NO_TESTS_COLLECTED} if arguments else {PASSED}

    binaries = prepare.find("postgresql")
    began, ended = time.monotonic(), dict[str, int]()
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(_temporary_files_in_memory())
            failures = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phrasebox-failures-")))
            if sys.platform.startswith("linux") and not options.slow:
                sockets = stack.enter_context(tempfile.TemporaryDirectory(prefix="phrasebox-launcher-"))
                os.environ |= stack.enter_context(launcher.shared(Path(sockets)))

            def options_of(side: str) -> list[str]:
                pytest_options = [*chosen, "--tell", str(failures / side)]
                if binaries is not None:
                    pytest_options.append("--divided")
                if options.reach is not None:
                    options.reach.mkdir(parents=True, exist_ok=True)
                    pytest_options += [
                        "-p",
                        "tests.faults.reach",
                        "--reach",
                        str(options.reach.resolve() / side),
                    ]
                elif side == SQLITE:
                    pytest_options[:0] = ["-n", str((os.cpu_count() or 1) + 1), *BY_FILE]
                return pytest_options

            output = stack.enter_context(tempfile.TemporaryFile())
            if binaries is not None:
                url = stack.enter_context(services.postgres(binaries))
                beside = stack.enter_context(running(options_of(POSTGRESQL), url, into=output))
            print(f"== {SQLITE} ==", flush=True)
            with running(options_of(SQLITE), None) as tests:
                ended[SQLITE] = tests.wait()
            if binaries is not None:
                print(f"== {POSTGRESQL} ==", flush=True)
                ended[POSTGRESQL] = _show(beside, output)
            for file in sorted(failures.iterdir()):
                if failed := file.read_text():
                    print(f"== failed on {file.name} ==\n{failed}", end="")
    except KeyboardInterrupt:
        return INTERRUPTED
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.monotonic() - began:.0f} s, of CPU {used.ru_utime + used.ru_stime:.0f} s")
    for side, status in ended.items():
        print(f"{side}: {WORDS[status] if status in fine else 'FAILED'}")
    for component in missing:
        print(prepare.reason_to_skip(component))
    return 0 if fine.issuperset(ended.values()) else 1


@contextlib.contextmanager
def _temporary_files_in_memory() -> Iterator[None]:
    """Put new temporary files, also those of child processes, in memory if there is room.

    On a disk the tests would wait some 10 ms at each commit of SQLite.
    """
    room = shutil.disk_usage(MEMORY).free if MEMORY.is_dir() else 0
    if "TMPDIR" in os.environ or room < ROOM or not os.access(MEMORY, os.W_OK):
        yield
        return
    with tempfile.TemporaryDirectory(
        prefix="phrasebox-run-", dir=MEMORY, ignore_cleanup_errors=True
    ) as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            yield
        finally:
            del os.environ["TMPDIR"]
            tempfile.tempdir = None


@contextlib.contextmanager
def running(
    arguments: list[str], database_url: str | None, *, into: IO[bytes] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run pytest in its own process group, with output to `into`.

    On an early exit the whole group is asked to end, so that tests can clean up; after a while the rest is
    killed.
    """
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment |= {name: "1" for name in THREADS if name not in os.environ}
    if database_url:
        environment["DATABASE_URL"] = database_url
    child = subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=REPOSITORY,
        env=environment,
        stdout=into,
        stderr=into and subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(PATIENCE)
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _show(child: subprocess.Popen[bytes], written: IO[bytes]) -> int:
    """Print the child's output until its end; return its exit status."""
    position = 0
    while True:
        status = child.poll()
        part = os.pread(written.fileno(), 65536, position)  # the child shares the file's position
        position += len(part)
        sys.stdout.buffer.write(part)
        sys.stdout.flush()
        if not part:
            if status is not None:
                return status
            time.sleep(0.5)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Interrupt once: a second Ctrl-C must not break the clean-up."""
    for watched in (signal.SIGINT, signal.SIGTERM):
        signal.signal(watched, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
