"""The whole test run: prepare the system, then the tests on SQLite, then on PostgreSQL.

    python -m tests.run [--slow] [--nothing-left-out] [what pytest takes]

Everything runs once on the embedded SQLite; what touches the database runs once more on a
PostgreSQL that is started for it and stopped after it. Exit status 0 means that all ran and
passed, save what was announced as left out; `--nothing-left-out` allows no such thing.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

from tests import prepare, services

REPOSITORY = Path(__file__).resolve().parent.parent
PASSED, NO_TESTS_COLLECTED = 0, 5  # pytest's exit statuses
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

    try:
        print("== on SQLite ==", flush=True)
        ended = {"SQLite": _pytest(chosen, database_url=None)}
        binaries = prepare.find("postgresql")
        if binaries is not None:
            print("== on PostgreSQL, what uses the database ==", flush=True)
            with services.postgres(binaries) as url:
                ended["PostgreSQL"] = _pytest([*chosen, "--only-database"], database_url=url)
    except KeyboardInterrupt:
        return INTERRUPTED
    for database, status in ended.items():
        print(f"{database}: {WORDS[status] if status in fine else 'FAILED'}")
    for component in missing:
        print(prepare.left_out(component))
    return 0 if fine.issuperset(ended.values()) else 1


def _pytest(arguments: list[str], *, database_url: str | None) -> int:
    """pytest's exit status, run in a process of its own; waits for its teardown when interrupted."""
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    if database_url:
        environment["DATABASE_URL"] = database_url
    child = subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=REPOSITORY,
        env=environment,
    )
    try:
        return child.wait()
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, Terminated):
            child.terminate()  # Ctrl-C reached the child already; a kill of ours need not have
        child.wait()
        raise


class Terminated(KeyboardInterrupt):
    """SIGTERM, treated as Ctrl-C."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Terminated


if __name__ == "__main__":
    sys.exit(main())
