"""The whole test run: prepare the system, then the tests on SQLite, then on PostgreSQL.

    python -m tests.run [--slow] [--nothing-left-out] [--reach FOLDER] [what pytest takes]

Everything runs once on the embedded SQLite; what touches the database runs once more on a
PostgreSQL that is started for it and stopped after it. What a browser does within a page is the same on
both: where there is a PostgreSQL, that runs there alone, and since it mostly waits for the browser, in a
lane of its own. The lanes run side by side, each with its own server; what the others print is shown when
SQLite's tests are over, and at the end once more which tests failed. Exit status 0 means that all ran
and passed, save what was announced as left out; `--nothing-left-out` allows no such thing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import IO

from tests import prepare, services

REPOSITORY = Path(__file__).resolve().parent.parent
PASSED, NO_TESTS_COLLECTED = 0, 5  # pytest's exit statuses
#: What runs on PostgreSQL, side by side, and which of the tests in a browser each takes.
LANES = {"PostgreSQL": "none", "PostgreSQL, in a browser": "only"}
WORDS = {PASSED: "passed", NO_TESTS_COLLECTED: "no such test"}
INTERRUPTED = 130


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.run",
        description="Run the tests on SQLite and PostgreSQL",
        allow_abbrev=False,
    )
    parser.add_argument("--slow", action="store_true", help="The slow tests, instead of all others")
    parser.add_argument("--nothing-left-out", action="store_true", help="Fail where something is missing")
    parser.add_argument("--reach", type=Path, metavar="FOLDER", help="Record there what each test runs")
    options, arguments = parser.parse_known_args()
    signal.signal(signal.SIGTERM, _interrupt)
    # Run in the background by a script, we would ignore it, and so would all that we start.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    missing = prepare.prepare()
    if missing and options.nothing_left_out:
        print("Nothing may be left out, so nothing was run.")
        return 1
    chosen = ["-m", "slow" if options.slow else "not slow", *arguments]
    if options.nothing_left_out:
        chosen.append("--nothing-left-out")

    fine = {PASSED, NO_TESTS_COLLECTED} if options.slow or arguments else {PASSED}

    binaries = prepare.find("postgresql")
    ended: dict[str, int] = {}
    try:
        with contextlib.ExitStack() as stack:
            told = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phrasebox-told-")))
            beside = []
            for lane, taken in LANES.items():
                if binaries is None:
                    break
                url = stack.enter_context(services.postgres(binaries))
                shown = stack.enter_context(tempfile.TemporaryFile())
                there = [*chosen, *_reach(options.reach, lane), "--tell", str(told / lane)]
                there += ["--only-database", "--browser", taken]
                beside.append((lane, stack.enter_context(_running(there, url, into=shown)), shown))
            print("== on SQLite ==", flush=True)
            here = [*chosen, *_reach(options.reach, "SQLite"), "--tell", str(told / "SQLite")]
            here += ["--browser", "ways" if beside else "all"]
            with _running(here, None) as tests:
                ended["SQLite"] = tests.wait()
            for lane, child, shown in beside:
                print(f"== on {lane}, what uses the database ==", flush=True)
                ended[lane] = _shown(child, shown)
            _tell(told)
    except KeyboardInterrupt:
        return INTERRUPTED
    for database, status in ended.items():
        print(f"{database}: {WORDS[status] if status in fine else 'FAILED'}")
    for component in missing:
        print(prepare.left_out(component))
    return 0 if fine.issuperset(ended.values()) else 1


def _reach(folder: Path | None, lane: str) -> list[str]:
    """What pytest takes to record a lane for `tests.faults`, where that is wanted."""
    if folder is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    return ["-p", "tests.faults.reach", "--reach", str(folder.resolve() / lane)]


@contextlib.contextmanager
def _running(
    arguments: list[str], database_url: str | None, *, into: IO[bytes] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """pytest in a process of its own, writing to `into`; over when left: interrupted, it tears down first."""
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
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


def _tell(folder: Path) -> None:
    """Print once more what failed: of two long lists, the end of the second is all that one sees."""
    for file in sorted(folder.iterdir()):
        if failures := file.read_text():
            print(f"== failed on {file.name} ==\n{failures}", end="")


class Terminated(KeyboardInterrupt):
    """SIGTERM, treated as Ctrl-C."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Terminated


if __name__ == "__main__":
    sys.exit(main())
