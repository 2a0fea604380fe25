"""The whole test run: prepare the system, then lanes side by side, two on SQLite and one on PostgreSQL.

    python -m tests.run [--slow] [--nothing-left-out] [--record] [--reach FOLDER] [what pytest takes]

Which test runs in which lane stands in `tests/lanes.py`: what speaks SQL of its own runs on both databases,
everything else on one, so that all have as much to do. The lanes' servers are started for them and stopped
after them. What the other lanes print is shown when the first is over; at the end follow what the run took,
beside what was recorded (`tests/cost.py`), and once more which tests failed. `--slow` runs the slow tests
too, everything on both databases, with more examples and in every look. Exit status 0 means that
all ran and passed, save what was announced as left out; `--nothing-left-out` allows no such thing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
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

from tests import cost, prepare, services
from tests.lanes import LANES, POSTGRESQL, SECOND, SQLITE

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = ("annotation", "config", "evaluation", "models_core", "phrasebox", "scenes")
PASSED, NO_TESTS_COLLECTED = 0, 5  # pytest's exit statuses
WORDS = {PASSED: "passed", NO_TESTS_COLLECTED: "no such test"}
INTERRUPTED = 130

#: One thread for each library of numbers: lanes and what they start share few cores, and threads that wait
#: for each other do so actively (docs/testing.md).
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

#: Linux's file system in memory, and the bytes that must be free there: a run writes a tenth of it.
MEMORY, ROOM = Path("/dev/shm"), 4 << 30


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.run",
        description="Run the tests on SQLite and PostgreSQL",
        allow_abbrev=False,
    )
    parser.add_argument("--slow", action="store_true", help="The slow tests too, and all on both databases")
    parser.add_argument("--nothing-left-out", action="store_true", help="Fail where something is missing")
    parser.add_argument("--record", action="store_true", help="Record what each test costs")
    parser.add_argument("--reach", type=Path, metavar="FOLDER", help="Record there what each test runs")
    options, arguments = parser.parse_known_args()
    signal.signal(signal.SIGTERM, _interrupt)
    # Run in the background by a script, we would ignore it, and so would all that we start.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    # Without this each process that a test starts would compile our code for itself.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, "-m", "compileall", "-q", *PACKAGES], cwd=REPOSITORY, check=False)
    missing = prepare.prepare()
    if missing and options.nothing_left_out:
        print("Nothing may be left out, so nothing was run.")
        return 1
    chosen = ["--thorough"] if options.slow else ["-m", "not slow"]
    chosen += arguments
    if options.nothing_left_out:
        chosen.append("--nothing-left-out")
    fine = {PASSED, NO_TESTS_COLLECTED} if arguments else {PASSED}

    binaries = prepare.find("postgresql")
    ended: dict[str, int] = {}
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(_temporary_files_in_memory())
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phrasebox-told-")))
            told, costs = folder / "told", folder / "costs"
            told.mkdir()
            costs.mkdir()

            def lane(name: str) -> list[str]:
                given = [*chosen, "--tell", str(told / name), "-p", "tests.cost", "--cost", str(costs / name)]
                if binaries is not None:
                    given += ["--lane", name]
                if options.reach is not None:
                    options.reach.mkdir(parents=True, exist_ok=True)
                    given += ["-p", "tests.faults.reach", "--reach", str(options.reach.resolve() / name)]
                return given

            beside = {}
            if binaries is not None:
                url = stack.enter_context(services.postgres(binaries))
                for name in LANES[1:]:
                    if options.slow and name == SECOND:
                        continue  # what uses no database runs in the first then
                    shown = stack.enter_context(tempfile.TemporaryFile())
                    on = url if name == POSTGRESQL else None
                    beside[name] = stack.enter_context(_running(lane(name), on, into=shown)), shown
            print(f"== {SQLITE} ==", flush=True)
            with _running(lane(SQLITE), None) as tests:
                ended[SQLITE] = tests.wait()
            for name, (child, shown) in beside.items():
                print(f"== {name} ==", flush=True)
                ended[name] = _shown(child, shown)
            _tell(told, costs)
            if options.record and fine.issuperset(ended.values()):
                cost.record(cost.read(costs))
    except KeyboardInterrupt:
        return INTERRUPTED
    for name, status in ended.items():
        print(f"{name}: {WORDS[status] if status in fine else 'FAILED'}")
    for component in missing:
        print(prepare.left_out(component))
    return 0 if fine.issuperset(ended.values()) else 1


@contextlib.contextmanager
def _temporary_files_in_memory() -> Iterator[None]:
    """Until left, new temporary files, ours and those of all that we start, lie in memory where there is
    room: on a disk the tests would wait at each commit of SQLite, some 10 ms."""
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
def _running(
    arguments: list[str], database_url: str | None, *, into: IO[bytes] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """pytest in a process of its own, writing to `into`; over when left: interrupted, it tears down first."""
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
    )
    try:
        yield child
    except BaseException as reason:
        if not isinstance(reason, KeyboardInterrupt) or isinstance(reason, Terminated):
            child.terminate()  # Ctrl-C reached the child already; a kill of ours need not have
        raise
    finally:
        child.wait()


def _shown(child: subprocess.Popen[bytes], written: IO[bytes]) -> int:
    """Print what the child has written and still writes; its exit status."""
    place = 0
    while True:
        ended = child.poll()
        part = os.pread(written.fileno(), 65536, place)  # the child shares the file's own position
        place += len(part)
        sys.stdout.buffer.write(part)
        sys.stdout.flush()
        if not part:
            if ended is not None:
                return ended
            time.sleep(0.5)


def _tell(failures: Path, costs: Path) -> None:
    """Print what the run took, and once more what failed: the end of a long list is all that one sees."""
    for line in cost.told(cost.read(costs)):
        print(line)
    for file in sorted(failures.iterdir()):
        if said := file.read_text():
            print(f"== failed on {file.name} ==\n{said}", end="")


class Terminated(KeyboardInterrupt):
    """SIGTERM, treated as Ctrl-C."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Terminated


if __name__ == "__main__":
    sys.exit(main())
