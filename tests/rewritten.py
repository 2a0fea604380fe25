"""Rewrite the assertions of all test files as pytest does, once for all processes of a run.

    python -m tests.rewritten

pytest stores a file that it has rewritten, and rewrites it again when it has changed. On a fresh clone the
processes of a run would do so at the same time, each for itself, which takes each of them 20 s of CPU.
"""

from __future__ import annotations

import multiprocessing
from pathlib import Path

from _pytest.assertion import rewrite

TESTS = Path(__file__).resolve().parent


class _Silent:
    """What pytest would log: files that cannot be written are rewritten by each process, as ever."""

    def trace(self, message: str) -> None:
        """Say nothing."""


def store(file: Path) -> None:
    """Store the rewritten code of a test file where pytest looks for it, unless it is there."""
    folder = rewrite.get_cache_dir(file)
    stored = folder / f"{file.stem}{rewrite.PYC_TAIL}"
    if rewrite._read_pyc(file, stored) is None and rewrite.try_makedirs(folder):
        digest, code = rewrite._rewrite_test(file, None)  # type: ignore[arg-type]
        rewrite._write_pyc(_Silent(), code, digest, stored)  # type: ignore[arg-type]


def main() -> None:
    """Rewrite all of them, on all cores."""
    files = [file for name in ("conftest.py", "test_*.py") for file in sorted(TESTS.rglob(name))]
    with multiprocessing.Pool() as processes:
        processes.map(store, files, chunksize=8)


if __name__ == "__main__":
    main()
