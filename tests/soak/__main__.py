"""The soak test: a crowd on each database, in parallel, with faults of every kind.

    python -m tests.soak [--minutes 45] [--workers 64] [--seed 1] [--every 18] [--database sqlite|postgresql]
                         [--folder F]

Prints a line per minute and a table at the end; logs, journals and tables stay in the folder. Exit status 0
means that nothing was lost, doubled or over-assigned, and that no process grew by more than a tenth after
minute ten. SIGINT and SIGTERM end the run early: the results so far are still counted and printed.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from tests.soak import faults, side
from tests.soak.product import POSTGRESQL, REPOSITORY, SQLITE


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=45.0, help="How long the crowd works (default 45)")
    parser.add_argument("--workers", type=int, default=64, help="On each database (default 64)")
    parser.add_argument("--seed", type=int, default=1, help="Of faults and workers (default 1)")
    parser.add_argument(
        "--every",
        type=float,
        default=faults.EVERY,
        help="Seconds from fault to fault, on average (default 18)",
    )
    parser.add_argument("--database", choices=[SQLITE, POSTGRESQL], help="This one alone (default: both)")
    parser.add_argument("--folder", type=Path, help="Where logs and tables go (default: in var/soak)")
    options = parser.parse_args()
    folder = options.folder or REPOSITORY / "var" / "soak" / time.strftime("%Y-%m-%d-%H%M%S")
    if options.database:
        good = side.run(
            options.database,
            folder.resolve() / options.database,
            minutes=options.minutes,
            workers=options.workers,
            seed=options.seed,
            every=options.every,
        )
        return 0 if good else 1
    print(f"Logs and tables: {folder}", flush=True)
    return both(folder, sys.argv[1:])


def both(folder: Path, arguments: list[str]) -> int:
    """Run both databases in parallel, each in its own process, which receives none of our signals."""
    children = {
        database: subprocess.Popen(
            [sys.executable, "-m", "tests.soak", *arguments, "--folder", str(folder), "--database", database],
            cwd=REPOSITORY,
            start_new_session=True,
        )
        for database in (SQLITE, POSTGRESQL)
    }

    def report_progress(number: int, frame: FrameType | None) -> None:
        for child in children.values():
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, report_progress)
    ended = {database: child.wait() for database, child in children.items()}
    for database, status in ended.items():
        print(f"{database}: {'all holds' if status == 0 else 'FAILED'}", flush=True)
    return 0 if not any(ended.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
