"""Try faults: `python -m tests.faults [--seed 1] [--number 60]`, or `make test-faults ARGS="--seed 2"`.

Each fault is put into a copy of the working tree, and the tests that run the changed line are run, the
nearest first, until one fails. Coverage by test is recorded first, by one whole run that must pass; `--reach
FOLDER` uses an existing record. Exit status 0 means that every fault was found, except those explained in
`harmless.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests import prepare, services
from tests.faults.draw import AREAS, Fault, draw, faults
from tests.faults.harmless import HARMLESS
from tests.faults.nearest import Reach, nearest, read_reach
from tests.run import POSTGRESQL, THREADS

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PASSED, NO_TESTS = 0, 5  # pytest's exit statuses
#: Seconds without output, after the time limit of a fault, before its tests count as hanging.
SILENCE = 60.0
DETECTED, HANGS, NOT_FOUND, EXPLAINED = "found", "found: tests hang", "NOT FOUND", "harmless"


@dataclass(frozen=True)
class Result:
    fault: Fault
    outcome: str
    by: str  # the test that found it, and in which lane; or why it is harmless
    tried: int  # number of selected tests, over all lanes that were needed
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Try faults one at a time")
    parser.add_argument("--seed", type=int, default=1, help="Which faults are drawn (1)")
    parser.add_argument("--number", type=int, default=60, help="How many (60)")
    parser.add_argument("--only", action="append", metavar="KEY", help="Just this fault, drawn or not")
    parser.add_argument("--minutes", type=float, default=5.0, help="How long a fault may take (5)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="Faults tried side by side")
    parser.add_argument("--reach", type=Path, help="A folder that `tests.run --reach` has written")
    parser.add_argument("--list", action="store_true", help="Print the faults and try none")
    parser.add_argument("--out", type=Path, help="Write the table there, as Markdown")
    options = parser.parse_args()
    if options.only:
        known = {fault.key: fault for area in AREAS for fault in faults(REPOSITORY, area)}
        if unknown := set(options.only) - set(known):
            parser.error(f"no such fault: {', '.join(sorted(unknown))}; --list prints those drawn")
        drawn = [known[key] for key in options.only]
    else:
        drawn = draw(REPOSITORY, seed=options.seed, number=options.number)
    if options.list:
        for fault in drawn:
            print(f"{fault.key} {fault.area}: {fault.edit.operator} in {_location(fault)}: {fault.change}")
        return 0
    end_as_by_hand()
    with contextlib.ExitStack() as stack:
        folder = options.reach
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phrasebox-reach-")))
            print("First one run without a fault, to record which test runs which line.", flush=True)
            run = [sys.executable, "-m", "tests.run", "--nothing-left-out", "--reach", str(folder)]
            if run_to_its_end(run, REPOSITORY) != PASSED:
                print("The tests fail as they are, so no fault was tried.")
                return 1
        reaches = read_reach(folder)
        if not reaches:
            parser.error(f"{folder} holds no record: `python -m tests.run --reach FOLDER` makes one")
        results = _try_all(drawn, reaches, workers=options.workers, seconds=60 * options.minutes)
    table = _table(results)
    print(table)
    if options.out:
        options.out.write_text(table)
    return 1 if any(result.outcome == NOT_FOUND for result in results) else 0


def end_as_by_hand() -> None:
    """On a request to end, do the same as on Ctrl-C: stop servers, remove folders."""
    signal.signal(signal.SIGTERM, lambda number, frame: (_ for _ in ()).throw(KeyboardInterrupt()))


def run_to_its_end(command: list[str], folder: Path) -> int:
    """Return the exit status of a command that may start others; on an interrupt, end it first."""
    child = subprocess.Popen(command, cwd=folder, start_new_session=True)
    try:
        return child.wait()
    finally:
        _end(child)


def _try_all(drawn: list[Fault], reaches: list[Reach], *, workers: int, seconds: float) -> list[Result]:
    waiting: queue.SimpleQueue[Fault] = queue.SimpleQueue()
    for fault in drawn:
        waiting.put(fault)
    breadths = {reach.lane: reach.breadth() for reach in reaches}
    results: dict[str, Result] = {}
    broken: list[BaseException] = []

    def work() -> None:
        try:
            with _working_copy() as working_copy:
                while not broken:
                    try:
                        fault = waiting.get_nowait()
                    except queue.Empty:
                        return
                    result = working_copy.attempt(fault, reaches, breadths, seconds)
                    results[fault.key] = result
                    print(f"{len(results)}/{len(drawn)} {_in_a_line(result)}", flush=True)
        except BaseException as reason:
            broken.append(reason)
            raise

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt as reason:
        broken.append(reason)
        for thread in threads:
            thread.join()
        raise
    if broken:
        raise broken[0]
    return [results[fault.key] for fault in drawn]


@contextlib.contextmanager
def _working_copy() -> Iterator[WorkingCopy]:
    """Yield a copy of the working tree, with a PostgreSQL of its own if available."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phrasebox-fault-")))
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=REPOSITORY,
            capture_output=True,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (REPOSITORY / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(REPOSITORY / name, folder / name)
        (folder / ".venv").symlink_to(sys.prefix)
        binaries = prepare.find("postgresql")
        url = stack.enter_context(services.postgres(binaries)) if binaries else None
        yield WorkingCopy(folder, url)


@dataclass
class WorkingCopy:
    """A copy in which faults are tried, one after the other."""

    folder: Path
    postgres: str | None
    database_stands: bool = False

    def attempt(
        self, fault: Fault, reaches: list[Reach], breadths: dict[str, dict[str, int]], seconds: float
    ) -> Result:
        """Put the fault in, run the nearest tests of each lane until one fails, remove the fault."""
        if fault.key in HARMLESS:
            return Result(fault, EXPLAINED, HARMLESS[fault.key], 0, 0.0)
        began, tried = time.monotonic(), 0
        file = self.folder / fault.path
        sound, dates = file.read_bytes(), file.stat()
        try:
            for reach in reaches:
                tests = nearest(fault, reach, REPOSITORY, breadths[reach.lane])
                on_postgres = reach.lane.startswith(POSTGRESQL)
                while tests and (left := seconds - (time.monotonic() - began)) > 0:
                    file.write_bytes(fault.applied(sound))
                    outcome, by = self._run(tests, on_postgres=on_postgres, seconds=left)
                    tried += len(tests)
                    if outcome == NOT_FOUND:
                        break
                    # A test that also fails without the fault has found nothing.
                    file.write_bytes(sound)
                    os.utime(file, ns=(dates.st_atime_ns, dates.st_mtime_ns))
                    until = tests[: tests.index(by) + 1] if by in tests else tests[:1]
                    if self._run(until, on_postgres=on_postgres, seconds=seconds)[0] == NOT_FOUND:
                        took = time.monotonic() - began
                        return Result(fault, outcome, f"{by} ({reach.lane})", tried, took)
                    print(f"{by} fails without a fault too, in {reach.lane}", flush=True)
                    tests = [test for test in tests if test not in until[-1:]]
            return Result(fault, NOT_FOUND, f"{tried} tests", tried, time.monotonic() - began)
        finally:
            file.write_bytes(sound)
            os.utime(file, ns=(dates.st_atime_ns, dates.st_mtime_ns))

    def _run(self, tests: list[str], *, on_postgres: bool, seconds: float) -> tuple[str, str]:
        """Return whether one of `tests` fails, and which."""
        chosen, report, printed = (self.folder / f".fault-{name}" for name in ("chosen", "told", "printed"))
        chosen.write_text("\n".join(tests))
        report.write_text("")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "tests.faults.chosen"]
        command += ["-p", "no:cacheprovider", "--nothing-left-out"]
        command += ["--chosen", str(chosen), "--tell", str(report)]
        environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        # A file of the same size written twice within a second would be taken for the compiled one.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["REAL_DATA_DIR"] = str(_real_data())
        environment |= {name: "1" for name in THREADS if name not in os.environ}
        if on_postgres:
            if self.postgres is None:
                return NOT_FOUND, ""
            environment["DATABASE_URL"] = self.postgres
            command += ["--reuse-db", *([] if self.database_stands else ["--create-db"])]
        command += list(dict.fromkeys(test.split("::")[0] for test in tests))
        with printed.open("wb") as out:
            child = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=out, stderr=out, start_new_session=True
            )
            try:
                status = child.wait(seconds)
            except subprocess.TimeoutExpired:
                self.database_stands = False
                silent = time.time() - printed.stat().st_mtime
                return (HANGS, f"silent for {silent:.0f} s") if silent > SILENCE else (NOT_FOUND, "")
            finally:
                _end(child)
        if on_postgres:
            self.database_stands = status == PASSED
        if status in (PASSED, NO_TESTS):
            return NOT_FOUND, ""
        lines = [line for line in report.read_text().splitlines() if line and not line.startswith(" ")]
        if lines:
            return DETECTED, lines[0].split(" (")[0]
        lines_printed = [line for line in printed.read_text(errors="replace").splitlines() if line.strip()]
        return DETECTED, f"no test starts: {lines_printed[-1][:120] if lines_printed else 'no word'}"


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a run and the processes that it has started."""
    for number, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 20)):
        if child.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(patience)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _real_data() -> Path:
    return Path(os.environ.get("REAL_DATA_DIR") or REPOSITORY.parent / "shared" / "data")


def _location(fault: Fault) -> str:
    return f"{fault.path}:{fault.line} {fault.function}".strip()


def _in_a_line(result: Result) -> str:
    fault = result.fault
    return (
        f"{fault.key} {result.outcome} in {result.seconds:.0f} s: {fault.edit.operator} in "
        f"{_location(fault)}: {fault.change}; {result.by}"
    )


def _table(results: list[Result]) -> str:
    rows = [
        "| fault | area | kind | where | change | outcome | by | s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        change = result.fault.change.replace("|", "\\|")[:120]
        where = f"{result.fault.function or 'template'} ({result.fault.path})"
        rows.append(
            f"| {result.fault.key} | {result.fault.area} | {result.fault.edit.operator} | {where} "
            f"| `{change}` | {result.outcome} "
            f"| {result.by.replace('|', chr(92) + '|')} | {result.seconds:.0f} |"
        )
    counts = Counter(result.outcome for result in results)
    rows.append("")
    rows.append(", ".join(f"{outcome}: {count}" for outcome, count in counts.most_common()))
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(main())
